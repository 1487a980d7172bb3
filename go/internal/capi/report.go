package capi

/*
#include "shim.h"
*/
import "C"

import "runtime"

// itemText takes the text of an item that the library made for us, and releases it.
func itemText(status C.sluice_status, item *C.sluice_item, detail *C.sluice_error) (string, *Error) {
	if err := failed(status, detail); err != nil {
		return "", err
	}
	taken := newItem(item)
	defer taken.Release()
	content, err := taken.Content()
	return string(content), err
}

// sure is the text of a call that fails for handles only.
func sure(status C.sluice_status, item *C.sluice_item) string {
	must(status)
	text, _ := itemText(status, item, nil)
	return text
}

// Stats answers JSON.
func (e *Engine) Stats() string {
	defer runtime.KeepAlive(e)
	var out *C.sluice_item
	status := C.sluice_engine_stats(e.ptr, &out)
	return sure(status, out)
}

// ExplainOp answers JSON.
func (e *Engine) ExplainOp() *Op {
	var op *C.sluice_op
	status := C.sluice_engine_explain_start(e.ptr, &op)
	return started(e, op, status, nil)
}

// NextStallOp waits for a notice, JSON.
func (e *Engine) NextStallOp() *Op {
	var op *C.sluice_op
	status := C.sluice_engine_next_stall_start(e.ptr, &op)
	return started(e, op, status, nil)
}

// NextLossOp waits for a notice, JSON.
func (e *Engine) NextLossOp() *Op {
	var op *C.sluice_op
	status := C.sluice_engine_next_loss_start(e.ptr, &op)
	return started(e, op, status, nil)
}

// Stats answers JSON.
func (p *Peer) Stats() string {
	defer runtime.KeepAlive(p)
	var out *C.sluice_item
	status := C.sluice_peer_stats(p.ptr, &out)
	return sure(status, out)
}

// Stats answers JSON.
func (s *Session) Stats() string {
	defer runtime.KeepAlive(s)
	var out *C.sluice_item
	status := C.sluice_session_stats(s.ptr, &out)
	return sure(status, out)
}

// Explain answers JSON.
func (s *Session) Explain() string {
	defer runtime.KeepAlive(s)
	var out *C.sluice_item
	status := C.sluice_session_explain(s.ptr, &out)
	return sure(status, out)
}

// ExplanationText says an explanation in words.
func ExplanationText(json string) (string, *Error) {
	p, n := text(json)
	var out *C.sluice_item
	status := C.sluice_explanation_text(p, n, &out)
	return itemText(status, out, nil)
}

// ExplanationOf answers what of an explanation is about one request.
func ExplanationOf(json, request string) (string, *Error) {
	p, n := text(json)
	r, rLen := text(request)
	var out *C.sluice_item
	status := C.sluice_explanation_of(p, n, r, rLen, &out)
	return itemText(status, out, nil)
}

// A Control is an open control socket.
type Control struct {
	_   alone
	ptr *C.sluice_control
}

func newControl(ptr *C.sluice_control, status C.sluice_status, detail *C.sluice_error) (*Control, *Error) {
	if err := failed(status, detail); err != nil {
		return nil, err
	}
	c := &Control{ptr: ptr}
	runtime.AddCleanup(c, func(ptr *C.sluice_control) { C.sluice_control_release(ptr) }, ptr)
	return c, nil
}

// ServeControl opens a control socket; an empty address is this process's own place.
func (e *Engine) ServeControl(address string) (*Control, *Error) {
	defer runtime.KeepAlive(e)
	p, n := textOrNull(address)
	var out *C.sluice_control
	var detail *C.sluice_error
	status := C.sluice_engine_serve_control(e.ptr, p, n, &out, &detail)
	return newControl(out, status, detail)
}

// ServeControl opens a control socket; an empty address is this process's own place.
func (s *Session) ServeControl(address string) (*Control, *Error) {
	defer runtime.KeepAlive(s)
	p, n := textOrNull(address)
	var out *C.sluice_control
	var detail *C.sluice_error
	status := C.sluice_session_serve_control(s.ptr, p, n, &out, &detail)
	return newControl(out, status, detail)
}

// Address answers where it listens.
func (c *Control) Address() string {
	defer runtime.KeepAlive(c)
	var s *C.char
	var n C.size_t
	must(C.sluice_control_address(c.ptr, &s, &n))
	return goText(s, n)
}

// Close closes it.
func (c *Control) Close() *Error {
	defer runtime.KeepAlive(c)
	return failed(C.sluice_control_close(c.ptr), nil)
}

// AskOp asks a running process; it answers JSON.
func AskOp(target, question string) *Op {
	t, tLen := text(target)
	q, qLen := text(question)
	var op *C.sluice_op
	status := C.sluice_control_ask_start(t, tLen, q, qLen, &op)
	return started(nil, op, status, nil)
}

// Trace writes down the frames of this process from now on.
func Trace(place string, json bool) *Error {
	p, n := text(place)
	var detail *C.sluice_error
	status := C.sluice_trace(p, n, C.bool(json), &detail)
	return failed(status, detail)
}
