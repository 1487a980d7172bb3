package capi

/*
#include "flow_shim.h"
*/
import "C"

import "runtime"

// A Turn is what a function that lets elements out of a loop answers.
type Turn struct {
	Value any
	Again bool
}

// sluicegateFlowLoop calls a function whose answer is a Turn.
//
//export sluicegateFlowLoop
func sluicegateFlowLoop(fn, value C.uintptr_t, out *C.uintptr_t, again *C.bool, err **C.sluice_error) C.int32_t {
	answer, failure := contained(func() (any, error) { return function(fn)(argument(value), nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	turn, _ := answer.(Turn)
	*out, *again = C.uintptr_t(values.put(turn.Value)), C.bool(turn.Again)
	return C.SLUICE_OK
}

// Feedback puts values through body until f, which answers a Turn, lets them out.
func Feedback(capacity uint64, body *Flow, f Function) (*Flow, *Error) {
	defer runtime.KeepAlive(body)
	fn := C.sluicegate_looper(handed(f))
	var out *C.sluice_flow
	var detail *C.sluice_error
	status := C.sluice_flow_feedback(C.uint64_t(capacity), body.ptr, &fn, &out, &detail)
	return newFlow(out, status, detail)
}

// Tell has an engine tell of the stages of the scope.
func (s *Scope) Tell(engine *Engine) {
	defer runtime.KeepAlive(s)
	defer runtime.KeepAlive(engine)
	must(C.sluice_scope_tell(s.ptr, engine.ptr))
}
