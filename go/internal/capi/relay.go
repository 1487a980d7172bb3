package capi

/*
#include "shim.h"
*/
import "C"

import "runtime"

// SwitchOptions are a switch's; zero is the default.
type SwitchOptions struct {
	Policy            int32
	Limits            Limits
	JoinTimeoutMillis int64
}

// A Switch is a relay.
type Switch struct {
	_   alone
	ptr *C.sluice_switch
}

// NewSwitch makes a switch.
func NewSwitch(o SwitchOptions) (*Switch, *Error) {
	options := C.sluicegate_switch_options_init()
	options.policy = C.int32_t(o.Policy)
	options.limits = o.Limits.lend()
	options.join_timeout_ms = C.int64_t(o.JoinTimeoutMillis)
	var ptr *C.sluice_switch
	var detail *C.sluice_error
	if status := C.sluice_switch_new(&options, &ptr, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	s := &Switch{ptr: ptr}
	runtime.AddCleanup(s, func(ptr *C.sluice_switch) { C.sluice_switch_release(ptr) }, ptr)
	return s, nil
}

// Listen lets whoever connects join; it answers where.
func (s *Switch) Listen(address string) (string, *Error) {
	defer runtime.KeepAlive(s)
	p, n := text(address)
	var out *C.sluice_item
	var detail *C.sluice_error
	status := C.sluice_switch_listen(s.ptr, p, n, &out, &detail)
	return itemText(status, out, detail)
}

// Attach lets one newcomer join over descriptors, which are the library's from here on. It waits.
func (s *Switch) Attach(name string, read, write int) *Error {
	defer runtime.KeepAlive(s)
	p, n := text(name)
	var detail *C.sluice_error
	status := C.sluice_switch_attach(s.ptr, p, n, C.int(read), C.int(write), &detail)
	return failed(status, detail)
}

// Caller makes a caller in this process. It waits.
func (s *Switch) Caller(e *Engine) (*Peer, *Error) {
	defer runtime.KeepAlive(s)
	defer runtime.KeepAlive(e)
	var out *C.sluice_peer
	var detail *C.sluice_error
	if status := C.sluice_switch_caller(s.ptr, e.ptr, &out, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	return newPeer(out), nil
}

// Connect attaches to a switch that listens somewhere. It waits.
func (e *Engine) Connect(address string) (*Peer, *Error) {
	defer runtime.KeepAlive(e)
	p, n := text(address)
	var out *C.sluice_peer
	var detail *C.sluice_error
	if status := C.sluice_engine_connect(e.ptr, p, n, &out, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	return newPeer(out), nil
}

// Caps answers a JSON array of texts.
func (s *Switch) Caps() string {
	defer runtime.KeepAlive(s)
	var out *C.sluice_item
	status := C.sluice_switch_caps(s.ptr, &out)
	return sure(status, out)
}

// SetState gives every host something to keep.
func (s *Switch) SetState(state []byte) *Error {
	defer runtime.KeepAlive(s)
	p, n := bytes(state)
	var detail *C.sluice_error
	status := C.sluice_switch_set_state(s.ptr, p, n, &detail)
	return failed(status, detail)
}

// Stats answers JSON.
func (s *Switch) Stats() string {
	defer runtime.KeepAlive(s)
	var out *C.sluice_item
	status := C.sluice_switch_stats(s.ptr, &out)
	return sure(status, out)
}

// Explain answers JSON. It waits, a second at most.
func (s *Switch) Explain() string {
	defer runtime.KeepAlive(s)
	var out *C.sluice_item
	status := C.sluice_switch_explain(s.ptr, &out)
	return sure(status, out)
}

// ServeControl opens a control socket; an empty address is this process's own place.
func (s *Switch) ServeControl(address string) (*Control, *Error) {
	defer runtime.KeepAlive(s)
	p, n := textOrNull(address)
	var out *C.sluice_control
	var detail *C.sluice_error
	status := C.sluice_switch_serve_control(s.ptr, p, n, &out, &detail)
	return newControl(out, status, detail)
}

// Close ends every connection.
func (s *Switch) Close() {
	C.sluice_switch_close(s.ptr)
	runtime.KeepAlive(s)
}

// A Host offers cartridges to a switch.
type Host struct {
	_   alone
	ptr *C.sluice_host
}

// NewHost makes a host; idle is in milliseconds.
func NewHost(o EngineOptions, idle int64) (*Host, *Error) {
	options := o.build()
	var ptr *C.sluice_host
	var detail *C.sluice_error
	if status := C.sluicegate_host_new(options, C.int64_t(idle), &ptr, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	h := &Host{ptr: ptr}
	runtime.AddCleanup(h, func(ptr *C.sluice_host) { C.sluice_host_release(ptr) }, ptr)
	return h, nil
}

// Add starts a cartridge and offers it. It waits.
func (h *Host) Add(c Command) *Error {
	defer runtime.KeepAlive(h)
	command, err := c.build()
	if err != nil {
		return err
	}
	defer C.sluice_command_release(command)
	var detail *C.sluice_error
	status := C.sluice_host_add(h.ptr, command, &detail)
	return failed(status, detail)
}

// AddLazy offers a cartridge that is started when it is needed.
func (h *Host) AddLazy(c Command, m Manifest) *Error {
	defer runtime.KeepAlive(h)
	command, err := c.build()
	if err != nil {
		return err
	}
	defer C.sluice_command_release(command)
	manifest, err := m.build()
	if err != nil {
		return err
	}
	defer C.sluice_manifest_release(manifest)
	return failed(C.sluice_host_add_lazy(h.ptr, command, manifest), nil)
}

// Attach offers a cartridge over descriptors, which are the library's from here on. It waits.
func (h *Host) Attach(label string, read, write int) *Error {
	defer runtime.KeepAlive(h)
	p, n := text(label)
	var detail *C.sluice_error
	status := C.sluice_host_attach(h.ptr, p, n, C.int(read), C.int(write), &detail)
	return failed(status, detail)
}

// Join joins a switch over descriptors, which are the library's from here on. It waits.
func (h *Host) Join(read, write int) *Error {
	defer runtime.KeepAlive(h)
	var detail *C.sluice_error
	status := C.sluice_host_join(h.ptr, C.int(read), C.int(write), &detail)
	return failed(status, detail)
}

// JoinAt joins the switch that listens at address. It waits.
func (h *Host) JoinAt(address string) *Error {
	defer runtime.KeepAlive(h)
	p, n := text(address)
	var detail *C.sluice_error
	status := C.sluice_host_join_at(h.ptr, p, n, &detail)
	return failed(status, detail)
}

// Retire takes no new requests for a cartridge, and reports whether there is one of this label.
func (h *Host) Retire(label string) bool {
	defer runtime.KeepAlive(h)
	p, n := text(label)
	var found C.bool
	must(C.sluice_host_retire(h.ptr, p, n, &found))
	return bool(found)
}

// State answers what the switch gave it to keep, or nil.
func (h *Host) State() []byte {
	defer runtime.KeepAlive(h)
	var out *C.sluice_item
	must(C.sluice_host_state(h.ptr, &out))
	if out == nil {
		return nil
	}
	item := newItem(out)
	defer item.Release()
	content, _ := item.Content()
	return append([]byte{}, content...)
}

// Stats answers JSON.
func (h *Host) Stats() string {
	defer runtime.KeepAlive(h)
	var out *C.sluice_item
	status := C.sluice_host_stats(h.ptr, &out)
	return sure(status, out)
}

// Explain answers JSON. It waits, a second at most.
func (h *Host) Explain() string {
	defer runtime.KeepAlive(h)
	var out *C.sluice_item
	status := C.sluice_host_explain(h.ptr, &out)
	return sure(status, out)
}

// ServeControl opens a control socket; an empty address is this process's own place.
func (h *Host) ServeControl(address string) (*Control, *Error) {
	defer runtime.KeepAlive(h)
	p, n := textOrNull(address)
	var out *C.sluice_control
	var detail *C.sluice_error
	status := C.sluice_host_serve_control(h.ptr, p, n, &out, &detail)
	return newControl(out, status, detail)
}

// Dead answers why it is no longer connected to its switch, or nil.
func (h *Host) Dead() *Error {
	defer runtime.KeepAlive(h)
	var out *C.sluice_error
	must(C.sluice_host_dead(h.ptr, &out))
	return takeError(out)
}

// LeftOp waits until it is no longer connected to its switch.
func (h *Host) LeftOp() *Op {
	var op *C.sluice_op
	status := C.sluice_host_left_start(h.ptr, &op)
	return started(h, op, status, nil)
}

// Close leaves the switch and closes every cartridge.
func (h *Host) Close() {
	C.sluice_host_close(h.ptr)
	runtime.KeepAlive(h)
}
