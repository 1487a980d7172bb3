// Package sluicegate bounds what is in flight between programs, whatever language each of them is
// written in: credit-based flow control with one credit window, the same in every language.
//
// There are three ways in:
//
//   - [Gate], [Window] and [Router] alone, over a transport of your own.
//   - [Cartridge]: serve caps to a host. Handlers read [InputStream] and write [OutputStream].
//   - [Engine]: start or attach cartridges, [Peer.Call] them, chain them with [Forward].
//
// # Waiting
//
// Everything that can wait takes a [context.Context] and waits in a select, so a goroutine that
// waits holds no thread: ten thousand blocked goroutines cost ten thousand goroutines. A call whose
// context ends has taken nothing. A context whose deadline has passed before the call makes it a
// try.
//
// # Errors
//
// A clean end is [io.EOF]. A wait that ended with its context answers the context's error and its
// cause. Everything else is an [*Error], whose [Kind] is compared with [errors.Is]:
//
//	if errors.Is(err, sluicegate.ErrCreditViolation) { … }
//
// # Units
//
// Credit is in chunks, sizes are in bytes.
//
// # Linking
//
// The package is a thin layer over the library's C interface, linked statically by default from
// target/release of the repository. Build with -tags sluicegate_dynamic for the shared library
// there, or with -tags sluicegate_external and CGO_CFLAGS and CGO_LDFLAGS for any other.
package sluicegate
