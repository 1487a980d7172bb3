//go:build sluicegate_dynamic

package capi

// The shared library of this repository: go build -tags sluicegate_dynamic.

/*
#cgo LDFLAGS: -L${SRCDIR}/../../../target/release -lsluicegate -Wl,-rpath,${SRCDIR}/../../../target/release
*/
import "C"
