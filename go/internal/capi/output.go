package capi

/*
#include "shim.h"
*/
import "C"

import "runtime"

// An Output is a stream to write.
type Output struct {
	_   alone
	ptr *C.sluice_output
}

func newOutput(ptr *C.sluice_output) *Output {
	s := &Output{ptr: ptr}
	runtime.AddCleanup(s, func(ptr *C.sluice_output) { C.sluice_output_release(ptr) }, ptr)
	return s
}

// Info answers name and media.
func (s *Output) Info() StreamInfo {
	defer runtime.KeepAlive(s)
	var info StreamInfo
	var p *C.char
	var n C.size_t
	must(C.sluice_output_id(s.ptr, &p, &n))
	info.ID = goName(p, n)
	must(C.sluice_output_media(s.ptr, &p, &n))
	info.Media = goText(p, n)
	must(C.sluice_output_output(s.ptr, &p, &n))
	info.Output = goName(p, n)
	return info
}

// Stats answers what passed.
func (s *Output) Stats() StreamStats {
	defer runtime.KeepAlive(s)
	stats := C.sluicegate_stats_init()
	must(C.sluice_output_stats(s.ptr, &stats))
	return goStats(stats)
}

// Start begins the stream.
func (s *Output) Start(mode uint8, unbounded bool, meta []byte) *Error {
	defer runtime.KeepAlive(s)
	p, n := bytesOrNull(meta)
	var detail *C.sluice_error
	status := C.sluicegate_output_start(s.ptr, mode == Sequence, C.bool(unbounded), p, n, &detail)
	return failed(status, detail)
}

// Limit ends its request after so many milliseconds; negative is no limit.
func (s *Output) Limit(millis int64) *Error {
	defer runtime.KeepAlive(s)
	var detail *C.sluice_error
	status := C.sluice_output_limit(s.ptr, C.int64_t(millis), &detail)
	return failed(status, detail)
}

// WriteOp sends bytes. They are copied before it returns.
func (s *Output) WriteOp(b []byte) *Op {
	p, n := bytes(b)
	var op *C.sluice_op
	status := C.sluice_output_write_start(s.ptr, p, n, &op)
	return started(s, op, status, nil)
}

// EmitOp sends an encoded value.
func (s *Output) EmitOp(value []byte) *Op {
	p, n := bytes(value)
	var op *C.sluice_op
	var detail *C.sluice_error
	status := C.sluice_output_emit_cbor_start(s.ptr, p, n, &op, &detail)
	return started(s, op, status, detail)
}

// EmitItemOp sends an encoded item.
func (s *Output) EmitItemOp(value, meta []byte) *Op {
	p, n := bytes(value)
	m, k := bytesOrNull(meta)
	var op *C.sluice_op
	var detail *C.sluice_error
	status := C.sluice_output_emit_list_item_cbor_start(s.ptr, p, n, m, k, &op, &detail)
	return started(s, op, status, detail)
}

// FlushOp sends what is coalesced.
func (s *Output) FlushOp() *Op {
	var op *C.sluice_op
	status := C.sluice_output_flush_start(s.ptr, &op)
	return started(s, op, status, nil)
}

// CloseOp ends the stream.
func (s *Output) CloseOp() *Op {
	var op *C.sluice_op
	status := C.sluice_output_close_start(s.ptr, &op)
	return started(s, op, status, nil)
}

// Sender answers a detached emitter.
func (s *Output) Sender() *Sender {
	defer runtime.KeepAlive(s)
	var out *C.sluice_sender
	must(C.sluice_output_sender(s.ptr, &out))
	return newSender(out)
}

// ForwardOp moves all chunks of from to s.
func (s *Output) ForwardOp(from *Input) *Op {
	var op *C.sluice_op
	status := C.sluice_forward_start(from.ptr, s.ptr, &op)
	return started([]any{s, from}, op, status, nil)
}
