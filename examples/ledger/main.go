// A ledger that is read by the page: its writer takes one row at a time, and a fetch asks for exactly
// what is missing.
package main

import (
	"context"
	"fmt"
	"log"
	"sync/atomic"

	"github.com/sluicegate/sluicegate/go/flow"
)

const rows = 200

func main() {
	ctx := context.Background()
	scope, err := flow.NewScope("ledger")
	if err != nil {
		log.Fatal(err)
	}
	defer scope.Close()

	var written, fetches atomic.Uint64
	ledger := flow.Fetch(func(from, n uint64) ([]string, error) {
		fmt.Printf("fetch %d rows from %d after %d written\n", n, from, written.Load())
		fetches.Add(1)
		var page []string
		for row := from; row < min(rows, from+n); row++ {
			page = append(page, fmt.Sprint("row ", row))
		}
		return page, nil
	})

	// Holds 64 rows or has asked for them, and asks again once 48 have left: never more than 64.
	err = ledger.Via(flow.Page[string](64, 48)).ForEach(ctx, scope, func(string) error {
		written.Add(1) // commits one row, and asks for the next
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("written %d rows in %d fetches\n", written.Load(), fetches.Load())
}
