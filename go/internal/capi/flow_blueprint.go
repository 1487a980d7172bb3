package capi

/*
#include "flow_shim.h"
*/
import "C"

import (
	"runtime"
)

// Edge says how large a queue is and what happens when it is full; 0 stands for the default.
type Edge struct {
	Capacity, Bytes uint64
	Overflow        int32
}

func (e Edge) options() C.sluice_edge_options {
	return C.sluicegate_edge(C.uint64_t(e.Capacity), C.uint64_t(e.Bytes), C.int32_t(e.Overflow))
}

// A Source, Flow, Sink or Graph is a blueprint.
type (
	Source struct {
		_   alone
		ptr *C.sluice_source
	}
	Flow struct {
		_   alone
		ptr *C.sluice_flow
	}
	Sink struct {
		_   alone
		ptr *C.sluice_sink
	}
	Graph struct {
		_   alone
		ptr *C.sluice_graph
	}
)

func newSource(ptr *C.sluice_source, status C.sluice_status, detail *C.sluice_error) (*Source, *Error) {
	if status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	s := &Source{ptr: ptr}
	runtime.AddCleanup(s, func(ptr *C.sluice_source) { C.sluice_source_release(ptr) }, ptr)
	return s, nil
}

func newFlow(ptr *C.sluice_flow, status C.sluice_status, detail *C.sluice_error) (*Flow, *Error) {
	if status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	f := &Flow{ptr: ptr}
	runtime.AddCleanup(f, func(ptr *C.sluice_flow) { C.sluice_flow_release(ptr) }, ptr)
	return f, nil
}

func newSink(ptr *C.sluice_sink, status C.sluice_status, detail *C.sluice_error) (*Sink, *Error) {
	if status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	s := &Sink{ptr: ptr}
	runtime.AddCleanup(s, func(ptr *C.sluice_sink) { C.sluice_sink_release(ptr) }, ptr)
	return s, nil
}

func newGraph(ptr *C.sluice_graph, status C.sluice_status) (*Graph, *Error) {
	if status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	g := &Graph{ptr: ptr}
	runtime.AddCleanup(g, func(ptr *C.sluice_graph) { C.sluice_graph_release(ptr) }, ptr)
	return g, nil
}

func handed(f Function) C.uintptr_t { return C.uintptr_t(values.put(f)) }

// element makes an element that is the library's as soon as a call has taken it; until then drop it.
func element(value any, bytes uint64) (C.sluice_element, func()) {
	handle := values.put(value)
	return C.sluicegate_element(C.uintptr_t(handle), C.uint64_t(bytes)), func() { values.drop(handle) }
}

// pushed puts a value on a list of the library.
func pushed(list *C.sluice_elements, value any) *Error {
	made, drop := element(value, 0)
	if status := C.sluice_elements_push(list, &made); status != C.SLUICE_OK {
		drop()
		return failed(status, nil)
	}
	return nil
}

// ManualSource is fed by hand.
func ManualSource(edge Edge) (*Source, *Error) {
	options := edge.options()
	var out *C.sluice_source
	var detail *C.sluice_error
	status := C.sluice_source_manual(&options, &out, &detail)
	return newSource(out, status, detail)
}

// ProbeSource is played by a test.
func ProbeSource() (*Source, *Error) {
	var out *C.sluice_source
	status := C.sluice_source_probe(&out)
	return newSource(out, status, nil)
}

// PullSource pulls from the Caller that open answers for each run.
func PullSource(open Function) (*Source, *Error) {
	opener := C.sluicegate_opener(handed(open))
	var out *C.sluice_source
	status := C.sluice_source_pull(&opener, &out)
	return newSource(out, status, nil)
}

// ElementsSource gives these values.
func ElementsSource(all []any) (*Source, *Error) {
	var list *C.sluice_elements
	if status := C.sluice_elements_new(&list); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	defer C.sluice_elements_release(list)
	for _, value := range all {
		if err := pushed(list, value); err != nil {
			return nil, err
		}
	}
	var out *C.sluice_source
	status := C.sluice_source_elements(list, &out)
	return newSource(out, status, nil)
}

// EmptySource completes at once.
func EmptySource() (*Source, *Error) {
	var out *C.sluice_source
	status := C.sluice_source_empty(&out)
	return newSource(out, status, nil)
}

// FailedSource fails at once.
func FailedSource(reason *Error) (*Source, *Error) {
	e := cError(reason)
	defer C.sluice_error_release(e)
	var out *C.sluice_source
	status := C.sluice_source_failed(e, &out)
	return newSource(out, status, nil)
}

// Via puts a flow behind the source.
func (s *Source) Via(flow *Flow) (*Source, *Error) {
	defer runtime.KeepAlive(s)
	defer runtime.KeepAlive(flow)
	var out *C.sluice_source
	status := C.sluice_source_via(s.ptr, flow.ptr, &out)
	return newSource(out, status, nil)
}

// To closes the source with a sink.
func (s *Source) To(sink *Sink) (*Graph, *Error) {
	defer runtime.KeepAlive(s)
	defer runtime.KeepAlive(sink)
	var out *C.sluice_graph
	status := C.sluice_source_to(s.ptr, sink.ptr, &out)
	return newGraph(out, status)
}

