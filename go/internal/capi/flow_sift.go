package capi

/*
#include "flow_shim.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// Some is what a function answers that may answer nothing; the zero value is nothing.
type Some struct {
	Value   any
	Present bool
}

// some hands an answer that may be nothing to the library.
func some(answer any, out *C.uintptr_t, present *C.bool) C.int32_t {
	if made, _ := answer.(Some); made.Present {
		*out, *present = C.uintptr_t(values.put(made.Value)), true
	}
	return C.SLUICE_OK
}

// sluicegateFlowSift calls a function whose answer is a Some.
//
//export sluicegateFlowSift
func sluicegateFlowSift(fn, value C.uintptr_t, out *C.uintptr_t, present *C.bool, err **C.sluice_error) C.int32_t {
	answer, failure := contained(func() (any, error) { return function(fn)(argument(value), nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	return some(answer, out, present)
}

// sluicegateFlowRecover calls a function with an *Error; its answer is a Some.
//
//export sluicegateFlowRecover
func sluicegateFlowRecover(fn C.uintptr_t, lent *C.sluice_error, out *C.uintptr_t, present *C.bool, err **C.sluice_error) C.int32_t {
	reason := readError(lent)
	answer, failure := contained(func() (any, error) { return function(fn)(reason, nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	return some(answer, out, present)
}

// A PageOf is what a pager answers.
type PageOf struct {
	Rows []any
	Next Some
}

// sluicegateFlowPage calls a function with a cursor; its answer is a PageOf.
//
//export sluicegateFlowPage
func sluicegateFlowPage(fn, cursor C.uintptr_t, rows *C.sluice_elements, next *C.uintptr_t, more *C.bool, err **C.sluice_error) C.int32_t {
	answer, failure := contained(func() (any, error) { return function(fn)(argument(cursor), nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	page, _ := answer.(PageOf)
	if status := filled(rows, page.Rows, err); status != C.SLUICE_OK {
		return status
	}
	return some(page.Next, next, more)
}

// FilterMap keeps what f, which answers a Some, makes of values.
func FilterMap(f Function) (*Flow, *Error) {
	fn := C.sluicegate_sifter(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_filter_map(&fn, &out)
	return newFlow(out, status, nil)
}

// Recover puts what f, which is called with an *Error and answers a Some, in the place of a failure.
func Recover(f Function) (*Flow, *Error) {
	fn := C.sluicegate_recoverer(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_recover(&fn, &out)
	return newFlow(out, status, nil)
}

// PagesSource gives the rows of the pages that f, which answers a PageOf, fetches.
func PagesSource(first any, mark uint64, f Function) (*Source, *Error) {
	begin, drop := element(first, 0)
	fn := C.sluicegate_pager(handed(f))
	var out *C.sluice_source
	status := C.sluice_source_pages(&begin, C.uint64_t(mark), &fn, &out)
	if status != C.SLUICE_OK {
		drop()
	}
	return newSource(out, status, nil)
}

// MergePrefer takes them as they come, those of the first before others.
func MergePrefer(sources []*Source) (*Source, *Error) {
	defer runtime.KeepAlive(sources)
	var out *C.sluice_source
	status := joined(sourcePtrs(sources), func(all unsafe.Pointer, n C.size_t) C.sluice_status {
		return C.sluice_source_merge_prefer((**C.sluice_source)(all), n, &out)
	})
	return newSource(out, status, nil)
}

// sluicegateFlowSized calls a function whose answer is the uint64 of bytes that a value counts for.
//
//export sluicegateFlowSized
func sluicegateFlowSized(fn, value C.uintptr_t, out *C.uintptr_t, size *C.uint64_t, err **C.sluice_error) C.int32_t {
	same := argument(value)
	answer, failure := contained(func() (any, error) { return function(fn)(same, nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	counted, _ := answer.(uint64)
	*out, *size = C.uintptr_t(values.put(same)), C.uint64_t(counted)
	return C.SLUICE_OK
}

// Sized makes each value count for the bytes that f, which answers a uint64, says.
func Sized(f Function) (*Flow, *Error) {
	fn := C.sluicegate_sizer(handed(f))
	var out *C.sluice_flow
	status := C.sluice_flow_map(&fn, &out)
	sized, err := newFlow(out, status, nil)
	if err != nil {
		return nil, err
	}
	return sized.Named("sized")
}

// BatchBytes makes groups by their bytes.
func BatchBytes(limit uint64) (*Flow, *Error) {
	var out *C.sluice_flow
	var detail *C.sluice_error
	status := C.sluice_flow_batch_bytes(C.uint64_t(limit), &out, &detail)
	return newFlow(out, status, detail)
}

// textOf takes the text of an item that a call answered.
func textOf(item *C.sluice_item, status C.sluice_status) string {
	must(status)
	taken := newItem(item)
	defer taken.Release()
	content, err := taken.Content()
	if err != nil {
		panic("sluicegate: an explanation is text: " + err.Message)
	}
	return string(content)
}

// Explain answers who waits for whom, as JSON and in words.
func (s *Scope) Explain() (json, words string) {
	defer runtime.KeepAlive(s)
	var told, said *C.sluice_item
	status := C.sluice_scope_explain(s.ptr, &told)
	json = textOf(told, status)
	status = C.sluice_scope_explain_text(s.ptr, &said)
	return json, textOf(said, status)
}

// Over tells whether everything was shared.
func (h *Hub) Over() bool {
	defer runtime.KeepAlive(h)
	var out C.bool
	must(C.sluice_hub_is_over(h.ptr, &out))
	return bool(out)
}

// Listener has the figures of one who listens.
type Listener struct {
	Name               string
	Demand, Held, Lost uint64
}

// Listeners answers who listens.
func (h *Hub) Listeners() []Listener {
	defer runtime.KeepAlive(h)
	var list *C.sluice_listeners
	must(C.sluice_hub_listeners(h.ptr, &list))
	defer C.sluice_listeners_release(list)
	var count C.size_t
	must(C.sluice_listeners_count(list, &count))
	all := make([]Listener, count)
	for i := range all {
		info := C.sluicegate_listener_info_init()
		must(C.sluice_listeners_info(list, C.size_t(i), &info))
		all[i] = Listener{
			Name:   C.GoString(info.name),
			Demand: uint64(info.demand),
			Held:   uint64(info.held),
			Lost:   uint64(info.lost),
		}
	}
	return all
}

// Failures answers how many producers have failed, and what the last of them failed with.
func (h *MergeHub) Failures() (uint64, *Error) {
	defer runtime.KeepAlive(h)
	var count C.uint64_t
	var reason *C.sluice_error
	must(C.sluice_merge_hub_failures(h.ptr, &count, &reason))
	return uint64(count), takeError(reason)
}

// TickSource gives a value each time so many microseconds have passed.
func TickSource(every uint64, value any) (*Source, *Error) {
	made, drop := element(value, 0)
	var out *C.sluice_source
	status := C.sluice_source_tick(C.uint64_t(every), &made, &out)
	if status != C.SLUICE_OK {
		drop()
	}
	return newSource(out, status, nil)
}

// GroupBy puts values through a run of flow for each int that f answers.
func GroupBy(most, slots uint64, f Function, flow *Flow) (*Flow, *Error) {
	defer runtime.KeepAlive(flow)
	fn := C.sluicegate_chooser(handed(f))
	var out *C.sluice_flow
	var detail *C.sluice_error
	status := C.sluice_flow_group_by(C.uint64_t(most), C.uint64_t(slots), &fn, flow.ptr, &out, &detail)
	return newFlow(out, status, detail)
}
