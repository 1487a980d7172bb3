package flowtest

import (
	"io"
	"slices"
	"sync"
	"time"
)

// Faults are what goes wrong with one direction of a transport, all drawn from one seed. Without any
// fault it is the transport itself.
//
//	seed := flowtest.NewSeed(t)
//	reader := flowtest.Faults{Seed: seed.Fork("reader"), Splits: true, CutAfter: 1000}.Reader(conn)
//	peer, err := engine.Attach(ctx, reader, conn)
type Faults struct {
	// Seed is what they are drawn from.
	Seed Seed
	// Delay is how long each read or write waits first, at most.
	Delay time.Duration
	// Splits makes reads and writes take a part of what they could, one byte at least. A write goes on
	// with the rest, as [io.Writer] wants it: in pieces.
	Splits bool
	// CutAfter is after how many bytes the transport is closed, if it can be: reads give [io.EOF], writes
	// [io.ErrClosedPipe]. That is in the middle of whatever was on its way. 0 is never.
	CutAfter uint64
	// Shuffle makes reads and writes wait for those of the other transports of it.
	Shuffle *Shuffle
}

// Reader is r with these faults. It is for one goroutine at a time, and closes r when it is closed.
func (f Faults) Reader(r io.Reader) io.ReadCloser { return &faultyReader{newFaulty(f, r), r} }

// Writer is w with these faults. It is for one goroutine at a time, and closes w when it is closed.
func (f Faults) Writer(w io.Writer) io.WriteCloser { return &faultyWriter{newFaulty(f, w), w} }

// A Shuffle has several transports whose reads and writes change places: one at a time, in an order of
// their own.
//
// Each operation of a transport stands one to three places behind its last one, as its seed decides, and
// the operation that is furthest in front goes next; of two in the same place that of the transport that
// was given its faults first. So while each transport has something to do, the order of all operations
// follows from the seeds alone, and is the same each time. One that has nothing to do is waited for no
// longer than the limit; after that the others go on as they come, which no seed decides. A transport
// leaves when it is closed, cut, or at its end.
type Shuffle struct {
	limit time.Duration
	mu    sync.Mutex
	seats []*seat // by the order in which they joined
	moved chan struct{}
}

// A seat is the place of one transport in a shuffle.
type seat struct {
	at    uint64 // how far behind its operation stands, or its last one did
	doing doing
	left  bool
}

type doing int

const (
	nothing doing = iota
	waiting
	working
)

// NewShuffle has no transports yet. No operation waits longer than limit for others.
func NewShuffle(limit time.Duration) *Shuffle {
	return &Shuffle{limit: limit, moved: make(chan struct{})}
}

// join takes one transport more, beside the one that is furthest in front.
func (s *Shuffle) join() *seat {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := &seat{}
	for i, other := range s.seats {
		if i == 0 || other.at < own.at {
			own.at = other.at
		}
	}
	s.seats = append(s.seats, own)
	return own
}

// turn is true if nobody else can come before the operation of own, which waits.
func (s *Shuffle) turn(own *seat) bool {
	behind := false
	for _, other := range s.seats {
		if other == own {
			behind = true // those that come now have joined later
			continue
		}
		next := other.at
		switch other.doing {
		case working:
			return false
		case nothing:
			next++ // at least, once it comes
		}
		if next < own.at || next == own.at && !behind {
			return false
		}
	}
	return true
}

// change changes a seat, and lets the others look.
func (s *Shuffle) change(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	close(s.moved)
	s.moved = make(chan struct{})
}

// begin waits for the turn of an operation that lets up to more others go before it.
func (s *Shuffle) begin(own *seat, more uint64) {
	s.change(func() { own.at, own.doing = own.at+more+1, waiting })
	late := time.NewTimer(s.limit)
	defer late.Stop()
	s.mu.Lock()
	for waits := true; waits && !own.left && !s.turn(own); {
		moved := s.moved
		s.mu.Unlock()
		select {
		case <-moved:
		case <-late.C:
			waits = false
		}
		s.mu.Lock()
	}
	s.mu.Unlock()
	s.change(func() { own.doing = working })
}

// end is the end of an operation.
func (s *Shuffle) end(own *seat) { s.change(func() { own.doing = nothing }) }

func (s *Shuffle) leave(own *seat) {
	s.change(func() {
		own.left = true
		s.seats = slices.DeleteFunc(s.seats, func(other *seat) bool { return other == own })
	})
}

// faulty is what readers and writers share.
type faulty struct {
	faults Faults
	dice   dice
	left   uint64 // until the cut
	inner  any
	seat   *seat // in its shuffle
}

func newFaulty(faults Faults, inner any) faulty {
	f := faulty{faults: faults, dice: dice(faults.Seed), left: faults.CutAfter, inner: inner}
	if faults.Shuffle != nil {
		f.seat = faults.Shuffle.join()
	}
	return f
}

// begin is what comes before an operation on n bytes: it answers how many it may be, or false once the
// transport is cut.
func (f *faulty) begin(n int) (int, bool) {
	if f.seat != nil {
		f.faults.Shuffle.begin(f.seat, f.dice.upTo(2))
	}
	if f.faults.Delay > 0 {
		time.Sleep(time.Duration(f.dice.upTo(uint64(f.faults.Delay))))
	}
	cuts := f.faults.CutAfter > 0
	if cuts && f.left == 0 {
		_ = f.Close()
		return 0, false
	}
	if f.faults.Splits && n > 1 {
		n = int(f.dice.upTo(uint64(n-1))) + 1
	}
	if cuts {
		n = int(min(uint64(n), f.left))
	}
	return n, true
}

// pass is what comes after an operation, which took n bytes.
func (f *faulty) pass(n int, err error) {
	if f.seat != nil {
		f.faults.Shuffle.end(f.seat)
		if err != nil {
			f.faults.Shuffle.leave(f.seat)
		}
	}
	if f.faults.CutAfter > 0 {
		f.left -= min(f.left, uint64(n))
	}
}

// Close implements [io.Closer].
func (f *faulty) Close() error {
	if f.seat != nil {
		f.faults.Shuffle.leave(f.seat)
	}
	if closer, ok := f.inner.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

type faultyReader struct {
	faulty
	r io.Reader
}

// Read implements [io.Reader].
func (f *faultyReader) Read(p []byte) (int, error) {
	n, whole := f.begin(len(p))
	if !whole {
		return 0, io.EOF
	}
	n, err := f.r.Read(p[:n])
	f.pass(n, err)
	return n, err
}

type faultyWriter struct {
	faulty
	w io.Writer
}

// Write implements [io.Writer].
func (f *faultyWriter) Write(p []byte) (int, error) {
	written := 0
	for {
		n, whole := f.begin(len(p) - written)
		if !whole {
			return written, io.ErrClosedPipe
		}
		n, err := f.w.Write(p[written : written+n])
		f.pass(n, err)
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}
