package capi

/*
#include "shim.h"
#cgo noescape sluice_feed_push
*/
import "C"

import "runtime"

// A Feed is both ends of a live feed.
type Feed struct {
	_   alone
	ptr *C.sluice_feed
}

// FeedOptions say how a feed is opened.
type FeedOptions struct {
	Capacity uint64
	Fail     bool
	Format   []byte
}

// FeedStats counts items.
type FeedStats struct {
	Captured, Delivered, Dropped, Overruns, Held, Capacity uint64
	Ended                                                  bool
}

func (o FeedOptions) options() C.sluice_feed_options {
	return C.sluicegate_feed_options(C.uint64_t(o.Capacity), C.bool(o.Fail))
}

func newFeed(ptr *C.sluice_feed, status C.sluice_status, detail *C.sluice_error) (*Feed, *Error) {
	if status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	f := &Feed{ptr: ptr}
	runtime.AddCleanup(f, func(ptr *C.sluice_feed) { C.sluice_feed_release(ptr) }, ptr)
	return f, nil
}

// NewFeed opens a feed that is pushed into.
func NewFeed(options FeedOptions) (*Feed, *Error) {
	p, n := bytesOrNull(options.Format)
	var out *C.sluice_feed
	var detail *C.sluice_error
	status := C.sluicegate_feed_new(options.options(), p, n, &out, &detail)
	return newFeed(out, status, detail)
}

// CommandFeed starts a command whose output is the source.
func CommandFeed(options FeedOptions, command Command, itemBytes uint) (*Feed, *Error) {
	built, err := command.build()
	if err != nil {
		return nil, err
	}
	defer C.sluice_command_release(built)
	p, n := bytesOrNull(options.Format)
	var out *C.sluice_feed
	var detail *C.sluice_error
	status := C.sluicegate_feed_command(options.options(), p, n, built, C.size_t(itemBytes), &out, &detail)
	return newFeed(out, status, detail)
}

// FdFeed opens a feed of a descriptor, which is the library's from now on.
func FdFeed(options FeedOptions, fd int, itemBytes uint, intervalMicros uint64) (*Feed, *Error) {
	p, n := bytesOrNull(options.Format)
	var out *C.sluice_feed
	var detail *C.sluice_error
	status := C.sluicegate_feed_fd(options.options(), p, n, C.int(fd), C.size_t(itemBytes), C.uint64_t(intervalMicros), &out, &detail)
	return newFeed(out, status, detail)
}

// Push captures bytes. The error is of kind Closed or FeedOverrun.
func (f *Feed) Push(item []byte, pts, captured uint64) *Error {
	defer runtime.KeepAlive(f)
	p, n := bytes(item)
	return failed(C.sluice_feed_push(f.ptr, p, n, C.uint64_t(pts), C.uint64_t(captured), nil), nil)
}

// PushValue captures an encoded value.
func (f *Feed) PushValue(value []byte, pts, captured uint64) *Error {
	defer runtime.KeepAlive(f)
	p, n := bytes(value)
	return failed(C.sluice_feed_push_cbor(f.ptr, p, n, C.uint64_t(pts), C.uint64_t(captured), nil), nil)
}

// Stop ends the capture; what is held is delivered.
func (f *Feed) Stop() {
	defer runtime.KeepAlive(f)
	must(C.sluice_feed_stop(f.ptr))
}

// Fail says that the device failed.
func (f *Feed) Fail(reason *Error) *Error {
	defer runtime.KeepAlive(f)
	e := cError(reason)
	defer C.sluice_error_release(e)
	return failed(C.sluice_feed_fail(f.ptr, e), nil)
}

// Abandon gives the feed up.
func (f *Feed) Abandon() {
	defer runtime.KeepAlive(f)
	must(C.sluice_feed_abandon(f.ptr))
}

// RecvOp waits for an item.
func (f *Feed) RecvOp() *Op {
	var op *C.sluice_op
	status := C.sluice_feed_recv_start(f.ptr, &op)
	return started(f, op, status, nil)
}

// ServeOp delivers the feed to a stream.
func (f *Feed) ServeOp(to *Output) *Op {
	var op *C.sluice_op
	status := C.sluice_feed_serve_start(f.ptr, to.ptr, &op)
	return started([]any{f, to}, op, status, nil)
}

// Stats answers the figures now.
func (f *Feed) Stats() FeedStats {
	defer runtime.KeepAlive(f)
	stats := C.sluicegate_feed_stats_init()
	must(C.sluice_feed_stats(f.ptr, &stats))
	return FeedStats{
		Captured:  uint64(stats.captured),
		Delivered: uint64(stats.delivered),
		Dropped:   uint64(stats.dropped),
		Overruns:  uint64(stats.overruns),
		Held:      uint64(stats.held),
		Capacity:  uint64(stats.capacity),
		Ended:     bool(stats.ended),
	}
}
