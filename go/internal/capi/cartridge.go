package capi

/*
#include "shim.h"
*/
import "C"

import "runtime"

// Limits are the four numbers that two ends agree on; zero is the default.
type Limits struct{ MaxFrame, MaxChunk, MaxReorderBuffer, InitialCredit uint64 }

func (l Limits) lend() C.sluice_limits {
	limits := C.sluicegate_limits_init()
	limits.max_frame = C.uint64_t(l.MaxFrame)
	limits.max_chunk = C.uint64_t(l.MaxChunk)
	limits.max_reorder_buffer = C.uint64_t(l.MaxReorderBuffer)
	limits.initial_credit = C.uint64_t(l.InitialCredit)
	return limits
}

func goLimits(limits C.sluice_limits) Limits {
	return Limits{
		MaxFrame:         uint64(limits.max_frame),
		MaxChunk:         uint64(limits.max_chunk),
		MaxReorderBuffer: uint64(limits.max_reorder_buffer),
		InitialCredit:    uint64(limits.initial_credit),
	}
}

// A Cap is one thing that a cartridge can do.
type Cap struct {
	URN, Title                               string
	InputSequence, OutputSequence, Streaming bool
	Outputs                                  []CapOutput
}

// A CapOutput is a further output of a cap.
type CapOutput struct {
	Media    string
	Sequence bool
}

// A Manifest says what a cartridge is.
type Manifest struct {
	Name, Version, Description string
	Caps                       []Cap
}

// build makes the manifest of the library; the caller releases it.
func (m Manifest) build() (*C.sluice_manifest, *Error) {
	var out *C.sluice_manifest
	name, nameLen := text(m.Name)
	version, versionLen := text(m.Version)
	if status := C.sluice_manifest_new(name, nameLen, version, versionLen, &out); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	fill := func() C.sluice_status {
		if m.Description != "" {
			p, n := text(m.Description)
			if status := C.sluice_manifest_description(out, p, n); status != C.SLUICE_OK {
				return status
			}
		}
		for _, c := range m.Caps {
			if status := c.addTo(out); status != C.SLUICE_OK {
				return status
			}
		}
		return C.SLUICE_OK
	}
	if status := fill(); status != C.SLUICE_OK {
		C.sluice_manifest_release(out)
		return nil, failed(status, nil)
	}
	return out, nil
}

func (c Cap) addTo(manifest *C.sluice_manifest) C.sluice_status {
	var out *C.sluice_cap
	urn, urnLen := text(c.URN)
	if status := C.sluice_cap_new(urn, urnLen, &out); status != C.SLUICE_OK {
		return status
	}
	defer C.sluice_cap_release(out)
	if c.Title != "" {
		p, n := text(c.Title)
		if status := C.sluice_cap_title(out, p, n); status != C.SLUICE_OK {
			return status
		}
	}
	C.sluice_cap_input_sequence(out, C.bool(c.InputSequence))
	C.sluice_cap_output_sequence(out, C.bool(c.OutputSequence))
	C.sluice_cap_streaming(out, C.bool(c.Streaming))
	for _, output := range c.Outputs {
		p, n := text(output.Media)
		if status := C.sluice_cap_add_output(out, p, n, C.bool(output.Sequence)); status != C.SLUICE_OK {
			return status
		}
	}
	return C.sluice_manifest_add_cap(manifest, out)
}

// A Cartridge is a manifest with what is lost of all that is served with it.
type Cartridge struct {
	_   alone
	ptr *C.sluice_cartridge
}

// NewCartridge makes a cartridge.
func NewCartridge(m Manifest, limits Limits, quietLosses bool) (*Cartridge, *Error) {
	manifest, err := m.build()
	if err != nil {
		return nil, err
	}
	defer C.sluice_manifest_release(manifest)
	var ptr *C.sluice_cartridge
	if status := C.sluice_cartridge_new(manifest, &ptr); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	c := &Cartridge{ptr: ptr}
	runtime.AddCleanup(c, func(ptr *C.sluice_cartridge) { C.sluice_cartridge_release(ptr) }, ptr)
	lent := limits.lend()
	if status := C.sluice_cartridge_limits(ptr, &lent); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	return c, failed(C.sluice_cartridge_quiet_losses(ptr, C.bool(quietLosses)), nil)
}

// ServeStdioOp shakes hands over standard input and output; it answers a session.
func (c *Cartridge) ServeStdioOp() *Op {
	var op *C.sluice_op
	status := C.sluice_cartridge_serve_stdio_start(c.ptr, &op)
	return started(c, op, status, nil)
}

// ServeFDsOp shakes hands over two descriptors, which are the library's from here on; it answers a session.
func (c *Cartridge) ServeFDsOp(read, write int) *Op {
	var op *C.sluice_op
	status := C.sluice_cartridge_serve_fds_start(c.ptr, C.int(read), C.int(write), &op)
	return started(c, op, status, nil)
}

// NextLossOp waits for a notice, JSON.
func (c *Cartridge) NextLossOp() *Op {
	var op *C.sluice_op
	status := C.sluice_cartridge_next_loss_start(c.ptr, &op)
	return started(c, op, status, nil)
}

// A Session is a cartridge that is connected to its host.
type Session struct {
	_   alone
	ptr *C.sluice_session
}

func newSession(ptr *C.sluice_session) *Session {
	s := &Session{ptr: ptr}
	runtime.AddCleanup(s, func(ptr *C.sluice_session) { C.sluice_session_release(ptr) }, ptr)
	return s
}

// NextRequestOp waits for a request.
func (s *Session) NextRequestOp() *Op {
	var op *C.sluice_op
	status := C.sluice_session_next_request_start(s.ptr, &op)
	return started(s, op, status, nil)
}

// Close ends the session.
func (s *Session) Close() {
	C.sluice_session_close(s.ptr)
	runtime.KeepAlive(s)
}