// Named renames it.
func (s *Source) Named(name string) (*Source, *Error) {
	defer runtime.KeepAlive(s)
	p, n := text(name)
	var out *C.sluice_source
	status := C.sluice_source_named(s.ptr, p, n, &out)
	return newSource(out, status, nil)
}

// Via puts another flow behind the flow.
func (f *Flow) Via(next *Flow) (*Flow, *Error) {
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(next)
	var out *C.sluice_flow
	status := C.sluice_flow_via(f.ptr, next.ptr, &out)
	return newFlow(out, status, nil)
}

// To closes the flow downwards.
func (f *Flow) To(sink *Sink) (*Sink, *Error) {
	defer runtime.KeepAlive(f)
	defer runtime.KeepAlive(sink)
	var out *C.sluice_sink
	status := C.sluice_flow_to(f.ptr, sink.ptr, &out)
	return newSink(out, status, nil)
}

// Named renames it.
func (f *Flow) Named(name string) (*Flow, *Error) {
	defer runtime.KeepAlive(f)
	p, n := text(name)
	var out *C.sluice_flow
	status := C.sluice_flow_named(f.ptr, p, n, &out)
	return newFlow(out, status, nil)
}

// Named renames it.
func (s *Sink) Named(name string) (*Sink, *Error) {
	defer runtime.KeepAlive(s)
	p, n := text(name)
	var out *C.sluice_sink
	status := C.sluice_sink_named(s.ptr, p, n, &out)
	return newSink(out, status, nil)
}

// Run runs the graph.
func (g *Graph) Run(scope *Scope) (*Run, *Error) {
	defer runtime.KeepAlive(g)
	defer runtime.KeepAlive(scope)
	var out *C.sluice_run
	var detail *C.sluice_error
	if status := C.sluice_graph_run(g.ptr, scope.ptr, &out, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	r := &Run{ptr: out}
	runtime.AddCleanup(r, func(ptr *C.sluice_run) { C.sluice_run_release(ptr) }, out)
	return r, nil
}

// A Scope owns what runs.
type Scope struct {
	_   alone
	ptr *C.sluice_scope
}

func newScope(ptr *C.sluice_scope, status C.sluice_status) (*Scope, *Error) {
	if status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	s := &Scope{ptr: ptr}
	runtime.AddCleanup(s, func(ptr *C.sluice_scope) { go C.sluice_scope_release(ptr) }, ptr)
	return s, nil
}

// NewScope has threads and the machine's clock.
func NewScope(name string) (*Scope, *Error) {
	p, n := text(name)
	var out *C.sluice_scope
	status := C.sluice_scope_new(p, n, &out)
	return newScope(out, status)
}

// HandScope has threads and a clock moved by hand.
func HandScope(name string) (*Scope, *Error) {
	p, n := text(name)
	var out *C.sluice_scope
	status := C.sluice_scope_new_hand(p, n, &out)
	return newScope(out, status)
}

// SteppedScope has no threads and a clock moved by hand.
func SteppedScope(name string, seed uint64) (*Scope, *Error) {
	p, n := text(name)
	var out *C.sluice_scope
	status := C.sluice_scope_new_stepped(p, n, C.uint64_t(seed), &out)
	return newScope(out, status)
}

// Settle runs what can run.
func (s *Scope) Settle() uint64 {
	defer runtime.KeepAlive(s)
	var turns C.uint64_t
	must(C.sluice_scope_settle(s.ptr, &turns))
	return uint64(turns)
}

// Advance moves the clock.
func (s *Scope) Advance(micros uint64) *Error {
	defer runtime.KeepAlive(s)
	return failed(C.sluice_scope_advance(s.ptr, C.uint64_t(micros)), nil)
}

// Shutdown stops everything and waits.
func (s *Scope) Shutdown(millis int64) *Error {
	defer runtime.KeepAlive(s)
	var detail *C.sluice_error
	status := C.sluice_scope_shutdown(s.ptr, C.int64_t(millis), &detail)
	return failed(status, detail)
}

// Running answers how many chains of stages run.
func (s *Scope) Running() int {
	defer runtime.KeepAlive(s)
	var out C.size_t
	must(C.sluice_scope_running(s.ptr, &out))
	return int(out)
}

// Stage has the counters of a stage.
type Stage struct {
	Name                                           string
	Downstream, Upstream, Held, Passed, Late, Lost uint64
}

// Stages answers what runs.
func (s *Scope) Stages() []Stage {
	defer runtime.KeepAlive(s)
	var list *C.sluice_stages
	must(C.sluice_scope_stages(s.ptr, &list))
	defer C.sluice_stages_release(list)
	var count C.size_t
	must(C.sluice_stages_count(list, &count))
	all := make([]Stage, count)
	for i := range all {
		info := C.sluicegate_stage_info_init()
		must(C.sluice_stages_info(list, C.size_t(i), &info))
		all[i] = Stage{
			Name:       C.GoString(info.name),
			Downstream: uint64(info.downstream),
			Upstream:   uint64(info.upstream),
			Held:       uint64(info.held),
			Passed:     uint64(info.passed),
			Late:       uint64(info.late),
			Lost:       uint64(info.lost),
		}
	}
	return all
}
