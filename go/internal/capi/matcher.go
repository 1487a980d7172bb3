package capi

/*
#include "sluicegate.h"
*/
import "C"

import (
	"fmt"
	"os"
	"runtime/cgo"
	"runtime/debug"
)

// sluicegateServes asks a matcher, on any thread of the library. One that panics says no.
//
//export sluicegateServes
func sluicegateServes(handle C.uintptr_t, offered *C.char, offeredLen C.size_t, asked *C.char, askedLen C.size_t) (serves C.bool) {
	defer func() {
		if panicked := recover(); panicked != nil {
			fmt.Fprintf(os.Stderr, "panic in the matcher of a switch: %v\n%s", panicked, debug.Stack())
			serves = false
		}
	}()
	matcher := cgo.Handle(handle).Value().(func(offered, asked string) bool)
	return C.bool(matcher(goText(offered, offeredLen), goText(asked, askedLen)))
}

// sluicegateLetGo is called by the library, once for each matcher.
//
//export sluicegateLetGo
func sluicegateLetGo(handle C.uintptr_t) { cgo.Handle(handle).Delete() }
