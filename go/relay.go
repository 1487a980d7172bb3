package sluicegate

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// SwitchOptions are a switch's settings. Zero values are the defaults.
type SwitchOptions struct {
	// Limits are what is proposed to callers. The windows at both ends of a request must be equal
	// (L10, L11).
	Limits Limits
	// Policy is told to each host.
	Policy NetworkPolicy
	// JoinTimeout bounds how long a newcomer may take until it has proved who it is. Default 10 s.
	JoinTimeout time.Duration
	// Matcher says which offered cap serves one that is asked for. Default: one with the same tags, in any
	// order.
	Matcher Matcher
	// QuietLosses keeps warnings of what was lost from stderr. [Switch.NextLoss] has them all the same.
	QuietLosses bool
}

// A Matcher decides which offered cap serves a cap that is asked for; the request goes on under the
// offered one. A switch calls it from several goroutines at once, for each request, and holds no lock
// meanwhile: it may use the switch. It must not wait, which would hold up the connection that asks. One
// that panics says no, and its stack goes to standard error. The switch keeps it until it is gone itself,
// so one that refers to its own switch has both stay.
type Matcher interface {
	// Serves reports whether offered serves a request for asked.
	Serves(offered, asked string) bool
}

// A MatcherFunc is a function as a [Matcher].
type MatcherFunc func(offered, asked string) bool

// Serves calls f.
func (f MatcherFunc) Serves(offered, asked string) bool { return f(offered, asked) }

// A Switch is a relay between hosts, which offer caps, and callers. A caller takes it for one large
// cartridge: see [Engine.Connect]. Credit is end to end: it passes it on and makes and swallows none
// (L11). Any number of goroutines may use it.
type Switch struct{ core *capi.Switch }

// NewSwitch makes a switch that nobody is connected to.
func NewSwitch(options SwitchOptions) (*Switch, error) {
	with := capi.SwitchOptions{
		Policy: int32(options.Policy), Limits: options.Limits.core(),
		JoinTimeoutMillis: millis(max(options.JoinTimeout, 0)), QuietLosses: options.QuietLosses,
	}
	if options.Matcher != nil {
		with.Serves = options.Matcher.Serves
	}
	core, err := capi.NewSwitch(with)
	if err != nil {
		return nil, fromCore(err)
	}
	return &Switch{core}, nil
}

// Listen lets whoever connects to address join, until the switch is closed: unix:PATH, tcp:HOST:PORT
// or a path with a slash. It answers where it listens: port 0 takes a free port.
func (s *Switch) Listen(address string) (string, error) {
	place, err := s.core.Listen(address)
	return place, fromCore(err)
}

// Attach lets one newcomer, host or caller, join over any connection; name is for people. The switch
// owns both ends from here on.
func (s *Switch) Attach(ctx context.Context, name string, r io.Reader, w io.Writer) error {
	return over(ctx, r, w, func(read, write int) *capi.Op { return s.core.AttachOp(name, read, write) })
}

// Caller makes a caller in this process: calls of the peer go through the switch.
func (s *Switch) Caller(ctx context.Context, engine *Engine) (*Peer, error) {
	return connected(ctx, s.core.CallerOp(engine.core))
}

// Caps answers the caps that hosts offer now, sorted.
func (s *Switch) Caps() []string { return decoded[[]string](s.core.Caps()) }

// SetState gives every host something to keep; see [Host.State].
func (s *Switch) SetState(state []byte) error { return fromCore(s.core.SetState(state)) }

// StatsJSON answers what goes through it and what was lost, in the shape that every language has.
func (s *Switch) StatsJSON() json.RawMessage { return json.RawMessage(s.core.Stats()) }

// Explain says who waits for whom in the hosts, their cartridges and the callers, which are asked.
// It takes a second at most.
func (s *Switch) Explain(ctx context.Context) (Explanation, error) {
	return explanation(ctx, s.core.ExplainOp())
}

// NextLoss waits until frames were dropped here, or came late, as [Engine.NextLoss] does.
func (s *Switch) NextLoss(ctx context.Context) (Loss, error) { return loss(ctx, s.core.NextLossOp()) }

// ServeControl opens a control socket, as [Engine.ServeControl] does.
func (s *Switch) ServeControl(address string) (*Control, error) {
	return control(s.core.ServeControl(address))
}

// Close ends every connection; every request fails with [ErrClosed]. It does not wait, and a switch may be
// closed again.
func (s *Switch) Close() error { return fromCore(s.core.Close()) }

