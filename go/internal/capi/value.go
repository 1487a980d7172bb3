package capi

import "sync"

// values are the Go values that the library holds on to: elements on their way through a stream, and
// the functions of stages. A handle is a number; 0 is none. Each is dropped exactly once.
var values table

// before is the number before the first handle. A handle stands in a field of C that is a pointer, and Go
// ends a process in whose stack it finds a pointer into the first page, where none can point.
const before = 1 << 16

type table struct {
	mu    sync.Mutex
	slots []any
	free  []uintptr
}

// A Dropper wants to know that the library has let go of it.
type Dropper interface{ Drop() }

func (t *table) put(value any) uintptr {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := len(t.free) - 1; last >= 0 {
		handle := t.free[last]
		t.free = t.free[:last]
		t.slots[handle-before-1] = held{value}
		return handle
	}
	t.slots = append(t.slots, held{value})
	return before + uintptr(len(t.slots))
}

func (t *table) get(handle uintptr) any {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.slots[handle-before-1].(held).value
}

func (t *table) drop(handle uintptr) {
	t.mu.Lock()
	value := t.slots[handle-before-1].(held).value // panics for a handle that is none: never twice
	t.slots[handle-before-1] = nil
	t.free = append(t.free, handle)
	t.mu.Unlock()
	if dropper, ok := value.(Dropper); ok {
		dropper.Drop()
	}
}

// held tells a slot with a nil value from one that is free.
type held struct{ value any }

// Values answers how many Go values the library holds on to, for tests of leaks.
func Values() int {
	values.mu.Lock()
	defer values.mu.Unlock()
	return len(values.slots) - len(values.free)
}

// remembered is how many errors of user functions are kept, the latest ones.
const remembered = 4096

// told keeps the errors that user functions answered, so that a completion gives back the same value.
// Only a number travels through the library.
var told struct {
	mu     sync.Mutex
	errors map[uint64]error
	next   uint64
}

func remember(err error) uint64 {
	told.mu.Lock()
	defer told.mu.Unlock()
	if told.errors == nil {
		told.errors = map[uint64]error{}
	}
	told.next++
	told.errors[told.next] = err
	delete(told.errors, told.next-remembered)
	return told.next
}

func recall(number uint64) error {
	told.mu.Lock()
	defer told.mu.Unlock()
	return told.errors[number]
}
