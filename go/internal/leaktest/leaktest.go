// Package leaktest fails a package's tests that leave something behind: a goroutine of this module, or
// anything that the library holds for it.
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

// limit is how long what is left may take to go: handlers have 5 s after their host is gone.
const limit = 3 * time.Minute

const module = "github.com/sluicegate/sluicegate/go"

// Main runs the tests of a package and answers the status to exit with.
func Main(m *testing.M) int {
	if status := m.Run(); status != 0 {
		return status
	}
	var left string
	for end := time.Now().Add(limit); time.Now().Before(end); runtime.Gosched() {
		runtime.GC() // what nobody knows any more goes with its clean-up
		if left = Left(); left == "" {
			return 0
		}
	}
	fmt.Fprintf(os.Stderr, "the tests passed, and left behind:\n%s\n", left)
	return 1
}

// Left answers what there is now, or nothing.
func Left() string {
	var left []string
	for what, n := range map[string]int{
		"handles of the library":          int(capi.LiveHandles()),
		"bells of those who wait":         capi.Bells(),
		"Go values in the library's hand": capi.Values(),
	} {
		if n != 0 {
			left = append(left, fmt.Sprintf("%d %s", n, what))
		}
	}
	return strings.Join(append(left, goroutines()...), "\n")
}

// goroutines answers the stacks of those that run this module's code, this one apart.
func goroutines() []string {
	stacks := make([]byte, 1<<20)
	for {
		n := runtime.Stack(stacks, true)
		if n < len(stacks) {
			stacks = stacks[:n]
			break
		}
		stacks = make([]byte, 2*len(stacks))
	}
	var ours []string
	for _, stack := range strings.Split(string(stacks), "\n\n")[1:] { // the first is this one
		if strings.Contains(stack, module) {
			ours = append(ours, stack)
		}
	}
	return ours
}
