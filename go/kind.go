package sluicegate

import "github.com/sluicegate/sluicegate/go/internal/capi"

// A Kind says in one word what went wrong. Its number, name and code are the same in every
// language of Sluicegate. A Kind is an error too: it is what [errors.Is] compares with.
type Kind int32

// The kinds of errors. Compare with [errors.Is]:
//
//	if errors.Is(err, sluicegate.ErrClosed) { … }
const (
	// ErrTimedOut: a limit passed: of a wait, which took nothing, or of a whole call or stream, now
	// ended. The error is [context.DeadlineExceeded] too.
	ErrTimedOut = Kind(capi.TimedOut)
	// ErrClosed: the gate, stream or request was closed; the reason says why.
	ErrClosed = Kind(capi.Closed)
	// ErrEndOfStream: the stream ended as it should. Calls answer [io.EOF] instead.
	ErrEndOfStream = Kind(capi.EndOfStream)
	// ErrCancelled: the request was cancelled.
	ErrCancelled = Kind(capi.Cancelled)
	// ErrCreditViolation: a chunk came that no credit had been granted for (L12).
	ErrCreditViolation = Kind(capi.CreditViolation)
	// ErrPeerDied: the process or connection at the other end is gone.
	ErrPeerDied = Kind(capi.PeerDied)
	// ErrInvalidArgument: an argument is outside what the call takes.
	ErrInvalidArgument = Kind(capi.InvalidArgument)
	// ErrFrameTooLarge: a frame is larger than the limit of the link.
	ErrFrameTooLarge = Kind(capi.FrameTooLarge)
	// ErrMalformed: bytes that are not a frame, or a value that is not CBOR.
	ErrMalformed = Kind(capi.Malformed)
	// ErrProtocol: a well-formed frame where the protocol does not allow it.
	ErrProtocol = Kind(capi.Protocol)
	// ErrHandshake: the two ends could not agree on version, limits or identity.
	ErrHandshake = Kind(capi.Handshake)
	// ErrChecksum: a chunk's bytes do not match its checksum.
	ErrChecksum = Kind(capi.Checksum)
	// ErrUnbounded: a call that collects a whole stream met one without end (L16).
	ErrUnbounded = Kind(capi.Unbounded)
	// ErrRemote: the other end failed the request; code, class and message are its own.
	ErrRemote = Kind(capi.Remote)
	// ErrIO: the operating system refused a read, a write or a start.
	ErrIO = Kind(capi.IO)
	// ErrSpawn: the cartridge could not be started.
	ErrSpawn = Kind(capi.Spawn)
	// ErrForked: the handle was made before a fork and is used in the child.
	ErrForked = Kind(capi.Forked)
	// ErrBroken: an earlier panic left the object in an unknown state.
	ErrBroken = Kind(capi.Broken)
	// ErrPanic: the library panicked; the call had no effect that can be relied on.
	ErrPanic = Kind(capi.Panic)
	// ErrNoHandler: nobody serves this cap.
	ErrNoHandler = Kind(capi.NoHandler)
	// ErrLimitReached: a stated bound was reached: item size, queued control frames, open requests.
	ErrLimitReached = Kind(capi.LimitReached)
	// ErrWrongMode: scalar and sequence calls were mixed on one stream.
	ErrWrongMode = Kind(capi.WrongMode)
	// ErrFeedOverrun: the live feed's ring was full and its policy is to fail rather than to drop.
	ErrFeedOverrun = Kind(capi.FeedOverrun)
	// ErrBufferOverflow: a bounded queue between two stages was full and its strategy is to fail.
	ErrBufferOverflow = Kind(capi.BufferOverflow)
	// ErrStageFailed: a user's function in a stage failed or panicked.
	ErrStageFailed = Kind(capi.StageFailed)
	// ErrAlreadySubscribed: a stage that takes one subscriber has one already.
	ErrAlreadySubscribed = Kind(capi.AlreadySubscribed)
	// ErrScopeShutDown: the scope was shut down: it runs nothing more.
	ErrScopeShutDown = Kind(capi.ScopeShutDown)
	// ErrPlanRefused: the plan of stages could lock up, or cannot do what it says.
	ErrPlanRefused = Kind(capi.PlanRefused)
)
