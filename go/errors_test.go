package sluicegate_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/sluicegate/sluicegate/go"
)

var kinds = []sluicegate.Kind{
	sluicegate.ErrTimedOut, sluicegate.ErrClosed, sluicegate.ErrEndOfStream, sluicegate.ErrCancelled,
	sluicegate.ErrCreditViolation, sluicegate.ErrPeerDied, sluicegate.ErrInvalidArgument,
	sluicegate.ErrFrameTooLarge, sluicegate.ErrMalformed, sluicegate.ErrProtocol,
	sluicegate.ErrHandshake, sluicegate.ErrChecksum, sluicegate.ErrUnbounded, sluicegate.ErrRemote,
	sluicegate.ErrIO, sluicegate.ErrSpawn, sluicegate.ErrForked, sluicegate.ErrBroken,
	sluicegate.ErrPanic, sluicegate.ErrNoHandler, sluicegate.ErrLimitReached, sluicegate.ErrWrongMode,
	sluicegate.ErrFeedOverrun, sluicegate.ErrBufferOverflow, sluicegate.ErrStageFailed,
	sluicegate.ErrAlreadySubscribed, sluicegate.ErrScopeShutDown, sluicegate.ErrPlanRefused,
}

// Every kind of the library's table has its sentinel here: a kind added there fails this test.
func TestEveryKindHasASentinel(t *testing.T) {
	known := map[sluicegate.Kind]bool{}
	for _, kind := range kinds {
		known[kind] = true
		if kind.String() == "Unknown" {
			t.Errorf("kind %d is not in the library's table", int32(kind))
		}
	}
	for number := sluicegate.Kind(2); number < 200; number++ {
		if name := number.String(); name != "Unknown" && !known[number] {
			t.Errorf("kind %d (%s) has no sentinel", int32(number), name)
		}
	}
	if got := sluicegate.ErrCreditViolation.String() + " " + sluicegate.ErrCreditViolation.Code(); got != "CreditViolation CREDIT_VIOLATION" {
		t.Error(got)
	}
}

func TestErrorsAreComparedByKind(t *testing.T) {
	err := fmt.Errorf("call: %w", &sluicegate.Error{Kind: sluicegate.ErrPeerDied, Message: "exit status 1"})
	if !errors.Is(err, sluicegate.ErrPeerDied) || errors.Is(err, sluicegate.ErrClosed) || errors.Is(err, io.EOF) {
		t.Errorf("%v is compared wrongly", err)
	}
	if got := err.Error(); got != "call: PeerDied: exit status 1" {
		t.Error(got)
	}
}

// An error that travels through a gate arrives as it was.
func TestReasonsTravel(t *testing.T) {
	for _, test := range []struct {
		reason error
		want   sluicegate.Error
	}{
		{sluicegate.ErrLimitReached, sluicegate.Error{Kind: sluicegate.ErrLimitReached, Code: "LIMIT_REACHED", Class: "resource", Message: sluicegate.ErrLimitReached.Error()}},
		{context.Canceled, sluicegate.Error{Kind: sluicegate.ErrCancelled, Code: "CANCELLED", Class: "user", Message: "context canceled"}},
		{errors.New("caf\xff"), sluicegate.Error{Kind: sluicegate.ErrClosed, Code: "CLOSED", Class: "environment", Message: "caf\uFFFD"}},
		{
			fmt.Errorf("outer: %w", &sluicegate.Error{Kind: sluicegate.ErrRemote, Code: "X", Class: sluicegate.ClassInput, Message: "m"}),
			sluicegate.Error{Kind: sluicegate.ErrRemote, Code: "X", Class: "input", Message: "outer: X: m"},
		},
	} {
		gate := sluicegate.NewGate(0)
		gate.CloseWith(test.reason)
		var got *sluicegate.Error
		if !errors.As(gate.Reason(), &got) || *got != test.want {
			t.Errorf("%v: got %+v, want %+v", test.reason, got, test.want)
		}
	}
}

func TestANameThatIsNotUTF8IsRefused(t *testing.T) {
	router := sluicegate.NewRouter()
	err := router.Register("r", sluicegate.Named("\xff"), sluicegate.NewGate(0))
	if !errors.Is(err, sluicegate.ErrInvalidArgument) {
		t.Errorf("got %v", err)
	}
	if got := router.Grant("r", sluicegate.Named("\xff"), 1); got == sluicegate.Granted {
		t.Errorf("got %s", got)
	}
	if err := router.Register("\xff\x00", sluicegate.Named(""), sluicegate.NewGate(0)); err != nil {
		t.Errorf("a request is any bytes: %v", err)
	}
}
