package capi

/*
#include "sluicegate.h"
*/
import "C"

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unsafe"
)

// A Function is what a stage calls: with one element, with a state and an element, with the elements
// of a group, or with nothing for a source. What it answers is the next element; for a predicate, a
// bool; for an expander, a []any. A source answers io.EOF at its end.
type Function func(a, b any) (any, error)

// Call makes a Function a [Caller].
func (f Function) Call(a, b any) (any, error) { return f(a, b) }

// A Caller is a Function that may have more to it, such as being a [Dropper].
type Caller interface {
	Call(a, b any) (any, error)
}

// userPrefix begins the code of an error that a user function answered; a number follows.
const userPrefix = "go:"

// User answers the error of a user function that the library gave back, or nil.
func (e *Error) User() error {
	digits, ok := strings.CutPrefix(e.Code, userPrefix)
	if !ok {
		return nil
	}
	number, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return nil
	}
	return recall(number)
}

// UserError is how an error of a user travels through the library and back.
func UserError(err error) *Error {
	return &Error{
		Status:  StageFailed,
		Code:    userPrefix + strconv.FormatUint(remember(err), 10),
		Message: strings.ToValidUTF8(err.Error(), "\uFFFD"),
	}
}

// NoEnd is an io.EOF that a user's function meant as an error of its own, not as the end of a source.
type NoEnd struct{ Err error }

// Error implements error.
func (e NoEnd) Error() string { return e.Err.Error() }

// contained calls a user function. Nothing that it throws crosses into the library.
func contained(call func() (any, error)) (answer any, err *Error) {
	defer func() {
		if thrown := recover(); thrown != nil {
			text := strings.ToValidUTF8(fmt.Sprint("panicked: ", thrown), "\uFFFD")
			answer, err = nil, &Error{Status: StageFailed, Message: text}
		}
	}()
	answer, failure := call()
	if failure != nil {
		if failure == io.EOF {
			return nil, &Error{Status: EndOfStream}
		}
		if own, ok := failure.(NoEnd); ok {
			failure = own.Err
		}
		return nil, UserError(failure)
	}
	return answer, nil
}

func function(handle C.uintptr_t) Function { return values.get(uintptr(handle)).(Caller).Call }

func argument(handle C.uintptr_t) any {
	if handle == 0 {
		return nil
	}
	return values.get(uintptr(handle))
}

// refuse tells the library why a call failed.
func refuse(failure *Error, err **C.sluice_error) C.int32_t {
	if failure.Status == EndOfStream {
		return EndOfStream
	}
	*err = cError(failure)
	return C.int32_t(failure.Status)
}

// sluicegateFlowCall calls a function whose answer is an element.
//
//export sluicegateFlowCall
func sluicegateFlowCall(fn, a, b C.uintptr_t, out *C.uintptr_t, err **C.sluice_error) C.int32_t {
	answer, failure := contained(func() (any, error) { return function(fn)(argument(a), argument(b)) })
	if failure != nil {
		return refuse(failure, err)
	}
	*out = C.uintptr_t(values.put(answer))
	return C.SLUICE_OK
}

// sluicegateFlowList calls a function with the elements of a group; its answer is an element.
//
//export sluicegateFlowList
func sluicegateFlowList(fn C.uintptr_t, list *C.sluice_elements, out *C.uintptr_t, err **C.sluice_error) C.int32_t {
	answer, failure := contained(func() (any, error) { return function(fn)(listed(list), nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	*out = C.uintptr_t(values.put(answer))
	return C.SLUICE_OK
}

// sluicegateFlowTest calls a function whose answer is yes or no, or none that matters.
//
//export sluicegateFlowTest
func sluicegateFlowTest(fn, value C.uintptr_t, out *C.bool, err **C.sluice_error) C.int32_t {
	answer, failure := contained(func() (any, error) { return function(fn)(argument(value), nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	yes, _ := answer.(bool)
	*out = C.bool(yes)
	return C.SLUICE_OK
}

// sluicegateFlowMany calls a function whose answer is any number of elements, which are put on a list.
//
//export sluicegateFlowMany
func sluicegateFlowMany(fn, value C.uintptr_t, list *C.sluice_elements, err **C.sluice_error) C.int32_t {
	answer, failure := contained(func() (any, error) { return function(fn)(argument(value), nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	return filled(list, answer, err)
}

// filled puts the values of an answer on a list.
func filled(list *C.sluice_elements, answer any, err **C.sluice_error) C.int32_t {
	all, _ := answer.([]any)
	for _, value := range all {
		if failure := pushed(list, value); failure != nil {
			return refuse(failure, err)
		}
	}
	return C.SLUICE_OK
}

// sluicegateFlowFetch calls a function with a position and a count; its answer is any number of rows.
//
//export sluicegateFlowFetch
func sluicegateFlowFetch(fn C.uintptr_t, from, n C.uint64_t, list *C.sluice_elements, err **C.sluice_error) C.int32_t {
	answer, failure := contained(func() (any, error) { return function(fn)(uint64(from), uint64(n)) })
	if failure != nil {
		return refuse(failure, err)
	}
	return filled(list, answer, err)
}

// sluicegateFlowChoose calls a function whose answer is a number.
//
//export sluicegateFlowChoose
func sluicegateFlowChoose(fn, value C.uintptr_t, out *C.size_t, err **C.sluice_error) C.int32_t {
	answer, failure := contained(func() (any, error) { return function(fn)(argument(value), nil) })
	if failure != nil {
		return refuse(failure, err)
	}
	at, _ := answer.(int)
	*out = C.size_t(at)
	return C.SLUICE_OK
}

// sluicegateFlowDrop says that the library has let go of a value.
//
//export sluicegateFlowDrop
func sluicegateFlowDrop(value C.uintptr_t) { values.drop(uintptr(value)) }

// listed answers the values of a list, which stays whose it was.
func listed(list *C.sluice_elements) []any {
	var count C.size_t
	must(C.sluice_elements_count(list, &count))
	all := make([]any, count)
	for i := range all {
		var value unsafe.Pointer
		must(C.sluice_elements_value(list, C.size_t(i), &value))
		all[i] = values.get(uintptr(value))
	}
	return all
}
