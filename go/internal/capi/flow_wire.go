package capi

/*
#include "flow_shim.h"
*/
import "C"

import "runtime"

// A RawItem is one value of a stream and its metadata, as CBOR that nobody shares. No metadata is nil.
type RawItem struct{ Value, Meta []byte }

// sluicegateFlowFromItem calls a function with a RawItem; its answer is an element.
//
//export sluicegateFlowFromItem
func sluicegateFlowFromItem(fn C.uintptr_t, item *C.sluice_item, out *C.uintptr_t, bytes *C.uint64_t, err **C.sluice_error) C.int32_t {
	lent := Item{item}
	raw := RawItem{Value: append([]byte{}, lent.Value()...)}
	if meta := lent.Meta(); meta != nil {
		raw.Meta = append([]byte{}, meta...)
	}
	answer, failure := contained(func() (any, error) { return function(fn)(raw, nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	*out, *bytes = C.uintptr_t(values.put(answer)), C.uint64_t(len(raw.Value))
	return C.SLUICE_OK
}

// sluicegateFlowToItem calls a function whose answer is a RawItem, and makes an item of it.
//
//export sluicegateFlowToItem
func sluicegateFlowToItem(fn, value C.uintptr_t, out **C.sluice_item, err **C.sluice_error) C.int32_t {
	answer, failure := contained(func() (any, error) { return function(fn)(argument(value), nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	raw, _ := answer.(RawItem)
	p, n := bytes(raw.Value)
	var plain *C.sluice_item
	if status := C.sluice_item_new_cbor(p, n, &plain, err); status != C.SLUICE_OK {
		return C.int32_t(status)
	}
	if raw.Meta == nil {
		*out = plain
		return C.SLUICE_OK
	}
	defer C.sluice_item_release(plain)
	p, n = bytes(raw.Meta)
	return C.int32_t(C.sluice_item_with_meta(plain, p, n, out, err))
}

// items puts what makes an element of an item behind a source of items.
func items(source *Source, err *Error, decode Function) (*Source, *Error) {
	if err != nil {
		return nil, err
	}
	fn := C.sluicegate_from_item(handed(decode))
	var out *C.sluice_flow
	status := C.sluice_flow_map(&fn, &out)
	decoder, err := newFlow(out, status, nil)
	if err != nil {
		return nil, err
	}
	if decoder, err = decoder.Named("decode"); err != nil {
		return nil, err
	}
	return source.Via(decoder)
}

// InputSource gives what decode, which is called with a RawItem, makes of the items of an input.
func InputSource(input *Input, decode Function) (*Source, *Error) {
	defer runtime.KeepAlive(input)
	var out *C.sluice_source
	status := C.sluice_source_wire(input.ptr, &out)
	source, err := newSource(out, status, nil)
	return items(source, err, decode)
}

// FeedSource gives what decode, which is called with a RawItem, makes of the items of a feed.
func FeedSource(feed *Feed, decode Function) (*Source, *Error) {
	defer runtime.KeepAlive(feed)
	var out *C.sluice_source
	status := C.sluice_source_feed(feed.ptr, &out)
	source, err := newSource(out, status, nil)
	return items(source, err, decode)
}

// OutputSink emits what encode, which answers a RawItem, makes of each value: to a scalar stream, or to
// a sequence.
func OutputSink(output *Output, sequence bool, encode Function) (*Sink, *Error) {
	defer runtime.KeepAlive(output)
	fn := C.sluicegate_to_item(handed(encode))
	var mapping *C.sluice_flow
	status := C.sluice_flow_map(&fn, &mapping)
	encoder, err := newFlow(mapping, status, nil)
	if err != nil {
		return nil, err
	}
	if encoder, err = encoder.Named("encode"); err != nil {
		return nil, err
	}
	var out *C.sluice_sink
	if sequence {
		status = C.sluice_sink_wire_items(output.ptr, &out)
	} else {
		status = C.sluice_sink_wire(output.ptr, &out)
	}
	sink, err := newSink(out, status, nil)
	if err != nil {
		return nil, err
	}
	return encoder.To(sink)
}
