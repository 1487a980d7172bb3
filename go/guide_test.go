package sluicegate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The programs of the guide are built and run as they stand there: the host runs the cartridge.
func TestTheGuidesPrograms(t *testing.T) {
	guide, err := os.ReadFile("../docs/guide-go.md")
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, block := range regexp.MustCompile("(?s)```go\n(package main\n.*?)```").FindAllSubmatch(guide, -1) {
		programs = append(programs, build(t, block[1]))
	}
	if len(programs) != 2 {
		t.Fatalf("the guide has %d programs, not a cartridge and a host", len(programs))
	}
	host := exec.CommandContext(guarded(t), programs[1], programs[0])
	host.Stdin = strings.NewReader("as it stands there")
	host.Stderr = os.Stderr
	if out, err := host.Output(); err != nil || string(out) != "AS IT STANDS THERE" {
		t.Errorf("got %q, %v", out, err)
	}
}

// build builds a program in a module of its own.
func build(t *testing.T, source []byte) string {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile("go.sum")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, content := range map[string][]byte{
		"main.go": source,
		"go.sum":  sums,
		"go.mod": []byte("module guide\n\ngo 1.24\n\nrequire github.com/sluicegate/sluicegate/go v0.0.0\n\n" +
			"replace github.com/sluicegate/sluicegate/go => " + here + "\n"),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(folder, "program")
	command := exec.Command("go", "build", "-mod=mod", "-o", program, ".")
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
