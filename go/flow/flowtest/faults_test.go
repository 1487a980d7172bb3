package flowtest_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sluicegate/sluicegate/go"
	"github.com/sluicegate/sluicegate/go/flow/flowtest"
)

// pieces notes how what is read or written was cut.
type pieces struct {
	bytes.Buffer
	sizes  []int
	closed bool
}

func (p *pieces) Write(b []byte) (int, error) {
	p.sizes = append(p.sizes, len(b))
	return p.Buffer.Write(b)
}

func (p *pieces) Close() error { p.closed = true; return nil }

func TestAScheduleIsTheSameForTheSameSeed(t *testing.T) {
	text := bytes.Repeat([]byte("0123456789"), 100)
	cut := func(seed flowtest.Seed) []int {
		var p pieces
		if n, err := (flowtest.Faults{Seed: seed, Splits: true}).Writer(&p).Write(text); n != len(text) || err != nil {
			t.Fatal(n, err)
		}
		if !bytes.Equal(p.Bytes(), text) || len(p.sizes) < 2 {
			t.Fatal("what arrives is what was sent, in pieces:", p.sizes)
		}
		return p.sizes
	}
	same := func(a, b []int) bool { return len(a) == len(b) && a[0] == b[0] && a[1] == b[1] }
	if !same(cut(7), cut(7)) || same(cut(7), cut(8)) {
		t.Error("the seed decides")
	}
	if one := flowtest.Seed(7); one.Fork("a") != one.Fork("a") || one.Fork("a") == one.Fork("b") {
		t.Error("a fork is of its name")
	}
	// The same numbers as in every language.
	if fork := flowtest.Seed(1).Fork(""); fork != 0x910a2dec89025cc1 {
		t.Errorf("%#x", uint64(fork))
	}
}

func TestASeedIsTakenFromTheEnvironment(t *testing.T) {
	t.Setenv("SLUICEGATE_SEED", " 12 ")
	if seed := flowtest.NewSeed(t); seed != 12 {
		t.Error(seed)
	}
	t.Setenv("SLUICEGATE_SEED", "twelve")
	said := judged(t, func(t testing.TB) { flowtest.NewSeed(t) })
	if !strings.Contains(said, "twelve") {
		t.Error(said)
	}
}

func TestATransportIsCutWhereItIsSaid(t *testing.T) {
	var p pieces
	writer := flowtest.Faults{CutAfter: 7}.Writer(&p)
	if n, err := writer.Write([]byte("0123456789")); n != 7 || err != io.ErrClosedPipe || p.String() != "0123456" || !p.closed {
		t.Error(n, err, p.String(), p.closed)
	}
	reader := flowtest.Faults{CutAfter: 7, Splits: true, Seed: 3}.Reader(strings.NewReader("0123456789"))
	if got, err := io.ReadAll(reader); string(got) != "0123456" || err != nil {
		t.Error(string(got), err)
	}
	whole := flowtest.Faults{}.Reader(strings.NewReader("0123456789"))
	if err := iotest.TestReader(whole, []byte("0123456789")); err != nil {
		t.Error(err)
	}
}

