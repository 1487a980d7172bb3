package sluicegate

import "github.com/sluicegate/sluicegate/go/internal/capi"

// Version answers the version of the library that the program is linked with.
func Version() string { return capi.Version() }
