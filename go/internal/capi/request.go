package capi

/*
#include "shim.h"
*/
import "C"

import "runtime"

// A Request is one call of a cap, at the cartridge.
type Request struct {
	_   alone
	ptr *C.sluice_request
}

func newRequest(ptr *C.sluice_request) *Request {
	r := &Request{ptr: ptr}
	runtime.AddCleanup(r, func(ptr *C.sluice_request) { C.sluice_request_release(ptr) }, ptr)
	return r
}

// ID answers the text form of the id.
func (r *Request) ID() string {
	defer runtime.KeepAlive(r)
	var p *C.char
	var n C.size_t
	must(C.sluice_request_id(r.ptr, &p, &n))
	return goText(p, n)
}

// Cap answers the URN that was called.
func (r *Request) Cap() string {
	defer runtime.KeepAlive(r)
	var p *C.char
	var n C.size_t
	must(C.sluice_request_cap(r.ptr, &p, &n))
	return goText(p, n)
}

// InputOp waits for the first input.
func (r *Request) InputOp() *Op {
	var op *C.sluice_op
	status := C.sluice_request_input_start(r.ptr, &op)
	return started(r, op, status, nil)
}

// NextInputOp waits for the next input.
func (r *Request) NextInputOp() *Op {
	var op *C.sluice_op
	status := C.sluice_request_next_input_start(r.ptr, &op)
	return started(r, op, status, nil)
}

// Output answers the main output.
func (r *Request) Output() *Output {
	defer runtime.KeepAlive(r)
	var out *C.sluice_output
	must(C.sluice_request_output(r.ptr, &out))
	return newOutput(out)
}

// OutputFor answers a declared output.
func (r *Request) OutputFor(media string) (*Output, *Error) {
	defer runtime.KeepAlive(r)
	p, n := text(media)
	var out *C.sluice_output
	var detail *C.sluice_error
	if status := C.sluice_request_output_for(r.ptr, p, n, &out, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	return newOutput(out), nil
}

// Sender answers a detached emitter of the main output.
func (r *Request) Sender() *Sender {
	defer runtime.KeepAlive(r)
	var out *C.sluice_sender
	must(C.sluice_request_sender(r.ptr, &out))
	return newSender(out)
}

// Progress tells how far it is.
func (r *Request) Progress(value float64, message string) *Error {
	defer runtime.KeepAlive(r)
	p, n := text(message)
	return failed(C.sluice_request_progress(r.ptr, C.double(value), p, n), nil)
}

// Log tells something.
func (r *Request) Log(level, class, message string) *Error {
	defer runtime.KeepAlive(r)
	l, lLen := text(level)
	p, n := text(message)
	return failed(C.sluice_request_log(r.ptr, l, lLen, cClass(class), p, n), nil)
}

// Peer calls a cap through the host.
func (r *Request) Peer(urn string) (*Call, *Error) {
	defer runtime.KeepAlive(r)
	p, n := text(urn)
	var out *C.sluice_call
	var detail *C.sluice_error
	if status := C.sluice_request_peer(r.ptr, p, n, &out, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	return newCall(out), nil
}

// Limit ends the request after so many milliseconds; negative is no limit.
func (r *Request) Limit(millis int64) *Error {
	defer runtime.KeepAlive(r)
	var detail *C.sluice_error
	status := C.sluice_request_limit(r.ptr, C.int64_t(millis), &detail)
	return failed(status, detail)
}

// CancelReason answers why it was cancelled, or nil.
func (r *Request) CancelReason() *Error {
	defer runtime.KeepAlive(r)
	var out *C.sluice_error
	must(C.sluice_request_cancel_reason(r.ptr, &out))
	return takeError(out)
}

// CancelledOp waits until it is cancelled or over.
func (r *Request) CancelledOp() *Op {
	var op *C.sluice_op
	status := C.sluice_request_cancelled_start(r.ptr, &op)
	return started(r, op, status, nil)
}

// FinishOp ends it well. A progress of NaN is none.
func (r *Request) FinishOp(progress float64, message string) *Op {
	p, n := textOrNull(message)
	var op *C.sluice_op
	status := C.sluice_request_finish_start(r.ptr, C.double(progress), p, n, &op)
	return started(r, op, status, nil)
}

// Fail ends it with an error.
func (r *Request) Fail(reason *Error) {
	defer runtime.KeepAlive(r)
	e := cError(reason)
	defer C.sluice_error_release(e)
	C.sluice_request_fail(r.ptr, e)
}
