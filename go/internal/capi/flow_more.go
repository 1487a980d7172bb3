package capi

/*
#include "flow_shim.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// forever says "no limit" to a parameter of time.
const forever = ^C.uint64_t(0)

// Batch makes groups of n; 0 microseconds is no limit of time.
func Batch(n, within uint64) (*Flow, *Error) {
	micros := forever
	if within != 0 {
		micros = C.uint64_t(within)
	}
	var out *C.sluice_flow
	var detail *C.sluice_error
	status := C.sluice_flow_batch(C.uint64_t(n), micros, &out, &detail)
	return newFlow(out, status, detail)
}

// Sliding makes windows.
func Sliding(size, step uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	var detail *C.sluice_error
	status := C.sluice_flow_sliding(C.uint64_t(size), C.uint64_t(step), &out, &detail)
	return newFlow(out, status, detail)
}

// Page asks by the page.
func Page(size, mark uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	var detail *C.sluice_error
	status := C.sluice_flow_page(C.uint64_t(size), C.uint64_t(mark), &out, &detail)
	return newFlow(out, status, detail)
}

// Expand makes any number of values of one: f answers a []any.
func Expand(f Function) (*Flow, *Error) {
	fn := C.sluicegate_expander(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_expand(&fn, &out)
	return newFlow(out, status, nil)
}

// Conflate folds what comes too fast.
func Conflate(f Function) (*Flow, *Error) {
	fn := C.sluicegate_folder(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_conflate(&fn, &out)
	return newFlow(out, status, nil)
}

// Throttle, Delay, Debounce and the limits below wait for time.
func Throttle(elements, per, burst uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	var detail *C.sluice_error
	status := C.sluice_flow_throttle(C.uint64_t(elements), C.uint64_t(per), C.uint64_t(burst), &out, &detail)
	return newFlow(out, status, detail)
}

// Delay hands down later.
func Delay(by, room uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	var detail *C.sluice_error
	status := C.sluice_flow_delay(C.uint64_t(by), C.uint64_t(room), &out, &detail)
	return newFlow(out, status, detail)
}

// Debounce hands the latest down once it is quiet.
func Debounce(quiet uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	status := C.sluice_flow_debounce(C.uint64_t(quiet), &out)
	return newFlow(out, status, nil)
}

// IdleTimeout fails a stream that stands still.
func IdleTimeout(limit uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	status := C.sluice_flow_idle_timeout(C.uint64_t(limit), &out)
	return newFlow(out, status, nil)
}

// InitialTimeout fails a stream that does not begin.
func InitialTimeout(limit uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	status := C.sluice_flow_initial_timeout(C.uint64_t(limit), &out)
	return newFlow(out, status, nil)
}

// CompletionTimeout fails a stream that does not end.
func CompletionTimeout(limit uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	status := C.sluice_flow_completion_timeout(C.uint64_t(limit), &out)
	return newFlow(out, status, nil)
}

// TakeWithin keeps what comes early.
func TakeWithin(time uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	status := C.sluice_flow_take_within(C.uint64_t(time), &out)
	return newFlow(out, status, nil)
}

// DropWithin keeps what comes late.
func DropWithin(time uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	status := C.sluice_flow_drop_within(C.uint64_t(time), &out)
	return newFlow(out, status, nil)
}

// MapParallel is Map on n threads.
func MapParallel(n uint64, ordered bool, f Function) (*Flow, *Error) {
	fn := C.sluicegate_mapper(handed(f))
	var out *C.sluice_flow
	var detail *C.sluice_error
	status := C.sluice_flow_map_parallel(C.uint64_t(n), C.bool(ordered), &fn, &out, &detail)
	return newFlow(out, status, detail)
}

// RecoverWith goes on with another source.
func RecoverWith(s *Source) (*Flow, *Error) {
	defer runtime.KeepAlive(s)
	var out *C.sluice_flow
	status := C.sluice_flow_recover_with(s.ptr, &out)
	return newFlow(out, status, nil)
}

// Retry runs the source again.
func (s *Source) Retry(attempts, first, most uint64) (*Source, *Error) {
	defer runtime.KeepAlive(s)
	var out *C.sluice_source
	var detail *C.sluice_error
	status := C.sluice_source_retry(s.ptr, C.uint64_t(attempts), C.uint64_t(first), C.uint64_t(most), &out, &detail)
	return newSource(out, status, detail)
}

// FetchSource gives rows by position: f is called with two uint64 and answers a []any.
func FetchSource(f Function) (*Source, *Error) {
	fn := C.sluicegate_fetcher(handed(f))
	var out *C.sluice_source
	status := C.sluice_source_fetch(&fn, &out)
	return newSource(out, status, nil)
}

// joined calls with the handles of blueprints, in memory of C.
func joined(all []uintptr, call func(unsafe.Pointer, C.size_t) C.sluice_status) C.sluice_status {
	size := C.size_t(max(1, len(all))) * C.size_t(unsafe.Sizeof(uintptr(0)))
	array := C.malloc(size)
	defer C.free(array)
	copy(unsafe.Slice((*uintptr)(array), len(all)), all)
	return call(array, C.size_t(len(all)))
}

func sourcePtrs(sources []*Source) []uintptr {
	all := make([]uintptr, len(sources))
	for i, source := range sources {
		all[i] = uintptr(unsafe.Pointer(source.ptr))
	}
	return all
}

func sinkPtrs(sinks []*Sink) []uintptr {
	all := make([]uintptr, len(sinks))
	for i, sink := range sinks {
		all[i] = uintptr(unsafe.Pointer(sink.ptr))
	}
	return all
}

// Zip groups one value of each.
func Zip(sources []*Source) (*Source, *Error) {
	defer runtime.KeepAlive(sources)
	var out *C.sluice_source
	status := joined(sourcePtrs(sources), func(all unsafe.Pointer, n C.size_t) C.sluice_status {
		return C.sluice_source_zip((**C.sluice_source)(all), n, &out)
	})
	return newSource(out, status, nil)
}

// Merge takes them as they come.
func Merge(sources []*Source) (*Source, *Error) {
	defer runtime.KeepAlive(sources)
	var out *C.sluice_source
	status := joined(sourcePtrs(sources), func(all unsafe.Pointer, n C.size_t) C.sluice_status {
		return C.sluice_source_merge((**C.sluice_source)(all), n, &out)
	})
	return newSource(out, status, nil)
}

// Concat takes them one after the other.
func Concat(sources []*Source) (*Source, *Error) {
	defer runtime.KeepAlive(sources)
	var out *C.sluice_source
	status := joined(sourcePtrs(sources), func(all unsafe.Pointer, n C.size_t) C.sluice_status {
		return C.sluice_source_concat((**C.sluice_source)(all), n, &out)
	})
	return newSource(out, status, nil)
}

// Broadcast gives every value to every sink; with endWithFirst one that cancels ends all of them.
func Broadcast(sinks []*Sink, edge Edge, endWithFirst bool) (*Sink, *Error) {
	defer runtime.KeepAlive(sinks)
	options := edge.options()
	var out *C.sluice_sink
	var detail *C.sluice_error
	status := joined(sinkPtrs(sinks), func(all unsafe.Pointer, n C.size_t) C.sluice_status {
		return C.sluice_sink_broadcast((**C.sluice_sink)(all), n, &options, C.bool(endWithFirst), &out, &detail)
	})
	return newSink(out, status, detail)
}

// Balance gives each value to a sink that has room.
func Balance(sinks []*Sink, edge Edge, endWithFirst bool) (*Sink, *Error) {
	defer runtime.KeepAlive(sinks)
	options := edge.options()
	var out *C.sluice_sink
	var detail *C.sluice_error
	status := joined(sinkPtrs(sinks), func(all unsafe.Pointer, n C.size_t) C.sluice_status {
		return C.sluice_sink_balance((**C.sluice_sink)(all), n, &options, C.bool(endWithFirst), &out, &detail)
	})
	return newSink(out, status, detail)
}

// Partition gives each value to the sink that f, which answers an int, chooses.
func Partition(sinks []*Sink, edge Edge, endWithFirst bool, f Function) (*Sink, *Error) {
	defer runtime.KeepAlive(sinks)
	options := edge.options()
	fn := C.sluicegate_chooser(handed(f))
	var out *C.sluice_sink
	var detail *C.sluice_error
	status := joined(sinkPtrs(sinks), func(all unsafe.Pointer, n C.size_t) C.sluice_status {
		return C.sluice_sink_partition((**C.sluice_sink)(all), n, &options, C.bool(endWithFirst), &fn, &out, &detail)
	})
	return newSink(out, status, detail)
}

// The controls of hubs.
type (
	Hub struct {
		_   alone
		ptr *C.sluice_hub
	}
	MergeHub struct {
		_   alone
		ptr *C.sluice_merge_hub
	}
)

// BroadcastHub shares with whoever subscribes.
func BroadcastHub(capacity, replay uint64) (*Sink, *Error) {
	var out *C.sluice_sink
	var detail *C.sluice_error
	status := C.sluice_sink_broadcast_hub(C.uint64_t(capacity), C.uint64_t(replay), &out, &detail)
	return newSink(out, status, detail)
}

// Hub takes the next broadcast hub.
func (r *Run) Hub() (*Hub, *Error) {
	defer runtime.KeepAlive(r)
	var out *C.sluice_hub
	if status := C.sluice_run_hub(r.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	h := &Hub{ptr: out}
	runtime.AddCleanup(h, func(ptr *C.sluice_hub) { C.sluice_hub_release(ptr) }, out)
	return h, nil
}

// Subscribe makes a source of what is shared; 0 microseconds of patience is no limit.
func (h *Hub) Subscribe(policy int32, patience, capacity uint64) (*Source, *Error) {
	defer runtime.KeepAlive(h)
	micros := forever
	if patience != 0 {
		micros = C.uint64_t(patience)
	}
	var out *C.sluice_source
	var detail *C.sluice_error
	status := C.sluice_hub_subscribe(h.ptr, C.int32_t(policy), micros, C.uint64_t(capacity), &out, &detail)
	return newSource(out, status, detail)
}

// Subscribers answers how many listen.
func (h *Hub) Subscribers() int {
	defer runtime.KeepAlive(h)
	var out C.size_t
	must(C.sluice_hub_subscribers(h.ptr, &out))
	return int(out)
}

// MergeHubSource gives what many sinks are given.
func MergeHubSource(edge Edge) (*Source, *Error) {
	options := edge.options()
	var out *C.sluice_source
	var detail *C.sluice_error
	status := C.sluice_source_merge_hub(&options, &out, &detail)
	return newSource(out, status, detail)
}

// MergeHub takes the next merge hub.
func (r *Run) MergeHub() (*MergeHub, *Error) {
	defer runtime.KeepAlive(r)
	var out *C.sluice_merge_hub
	if status := C.sluice_run_merge_hub(r.ptr, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	h := &MergeHub{ptr: out}
	runtime.AddCleanup(h, func(ptr *C.sluice_merge_hub) { C.sluice_merge_hub_release(ptr) }, out)
	return h, nil
}

// Sink attaches a producer.
func (h *MergeHub) Sink() (*Sink, *Error) {
	defer runtime.KeepAlive(h)
	var out *C.sluice_sink
	status := C.sluice_merge_hub_sink(h.ptr, &out)
	return newSink(out, status, nil)
}

// Complete takes no more producers.
func (h *MergeHub) Complete() {
	defer runtime.KeepAlive(h)
	must(C.sluice_merge_hub_complete(h.ptr))
}
