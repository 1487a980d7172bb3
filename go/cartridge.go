package sluicegate

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A HandlerFunc serves one request; each request runs in a goroutine of its own. ctx ends when the
// request is cancelled. Returning nil finishes the request, an error fails it, and so does a panic,
// which ends neither the process nor other requests.
type HandlerFunc func(ctx context.Context, r *Request) error

// A Cartridge is a program that serves caps to a host, over its standard input and output. Register
// handlers, then call Main or Serve.
//
//	func main() {
//		c := sluicegate.NewCartridge(sluicegate.Manifest{Name: "echo", Version: "1.0.0"})
//		c.HandleFunc("cap:echo;in=media:blob;out=media:blob", echo)
//		c.Main()
//	}
type Cartridge struct {
	manifest Manifest
	caps     []Cap
	handlers map[string]HandlerFunc
	control  *string
	quiet    bool
	making   sync.Mutex
	core     *capi.Cartridge
	declared int // how many caps core has
	session  atomic.Pointer[capi.Session]
}

// NewCartridge makes a cartridge that serves nothing yet.
func NewCartridge(manifest Manifest) *Cartridge {
	return &Cartridge{manifest: manifest, handlers: map[string]HandlerFunc{}}
}

// HandleFunc registers handler for a cap with one scalar input and one scalar output.
func (c *Cartridge) HandleFunc(urn string, handler HandlerFunc) { c.Handle(Cap{URN: urn}, handler) }

// Handle registers handler for a cap. It panics if that URN has a handler already.
func (c *Cartridge) Handle(cap Cap, handler HandlerFunc) {
	if _, taken := c.handlers[cap.URN]; taken {
		panic("sluicegate: second handler for " + cap.URN)
	}
	c.caps = append(c.caps, cap)
	c.handlers[cap.URN] = handler
}

// Main serves until the host closes the connection, then exits the process: with status 0, or with
// 1 and a line on standard error.
func (c *Cartridge) Main() {
	if err := c.Serve(context.Background()); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", c.manifest.Name, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Serve serves over standard input and output until the host closes the connection, which is no
// error, or ctx ends. Handlers have 5 s to return after that. What the program prints on standard
// output meanwhile goes to standard error.
func (c *Cartridge) Serve(ctx context.Context) error {
	return c.serve(ctx, (*capi.Cartridge).ServeStdioOp)
}

// ServeConn is Serve over any connection. The cartridge owns both ends: they are closed, where they
// can be, once the connection is over.
func (c *Cartridge) ServeConn(ctx context.Context, r io.Reader, w io.Writer) error {
	if _, err := c.made(); err != nil {
		return err
	}
	read, write, err := descriptors(r, w)
	if err != nil {
		return fromCore(toCore(err, ErrIO))
	}
	return c.serve(ctx, func(core *capi.Cartridge) *capi.Op { return core.ServeFDsOp(read, write) })
}

// QuietLosses keeps warnings of what was lost from stderr. Call it before Main or Serve;
// [Cartridge.NextLoss] has them all the same.
func (c *Cartridge) QuietLosses() { c.quiet = true }

// made answers the cartridge of the library, which declares the caps that are registered now.
func (c *Cartridge) made() (*capi.Cartridge, error) {
	c.making.Lock()
	defer c.making.Unlock()
	if c.core == nil || c.declared != len(c.caps) {
		core, err := capi.NewCartridge(c.manifest.core(c.caps), c.manifest.Limits.core(), c.quiet)
		if err != nil {
			return nil, fromCore(err)
		}
		c.core, c.declared = core, len(c.caps)
	}
	return c.core, nil
}

func (c *Cartridge) serve(ctx context.Context, begin func(*capi.Cartridge) *capi.Op) error {
	core, err := c.made()
	if err != nil {
		return err
	}
	session, err := result(ctx, begin(core), (*capi.Op).TakeSession)
	if err != nil {
		return err
	}
	defer session.Close()
	c.session.Store(session)
	defer c.session.CompareAndSwap(session, nil)
	if c.control != nil {
		control, failure := session.ServeControl(*c.control)
		if failure != nil {
			return fromCore(failure)
		}
		defer control.Close()
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var handlers sync.WaitGroup
	defer wait(&handlers)
	for {
		core, err := result(ctx, session.NextRequestOp(), (*capi.Op).TakeRequest)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			session.Close()
			return err
		}
		handlers.Add(1)
		go func() {
			defer handlers.Done()
			c.handle(ctx, core)
		}()
	}
}

// handlerGrace is how long handlers may run on once the host is gone; their contexts have ended.
const handlerGrace = 5 * time.Second

func wait(handlers *sync.WaitGroup) {
	done := make(chan struct{})
	go func() {
		handlers.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(handlerGrace):
	}
}

// handle runs the handler of one request in a context that ends with the request.
func (c *Cartridge) handle(parent context.Context, core *capi.Request) {
	ctx, cancel := context.WithCancelCause(parent)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		// Answers at the end of the request at the latest, so this goroutine does not outlive it.
		reason, err := result(context.WithoutCancel(parent), core.CancelledOp(), (*capi.Op).TakeReason)
		if err != nil {
			cancel(err)
			return
		}
		cancel(reasonFromCore(reason))
	}()
	defer func() { <-watched }()
	r := newRequest(ctx, core)
	handler, known := c.handlers[r.Cap()]
	if !known {
		r.Fail(&Error{Kind: ErrNoHandler, Message: "no handler for " + r.Cap()})
		return
	}
	if err := run(ctx, handler, r); err != nil {
		r.Fail(err)
		return
	}
	if err := r.finishPlainly(ctx); err != nil {
		r.Fail(err)
	}
}

// run calls a handler; a panic becomes an error, its stack goes to standard error.
func run(ctx context.Context, handler HandlerFunc, r *Request) (err error) {
	defer func() {
		if panicked := recover(); panicked != nil {
			fmt.Fprintf(os.Stderr, "panic in the handler of %s: %v\n%s", r.Cap(), panicked, debug.Stack())
			err = &Error{Kind: ErrRemote, Class: ClassInternal, Message: fmt.Sprintf("the handler panicked: %v", panicked)}
		}
	}()
	return handler(ctx, r)
}
