package capi

/*
#include "shim.h"
*/
import "C"

import "runtime"

// What can become of a grant.
const (
	Granted   = C.SLUICE_DELIVERY_GRANTED
	NoStream  = C.SLUICE_DELIVERY_NO_STREAM
	NoRequest = C.SLUICE_DELIVERY_NO_REQUEST
)

// A Router brings grants to gates.
type Router struct {
	_   alone
	ptr *C.sluice_router
}

// NewRouter makes a router.
func NewRouter() *Router {
	var ptr *C.sluice_router
	must(C.sluice_router_new(&ptr))
	r := &Router{ptr: ptr}
	runtime.AddCleanup(r, func(ptr *C.sluice_router) { C.sluice_router_release(ptr) }, ptr)
	return r
}

// Register enters a stream.
func (r *Router) Register(request string, stream StreamName, gate *Gate) *Error {
	defer runtime.KeepAlive(gate)
	defer runtime.KeepAlive(r)
	id, idLen := requestBytes(request)
	name, nameLen := stream.lend()
	return failed(C.sluice_router_register(r.ptr, id, idLen, name, nameLen, gate.ptr), nil)
}

// Unregister takes a stream out.
func (r *Router) Unregister(request string, stream StreamName) {
	id, idLen := requestBytes(request)
	name, nameLen := stream.lend()
	known(C.sluice_router_unregister(r.ptr, id, idLen, name, nameLen))
	runtime.KeepAlive(r)
}

// Grant credits a stream.
func (r *Router) Grant(request string, stream StreamName, n uint64) int {
	defer runtime.KeepAlive(r)
	id, idLen := requestBytes(request)
	name, nameLen := stream.lend()
	var out C.sluice_delivery = NoStream // what a name that is not UTF-8 can only be
	known(C.sluice_router_grant(r.ptr, id, idLen, name, nameLen, C.uint64_t(n), &out))
	return int(out)
}

// CloseRequest closes all gates of a request.
func (r *Router) CloseRequest(request, reason string) {
	id, idLen := requestBytes(request)
	p, n := text(reason)
	must(C.sluice_router_close_request(r.ptr, id, idLen, p, n))
	runtime.KeepAlive(r)
}

// CloseAll closes all gates.
func (r *Router) CloseAll(reason string) {
	p, n := text(reason)
	must(C.sluice_router_close_all(r.ptr, p, n))
	runtime.KeepAlive(r)
}

// Len answers how many requests are known.
func (r *Router) Len() int {
	defer runtime.KeepAlive(r)
	var out C.uint64_t
	must(C.sluice_router_len(r.ptr, &out))
	return int(out)
}

// DebugPanic makes the library panic on purpose and leaves the router broken, for tests.
func (r *Router) DebugPanic() *Error {
	defer runtime.KeepAlive(r)
	return failed(C.sluice_debug_panic(r.ptr), nil)
}

// known is must for a stream's name, which nobody can have entered if it is not UTF-8.
func known(status C.sluice_status) {
	if status != C.SLUICE_INVALID_ARGUMENT {
		must(status)
	}
}
