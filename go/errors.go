package sluicegate

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// A Class says whose fault an error is, as it travels on the wire.
type Class string

// The classes of errors.
const (
	ClassInput       Class = "input"       // the caller's data
	ClassResource    Class = "resource"    // memory, disk, a limit or a pool
	ClassEnvironment Class = "environment" // what stands around the program: a missing handler, a dead process
	ClassInternal    Class = "internal"    // the program itself
	ClassUser        Class = "user"        // a person asked for it
)

// Error is what every failing call of this package answers, apart from [io.EOF] at a clean end and
// a context's own error. Get at it with [errors.As]; compare its kind with [errors.Is].
type Error struct {
	// Kind says in one word what went wrong.
	Kind Kind
	// Code is what travels on the wire, for example CREDIT_VIOLATION, or the text a gate was
	// closed with. Empty means the kind's own code, except as the reason of a closed gate, where
	// the empty text is a reason like any other.
	Code string
	// Class says whose fault it is. Empty means the kind's own class.
	Class Class
	// Message is the sentence for a person.
	Message string

	cause error
}

// Error implements error: code and message, or the name of the kind where both are empty.
func (e *Error) Error() string {
	switch {
	case e.Code == "" && e.Message == "":
		return e.Kind.String()
	case e.Message == "":
		return e.Code
	case e.Code == "":
		return e.Kind.String() + ": " + e.Message
	}
	return e.Code + ": " + e.Message
}

// Is reports whether target is this error's [Kind]. A limit that has passed is a
// [context.DeadlineExceeded] too, whoever looked after it.
func (e *Error) Is(target error) bool {
	if target == context.DeadlineExceeded {
		return e.Kind == ErrTimedOut
	}
	kind, ok := target.(Kind)
	return ok && kind == e.Kind
}

// Unwrap answers what caused this error in this process, if anything did.
func (e *Error) Unwrap() error { return e.cause }

// String answers the name of the kind, for example "CreditViolation".
func (k Kind) String() string { return capi.KindName(int32(k)) }

// Code answers the code that stands for this kind on the wire, for example "CREDIT_VIOLATION".
func (k Kind) Code() string { return capi.KindCode(int32(k)) }

// Error implements error: one sentence about the kind.
func (k Kind) Error() string { return "sluicegate: " + capi.KindText(int32(k)) }

// fromReason is the reason that core answered for something closed, or nil.
func fromReason(e *capi.Error) error {
	if e == nil {
		return nil
	}
	return reasonFromCore(e)
}

// fromCore is the error that core answered, in this package's terms.
func fromCore(e *capi.Error) error {
	if e == nil {
		return nil
	}
	if Kind(e.Status) == ErrEndOfStream {
		return io.EOF
	}
	return reasonFromCore(e)
}

// reasonFromCore is the same for the reason that something ended, where an end of stream is nothing
// special.
func reasonFromCore(e *capi.Error) *Error {
	return &Error{Kind: Kind(e.Status), Code: e.Code, Class: Class(e.Class), Message: e.Message}
}

// toCore is how err travels to core: as it is if it is an [*Error], as the kind that a context's
// error means, else as otherwise with the text of err.
func toCore(err error, otherwise Kind) *capi.Error {
	if known := (*Error)(nil); errors.As(err, &known) {
		message := known.Message
		if text := err.Error(); text != known.Error() {
			message = text // something was wrapped round it: keep what that says
		}
		return &capi.Error{Status: int32(known.Kind), Code: valid(known.Code), Class: string(known.Class), Message: valid(message)}
	}
	kind := otherwise
	if known := Kind(0); errors.As(err, &known) {
		kind = known
	} else if errors.Is(err, context.DeadlineExceeded) {
		kind = ErrTimedOut
	} else if errors.Is(err, context.Canceled) {
		kind = ErrCancelled
	}
	return &capi.Error{Status: int32(kind), Message: valid(err.Error())}
}

// valid makes a text for people fit for the wire, which takes UTF-8 only.
func valid(text string) string { return strings.ToValidUTF8(text, "\uFFFD") }

// contextError is the error of a wait that ended because ctx did.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		if cause != err {
			err = errors.Join(err, cause)
		}
		return &Error{Kind: ErrTimedOut, Code: ErrTimedOut.Code(), Class: ClassResource, Message: err.Error(), cause: err}
	}
	if cause == err {
		return err
	}
	return &endedContext{err: err, cause: cause}
}

// endedContext is a cancelled context with a cause of its own.
type endedContext struct{ err, cause error }

func (e *endedContext) Error() string   { return e.err.Error() + ": " + e.cause.Error() }
func (e *endedContext) Unwrap() []error { return []error{e.err, e.cause} }
