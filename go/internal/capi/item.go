package capi

/*
#include "shim.h"
*/
import "C"

import "unsafe"

// An Item is one value and its metadata. What its methods answer points into the library and lives
// until Release. One goroutine owns an Item, and must Release it: there is no clean-up behind it.
type Item struct{ ptr *C.sluice_item }

func newItem(ptr *C.sluice_item) *Item { return &Item{ptr} }

// Release ends the item.
func (i *Item) Release() {
	C.sluice_item_release(i.ptr)
	i.ptr = nil
}

// Value views the encoded value.
func (i *Item) Value() []byte {
	var p *C.uint8_t
	var n C.size_t
	must(C.sluice_item_cbor(i.ptr, &p, &n))
	return view(p, n)
}

// Meta views the encoded metadata, or is nil.
func (i *Item) Meta() []byte {
	var p *C.uint8_t
	var n C.size_t
	must(C.sluice_item_meta(i.ptr, &p, &n))
	return view(p, n)
}

// Content views the bytes of a byte string or text.
func (i *Item) Content() ([]byte, *Error) {
	var p *C.uint8_t
	var n C.size_t
	if status := C.sluice_item_bytes(i.ptr, &p, &n); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	return view(p, n), nil
}

// Bytes views the bytes of a byte string; false if the item is none.
func (i *Item) Bytes() ([]byte, bool) {
	var kind C.sluice_item_kind_t
	must(C.sluice_item_kind(i.ptr, &kind))
	if kind != C.SLUICE_ITEM_BYTES {
		return nil, false
	}
	content, err := i.Content()
	return content, err == nil
}

// view is a slice over what the library lends us.
func view(p *C.uint8_t, n C.size_t) []byte {
	if p == nil {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(p)), int(n))
}
