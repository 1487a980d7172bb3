package sluicegate

import "github.com/sluicegate/sluicegate/go/internal/capi"

// Limits are what the two ends of a connection agree on: of each number the smaller. Zero asks for
// the default.
type Limits struct {
	// MaxFrame is the largest frame, in bytes. Default 3 670 016; never above 16 777 216.
	MaxFrame uint64
	// MaxChunk is the most application data in a chunk, in bytes. Default 262 144.
	MaxChunk uint64
	// MaxReorderBuffer is how many frames a relay holds to put a flow in order. Default 64.
	MaxReorderBuffer uint64
	// InitialCredit is the window of each stream, in chunks. Default 32.
	InitialCredit uint64
}

func limitsFromCore(l capi.Limits) Limits { return Limits(l) }
func (l Limits) core() capi.Limits        { return capi.Limits(l) }
