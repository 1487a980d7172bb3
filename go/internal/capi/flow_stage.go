package capi

/*
#include "flow_shim.h"
*/
import "C"

// Map makes one value of another.
func Map(f Function) (*Flow, *Error) {
	fn := C.sluicegate_mapper(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_map(&fn, &out)
	return newFlow(out, status, nil)
}

// MapList makes one value of the values of a group.
func MapList(f Function) (*Flow, *Error) {
	fn := C.sluicegate_list_mapper(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_map(&fn, &out)
	return newFlow(out, status, nil)
}

// Filter keeps what f says true of.
func Filter(f Function) (*Flow, *Error) {
	fn := C.sluicegate_predicate(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_filter(&fn, &out)
	return newFlow(out, status, nil)
}

// TakeWhile keeps what comes before the first that f says false of.
func TakeWhile(f Function) (*Flow, *Error) {
	fn := C.sluicegate_predicate(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_take_while(&fn, &out)
	return newFlow(out, status, nil)
}

// DropWhile keeps what comes from the first on that f says false of.
func DropWhile(f Function) (*Flow, *Error) {
	fn := C.sluicegate_predicate(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_drop_while(&fn, &out)
	return newFlow(out, status, nil)
}

// Tap shows each value to f.
func Tap(f Function) (*Flow, *Error) {
	fn := C.sluicegate_observer(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_tap(&fn, &out)
	return newFlow(out, status, nil)
}

// Take keeps the first n.
func Take(n uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	status := C.sluice_flow_take(C.uint64_t(n), &out)
	return newFlow(out, status, nil)
}

// Drop keeps all but the first n.
func Drop(n uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	status := C.sluice_flow_drop(C.uint64_t(n), &out)
	return newFlow(out, status, nil)
}

// Scan gives each state.
func Scan(first any, f Function) (*Flow, *Error) {
	state, drop := element(first, 0)
	fn := C.sluicegate_folder(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_scan(&state, &fn, &out)
	if status != C.SLUICE_OK {
		drop()
	}
	return newFlow(out, status, nil)
}

// Fold gives the last state.
func Fold(first any, f Function) (*Flow, *Error) {
	state, drop := element(first, 0)
	fn := C.sluicegate_folder(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_fold(&state, &fn, &out)
	if status != C.SLUICE_OK {
		drop()
	}
	return newFlow(out, status, nil)
}

// Buffer is a boundary between two threads.
func Buffer(edge Edge) (*Flow, *Error) {
	options := edge.options()
	var out *C.sluice_flow
	var detail *C.sluice_error
	status := C.sluice_flow_buffer(&options, &out, &detail)
	return newFlow(out, status, detail)
}

// SwitchFlow ends a run from outside.
func SwitchFlow() (*Flow, *Error) {
	var out *C.sluice_flow
	status := C.sluice_flow_kill_switch(&out)
	return newFlow(out, status, nil)
}

// CollectSink keeps all.
func CollectSink() (*Sink, *Error) {
	var out *C.sluice_sink
	status := C.sluice_sink_collect(&out)
	return newSink(out, status, nil)
}

// ForeachSink calls f with each.
func ForeachSink(f Function) (*Sink, *Error) {
	fn := C.sluicegate_observer(handed(f))
	var out *C.sluice_sink
	status := C.sluice_sink_foreach(&fn, &out)
	return newSink(out, status, nil)
}

// FoldSink keeps the last state.
func FoldSink(first any, f Function) (*Sink, *Error) {
	state, drop := element(first, 0)
	fn := C.sluicegate_folder(handed(f))
	var out *C.sluice_sink
	status := C.sluice_sink_fold(&state, &fn, &out)
	if status != C.SLUICE_OK {
		drop()
	}
	return newSink(out, status, nil)
}

// FirstSink keeps the first.
func FirstSink() (*Sink, *Error) {
	var out *C.sluice_sink
	status := C.sluice_sink_first(&out)
	return newSink(out, status, nil)
}

// LastSink keeps the last.
func LastSink() (*Sink, *Error) {
	var out *C.sluice_sink
	status := C.sluice_sink_last(&out)
	return newSink(out, status, nil)
}

// IgnoreSink keeps nothing.
func IgnoreSink() (*Sink, *Error) {
	var out *C.sluice_sink
	status := C.sluice_sink_ignore(&out)
	return newSink(out, status, nil)
}

// OutletSink is taken from by hand.
func OutletSink(edge Edge) (*Sink, *Error) {
	options := edge.options()
	var out *C.sluice_sink
	var detail *C.sluice_error
	status := C.sluice_sink_outlet(&options, &out, &detail)
	return newSink(out, status, detail)
}

// ProbeSink is played by a test.
func ProbeSink() (*Sink, *Error) {
	var out *C.sluice_sink
	status := C.sluice_sink_probe(&out)
	return newSink(out, status, nil)
}
