package capi

/*
#include "shim.h"
*/
import "C"

import (
	"runtime"
	"strings"
	"unsafe"
)

// The policies of an engine.
const (
	PolicyDefault     = C.SLUICE_POLICY_DEFAULT
	PolicyOffline     = C.SLUICE_POLICY_OFFLINE
	PolicyNoTelemetry = C.SLUICE_POLICY_NO_TELEMETRY
	PolicyFull        = C.SLUICE_POLICY_FULL
)

// EngineOptions are an engine's; zero is the default.
type EngineOptions struct {
	Policy                 int32
	Limits                 Limits
	HandshakeTimeoutMillis int64
	MaxItem                uint64
	HeartbeatMillis        int64
	PatienceMillis         int64
	StallMillis            int64
	QuietLosses            bool
	PeerCalls              bool
	Protocol               uint32
}

func (o EngineOptions) build() C.sluice_engine_options {
	options := C.sluicegate_engine_options_init()
	options.policy = C.int32_t(o.Policy)
	options.limits = o.Limits.lend()
	options.handshake_timeout_ms = C.int64_t(o.HandshakeTimeoutMillis)
	options.max_item = C.uint64_t(o.MaxItem)
	options.heartbeat_ms = C.int64_t(o.HeartbeatMillis)
	options.patience_ms = C.int64_t(o.PatienceMillis)
	options.stall_ms = C.int64_t(o.StallMillis)
	options.quiet_losses = C.bool(o.QuietLosses)
	options.peer_calls = C.bool(o.PeerCalls)
	options.protocol = C.uint32_t(o.Protocol)
	return options
}

// An Engine is a host.
type Engine struct {
	_   alone
	ptr *C.sluice_engine
}

