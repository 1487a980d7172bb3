package capi

/*
#include "shim.h"
*/
import "C"

// The numbers of the error kinds, from the header.
const (
	TimedOut          = C.SLUICE_TIMED_OUT
	Closed            = C.SLUICE_CLOSED
	EndOfStream       = C.SLUICE_END_OF_STREAM
	Cancelled         = C.SLUICE_CANCELLED
	CreditViolation   = C.SLUICE_CREDIT_VIOLATION
	PeerDied          = C.SLUICE_PEER_DIED
	InvalidArgument   = C.SLUICE_INVALID_ARGUMENT
	FrameTooLarge     = C.SLUICE_FRAME_TOO_LARGE
	Malformed         = C.SLUICE_MALFORMED
	Protocol          = C.SLUICE_PROTOCOL
	Handshake         = C.SLUICE_HANDSHAKE
	Checksum          = C.SLUICE_CHECKSUM
	Unbounded         = C.SLUICE_UNBOUNDED
	Remote            = C.SLUICE_REMOTE
	IO                = C.SLUICE_IO
	Spawn             = C.SLUICE_SPAWN
	Forked            = C.SLUICE_FORKED
	Broken            = C.SLUICE_BROKEN
	Panic             = C.SLUICE_PANIC
	NoHandler         = C.SLUICE_NO_HANDLER
	LimitReached      = C.SLUICE_LIMIT_REACHED
	WrongMode         = C.SLUICE_WRONG_MODE
	FeedOverrun       = C.SLUICE_FEED_OVERRUN
	BufferOverflow    = C.SLUICE_BUFFER_OVERFLOW
	StageFailed       = C.SLUICE_STAGE_FAILED
	AlreadySubscribed = C.SLUICE_ALREADY_SUBSCRIBED
	ScopeShutDown     = C.SLUICE_SCOPE_SHUT_DOWN
	PlanRefused       = C.SLUICE_PLAN_REFUSED
)

// An Error is what the library says about a failed call or the end of something.
type Error struct {
	Status               int32
	Code, Class, Message string
}

// KindName answers the name of a kind, for example "CreditViolation".
func KindName(kind int32) string { return C.GoString(C.sluice_status_name(C.int32_t(kind))) }

// KindCode answers the code of a kind on the wire.
func KindCode(kind int32) string { return C.GoString(C.sluice_status_code(C.int32_t(kind))) }

// KindText answers one sentence about a kind.
func KindText(kind int32) string { return C.GoString(C.sluice_status_text(C.int32_t(kind))) }

// failed answers what a status other than OK and WAIT says, and lets go of the detail.
func failed(status C.sluice_status, detail *C.sluice_error) *Error {
	if status == C.SLUICE_OK || status == C.SLUICE_WAIT {
		return nil
	}
	if detail != nil {
		return takeError(detail)
	}
	kind := int32(status)
	return &Error{Status: kind, Code: KindCode(kind), Message: KindText(kind)}
}

// takeError copies an error of the library and releases it. NULL is nil.
func takeError(e *C.sluice_error) *Error {
	if e == nil {
		return nil
	}
	defer C.sluice_error_release(e)
	return readError(e)
}

// readError copies an error that stays the library's.
func readError(e *C.sluice_error) *Error {
	var (
		kind          C.sluice_status
		class         C.sluice_class
		code, message *C.char
		codeLen, len  C.size_t
	)
	C.sluice_error_kind(e, &kind)
	C.sluice_error_class(e, &class)
	C.sluice_error_code(e, &code, &codeLen)
	C.sluice_error_message(e, &message, &len)
	return &Error{Status: int32(kind), Code: goText(code, codeLen), Class: goClass(class), Message: goText(message, len)}
}

// cError makes an error of the library; the caller releases it. An empty code is the kind's own.
func cError(e *Error) *C.sluice_error {
	code, codeLen := textOrNull(e.Code)
	message, messageLen := text(e.Message)
	var out *C.sluice_error
	C.sluice_error_new(C.int32_t(e.Status), code, codeLen, cClass(e.Class), message, messageLen, &out)
	return out
}

var classes = map[string]C.int32_t{
	"input":       C.SLUICE_CLASS_INPUT,
	"resource":    C.SLUICE_CLASS_RESOURCE,
	"environment": C.SLUICE_CLASS_ENVIRONMENT,
	"internal":    C.SLUICE_CLASS_INTERNAL,
	"user":        C.SLUICE_CLASS_USER,
}

// cClass answers the number of a class; an empty or unknown text is the kind's own class.
func cClass(name string) C.int32_t { return classes[name] }

func goClass(class C.sluice_class) string {
	for name, number := range classes {
		if number == C.int32_t(class) {
			return name
		}
	}
	return ""
}
