package capi

/*
#include <stdint.h>
*/
import "C"

import "runtime/cgo"

// sluicegateRing is called by the library, at most once a bell, on any thread. It never waits.
//
//export sluicegateRing
func sluicegateRing(handle C.uintptr_t) {
	b := cgo.Handle(handle).Value().(*bell)
	if b.retire() {
		close(b.rung)
	}
}
