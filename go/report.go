package sluicegate

import (
	"context"
	"encoding/json"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// EngineStats are what is live and what was lost, by cartridge. The shape is the same in every
// language.
type EngineStats struct {
	Cartridges []ConnectionStats `json:"cartridges"`
	// Memory is what this process holds, in bytes, if that is known.
	Memory *uint64 `json:"memory"`
}

// ConnectionStats are what is live and what was lost on one connection.
type ConnectionStats struct {
	Name string `json:"name"`
	// PID is the process, if the cartridge was spawned: its own end has none. Memory is what the process
	// holds, in bytes, if that is known.
	PID    *int    `json:"pid"`
	Memory *uint64 `json:"memory"`
	// Held is what the connection holds for what is under way.
	Held Held `json:"held"`
	// Requests are those that are live.
	Requests []RequestStats `json:"requests"`
	// Recent are the last 64 that are over, the latest at the end.
	Recent []EndedRequest `json:"recent_terminated"`
	// Registered are all that were let in; those that are not live ended in one of the ways of ByKind.
	Registered uint64            `json:"total_registered"`
	ByKind     map[string]uint64 `json:"terminated_by_kind"`
	// Drops are frames lost because something went wrong.
	Drops Drops `json:"drops"`
	// Stragglers are frames that crossed the end of their request in flight.
	Stragglers Stragglers `json:"stragglers"`
	// Overruns are items that a live source had to discard.
	Overruns uint64 `json:"overruns_total"`
}

// Held is what a connection holds for what is under way, frames, values and events that wait, with what
// that costs; and the most that it may be, by the formula in docs/architecture.md, for what is open now.
type Held struct {
	Bytes uint64 `json:"bytes"`
	Bound uint64 `json:"bound"`
}

// RequestStats are one live request.
type RequestStats struct {
	ID      string          `json:"rid"`
	Cap     string          `json:"cap_urn"`
	Side    string          `json:"side"`  // caller or handler
	Phase   string          `json:"phase"` // created or streaming
	Streams []StreamFigures `json:"streams"`
}

// StreamFigures are one stream of a live request. When nothing moves, Granted is Chunks and
// CreditOutstanding together.
type StreamFigures struct {
	ID        string `json:"stream_id"`
	Direction string `json:"direction"` // in or out
	Chunks    uint64 `json:"chunks"`
	Bytes     uint64 `json:"bytes"`
	// CreditOutstanding is what is left of the window, in chunks; Granted all that it was opened with
	// and that was given since.
	CreditOutstanding uint64 `json:"credit_outstanding"`
	Granted           uint64 `json:"granted"`
	InitialCredit     uint64 `json:"initial_credit"`
	// BlockedMillis is the time it has waited, by cause: credit, room or data.
	BlockedMillis map[string]uint64 `json:"blocked_ms"`
	Unbounded     bool              `json:"unbounded"`
	Ended         bool              `json:"ended"`
	// Feed is the live feed that is served on it, if one is; the guide for C lists its keys.
	Feed json.RawMessage `json:"feed,omitempty"`
}

// An EndedRequest is a request that is over. One that was not let in has no cap, side and lifetime.
type EndedRequest struct {
	RoutingID      *string `json:"xid"`
	ID             string  `json:"rid"`
	Kind           string  `json:"kind"` // end, err, cancelled, master_died, credit_violation or refused
	Cap            *string `json:"cap_urn"`
	Side           *string `json:"side"`
	LifetimeMillis *uint64 `json:"lifetime_ms"`
}

// Drops are frames lost, by reason and by type of frame.
type Drops struct {
	Total             uint64                       `json:"total"`
	ByReason          map[string]uint64            `json:"by_reason"`
	ByReasonFrameType map[string]map[string]uint64 `json:"by_reason_frame_type"`
}

// Stragglers are frames that came after the end of their request, by type of frame.
type Stragglers struct {
	Total       uint64            `json:"total"`
	ByFrameType map[string]uint64 `json:"by_frame_type"`
}

// An Explanation says who waits for whom: what stands still here, and in the processes that were
// asked. Its String is in words, the culprits first.
type Explanation struct {
	Standing []Standing `json:"standing"`
	// Silent are those who gave no answer.
	Silent []string `json:"silent"`
	// Culprits are those of Standing that hold the others up.
	Culprits []Standing `json:"culprits"`
	// Stages are those of the scopes that tell the engine: see Scope.Tell of package flow.
	Stages []StageStanding `json:"stages"`
	text   string
}

// A StageStanding is how one stage of a scope stands. Its figures are in elements.
type StageStanding struct {
	Scope string `json:"scope"`
	Stage string `json:"stage"`
	// Downstream was asked for below and not handed down yet; Upstream was asked for above and has not
	// arrived; Held has arrived and not left.
	Downstream uint64 `json:"downstream"`
	Upstream   uint64 `json:"upstream"`
	Held       uint64 `json:"held"`
	// Passed was handed down so far; Late came after the end and was dropped; Lost was discarded by an
	// overflow strategy.
	Passed uint64 `json:"passed"`
	Late   uint64 `json:"late"`
	Lost   uint64 `json:"lost"`
	// WaitsFor is consumer, source or itself.
	WaitsFor string `json:"waits_for"`
	// Says has it in words.
	Says string `json:"says"`
}

// A Standing is one stream that stands still.
type Standing struct {
	Party   string `json:"party"`
	Request string `json:"request"`
	Cap     string `json:"cap"`
	Side    string `json:"side"` // caller or handler
	Stream  string `json:"stream"`
	// WaitsFor is credit, room, unread, data, queue or pool; a whole request in a queue or waiting for a
	// pool names no stream.
	WaitsFor    string `json:"waits_for"`
	SinceMillis uint64 `json:"since_ms"`
	Chunks      uint64 `json:"chunks"`
	Window      uint64 `json:"window"`
	Unread      uint64 `json:"unread"`
	// Ahead are the requests that wait before it, in a queue or for a pool.
	Ahead uint64 `json:"ahead,omitempty"`
	// Place tells parties of one name apart, Connection is what one is reached by. This process has
	// neither.
	Place      string `json:"place,omitempty"`
	Connection string `json:"connection,omitempty"`
}

// Since is for how long it has stood still.
func (s Standing) Since() time.Duration {
	return time.Duration(min(s.SinceMillis, 1<<40)) * time.Millisecond
}

// ParseExplanation reads an explanation in JSON, as every language and the command writes it.
func ParseExplanation(text []byte) (Explanation, error) {
	x := Explanation{text: string(text)}
	if err := json.Unmarshal(text, &x); err != nil {
		return Explanation{}, &Error{Kind: ErrMalformed, Message: "an explanation is JSON: " + err.Error()}
	}
	return x, nil
}

func explained(text string) Explanation {
	x, _ := ParseExplanation([]byte(text)) // the library's own JSON
	return x
}

// JSON answers the explanation as every language writes it.
func (x Explanation) JSON() json.RawMessage {
	if x.text == "" {
		return json.RawMessage(`{"standing":[],"silent":[],"culprits":[],"stages":[]}`)
	}
	return json.RawMessage(x.text)
}

// String says it in words, the culprits first.
func (x Explanation) String() string {
	text, _ := capi.ExplanationText(string(x.JSON()))
	return text
}

// Of answers what of it is about one request, by the ID of a [Call] or a [Request].
func (x Explanation) Of(request string) Explanation {
	text, _ := capi.ExplanationOf(string(x.JSON()), request)
	return explained(text)
}

func decoded[T any](text string) T {
	var value T
	_ = json.Unmarshal([]byte(text), &value) // the library's own JSON
	return value
}

// Stats answers what is live and what was lost.
func (e *Engine) Stats() EngineStats { return decoded[EngineStats](e.core.Stats()) }

// StatsJSON is Stats as every language writes it.
func (e *Engine) StatsJSON() json.RawMessage { return json.RawMessage(e.core.Stats()) }

// Stats answers what is live and what was lost on this connection.
func (p *Peer) Stats() ConnectionStats { return decoded[ConnectionStats](p.core.Stats()) }

// StatsJSON is Stats as every language writes it.
func (p *Peer) StatsJSON() json.RawMessage { return json.RawMessage(p.core.Stats()) }

// Explain says who waits for whom: here, and in the cartridges, which are asked. It takes a second
// at most; a cartridge that does not answer is named in Silent.
func (e *Engine) Explain(ctx context.Context) (Explanation, error) {
	return explanation(ctx, e.core.ExplainOp())
}

func explanation(ctx context.Context, op *capi.Op) (Explanation, error) {
	text, err := result(ctx, op, (*capi.Op).TakeBytes)
	return explained(string(text)), err
}

// NextStall waits until a stream has stood still for longer than [EngineOptions].Stall, or until ctx
// ends. Each stall is told once, until the stream has moved; 16 are kept, the oldest makes room.
func (e *Engine) NextStall(ctx context.Context) (Explanation, error) {
	return explanation(ctx, e.core.NextStallOp())
}

// A Loss is frames of one type that were lost for one reason since the last notice of them.
type Loss struct {
	// Severity is warning for drops: something went wrong. It is debug for frames that crossed the end of
	// their request in flight, which is benign; their Reason is straggler.
	Severity string `json:"severity"`
	// Party says where they were lost.
	Party     string `json:"party"`
	Reason    string `json:"reason"`
	FrameType string `json:"frame_type"`
	// Count is how many since the last notice, Total how many in all.
	Count uint64 `json:"count"`
	Total uint64 `json:"total"`
}

// NextLoss waits until frames were dropped, or came late, or until ctx ends. There is one notice a second
// at most for each reason and type of frame; 64 are kept, the oldest makes room.
func (e *Engine) NextLoss(ctx context.Context) (Loss, error) { return loss(ctx, e.core.NextLossOp()) }

func loss(ctx context.Context, op *capi.Op) (Loss, error) {
	text, err := result(ctx, op, (*capi.Op).TakeBytes)
	return decoded[Loss](string(text)), err
}

// NextLoss waits until frames were dropped by a cartridge that is being served, or came late, as
// [Engine.NextLoss] does. Notices of all that is served are kept. Register the handlers first.
func (c *Cartridge) NextLoss(ctx context.Context) (Loss, error) {
	core, err := c.made()
	if err != nil {
		return Loss{}, err
	}
	return loss(ctx, core.NextLossOp())
}

// A Control is an open control socket: by it, other processes of the same user ask what this one
// does. Close it, or it closes when it is forgotten.
type Control struct{ core *capi.Control }

func control(core *capi.Control, err *capi.Error) (*Control, error) {
	if err != nil {
		return nil, fromCore(err)
	}
	return &Control{core}, nil
}

// ServeControl opens a control socket at address, unix:PATH or a path with a slash. The empty one is
// where `sluicegate explain PID` and `sluicegate top PID` look for this process.
func (e *Engine) ServeControl(address string) (*Control, error) {
	return control(e.core.ServeControl(address))
}

// Address answers where it listens.
func (c *Control) Address() string { return c.core.Address() }

// Close closes it. Closing it again is harmless.
func (c *Control) Close() error { return fromCore(c.core.Close()) }

// AskExplain asks a running process who waits for whom. target is a process id in digits, or where its
// control socket is.
func AskExplain(ctx context.Context, target string) (Explanation, error) {
	text, err := result(ctx, capi.AskOp(target, "explain"), (*capi.Op).TakeBytes)
	if err != nil {
		return Explanation{}, err
	}
	return ParseExplanation(text)
}

// AskStats asks a running process what is live and what was lost. Its shape depends on what the
// process is: an engine's is [EngineStats].
func AskStats(ctx context.Context, target string) (json.RawMessage, error) {
	text, err := result(ctx, capi.AskOp(target, "stats"), (*capi.Op).TakeBytes)
	return json.RawMessage(text), err
}

// ServeControl opens a control socket whenever the cartridge serves, until its host is gone: at address,
// or at this process's own place if that is empty. Call it before Main or Serve; a cartridge whose
// place is taken does not serve.
func (c *Cartridge) ServeControl(address string) { c.control = &address }

// Stats answers what is live and what was lost between a cartridge and its host. It reports false
// unless the cartridge is being served.
func (c *Cartridge) Stats() (ConnectionStats, bool) {
	session := c.session.Load()
	if session == nil {
		return ConnectionStats{}, false
	}
	return decoded[ConnectionStats](session.Stats()), true
}

// StatsJSON is Stats as every language writes it; nil unless the cartridge is being served.
func (c *Cartridge) StatsJSON() json.RawMessage {
	session := c.session.Load()
	if session == nil {
		return nil
	}
	return json.RawMessage(session.Stats())
}

// Explain says what stands still in a cartridge that is being served. It asks nobody.
func (c *Cartridge) Explain() Explanation {
	session := c.session.Load()
	if session == nil {
		return Explanation{}
	}
	return explained(session.Explain())
}

// A TraceFormat says how a frame is written down.
type TraceFormat bool

// The formats of a trace: lines for people, or a JSON object a line.
const (
	TraceText TraceFormat = false
	TraceJSON TraceFormat = true
)

// Trace writes down every frame that this process sends and receives, to a file, which is appended to,
// or to "stderr", as SLUICEGATE_TRACE in the environment does: lengths and keys, no payloads. A link
// never waits for it; what finds no room is left out and counted. Call it before the first frame,
// once.
func Trace(place string, format TraceFormat) error { return fromCore(capi.Trace(place, bool(format))) }
