package capi

/*
#include "shim.h"
*/
import "C"

import (
	"runtime"
	"runtime/cgo"
	"sync/atomic"
)

// An Op is one waiting operation in progress. One goroutine owns it, and must Release it. Until then
// the object that it belongs to stays alive, and with it the request that dropping would end.
type Op struct {
	ptr    *C.sluice_op
	owner  any
	failed *Error // why the operation could not even begin
	bell   *bell
}

func started(owner any, op *C.sluice_op, status C.sluice_status, detail *C.sluice_error) *Op {
	return &Op{ptr: op, owner: owner, failed: failed(status, detail)}
}

// Try asks once, leaving no bell behind. It reports whether there is an answer; a nil error is a
// good one, whose result can be taken.
func (o *Op) Try() (bool, *Error) {
	if o.failed != nil {
		return true, o.failed
	}
	var detail *C.sluice_error
	status := C.sluice_op_poll(o.ptr, nil, &detail)
	o.dropBell()
	return status != C.SLUICE_WAIT, failed(status, detail)
}

// Poll asks once. Without an answer, the channel is closed as soon as asking again is worth while:
// at once, if that was so before Poll returned.
func (o *Op) Poll() (<-chan struct{}, bool, *Error) {
	if o.failed != nil {
		return nil, true, o.failed
	}
	armed := newBell()
	var detail *C.sluice_error
	status := C.sluicegate_op_poll(o.ptr, C.uintptr_t(armed.handle), &detail)
	o.dropBell() // of the poll before: the library has withdrawn and joined it
	if status == C.SLUICE_WAIT {
		o.bell = armed
		return armed.rung, false, nil
	}
	armed.retire()
	return nil, true, failed(status, detail)
}

// Release ends the operation. Without an answer it leaves its place in line and takes nothing.
// Releasing joins: when it returns, the bell is not ringing and never will.
func (o *Op) Release() {
	if o.ptr != nil {
		C.sluice_op_release(o.ptr)
		o.ptr = nil
	}
	o.dropBell()
	runtime.KeepAlive(o.owner)
	o.owner = nil
}

func (o *Op) dropBell() {
	if o.bell != nil {
		o.bell.retire()
		o.bell = nil
	}
}

// A bell is a channel that the library closes. Its handle is deleted exactly once: by the ring, or
// by the owner once the library has withdrawn it.
type bell struct {
	rung    chan struct{}
	handle  cgo.Handle
	retired atomic.Bool
}

var bells atomic.Int64

// Bells answers how many bells have a handle, for tests of leaks: as many as goroutines wait.
func Bells() int { return int(bells.Load()) }

func newBell() *bell {
	b := &bell{rung: make(chan struct{})}
	b.handle = cgo.NewHandle(b)
	bells.Add(1)
	return b
}

func (b *bell) retire() bool {
	won := b.retired.CompareAndSwap(false, true)
	if won {
		b.handle.Delete()
		bells.Add(-1)
	}
	return won
}

// TakeItem takes the item that the operation answered. The caller releases it.
func (o *Op) TakeItem() (*Item, *Error) {
	var out *C.sluice_item
	if status := C.sluice_op_take_item(o.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	return newItem(out), nil
}

// TakeBytes takes the bytes or text that the operation answered.
func (o *Op) TakeBytes() ([]byte, *Error) {
	item, err := o.TakeItem()
	if err != nil {
		return nil, err
	}
	defer item.Release()
	view, err := item.Content()
	if err != nil {
		return nil, err
	}
	return append([]byte{}, view...), nil
}

// TakeInput takes the stream that the operation answered.
func (o *Op) TakeInput() (*Input, *Error) {
	var out *C.sluice_input
	if status := C.sluice_op_take_input(o.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	return newInput(out), nil
}

// TakeRequest takes the request that the operation answered.
func (o *Op) TakeRequest() (*Request, *Error) {
	var out *C.sluice_request
	if status := C.sluice_op_take_request(o.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	return newRequest(out), nil
}

// TakePeer takes the peer that the operation answered.
func (o *Op) TakePeer() (*Peer, *Error) {
	var out *C.sluice_peer
	if status := C.sluice_op_take_peer(o.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	return newPeer(out), nil
}

// TakeSession takes the session that the operation answered.
func (o *Op) TakeSession() (*Session, *Error) {
	var out *C.sluice_session
	if status := C.sluice_op_take_session(o.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	return newSession(out), nil
}

// TakeReason takes the reason that the operation answered.
func (o *Op) TakeReason() (*Error, *Error) {
	var out *C.sluice_error
	if status := C.sluice_op_take_reason(o.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	return takeError(out), nil
}

// TakeCount takes the number that the operation answered.
func (o *Op) TakeCount() (uint64, *Error) {
	var out C.uint64_t
	status := C.sluice_op_take_count(o.ptr, &out)
	return uint64(out), failed(status, nil)
}

// TakeTerminal takes the terminal that the operation answered.
func (o *Op) TakeTerminal() (Terminal, *Error) {
	var out *C.sluice_terminal
	if status := C.sluice_op_take_terminal(o.ptr, &out); status != C.SLUICE_OK {
		return Terminal{}, failed(status, nil)
	}
	return takeTerminal(out), nil
}

// TakeEvent takes the event that the operation answered.
func (o *Op) TakeEvent() (Event, *Error) {
	var out *C.sluice_event
	if status := C.sluice_op_take_event(o.ptr, &out); status != C.SLUICE_OK {
		return Event{}, failed(status, nil)
	}
	return takeEvent(out), nil
}
