package capi

/*
#include "shim.h"
#cgo noescape sluice_gate_available
#cgo noescape sluice_gate_waiting
*/
import "C"

import "runtime"

// A Gate is a sender's credit.
type Gate struct {
	_   alone
	ptr *C.sluice_gate
}

// NewGate opens a gate.
func NewGate(window uint64) *Gate {
	var ptr *C.sluice_gate
	must(C.sluice_gate_new(C.uint64_t(window), &ptr))
	g := &Gate{ptr: ptr}
	runtime.AddCleanup(g, func(ptr *C.sluice_gate) { C.sluice_gate_release(ptr) }, ptr)
	return g
}

// TryAcquire takes n if that needs no waiting.
func (g *Gate) TryAcquire(n uint64) (bool, *Error) {
	defer runtime.KeepAlive(g)
	switch status := C.sluice_gate_try_acquire(g.ptr, C.uint64_t(n)); status {
	case C.SLUICE_OK:
		return true, nil
	case C.SLUICE_CLOSED:
		return false, g.Reason()
	default:
		return false, failed(status, nil)
	}
}

// AcquireOp takes n, waiting.
func (g *Gate) AcquireOp(n uint64) *Op {
	var op *C.sluice_op
	status := C.sluice_gate_acquire_start(g.ptr, C.uint64_t(n), &op)
	return started(g, op, status, nil)
}

// Grant adds n.
func (g *Gate) Grant(n uint64) {
	C.sluice_gate_grant(g.ptr, C.uint64_t(n))
	runtime.KeepAlive(g)
}

// Close closes the gate with a text.
func (g *Gate) Close(reason string) bool {
	defer runtime.KeepAlive(g)
	var closed C.bool
	p, n := text(reason)
	C.sluice_gate_close(g.ptr, p, n, &closed)
	return bool(closed)
}

// CloseWith closes the gate with an error.
func (g *Gate) CloseWith(reason *Error) bool {
	defer runtime.KeepAlive(g)
	e := cError(reason)
	defer C.sluice_error_release(e)
	var closed C.bool
	C.sluice_gate_close_with(g.ptr, e, &closed)
	return bool(closed)
}

// Reason answers why the gate is closed, or nil.
func (g *Gate) Reason() *Error {
	defer runtime.KeepAlive(g)
	var out *C.sluice_error
	if status := C.sluice_gate_reason(g.ptr, &out); status != C.SLUICE_OK {
		return failed(status, nil)
	}
	return takeError(out)
}

// Available answers the credit.
func (g *Gate) Available() uint64 {
	defer runtime.KeepAlive(g)
	var out C.uint64_t
	C.sluice_gate_available(g.ptr, &out)
	return uint64(out)
}

// Waiting answers how many stand in line.
func (g *Gate) Waiting() uint64 {
	defer runtime.KeepAlive(g)
	var out C.uint64_t
	C.sluice_gate_waiting(g.ptr, &out)
	return uint64(out)
}

// must is for what can fail only if this package is wrong or the library has panicked: that is a
// panic here too.
func must(status C.sluice_status) {
	if err := failed(status, nil); err != nil {
		panic("sluicegate: " + err.Code + ": " + err.Message)
	}
}
