package flowtest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// variable says which schedule to run again.
const variable = "SLUICEGATE_SEED"

// A Seed is what a test draws its schedule and its faults from. The zero value is a seed like any other.
type Seed uint64

// NewSeed answers the seed that SLUICEGATE_SEED in the environment says, in decimal, or one of its own.
// A test that fails logs how to run the same schedule again. It fails the test if the variable holds
// something that is no number: a schedule that was asked for is not replaced by another.
func NewSeed(t testing.TB) Seed {
	t.Helper()
	seed := rand.Uint64()
	if text, set := os.LookupEnv(variable); set {
		said, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
		if err != nil {
			t.Fatalf("%s=%q is no seed: %v", variable, text, err)
		}
		seed = said
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("this schedule again: %s=%d", variable, seed)
		}
	})
	return Seed(seed)
}

// Fork answers a seed of its own for what: the same each time, and nothing like that of another name.
func (s Seed) Fork(what string) Seed {
	numbers := dice(s)
	for _, b := range []byte(what) {
		numbers = dice(numbers.roll() ^ uint64(b))
	}
	return Seed(numbers.roll())
}

// dice are a small generator (splitmix64), not for secrets; the same numbers as in every language.
type dice uint64

func (d *dice) roll() uint64 {
	*d += 0x9e37_79b9_7f4a_7c15
	z := uint64(*d)
	z = (z ^ (z >> 30)) * 0xbf58_476d_1ce4_e5b9
	z = (z ^ (z >> 27)) * 0x94d0_49bb_1331_11eb
	return z ^ (z >> 31)
}

// upTo answers a number from 0 to most.
func (d *dice) upTo(most uint64) uint64 {
	if most == 1<<64-1 {
		return d.roll()
	}
	return d.roll() % (most + 1)
}