// order is that in which two transports, each with 50 operations, have their turns.
func order(t *testing.T, seed flowtest.Seed) string {
	shuffle := flowtest.NewShuffle(time.Hour)
	var mu sync.Mutex
	var order []byte
	var both sync.WaitGroup
	var writers []io.WriteCloser
	for _, name := range []byte{'a', 'b'} {
		writers = append(writers, flowtest.Faults{Seed: seed.Fork(string(name)), Shuffle: shuffle}.Writer(writing(func([]byte) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, name)
		})))
	}
	for _, writer := range writers {
		both.Add(1)
		go func() {
			defer both.Done()
			defer writer.Close()
			for range 50 {
				if _, err := writer.Write([]byte{0}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	both.Wait()
	return string(order)
}

func TestTheSeedDecidesTheOrderOfTransportsThatHaveSomethingToDo(t *testing.T) {
	seed := flowtest.NewSeed(t)
	first := order(t, seed)
	for range 20 {
		if again := order(t, seed); again != first {
			t.Errorf("awaited: %s; came: %s", first, again)
		}
	}
	if strings.Count(first, "a") != 50 || strings.Count(first, "b") != 50 {
		t.Error(first)
	}
	// The same as in every language.
	if zero := order(t, 0)[:16]; zero != "babbaabababbabab" {
		t.Error(zero)
	}
	for seed := range flowtest.Seed(20) {
		one := order(t, seed)
		if strings.Count(one, "ab")+strings.Count(one, "ba") < 30 {
			t.Error("they change places:", one)
		}
		if one == order(t, seed+1) {
			t.Error("another seed, another order:", one)
		}
	}
}

func TestATransportThatHasNothingToDoIsNotWaitedForLongerThanTheLimit(t *testing.T) {
	shuffle := flowtest.NewShuffle(time.Millisecond)
	idle := flowtest.Faults{Seed: 1, Shuffle: shuffle}.Writer(io.Discard)
	var written bytes.Buffer
	writer := flowtest.Faults{Seed: 2, Shuffle: shuffle}.Writer(&written)
	for n := range 40 {
		if n == 20 { // and one that has left is not waited for at all
			if err := idle.Close(); err != nil {
				t.Error(err)
			}
		}
		if _, err := writer.Write([]byte{0}); err != nil {
			t.Error(err)
		}
	}
	if written.Len() != 40 {
		t.Error(written.Len())
	}
}

type writing func([]byte)

func (w writing) Write(b []byte) (int, error) { w(b); return len(b), nil }

const echo = "cap:echo;in=media:blob;out=media:blob"

// echoed sends text through a cartridge whose transport has faults, and answers what came back.
func echoed(t *testing.T, reader, writer flowtest.Faults, text []byte) ([]byte, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cartridge := sluicegate.NewCartridge(sluicegate.Manifest{Name: "test"})
	cartridge.HandleFunc(echo, func(ctx context.Context, r *sluicegate.Request) error {
		in, err := r.Input(ctx)
		if err != nil {
			return err
		}
		_, err = io.Copy(r.Output(), in.Reader(ctx))
		return err
	})
	host, own := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- cartridge.ServeConn(ctx, own, own) }()
	engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{Limits: sluicegate.Limits{InitialCredit: 2, MaxChunk: 512}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := engine.Close(); err != nil {
			t.Error(err)
		}
		<-served // a cut is an error
	}()
	peer, err := engine.Attach(ctx, reader.Reader(host), writer.Writer(host))
	if err != nil {
		return nil, err
	}
	call, err := peer.Call(ctx, echo)
	if err != nil {
		return nil, err
	}
	in, err := call.Input("media:blob")
	if err != nil {
		return nil, err
	}
	go func() {
		_, _ = in.Write(text) // Wait says why, if this fails
		_ = call.FinishInput(ctx)
	}()
	out, err := call.Output(ctx)
	if err != nil {
		return nil, err
	}
	got, err := io.ReadAll(out.Reader(ctx))
	if err != nil {
		return got, err
	}
	_, err = call.Wait(ctx)
	return got, err
}

func TestACallOverATransportWithFaults(t *testing.T) {
	seed := flowtest.NewSeed(t)
	text := []byte(strings.Repeat("through faults ", 300))
	faults := func(what string) flowtest.Faults {
		return flowtest.Faults{Seed: seed.Fork(what), Splits: true, Delay: 50 * time.Microsecond}
	}
	got, err := echoed(t, faults("reader"), faults("writer"), text)
	if err != nil || !bytes.Equal(got, text) {
		t.Fatal(len(got), err)
	}
	for n := range 5 {
		reader := faults("reader" + strconv.Itoa(n))
		reader.CutAfter = 1 + uint64(reader.Seed.Fork("cut"))%4000
		if _, err := echoed(t, reader, faults("writer"), text); err == nil {
			t.Errorf("cut after %d bytes, and it ends well", reader.CutAfter)
		} else if known := (*sluicegate.Error)(nil); !errors.As(err, &known) || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("cut after %d bytes: %v", reader.CutAfter, err)
		}
	}
}
