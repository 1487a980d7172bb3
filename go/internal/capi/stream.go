package capi

/*
#include "shim.h"
*/
import "C"

import "runtime"

// The modes of a stream.
const (
	Scalar = iota
	Sequence
)

// StreamInfo is what the start of a stream said.
type StreamInfo struct {
	ID, Output StreamName
	Media      string
	Mode       uint8
	Unbounded  bool
	Meta       []byte
}

// StreamStats counts what passed.
type StreamStats struct {
	Chunks, Bytes, Window, InitialCredit, StalledNanos uint64
	Ended                                              bool
}

func goStats(stats C.sluice_stream_stats) StreamStats {
	return StreamStats{
		Chunks:        uint64(stats.chunks),
		Bytes:         uint64(stats.bytes),
		Window:        uint64(stats.window),
		InitialCredit: uint64(stats.initial_credit),
		StalledNanos:  uint64(stats.stalled_ns),
		Ended:         bool(stats.ended),
	}
}

// An Input is a stream to read.
type Input struct {
	_   alone
	ptr *C.sluice_input
}

func newInput(ptr *C.sluice_input) *Input {
	s := &Input{ptr: ptr}
	runtime.AddCleanup(s, func(ptr *C.sluice_input) { C.sluice_input_release(ptr) }, ptr)
	return s
}

// Info answers what the start said.
func (s *Input) Info() StreamInfo {
	defer runtime.KeepAlive(s)
	var (
		info                StreamInfo
		p                   *C.char
		meta                *C.uint8_t
		n                   C.size_t
		sequence, unbounded C.bool
	)
	must(C.sluice_input_id(s.ptr, &p, &n))
	info.ID = goName(p, n)
	must(C.sluice_input_media(s.ptr, &p, &n))
	info.Media = goText(p, n)
	must(C.sluice_input_output(s.ptr, &p, &n))
	info.Output = goName(p, n)
	must(C.sluice_input_is_sequence(s.ptr, &sequence))
	if sequence {
		info.Mode = Sequence
	}
	must(C.sluice_input_is_unbounded(s.ptr, &unbounded))
	info.Unbounded = bool(unbounded)
	must(C.sluice_input_meta(s.ptr, &meta, &n))
	if meta != nil {
		info.Meta = append([]byte{}, view(meta, n)...)
	}
	return info
}

// Stats answers what passed.
func (s *Input) Stats() StreamStats {
	defer runtime.KeepAlive(s)
	stats := C.sluicegate_stats_init()
	must(C.sluice_input_stats(s.ptr, &stats))
	return goStats(stats)
}

// TryRecv answers an item, an error, or neither.
func (s *Input) TryRecv() (*Item, *Error) {
	defer runtime.KeepAlive(s)
	var out *C.sluice_item
	var detail *C.sluice_error
	if status := C.sluice_input_try_recv(s.ptr, &out, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	return newItem(out), nil
}

// RecvOp waits for an item.
func (s *Input) RecvOp() *Op {
	var op *C.sluice_op
	status := C.sluice_input_recv_start(s.ptr, &op)
	return started(s, op, status, nil)
}

// CollectBytesOp waits for all bytes.
func (s *Input) CollectBytesOp() *Op {
	var op *C.sluice_op
	status := C.sluice_input_collect_bytes_start(s.ptr, &op)
	return started(s, op, status, nil)
}

// CollectTextOp waits for all text.
func (s *Input) CollectTextOp() *Op {
	var op *C.sluice_op
	status := C.sluice_input_collect_text_start(s.ptr, &op)
	return started(s, op, status, nil)
}

// Limit ends its request after so many milliseconds; negative is no limit.
func (s *Input) Limit(millis int64) *Error {
	defer runtime.KeepAlive(s)
	var detail *C.sluice_error
	status := C.sluice_input_limit(s.ptr, C.int64_t(millis), &detail)
	return failed(status, detail)
}

// Cancel stops reading.
func (s *Input) Cancel() {
	C.sluice_input_cancel(s.ptr)
	runtime.KeepAlive(s)
}
