module github.com/sluicegate/sluicegate/tests/relays/go

go 1.24

require github.com/sluicegate/sluicegate/go v0.0.0

require (
	github.com/fxamacker/cbor/v2 v2.10.0 // indirect
	github.com/x448/float16 v0.8.4 // indirect
)

replace github.com/sluicegate/sluicegate/go => ../../../go
