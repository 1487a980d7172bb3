package sluicegate

import (
	"errors"
	"strings"
	"testing"
)

// HZ-F10: a panic in the library is an error or a panic here, which can be recovered from, and leaves
// only its own object unusable.
func TestAPanicInTheLibraryStaysThere(t *testing.T) {
	broken, whole := NewRouter(), NewRouter()
	if err := fromCore(broken.core.DebugPanic()); !errors.Is(err, ErrPanic) {
		t.Errorf("the panic answers %v", err)
	}
	if err := broken.Register("r", Unnamed, NewGate(0)); !errors.Is(err, ErrBroken) {
		t.Errorf("registering answers %v", err)
	}
	for name, use := range map[string]func(){
		"Grant":        func() { broken.Grant("r", Unnamed, 1) },
		"Unregister":   func() { broken.Unregister("r", Unnamed) },
		"CloseRequest": func() { broken.CloseRequest("r", "END") },
		"CloseAll":     func() { broken.CloseAll("END") },
		"Len":          func() { broken.Len() },
	} {
		if got := panicOf(use); !strings.HasPrefix(got, "sluicegate: BROKEN") {
			t.Errorf("%s of a broken router panics with %q", name, got)
		}
	}
	gate := NewGate(0)
	if err := whole.Register("r", Unnamed, gate); err != nil || whole.Grant("r", Unnamed, 1) != Granted || gate.Available() != 1 {
		t.Errorf("another router is harmed: %v", err)
	}
}

func panicOf(use func()) (text string) {
	defer func() { text, _ = recover().(string) }()
	use()
	return ""
}
