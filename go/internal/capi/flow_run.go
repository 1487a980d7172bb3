package capi

/*
#include "flow_shim.h"
*/
import "C"

import "runtime"

// A Run has what running a graph gave, each to be taken once.
type Run struct {
	_   alone
	ptr *C.sluice_run
}

// The controls and results of a run.
type (
	Manual struct {
		_   alone
		ptr *C.sluice_manual
	}
	Completion struct {
		_   alone
		ptr *C.sluice_completion
	}
	Outlet struct {
		_   alone
		ptr *C.sluice_outlet
	}
	Subscriber struct {
		_   alone
		ptr *C.sluice_subscriber
	}
	KillSwitch struct {
		_   alone
		ptr *C.sluice_kill_switch
	}
	Promise struct {
		_   alone
		ptr *C.sluice_promise
	}
)

// Manual takes the next control of a manual source.
func (r *Run) Manual() (*Manual, *Error) {
	defer runtime.KeepAlive(r)
	var out *C.sluice_manual
	if status := C.sluice_run_manual(r.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	m := &Manual{ptr: out}
	runtime.AddCleanup(m, func(ptr *C.sluice_manual) { C.sluice_manual_release(ptr) }, out)
	return m, nil
}

// Completion takes the next result.
func (r *Run) Completion() (*Completion, *Error) {
	defer runtime.KeepAlive(r)
	var out *C.sluice_completion
	status := C.sluice_run_completion(r.ptr, &out)
	return newCompletion(out, status)
}

func newCompletion(ptr *C.sluice_completion, status C.sluice_status) (*Completion, *Error) {
	if status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	c := &Completion{ptr: ptr}
	runtime.AddCleanup(c, func(ptr *C.sluice_completion) { C.sluice_completion_release(ptr) }, ptr)
	return c, nil
}

// Outlet takes the next outlet.
func (r *Run) Outlet() (*Outlet, *Error) {
	defer runtime.KeepAlive(r)
	var out *C.sluice_outlet
	if status := C.sluice_run_outlet(r.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	o := &Outlet{ptr: out}
	runtime.AddCleanup(o, func(ptr *C.sluice_outlet) { C.sluice_outlet_release(ptr) }, out)
	return o, nil
}

// Subscriber takes the next probe.
func (r *Run) Subscriber() (*Subscriber, *Error) {
	defer runtime.KeepAlive(r)
	var out *C.sluice_subscriber
	if status := C.sluice_run_subscriber(r.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	s := &Subscriber{ptr: out}
	runtime.AddCleanup(s, func(ptr *C.sluice_subscriber) { C.sluice_subscriber_release(ptr) }, out)
	return s, nil
}

// Switch takes the next switch.
func (r *Run) Switch() (*KillSwitch, *Error) {
	defer runtime.KeepAlive(r)
	var out *C.sluice_kill_switch
	if status := C.sluice_run_kill_switch(r.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	s := &KillSwitch{ptr: out}
	runtime.AddCleanup(s, func(ptr *C.sluice_kill_switch) { C.sluice_kill_switch_release(ptr) }, out)
	return s, nil
}

// Cancel ends the run.
func (s *KillSwitch) Cancel(reason *Error) {
	defer runtime.KeepAlive(s)
	e := cError(reason)
	defer C.sluice_error_release(e)
	must(C.sluice_kill_switch_cancel(s.ptr, e, nil))
}

// EndedOp waits until there is nothing to end any more.
func (s *KillSwitch) EndedOp() *Op {
	var op *C.sluice_op
	status := C.sluice_kill_switch_ended_start(s.ptr, &op)
	return started(s, op, status, nil)
}

// An Offered says what became of an element.
type Offered = int32

// What becomes of an element.
const (
	Enqueued    Offered = C.SLUICE_OFFER_ENQUEUED
	Dropped     Offered = C.SLUICE_OFFER_DROPPED
	QueueClosed Offered = C.SLUICE_OFFER_QUEUE_CLOSED
	OfferFailed Offered = C.SLUICE_OFFER_FAILURE
)

// TryOffer offers a value if that needs no waiting; false if it does.
func (m *Manual) TryOffer(value any, bytes uint64) (Offered, *Error, bool) {
	defer runtime.KeepAlive(m)
	made, drop := element(value, bytes)
	var out C.sluice_offer
	var detail *C.sluice_error
	switch status := C.sluice_manual_offer(m.ptr, &made, 0, &out, &detail); status {
	case C.SLUICE_OK:
		return Offered(out), takeError(detail), true
	case C.SLUICE_TIMED_OUT:
		drop()
		return 0, nil, false
	default:
		drop()
		return OfferFailed, failed(status, detail), true
	}
}

// OfferOp offers a value.
func (m *Manual) OfferOp(value any, bytes uint64) *Op {
	made, drop := element(value, bytes)
	var op *C.sluice_op
	status := C.sluice_manual_offer_start(m.ptr, &made, &op)
	if status != C.SLUICE_OK {
		drop()
	}
	return started(m, op, status, nil)
}

// TakeOffer takes what became of a value.
func (o *Op) TakeOffer() (Offered, *Error) {
	var out C.sluice_offer
	var detail *C.sluice_error
	if status := C.sluice_op_take_offer(o.ptr, &out, &detail); status != C.SLUICE_OK {
		return OfferFailed, failed(status, nil)
	}
	return Offered(out), takeError(detail)
}

// ReadyOp waits until n could be offered; Closed says that the source is over.
func (m *Manual) ReadyOp(n uint64) *Op {
	var op *C.sluice_op
	status := C.sluice_manual_ready_start(m.ptr, C.uint64_t(n), &op)
	return started(m, op, status, nil)
}

// Complete ends the source.
func (m *Manual) Complete() bool {
	defer runtime.KeepAlive(m)
	var first C.bool
	must(C.sluice_manual_complete(m.ptr, &first))
	return bool(first)
}

// Fail ends the source.
func (m *Manual) Fail(reason *Error) bool {
	defer runtime.KeepAlive(m)
	e := cError(reason)
	defer C.sluice_error_release(e)
	var first C.bool
	must(C.sluice_manual_fail(m.ptr, e, &first))
	return bool(first)
}

// Demand, Held and Lost answer what can be offered, what waits and what was discarded.
func (m *Manual) Demand() uint64 {
	defer runtime.KeepAlive(m)
	var out C.uint64_t
	must(C.sluice_manual_demand(m.ptr, &out))
	return uint64(out)
}

// Held answers what waits.
func (m *Manual) Held() uint64 {
	defer runtime.KeepAlive(m)
	var out C.uint64_t
	must(C.sluice_manual_held(m.ptr, &out))
	return uint64(out)
}

// Lost answers what was discarded.
func (m *Manual) Lost() uint64 {
	defer runtime.KeepAlive(m)
	var out C.uint64_t
	must(C.sluice_manual_lost(m.ptr, &out))
	return uint64(out)
}

// Over tells whether the source has ended.
func (m *Manual) Over() bool {
	defer runtime.KeepAlive(m)
	var out C.bool
	must(C.sluice_manual_is_over(m.ptr, &out))
	return bool(out)
}

// NewPromise makes a promise.
func NewPromise() *Promise {
	var out *C.sluice_promise
	must(C.sluice_promise_new(&out))
	p := &Promise{ptr: out}
	runtime.AddCleanup(p, func(ptr *C.sluice_promise) { C.sluice_promise_release(ptr) }, out)
	return p
}

// Completion is the side that waits.
func (p *Promise) Completion() *Completion {
	defer runtime.KeepAlive(p)
	var out *C.sluice_completion
	status := C.sluice_promise_completion(p.ptr, &out)
	c, err := newCompletion(out, status)
	if err != nil {
		panic("sluicegate: a promise has a completion: " + err.Message)
	}
	return c
}

// Success keeps the promise.
func (p *Promise) Success(value any) bool {
	defer runtime.KeepAlive(p)
	made, _ := element(value, 0)
	var first C.bool
	must(C.sluice_promise_success(p.ptr, &made, &first))
	return bool(first)
}

// Failure fails the promise.
func (p *Promise) Failure(reason *Error) bool {
	defer runtime.KeepAlive(p)
	e := cError(reason)
	defer C.sluice_error_release(e)
	var first C.bool
	must(C.sluice_promise_failure(p.ptr, e, &first))
	return bool(first)
}

// Cancel cancels the promise.
func (p *Promise) Cancel() bool {
	defer runtime.KeepAlive(p)
	var first C.bool
	must(C.sluice_promise_cancel(p.ptr, &first))
	return bool(first)
}

// State answers where the completion stands: pending, success, failure, cancelled.
func (c *Completion) State() int32 {
	defer runtime.KeepAlive(c)
	var out C.sluice_completion_state_t
	must(C.sluice_completion_state(c.ptr, &out))
	return int32(out)
}

// WaitOp waits for the values.
func (c *Completion) WaitOp() *Op {
	var op *C.sluice_op
	status := C.sluice_completion_wait_start(c.ptr, &op)
	return started(c, op, status, nil)
}

// TakeValues takes the values of a completion or an outlet.
func (o *Op) TakeValues() ([]any, *Error) {
	var out *C.sluice_elements
	if status := C.sluice_op_take_elements(o.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	defer C.sluice_elements_release(out)
	return listed(out), nil
}

// RecvOp waits for the next value.
func (o *Outlet) RecvOp() *Op {
	var op *C.sluice_op
	status := C.sluice_outlet_recv_start(o.ptr, &op)
	return started(o, op, status, nil)
}

// Cancel ends the pipeline.
func (o *Outlet) Cancel() {
	defer runtime.KeepAlive(o)
	must(C.sluice_outlet_cancel(o.ptr))
}

// Held answers what waits to be taken.
func (o *Outlet) Held() uint64 {
	defer runtime.KeepAlive(o)
	var out C.uint64_t
	must(C.sluice_outlet_held(o.ptr, &out))
	return uint64(out)
}

// Request asks for more; false once a terminal was taken.
func (s *Subscriber) Request(n uint64) bool {
	defer runtime.KeepAlive(s)
	return C.sluice_subscriber_request(s.ptr, C.uint64_t(n)) == C.SLUICE_OK
}

// Cancel wants no more.
func (s *Subscriber) Cancel() {
	defer runtime.KeepAlive(s)
	must(C.sluice_subscriber_cancel(s.ptr))
}

// SignalOp waits for the next signal.
func (s *Subscriber) SignalOp() *Op {
	var op *C.sluice_op
	status := C.sluice_subscriber_signal_start(s.ptr, &op)
	return started(s, op, status, nil)
}

// What a probe is told.
const (
	SignalNext     int32 = C.SLUICE_SIGNAL_NEXT
	SignalComplete int32 = C.SLUICE_SIGNAL_COMPLETE
	SignalError    int32 = C.SLUICE_SIGNAL_ERROR
)

// TakeSignal takes what a probe was told: the signal, with its value or reason.
func (o *Op) TakeSignal() (int32, []any, *Error) {
	var (
		out    C.sluice_signal
		list   *C.sluice_elements
		detail *C.sluice_error
	)
	must(C.sluice_op_take_signal(o.ptr, &out, &list, &detail))
	if list == nil {
		return int32(out), nil, takeError(detail)
	}
	defer C.sluice_elements_release(list)
	return int32(out), listed(list), nil
}
