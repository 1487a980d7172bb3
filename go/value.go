package sluicegate

import (
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"
)

// A Value is one CBOR value, still encoded: what an [Item] carries. Nothing is decoded until it is
// asked for, so passing a Value on keeps every type as it came. The nil Value is no value at all.
//
// A Value may be emitted, stored and read by any number of goroutines; nobody may write to it.
type Value []byte

var encoding, decoding = modes()

func modes() (cbor.EncMode, cbor.DecMode) {
	encoding, err := cbor.EncOptions{
		Sort:          cbor.SortBytewiseLexical, // a Go map has no order of its own
		ShortestFloat: cbor.ShortestFloatNone,
		Time:          cbor.TimeRFC3339Nano,
		TimeTag:       cbor.EncTagRequired,
	}.EncMode()
	if err != nil {
		panic(err) // the options above are constant
	}
	decoding, err := cbor.DecOptions{
		MaxNestedLevels:  256,
		MaxArrayElements: math.MaxInt32,
		MaxMapPairs:      math.MaxInt32,
	}.DecMode()
	if err != nil {
		panic(err)
	}
	return encoding, decoding
}

// Encode makes a Value of v, by the rules of [github.com/fxamacker/cbor/v2]: []byte becomes a byte
// string, structs obey `cbor` and `json` tags, map keys are sorted. A Value and a [cbor.RawMessage]
// are taken as they are.
func Encode(v any) (Value, error) {
	switch v := v.(type) {
	case Value:
		return checked(v)
	case cbor.RawMessage:
		return checked(Value(v))
	}
	data, err := encoding.Marshal(v)
	if err != nil {
		return nil, &Error{Kind: ErrInvalidArgument, Code: ErrInvalidArgument.Code(), Class: ClassInput,
			Message: fmt.Sprintf("%T does not encode as CBOR: %v", v, err), cause: err}
	}
	return data, nil
}

func checked(v Value) (Value, error) {
	if len(v) == 0 {
		return nil, &Error{Kind: ErrInvalidArgument, Code: ErrInvalidArgument.Code(), Class: ClassInput,
			Message: "the nil Value is not a value; CBOR null is Encode(nil)"}
	}
	return v, nil
}

// Unmarshal decodes the value into the variable that v points to.
func (v Value) Unmarshal(into any) error {
	if err := decoding.Unmarshal(v, into); err != nil {
		return &Error{Kind: ErrMalformed, Code: ErrMalformed.Code(), Class: ClassInput,
			Message: fmt.Sprintf("%s does not decode into %T: %v", v.kind(), into, err), cause: err}
	}
	return nil
}

// Any decodes the value into Go's own types: uint64, int64 (negative numbers), [math/big.Int]
// (beyond 64 bits), []byte, string, []any, map[any]any, bool, float64, nil, [time.Time],
// [cbor.Tag], [cbor.SimpleValue].
func (v Value) Any() (any, error) {
	var into any
	err := v.Unmarshal(&into)
	return into, err
}

// Bytes answers the content of a byte string, without a copy where it is in one piece; false if the
// value is something else.
func (v Value) Bytes() ([]byte, bool) {
	if v.major() != majorBytes {
		return nil, false
	}
	if content, ok := v.content(); ok {
		return content, true
	}
	var into []byte
	return into, v.Unmarshal(&into) == nil
}

// Text answers the content of a text; false if the value is something else.
func (v Value) Text() (string, bool) {
	var into string
	return into, v.major() == majorText && v.Unmarshal(&into) == nil
}

// MarshalCBOR lets a Value be part of something that is encoded.
func (v Value) MarshalCBOR() ([]byte, error) { return checked(v) }

// UnmarshalCBOR lets a Value be part of something that is decoded.
func (v *Value) UnmarshalCBOR(data []byte) error {
	*v = append((*v)[:0:0], data...)
	return nil
}

// String answers the value in CBOR's diagnostic notation.
func (v Value) String() string {
	if len(v) == 0 {
		return "(no value)"
	}
	text, err := cbor.Diagnose(v)
	if err != nil {
		return fmt.Sprintf("(malformed CBOR: %x)", []byte(v))
	}
	return text
}

const (
	majorBytes = 2
	majorText  = 3
	none       = 8
)

// major answers the CBOR major type, or none for no value.
func (v Value) major() byte {
	if len(v) == 0 {
		return none
	}
	return v[0] >> 5
}

func (v Value) kind() string {
	kinds := [...]string{"an integer", "a negative integer", "a byte string", "a text", "an array", "a map", "a tagged value", "a simple value or float", "no value"}
	return kinds[v.major()]
}

// content answers what stands behind the head of a string of definite length.
func (v Value) content() ([]byte, bool) {
	length, head := uint64(v[0]&31), 1
	switch {
	case length < 24:
	case length < 28:
		width := 1 << (length - 24)
		if head += width; len(v) < head {
			return nil, false
		}
		length = 0
		for _, b := range v[1:head] {
			length = length<<8 | uint64(b)
		}
	default:
		return nil, false
	}
	if uint64(len(v)-head) != length {
		return nil, false
	}
	return v[head:len(v):len(v)], true
}
