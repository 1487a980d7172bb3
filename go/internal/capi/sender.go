package capi

/*
#include "shim.h"
*/
import "C"

import "runtime"

// A Sender is a detached emitter.
type Sender struct {
	_   alone
	ptr *C.sluice_sender
}

func newSender(ptr *C.sluice_sender) *Sender {
	s := &Sender{ptr: ptr}
	runtime.AddCleanup(s, func(ptr *C.sluice_sender) { C.sluice_sender_release(ptr) }, ptr)
	return s
}

// WriteOp sends bytes. They are copied before it returns.
func (s *Sender) WriteOp(b []byte) *Op {
	p, n := bytes(b)
	var op *C.sluice_op
	status := C.sluice_sender_write_start(s.ptr, p, n, &op)
	return started(s, op, status, nil)
}

// EmitOp sends an encoded value.
func (s *Sender) EmitOp(value []byte) *Op {
	p, n := bytes(value)
	var op *C.sluice_op
	var detail *C.sluice_error
	status := C.sluice_sender_emit_cbor_start(s.ptr, p, n, &op, &detail)
	return started(s, op, status, detail)
}

// EmitItemOp sends an encoded item.
func (s *Sender) EmitItemOp(value, meta []byte) *Op {
	p, n := bytes(value)
	m, k := bytesOrNull(meta)
	var op *C.sluice_op
	var detail *C.sluice_error
	status := C.sluice_sender_emit_list_item_cbor_start(s.ptr, p, n, m, k, &op, &detail)
	return started(s, op, status, detail)
}

// FlushOp sends what is coalesced.
func (s *Sender) FlushOp() *Op {
	var op *C.sluice_op
	status := C.sluice_sender_flush_start(s.ptr, &op)
	return started(s, op, status, nil)
}
