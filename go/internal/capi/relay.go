package capi

/*
#include "shim.h"
*/
import "C"

import (
	"runtime"
	"runtime/cgo"
)

// SwitchOptions are a switch's; zero is the default.
type SwitchOptions struct {
	Policy            int32
	Limits            Limits
	JoinTimeoutMillis int64
	QuietLosses       bool
	// Serves says whether an offered cap serves the one that is asked for; nil: one with the same tags.
	Serves func(offered, asked string) bool
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
	options.quiet_losses = C.bool(o.QuietLosses)
	var matcher C.uintptr_t
	if o.Serves != nil {
		matcher = C.uintptr_t(cgo.NewHandle(o.Serves)) // the library lets it go, whatever it answers
	}
	var ptr *C.sluice_switch
	var detail *C.sluice_error
	if status := C.sluicegate_switch_new(options, matcher, &ptr, &detail); status != C.SLUICE_OK {
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

// AttachOp lets one newcomer join over descriptors, which are the library's from here on.
func (s *Switch) AttachOp(name string, read, write int) *Op {
	p, n := text(name)
	var op *C.sluice_op
	status := C.sluice_switch_attach_start(s.ptr, p, n, C.int(read), C.int(write), &op)
	return started(s, op, status, nil)
}

// CallerOp makes a caller in this process; it answers a peer.
func (s *Switch) CallerOp(e *Engine) *Op {
	var op *C.sluice_op
	status := C.sluice_switch_caller_start(s.ptr, e.ptr, &op)
	return started([]any{s, e}, op, status, nil)
}

// ConnectOp attaches to a switch that listens somewhere; it answers a peer.
func (e *Engine) ConnectOp(address string) *Op {
	p, n := text(address)
	var op *C.sluice_op
	status := C.sluice_engine_connect_start(e.ptr, p, n, &op)
	return started(e, op, status, nil)
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

// ExplainOp answers JSON.
func (s *Switch) ExplainOp() *Op {
	var op *C.sluice_op
	status := C.sluice_switch_explain_start(s.ptr, &op)
	return started(s, op, status, nil)
}

// NextLossOp waits for a notice, JSON.
func (s *Switch) NextLossOp() *Op {
	var op *C.sluice_op
	status := C.sluice_switch_next_loss_start(s.ptr, &op)
	return started(s, op, status, nil)
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
func (s *Switch) Close() *Error {
	defer runtime.KeepAlive(s)
	return failed(C.sluice_switch_close(s.ptr), nil)
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

// AddOp starts a cartridge and offers it.
func (h *Host) AddOp(c Command) *Op {
	command, err := c.build()
	if err != nil {
		return &Op{failed: err}
	}
	defer C.sluice_command_release(command)
	var op *C.sluice_op
	status := C.sluice_host_add_start(h.ptr, command, &op)
	return started(h, op, status, nil)
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

// AttachOp offers a cartridge over descriptors, which are the library's from here on.
func (h *Host) AttachOp(label string, read, write int) *Op {
	p, n := text(label)
	var op *C.sluice_op
	status := C.sluice_host_attach_start(h.ptr, p, n, C.int(read), C.int(write), &op)
	return started(h, op, status, nil)
}

// JoinOp joins a switch over descriptors, which are the library's from here on.
func (h *Host) JoinOp(read, write int) *Op {
	var op *C.sluice_op
	status := C.sluice_host_join_start(h.ptr, C.int(read), C.int(write), &op)
	return started(h, op, status, nil)
}

// JoinAtOp joins the switch that listens at address.
func (h *Host) JoinAtOp(address string) *Op {
	p, n := text(address)
	var op *C.sluice_op
	status := C.sluice_host_join_at_start(h.ptr, p, n, &op)
	return started(h, op, status, nil)
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

// ExplainOp answers JSON.
func (h *Host) ExplainOp() *Op {
	var op *C.sluice_op
	status := C.sluice_host_explain_start(h.ptr, &op)
	return started(h, op, status, nil)
}

// NextLossOp waits for a notice, JSON.
func (h *Host) NextLossOp() *Op {
	var op *C.sluice_op
	status := C.sluice_host_next_loss_start(h.ptr, &op)
	return started(h, op, status, nil)
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
func (h *Host) Close() *Error {
	defer runtime.KeepAlive(h)
	return failed(C.sluice_host_close(h.ptr), nil)
}
