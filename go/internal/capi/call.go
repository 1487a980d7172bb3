package capi

/*
#include "shim.h"
*/
import "C"

import "runtime"

// A Call is one call of a cap, at the caller.
type Call struct {
	_   alone
	ptr *C.sluice_call
}

func newCall(ptr *C.sluice_call) *Call {
	c := &Call{ptr: ptr}
	runtime.AddCleanup(c, func(ptr *C.sluice_call) { C.sluice_call_release(ptr) }, ptr)
	return c
}

// ID answers the text form of the id.
func (c *Call) ID() string {
	defer runtime.KeepAlive(c)
	var p *C.char
	var n C.size_t
	must(C.sluice_call_id(c.ptr, &p, &n))
	return goText(p, n)
}

// Input opens an argument stream.
func (c *Call) Input(media string) (*Output, *Error) {
	defer runtime.KeepAlive(c)
	p, n := text(media)
	var out *C.sluice_output
	var detail *C.sluice_error
	if status := C.sluice_call_input(c.ptr, p, n, &out, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	return newOutput(out), nil
}

// FinishInputOp ends the arguments.
func (c *Call) FinishInputOp() *Op {
	var op *C.sluice_op
	status := C.sluice_call_finish_input_start(c.ptr, &op)
	return started(c, op, status, nil)
}

// OutputOp waits for the main output.
func (c *Call) OutputOp() *Op {
	var op *C.sluice_op
	status := C.sluice_call_output_start(c.ptr, &op)
	return started(c, op, status, nil)
}

// NextOutputOp waits for the next output.
func (c *Call) NextOutputOp() *Op {
	var op *C.sluice_op
	status := C.sluice_call_next_output_start(c.ptr, &op)
	return started(c, op, status, nil)
}

// NextEventOp waits for a log line or progress.
func (c *Call) NextEventOp() *Op {
	var op *C.sluice_op
	status := C.sluice_call_next_event_start(c.ptr, &op)
	return started(c, op, status, nil)
}

// WaitOp waits for the end.
func (c *Call) WaitOp() *Op {
	var op *C.sluice_op
	status := C.sluice_call_wait_start(c.ptr, &op)
	return started(c, op, status, nil)
}

// CloseStream asks for the end of a capture; absent is all.
func (c *Call) CloseStream(stream StreamName) {
	defer runtime.KeepAlive(c)
	p, n := stream.lend()
	must(C.sluice_call_close_stream(c.ptr, p, n))
}

// Cancel cancels it; nil is "a user asked".
func (c *Call) Cancel(reason *Error) {
	defer runtime.KeepAlive(c)
	if reason == nil {
		C.sluice_call_cancel(c.ptr, nil)
		return
	}
	e := cError(reason)
	defer C.sluice_error_release(e)
	C.sluice_call_cancel(c.ptr, e)
}

// A Terminal is how a call ended.
type Terminal struct {
	ExitCode int64
	Progress float64
	Message  string
}

func takeTerminal(t *C.sluice_terminal) Terminal {
	defer C.sluice_terminal_release(t)
	var code C.int64_t
	var progress C.double
	var p *C.char
	var n C.size_t
	must(C.sluice_terminal_exit_code(t, &code))
	must(C.sluice_terminal_progress(t, &progress))
	must(C.sluice_terminal_message(t, &p, &n))
	return Terminal{ExitCode: int64(code), Progress: float64(progress), Message: goText(p, n)}
}

// An Event is a log line or progress.
type Event struct {
	IsProgress            bool
	Level, Class, Message string
	Value                 float64
}

func takeEvent(e *C.sluice_event) Event {
	defer C.sluice_event_release(e)
	var (
		kind  C.sluice_event_kind_t
		class C.sluice_class
		value C.double
		p     *C.char
		n     C.size_t
		event Event
	)
	must(C.sluice_event_kind(e, &kind))
	event.IsProgress = kind == C.SLUICE_EVENT_PROGRESS
	must(C.sluice_event_message(e, &p, &n))
	event.Message = goText(p, n)
	if event.IsProgress {
		must(C.sluice_event_value(e, &value))
		event.Value = float64(value)
		return event
	}
	must(C.sluice_event_level(e, &p, &n))
	event.Level = goText(p, n)
	must(C.sluice_event_class(e, &class))
	event.Class = goClass(class)
	return event
}
