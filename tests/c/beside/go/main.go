// HZ-F15: a Go program with our static library and another one of Rust.
package main

/*
#cgo LDFLAGS: ${SRCDIR}/../../build/plain/other.a
#include <stdint.h>
uint64_t other_sum(uint32_t n);
uint32_t other_catches(void);
*/
import "C"

import (
	"fmt"
	"os"

	sluicegate "github.com/sluicegate/sluicegate/go"
)

func main() {
	gate := sluicegate.NewGate(2)
	taken, err := gate.TryAcquire(1)
	if !taken || err != nil || gate.Available() != 1 {
		fmt.Println("our library answers", taken, err, gate.Available())
		os.Exit(1)
	}
	if sum, caught := C.other_sum(10), C.other_catches(); sum != 45 || caught != 1 {
		fmt.Println("the other library answers", sum, caught)
		os.Exit(1)
	}
}
