package sluicegate_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/sluicegate/sluicegate/go"
)

func TestACartridgeSpeaksTheVersionOfItsEngine(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []uint32{0, 4, 5, 6} {
		ctx := guarded(t)
		engine, err := sluicegate.NewEngine(sluicegate.EngineOptions{Protocol: protocol})
		if err != nil {
			t.Fatal(err)
		}
		peer, err := engine.Spawn(ctx, sluicegate.Command{
			Program: self, Env: []string{"SLUICEGATE_TEST_CARTRIDGE=serve"},
		})
		if err != nil {
			t.Fatalf("version %d: %v", protocol, err)
		}
		if got := len(peer.Caps()); got == 0 {
			t.Fatalf("version %d: no caps", protocol)
		}
		if err := engine.Close(); err != nil {
			t.Fatal(err)
		}
	}
	_, err = sluicegate.NewEngine(sluicegate.EngineOptions{Protocol: 3})
	if !errors.Is(err, sluicegate.ErrInvalidArgument) || !strings.Contains(err.Error(), "4, 5 or 6") {
		t.Fatalf("version 3: %v", err)
	}
}
