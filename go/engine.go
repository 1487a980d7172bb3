package sluicegate

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A NetworkPolicy is what an engine allows its cartridges.
type NetworkPolicy uint8

// The network policies. The zero value is the engine's default.
const (
	PolicyDefault     = NetworkPolicy(capi.PolicyDefault)
	PolicyOffline     = NetworkPolicy(capi.PolicyOffline)
	PolicyNoTelemetry = NetworkPolicy(capi.PolicyNoTelemetry)
	PolicyFull        = NetworkPolicy(capi.PolicyFull)
)

// EngineOptions are an engine's settings. Zero values are the defaults.
type EngineOptions struct {
	// Limits are what the engine proposes to each cartridge.
	Limits Limits
	// HandshakeTimeout bounds the start of a cartridge. Default 10 s.
	HandshakeTimeout time.Duration
	// Policy is told to each cartridge.
	Policy NetworkPolicy
	// MaxItem is the largest item of a sequence that is put together, in bytes.
	MaxItem uint64
	// Heartbeat is how often each cartridge is asked whether it lives. Default 30 s; negative: never.
	Heartbeat time.Duration
	// Patience is how long it may take to answer before it is taken for dead and killed. Default 10 s;
	// negative: as long as it likes.
	Patience time.Duration
	// Stall is how long a stream may stand still before [Engine.NextStall] tells of it. Default: no
	// notices.
	Stall time.Duration
	// QuietLosses keeps warnings of what was lost from stderr. [Engine.NextLoss] has them all the same.
	QuietLosses bool
	// PeerCalls lets a cartridge call the caps of the cartridges of this engine, its own included.
	// Otherwise such calls are refused with [ErrNoHandler].
	PeerCalls bool
	// Protocol is the version of the protocol that cartridges are spoken to in: 4, 5 or 6. Default 6.
	Protocol uint32
}

func (o EngineOptions) core() capi.EngineOptions {
	return capi.EngineOptions{
		Policy:                 int32(o.Policy),
		Limits:                 o.Limits.core(),
		HandshakeTimeoutMillis: millis(max(o.HandshakeTimeout, 0)),
		MaxItem:                o.MaxItem,
		HeartbeatMillis:        millis(o.Heartbeat),
		PatienceMillis:         millis(o.Patience),
		StallMillis:            millis(o.Stall),
		QuietLosses:            o.QuietLosses,
		PeerCalls:              o.PeerCalls,
		Protocol:               o.Protocol,
	}
}

// An Engine is a host: it starts or attaches cartridges and calls them. Any number of goroutines
// may use it.
type Engine struct{ core *capi.Engine }

// NewEngine makes an engine.
func NewEngine(options EngineOptions) (*Engine, error) {
	core, err := capi.NewEngine(options.core())
	if err != nil {
		return nil, fromCore(err)
	}
	return &Engine{core}, nil
}

// A Command is a program to start.
type Command struct {
	// Program is a path, or a name to look for in PATH.
	Program string
	// Args follow the program's name.
	Args []string
	// Env are variables as NAME=VALUE, on top of this process's own.
	Env []string
	// Unset are names of variables that the program does not inherit.
	Unset []string
	// Dir is where it starts; empty means where this process is.
	Dir string
}

// Spawn starts a cartridge and shakes hands, waiting for that until ctx ends or the engine's
// HandshakeTimeout has passed. The error of one that does not start names the program, what it did
// and what it wrote to standard error.
func (e *Engine) Spawn(ctx context.Context, command Command) (*Peer, error) {
	return connected(ctx, e.core.SpawnOp(capi.Command(command)))
}

// Attach connects a cartridge over any connection and shakes hands, waiting for that as Spawn does.
// The engine owns both ends: they are closed, where they can be, once the connection is over.
func (e *Engine) Attach(ctx context.Context, r io.Reader, w io.Writer) (*Peer, error) {
	read, write, err := descriptors(r, w)
	if err != nil {
		return nil, fromCore(toCore(err, ErrIO))
	}
	return connected(ctx, e.core.AttachOp(read, write))
}

// Close ends every peer and waits until all are gone: calls fail, processes that do not leave within
// 2 s are killed. An engine may be closed again, and by several goroutines at once.
func (e *Engine) Close() error { return finish(context.Background(), e.core.CloseOp()) }

// connected waits for a peer. One that comes after the end of ctx is closed.
func connected(ctx context.Context, op *capi.Op) (*Peer, error) {
	peer, err := result(ctx, op, (*capi.Op).TakePeer)
	if err != nil {
		return nil, err
	}
	return &Peer{peer}, nil
}

// A Peer is a cartridge that is connected to an engine. Any number of goroutines may use it.
type Peer struct{ core *capi.Peer }

// A CapInfo is a cap that a peer offers.
type CapInfo struct {
	URN, Title              string
	InMedia, OutMedia       string
	InSequence, OutSequence bool
}

// Name answers the command or transport that the cartridge runs on, for people.
func (p *Peer) Name() string { return p.core.Name() }

// ManifestJSON answers the cartridge's manifest as it sent it.
func (p *Peer) ManifestJSON() string { return p.core.ManifestJSON() }

// Caps answers what the cartridge offers.
func (p *Peer) Caps() []CapInfo {
	var caps []CapInfo
	for _, c := range p.core.Caps() {
		caps = append(caps, CapInfo(c))
	}
	return caps
}

// Limits answers what was agreed on.
func (p *Peer) Limits() Limits { return limitsFromCore(p.core.Limits()) }

// Call begins a call of a cap. It does not wait for the cartridge. If ctx ends before the call does,
// the call is cancelled: every wait of it ends, for credit too and with any other context, and the
// cartridge is told. So the deadline of ctx is the limit of the whole call; past it the call fails with
// [ErrTimedOut] and code DEADLINE_EXCEEDED, and says what stood still.
func (p *Peer) Call(ctx context.Context, cap string) (*Call, error) {
	call, err := p.core.Call(cap)
	if err != nil {
		return nil, fromCore(err)
	}
	return newCall(ctx, call), nil
}

// PID answers the process id of a cartridge that was spawned, else 0.
func (p *Peer) PID() int { return p.core.PID() }

// StderrTail answers the last that the cartridge wrote to standard error.
func (p *Peer) StderrTail() string { return p.core.StderrTail() }

// Dead answers why the peer is gone, an [*Error], or nil while it lives.
func (p *Peer) Dead() error { return fromReason(p.core.Dead()) }

// PeakMemory answers the most memory the cartridge's process has held so far, in bytes, or 0 if
// that is not known.
func (p *Peer) PeakMemory() uint64 { return p.core.PeakMemory() }

// Close closes the connection and waits for the process, up to 2 s, before it kills it; or until
// ctx ends.
func (p *Peer) Close(ctx context.Context) error { return finish(ctx, p.core.CloseOp()) }

// Kill ends the process at once. Its calls fail with [ErrPeerDied].
func (p *Peer) Kill() { p.core.Kill() }

// String answers the name and, where there is one, the process.
func (p *Peer) String() string {
	if pid := p.PID(); pid != 0 {
		return fmt.Sprintf("%s (process %d)", p.Name(), pid)
	}
	return p.Name()
}
