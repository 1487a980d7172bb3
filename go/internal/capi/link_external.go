//go:build sluicegate_external

package capi

// A library that is somewhere else: go build -tags sluicegate_external, with CGO_CFLAGS and
// CGO_LDFLAGS in the environment saying where (for example from pkg-config).

import "C"
