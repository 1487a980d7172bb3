package sluicegate

import (
	"github.com/sluicegate/sluicegate/go/internal/bridge"
	"github.com/sluicegate/sluicegate/go/internal/capi"
)

func init() {
	bridge.FromCore = fromCore
	bridge.ToCore = func(err error, otherwise int32) *capi.Error { return toCore(err, Kind(otherwise)) }
	bridge.Await = await
	bridge.Input = func(stream any) *capi.Input { return stream.(*InputStream).core }
	bridge.Output = func(stream any) *capi.Output { return stream.(*OutputStream).core }
	bridge.Feed = func(feed any) *capi.Feed { return feed.(*Feed).core }
	bridge.Engine = func(engine any) *capi.Engine { return engine.(*Engine).core }
}
