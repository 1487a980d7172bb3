// Package bridge lends the packages beside the main one what that one decides: how errors of the
// library are spelled, how a goroutine waits, and what stands behind its streams. The main package
// fills it in when it is initialised.
package bridge

import (
	"context"

	"github.com/sluicegate/sluicegate/go/internal/capi"
)

var (
	// FromCore spells an error of the library; nil stays nil, an end of stream is io.EOF.
	FromCore func(*capi.Error) error
	// ToCore is how an error travels to the library: as it is, or as the kind `otherwise`.
	ToCore func(err error, otherwise int32) *capi.Error
	// Await asks an operation until it answers or the context ends.
	Await func(context.Context, *capi.Op) error
	// Input, Output and Feed answer what a *sluicegate.InputStream, *OutputStream or *Feed is made of.
	Input  func(stream any) *capi.Input
	Output func(stream any) *capi.Output
	Feed   func(feed any) *capi.Feed
	// Engine answers what a *sluicegate.Engine is made of.
	Engine func(engine any) *capi.Engine
)
