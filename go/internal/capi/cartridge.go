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

// ServeStdio serves a manifest over standard input and output. It waits for the handshake.
func ServeStdio(m Manifest, limits Limits) (*Session, *Error) {
	return serve(m, limits, func(c *C.sluice_cartridge, out **C.sluice_session, detail **C.sluice_error) C.sluice_status {
		return C.sluice_cartridge_serve_stdio(c, out, detail)
	})
}

// ServeFDs serves a manifest over two descriptors, which are the library's from here on.
func ServeFDs(m Manifest, limits Limits, read, write int) (*Session, *Error) {
	return serve(m, limits, func(c *C.sluice_cartridge, out **C.sluice_session, detail **C.sluice_error) C.sluice_status {
		return C.sluice_cartridge_serve_fds(c, C.int(read), C.int(write), out, detail)
	})
}

type serving func(*C.sluice_cartridge, **C.sluice_session, **C.sluice_error) C.sluice_status

func serve(m Manifest, limits Limits, begin serving) (*Session, *Error) {
	manifest, err := m.build()
	if err != nil {
		return nil, err
	}
	defer C.sluice_manifest_release(manifest)
	var cartridge *C.sluice_cartridge
	if status := C.sluice_cartridge_new(manifest, &cartridge); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	defer C.sluice_cartridge_release(cartridge)
	lent := limits.lend()
	if status := C.sluice_cartridge_limits(cartridge, &lent); status != C.SLUICE_OK {
		return nil, failed(status, nil)
	}
	var session *C.sluice_session
	var detail *C.sluice_error
	if status := begin(cartridge, &session, &detail); status != C.SLUICE_OK {
		return nil, failed(status, detail)
	}
	return newSession(session), nil
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
