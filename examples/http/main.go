// An HTTP server whose every response is a pipeline: a client that reads slowly holds up the source,
// one that leaves cancels it.
package main

import (
	"fmt"
	"log"
	"math"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"

	"github.com/sluicegate/sluicegate/go/flow"
)

func main() {
	port := "0"
	if len(os.Args) > 1 {
		port = os.Args[1]
	}
	scope, err := flow.NewScope("http")
	if err != nil {
		log.Fatal(err)
	}
	defer scope.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	var made atomic.Pointer[atomic.Uint64] // what the source of the last stream made
	made.Store(new(atomic.Uint64))

	http.HandleFunc("/made", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, made.Load().Load()) })
	http.HandleFunc("/stream", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.ParseUint(r.FormValue("n"), 10, 64)
		if err != nil {
			http.Error(w, fmt.Sprint("n must be a whole number from 0 to ", uint64(math.MaxUint64)), http.StatusBadRequest)
			return
		}
		count := new(atomic.Uint64)
		made.Store(count)
		w.Header().Set("Content-Type", "application/x-ndjson")
		flush := http.NewResponseController(w)

		// The request's context ends when its client leaves, and with it the pipeline.
		numbers := flow.Range(0, 1<<62).Tap(func(int) { count.Add(1) })
		doubled := flow.Via(numbers, flow.Map(func(n int) int { return n * 2 }))
		err = doubled.Take(n).ForEach(r.Context(), scope, func(value int) error {
			if _, err := fmt.Fprintf(w, "{\"value\":%d}\n", value); err != nil {
				return err // the socket is gone: nothing more is asked for
			}
			return flush.Flush() // waits for a slow reader, and so does everything above
		})
		if err != nil {
			fmt.Println("cancelled after", count.Load())
		}
	})
	fmt.Println("listening on", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(http.Serve(listener, nil))
}
