package sluicegate_test

import (
	"bytes"
	"errors"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/sluicegate/sluicegate/go"
)

func TestValuesRoundTrip(t *testing.T) {
	huge, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	for _, test := range []struct{ in, out any }{
		{uint64(math.MaxUint64), uint64(math.MaxUint64)},
		{int64(math.MinInt64), int64(math.MinInt64)},
		{7, uint64(7)},
		{-7, int64(-7)},
		{*huge, *huge},
		{"text", "text"},
		{[]byte("bytes"), []byte("bytes")},
		{bytes.Repeat([]byte("x"), 70000), bytes.Repeat([]byte("x"), 70000)},
		{[]byte{}, []byte{}},
		{1.5, 1.5},
		{true, true},
		{nil, nil},
		{[]any{"a", 1}, []any{"a", uint64(1)}},
		{map[string]any{"k": []byte{1}}, map[any]any{"k": []byte{1}}},
	} {
		value, err := sluicegate.Encode(test.in)
		if err != nil {
			t.Errorf("%v: %v", test.in, err)
			continue
		}
		got, err := value.Any()
		if err != nil || !reflect.DeepEqual(got, test.out) {
			t.Errorf("%v came back as %#v, %v", test.in, got, err)
		}
		if content, isBytes := value.Bytes(); isBytes != (value[0]>>5 == 2) || isBytes && !bytes.Equal(content, test.out.([]byte)) {
			t.Errorf("%v: Bytes answers %v, %v", test.in, content, isBytes)
		}
		if text, isText := value.Text(); isText != (value[0]>>5 == 3) || isText && text != test.out {
			t.Errorf("%v: Text answers %v, %v", test.in, text, isText)
		}
	}
}

func TestValuesInPieces(t *testing.T) {
	inPieces := sluicegate.Value{0x5f, 0x41, 'a', 0x42, 'b', 'c', 0xff}
	if got, ok := inPieces.Bytes(); !ok || string(got) != "abc" {
		t.Errorf("got %q, %v", got, ok)
	}
	for _, cut := range []sluicegate.Value{nil, {0x42, 'a'}, {0x59, 1}, {0x5b, 255, 255, 255, 255, 255, 255, 255, 255, 1}, {0x41, 'a', 'b'}} {
		if got, ok := cut.Bytes(); ok {
			t.Errorf("% x is not a byte string, got %q", []byte(cut), got)
		}
	}
}

func TestAValuePassesAsItIs(t *testing.T) {
	undefined := sluicegate.Value{0xf7}
	for _, v := range []any{undefined, cbor.RawMessage(undefined)} {
		if got, err := sluicegate.Encode(v); err != nil || !bytes.Equal(got, undefined) {
			t.Errorf("got % x, %v", []byte(got), err)
		}
	}
	nested, err := sluicegate.Encode(map[string]any{"v": undefined})
	if err != nil || nested.String() != `{"v": undefined}` {
		t.Errorf("got %s, %v", nested, err)
	}
	var back struct {
		V sluicegate.Value `json:"v"`
	}
	if err := nested.Unmarshal(&back); err != nil || !bytes.Equal(back.V, undefined) {
		t.Errorf("got % x, %v", []byte(back.V), err)
	}
}

func TestWhatIsNotAValueIsRefused(t *testing.T) {
	for _, v := range []any{sluicegate.Value(nil), make(chan int)} {
		if _, err := sluicegate.Encode(v); !errors.Is(err, sluicegate.ErrInvalidArgument) {
			t.Errorf("%T: got %v", v, err)
		}
	}
	var number int
	err := sluicegate.Value{0x61, 'a'}.Unmarshal(&number)
	if !errors.Is(err, sluicegate.ErrMalformed) || !strings.Contains(err.Error(), "a text does not decode into *int") {
		t.Errorf("got %v", err)
	}
	if got := (sluicegate.Value{0x61}).String(); !strings.Contains(got, "malformed") {
		t.Error(got)
	}
}