// NewEngine makes an engine.
func NewEngine(o EngineOptions) (*Engine, *Error) {
	options := o.build()
	var ptr *C.sluice_engine
	var detail *C.sluice_error
	if status := C.sluice_engine_new(&options, &ptr, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	e := &Engine{ptr: ptr}
	runtime.AddCleanup(e, func(ptr *C.sluice_engine) { C.sluice_engine_release(ptr) }, ptr)
	return e, nil
}

// CloseOp ends all peers.
func (e *Engine) CloseOp() *Op {
	var op *C.sluice_op
	status := C.sluice_engine_close_start(e.ptr, &op)
	return started(e, op, status, nil)
}

// A Command is a program to start.
type Command struct {
	Program string
	Args    []string
	Env     []string
	Unset   []string
	Dir     string
}

func (c Command) build() (*C.sluice_command, *Error) {
	var out *C.sluice_command
	p, n := text(c.Program)
	status := C.sluice_command_new(p, n, &out)
	if status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	for _, arg := range c.Args {
		if status == C.SLUICE_OK {
			p, n := text(arg)
			status = C.sluice_command_arg(out, p, n)
		}
	}
	for _, name := range c.Unset {
		if status == C.SLUICE_OK {
			p, n := text(name)
			status = C.sluice_command_env_remove(out, p, n)
		}
	}
	for _, variable := range c.Env {
		if status == C.SLUICE_OK {
			name, value, _ := strings.Cut(variable, "=")
			k, kLen := text(name)
			v, vLen := text(value)
			status = C.sluice_command_env(out, k, kLen, v, vLen)
		}
	}
	if c.Dir != "" && status == C.SLUICE_OK {
		p, n := text(c.Dir)
		status = C.sluice_command_cwd(out, p, n)
	}
	if status != C.SLUICE_OK {
		C.sluice_command_release(out)
		return nil, failed(status, nil)
	}
	return out, nil
}

// SpawnOp starts a cartridge; it answers a peer.
func (e *Engine) SpawnOp(c Command) *Op {
	command, err := c.build()
	if err != nil {
		return &Op{failed: err}
	}
	defer C.sluice_command_release(command)
	var op *C.sluice_op
	status := C.sluice_engine_spawn_start(e.ptr, command, &op)
	return started(e, op, status, nil)
}

// AttachOp connects a cartridge over descriptors, which are the library's from here on; it answers a peer.
func (e *Engine) AttachOp(read, write int) *Op {
	var op *C.sluice_op
	status := C.sluice_engine_attach_start(e.ptr, C.int(read), C.int(write), &op)
	return started(e, op, status, nil)
}

// A Peer is a cartridge that is connected to an engine.
type Peer struct {
	_   alone
	ptr *C.sluice_peer
}

func newPeer(ptr *C.sluice_peer) *Peer {
	p := &Peer{ptr: ptr}
	runtime.AddCleanup(p, func(ptr *C.sluice_peer) { C.sluice_peer_release(ptr) }, ptr)
	return p
}

// Name answers the cartridge's name.
func (p *Peer) Name() string {
	defer runtime.KeepAlive(p)
	var s *C.char
	var n C.size_t
	must(C.sluice_peer_name(p.ptr, &s, &n))
	return goText(s, n)
}

// ManifestJSON answers the cartridge's manifest.
func (p *Peer) ManifestJSON() string {
	defer runtime.KeepAlive(p)
	var s *C.char
	var n C.size_t
	must(C.sluice_peer_manifest_json(p.ptr, &s, &n))
	return goText(s, n)
}

// StderrTail answers the last that the cartridge wrote to standard error.
func (p *Peer) StderrTail() string {
	defer runtime.KeepAlive(p)
	var out *C.sluice_item
	must(C.sluice_peer_stderr_tail(p.ptr, &out))
	item := newItem(out)
	defer item.Release()
	content, _ := item.Content()
	return string(content)
}

// A CapInfo is a cap that a peer offers.
type CapInfo struct {
	URN, Title, InMedia, OutMedia string
	InSequence, OutSequence       bool
}

// Caps answers what the peer offers.
func (p *Peer) Caps() []CapInfo {
	defer runtime.KeepAlive(p)
	var count C.size_t
	must(C.sluice_peer_cap_count(p.ptr, &count))
	caps := make([]CapInfo, 0, int(count))
	for i := range count {
		info := C.sluice_cap_info{struct_size: C.uint32_t(unsafe.Sizeof(C.sluice_cap_info{}))}
		must(C.sluice_peer_cap(p.ptr, i, &info))
		caps = append(caps, CapInfo{
			URN:         C.GoString(info.urn),
			Title:       C.GoString(info.title),
			InMedia:     C.GoString(info.in_media),
			OutMedia:    C.GoString(info.out_media),
			InSequence:  bool(info.in_sequence),
			OutSequence: bool(info.out_sequence),
		})
	}
	return caps
}

// Limits answers what was agreed on.
func (p *Peer) Limits() Limits {
	defer runtime.KeepAlive(p)
	limits := C.sluicegate_limits_init()
	must(C.sluice_peer_limits(p.ptr, &limits))
	return goLimits(limits)
}

// Call begins a call.
func (p *Peer) Call(urn string) (*Call, *Error) {
	defer runtime.KeepAlive(p)
	s, n := text(urn)
	var out *C.sluice_call
	var detail *C.sluice_error
	if status := C.sluice_peer_call(p.ptr, s, n, &out, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	return newCall(out), nil
}

// PID answers the process, or 0.
func (p *Peer) PID() int {
	defer runtime.KeepAlive(p)
	var out C.uint32_t
	must(C.sluice_peer_pid(p.ptr, &out))
	return int(out)
}

// Dead answers why the peer is gone, or nil.
func (p *Peer) Dead() *Error {
	defer runtime.KeepAlive(p)
	var out *C.sluice_error
	must(C.sluice_peer_dead(p.ptr, &out))
	return takeError(out)
}

// PeakMemory answers bytes, or 0.
func (p *Peer) PeakMemory() uint64 {
	defer runtime.KeepAlive(p)
	var out C.uint64_t
	must(C.sluice_peer_peak_memory(p.ptr, &out))
	return uint64(out)
}

// CloseOp ends the peer.
func (p *Peer) CloseOp() *Op {
	var op *C.sluice_op
	status := C.sluice_peer_close_start(p.ptr, &op)
	return started(p, op, status, nil)
}

// Kill ends the peer at once.
func (p *Peer) Kill() {
	C.sluice_peer_kill(p.ptr)
	runtime.KeepAlive(p)
}