// Connect attaches to the switch that listens at address, as its caller: the peer stands for all the
// cartridges behind it.
func (e *Engine) Connect(ctx context.Context, address string) (*Peer, error) {
	return connected(ctx, e.core.ConnectOp(address))
}

// HostOptions are a host's settings. Zero values are the defaults.
type HostOptions struct {
	// Engine is how cartridges are run; Stall is not looked at. Its InitialCredit is what the switch
	// is told: a cartridge that takes smaller windows is refused.
	Engine EngineOptions
	// Idle is how long a cartridge may be without a request before it is stopped; the next request
	// starts it again. Default: never.
	Idle time.Duration
}

// A Host offers cartridges to a [Switch]. A cartridge that dies fails its requests with what it wrote
// to standard error, and the next request starts it again. Any number of goroutines may use it.
type Host struct{ core *capi.Host }

// NewHost makes a host without cartridges.
func NewHost(options HostOptions) (*Host, error) {
	core, err := capi.NewHost(options.Engine.core(), millis(max(options.Idle, 0)))
	if err != nil {
		return nil, fromCore(err)
	}
	return &Host{core}, nil
}

// Add offers a cartridge, which is started now to learn what it can do. The errors are those of
// [Engine.Spawn].
func (h *Host) Add(ctx context.Context, command Command) error {
	return finish(ctx, h.core.AddOp(capi.Command(command)))
}

// AddLazy offers a cartridge that is started by the first request for it; manifest and caps say what it
// can do.
func (h *Host) AddLazy(command Command, manifest Manifest, caps ...Cap) error {
	return fromCore(h.core.AddLazy(capi.Command(command), manifest.core(caps)))
}

// Attach offers a cartridge that runs already, over any connection, which the host owns from here on.
func (h *Host) Attach(ctx context.Context, label string, r io.Reader, w io.Writer) error {
	return over(ctx, r, w, func(read, write int) *capi.Op { return h.core.AttachOp(label, read, write) })
}

// Join joins the switch that listens at address, and waits until it has taken the host in.
func (h *Host) Join(ctx context.Context, address string) error {
	return finish(ctx, h.core.JoinAtOp(address))
}

// JoinConn is Join over any connection, which the host owns from here on.
func (h *Host) JoinConn(ctx context.Context, r io.Reader, w io.Writer) error {
	return over(ctx, r, w, h.core.JoinOp)
}

// Retire takes no new requests for the cartridge of this label, its program's name, and stops it once
// it has answered the old ones. It reports whether there is one.
func (h *Host) Retire(label string) bool { return h.core.Retire(label) }

// State answers what the switch gave this host to keep, or nil.
func (h *Host) State() []byte { return h.core.State() }

// StatsJSON answers what goes through it and what was lost, in the shape that every language has.
func (h *Host) StatsJSON() json.RawMessage { return json.RawMessage(h.core.Stats()) }

// Explain says who waits for whom in the cartridges, which are asked. It takes a second at most.
func (h *Host) Explain(ctx context.Context) (Explanation, error) {
	return explanation(ctx, h.core.ExplainOp())
}

// NextLoss waits until frames were dropped here, or came late, as [Engine.NextLoss] does.
func (h *Host) NextLoss(ctx context.Context) (Loss, error) { return loss(ctx, h.core.NextLossOp()) }

// ServeControl opens a control socket, as [Engine.ServeControl] does.
func (h *Host) ServeControl(address string) (*Control, error) {
	return control(h.core.ServeControl(address))
}

// Dead answers why it is no longer connected to its switch, an [*Error], or nil.
func (h *Host) Dead() error { return fromReason(h.core.Dead()) }

// Left waits until it is no longer connected to its switch and answers why, or until ctx ends.
func (h *Host) Left(ctx context.Context) error {
	reason, err := result(ctx, h.core.LeftOp(), (*capi.Op).TakeReason)
	if err != nil {
		return err
	}
	return fromReason(reason)
}

// Close leaves the switch and closes every cartridge. It does not wait, and a host may be closed again.
func (h *Host) Close() error { return fromCore(h.core.Close()) }

func over(ctx context.Context, r io.Reader, w io.Writer, start func(read, write int) *capi.Op) error {
	read, write, err := descriptors(r, w)
	if err != nil {
		return fromCore(toCore(err, ErrIO))
	}
	return finish(ctx, start(read, write))
}
