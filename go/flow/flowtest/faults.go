package flowtest

import (
	"io"
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

// A Shuffle has several transports whose reads and writes change places: each waits until some of the
// others have taken place, or for a limit of time, for they may all be idle.
type Shuffle struct {
	limit  time.Duration
	mu     sync.Mutex
	passed uint64
	moved  chan struct{}
}

// NewShuffle has no transports yet. No operation waits longer than limit for others.
func NewShuffle(limit time.Duration) *Shuffle {
	return &Shuffle{limit: limit, moved: make(chan struct{})}
}

// letPass lets n operations of others go first.
func (s *Shuffle) letPass(n uint64) {
	s.mu.Lock()
	seen := s.passed
	late := time.NewTimer(s.limit)
	defer late.Stop()
	for waits := true; waits && s.passed-seen < n; {
		moved := s.moved
		s.mu.Unlock()
		select {
		case <-moved:
		case <-late.C:
			waits = false
		}
		s.mu.Lock()
	}
	s.passed++
	close(s.moved)
	s.moved = make(chan struct{})
	s.mu.Unlock()
}

// faulty is what readers and writers share.
type faulty struct {
	faults Faults
	dice   dice
	left   uint64 // until the cut
	inner  any
}

func newFaulty(faults Faults, inner any) faulty {
	return faulty{faults, dice(faults.Seed), faults.CutAfter, inner}
}

// begin is what comes before an operation on n bytes: it answers how many it may be, or false once the
// transport is cut.
func (f *faulty) begin(n int) (int, bool) {
	if shuffle := f.faults.Shuffle; shuffle != nil {
		shuffle.letPass(f.dice.upTo(2))
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

func (f *faulty) pass(n int) {
	if f.faults.CutAfter > 0 {
		f.left -= min(f.left, uint64(n))
	}
}

// Close implements [io.Closer].
func (f *faulty) Close() error {
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
	f.pass(n)
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
		f.pass(n)
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}
