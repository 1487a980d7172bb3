package capi

/*
#include "shim.h"
#cgo noescape sluice_window_consumed
#cgo noescape sluice_window_flush
#cgo noescape sluice_window_continued
#cgo nocallback sluice_window_arrive
#cgo nocallback sluice_window_consumed
#cgo nocallback sluice_window_flush
#cgo nocallback sluice_window_continued
*/
import "C"

import "runtime"

// A Window is a receiver's side of one stream.
type Window struct {
	_   alone
	ptr *C.sluice_window
}

func newWindow(ptr *C.sluice_window) *Window {
	w := &Window{ptr: ptr}
	runtime.AddCleanup(w, func(ptr *C.sluice_window) { C.sluice_window_release(ptr) }, ptr)
	return w
}

// NewWindow opens a window.
func NewWindow(size uint64) *Window {
	var ptr *C.sluice_window
	must(C.sluice_window_new(C.uint64_t(size), &ptr))
	return newWindow(ptr)
}

// NewWindowBatch opens a window with a batch of its own.
func NewWindowBatch(size, batch uint64) *Window {
	var ptr *C.sluice_window
	must(C.sluice_window_new_with_batch(C.uint64_t(size), C.uint64_t(batch), &ptr))
	return newWindow(ptr)
}

// Arrive notes a chunk.
func (w *Window) Arrive() *Error {
	defer runtime.KeepAlive(w)
	return failed(C.sluice_window_arrive(w.ptr), nil)
}

// Consumed answers the grant now due.
func (w *Window) Consumed() uint64 {
	defer runtime.KeepAlive(w)
	var out C.uint64_t
	must(C.sluice_window_consumed(w.ptr, &out))
	return uint64(out)
}

// Flush answers everything pending.
func (w *Window) Flush() uint64 {
	defer runtime.KeepAlive(w)
	var out C.uint64_t
	must(C.sluice_window_flush(w.ptr, &out))
	return uint64(out)
}

// Continued gives one chunk back.
func (w *Window) Continued() uint64 {
	defer runtime.KeepAlive(w)
	var out C.uint64_t
	must(C.sluice_window_continued(w.ptr, &out))
	return uint64(out)
}

// Remaining answers how many chunks may still arrive.
func (w *Window) Remaining() uint64 {
	defer runtime.KeepAlive(w)
	var out C.uint64_t
	must(C.sluice_window_remaining(w.ptr, &out))
	return uint64(out)
}

// Pending answers how many chunks are consumed and not granted back.
func (w *Window) Pending() uint64 {
	defer runtime.KeepAlive(w)
	var out C.uint64_t
	must(C.sluice_window_pending(w.ptr, &out))
	return uint64(out)
}

// Batch answers how many consumed chunks make a grant due.
func (w *Window) Batch() uint64 {
	defer runtime.KeepAlive(w)
	var out C.uint64_t
	must(C.sluice_window_batch(w.ptr, &out))
	return uint64(out)
}

// Size answers the window it was opened with.
func (w *Window) Size() uint64 {
	defer runtime.KeepAlive(w)
	var out C.uint64_t
	must(C.sluice_window_size(w.ptr, &out))
	return uint64(out)
}

// Negotiate answers the smaller of two, or false if one is zero.
func Negotiate(ours, theirs uint64) (uint64, bool) {
	var out C.uint64_t
	status := C.sluice_negotiate(C.uint64_t(ours), C.uint64_t(theirs), &out)
	return uint64(out), status == C.SLUICE_OK
}
