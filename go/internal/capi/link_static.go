//go:build !sluicegate_dynamic && !sluicegate_external

package capi

// The static library of this repository, the default.

/*
#cgo LDFLAGS: ${SRCDIR}/../../../target/release/libsluicegate.a
#cgo linux LDFLAGS: -lgcc_s -lutil -lrt -lpthread -lm -ldl
*/
import "C"
