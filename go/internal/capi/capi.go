// Package capi is the only door between this module and the C library: thin Go types over its
// handles, and nothing decided here.
//
// Every object here owns one reference of a handle, which a runtime clean-up gives back once the
// object is unreachable; what has a Release method is given back there, at once. Handles are ids in
// pointer clothing: never dereferenced, checked by the library at every call.
package capi

/*
#cgo CFLAGS: -I${SRCDIR}/../../../include
#include "sluicegate.h"
*/
import "C"

import "unsafe"

// alone keeps an object out of the blocks that small objects without pointers share: there it would live
// as long as any of the others, and its clean-up might never run.
type alone struct{ _ *byte }

// somewhere is what a present but empty text or byte string points to: NULL would say absent.
var somewhere [1]byte

// text lends a string to a C call.
func text(s string) (*C.char, C.size_t) {
	if s == "" {
		return (*C.char)(unsafe.Pointer(&somewhere)), 0
	}
	return (*C.char)(unsafe.Pointer(unsafe.StringData(s))), C.size_t(len(s))
}

// textOrNull lends a string to a C call; the empty one is absent.
func textOrNull(s string) (*C.char, C.size_t) {
	if s == "" {
		return nil, 0
	}
	return text(s)
}

// bytes lends a byte slice to a C call.
func bytes(b []byte) (*C.uint8_t, C.size_t) {
	if len(b) == 0 {
		return (*C.uint8_t)(unsafe.Pointer(&somewhere)), 0
	}
	return (*C.uint8_t)(unsafe.Pointer(unsafe.SliceData(b))), C.size_t(len(b))
}

// bytesOrNull lends a byte slice to a C call; nil is absent.
func bytesOrNull(b []byte) (*C.uint8_t, C.size_t) {
	if b == nil {
		return nil, 0
	}
	return bytes(b)
}

// requestBytes lends the text that names a request.
func requestBytes(request string) (*C.uint8_t, C.size_t) {
	p, n := text(request)
	return (*C.uint8_t)(unsafe.Pointer(p)), n
}

// goText copies a text that the library lends us.
func goText(p *C.char, n C.size_t) string {
	if p == nil {
		return ""
	}
	return C.GoStringN(p, C.int(n))
}

// A StreamName is a text, or absent.
type StreamName struct {
	Text    string
	Present bool
}

func (n StreamName) lend() (*C.char, C.size_t) {
	if !n.Present {
		return nil, 0
	}
	return text(n.Text)
}

func goName(p *C.char, n C.size_t) StreamName {
	return StreamName{Text: goText(p, n), Present: p != nil}
}

// Version answers the version of the library.
func Version() string { return C.GoString(C.sluice_version()) }

// LiveHandles answers how many handles are alive in this process, for tests of leaks.
func LiveHandles() uint64 { return uint64(C.sluice_live_handles()) }
