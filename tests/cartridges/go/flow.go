package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/sluicegate/sluicegate/go"
)

// echo sends each value back as it comes, types kept, one at a time.
func echo(ctx context.Context, r *sluicegate.Request) error {
	in, err := r.Input(ctx)
	if err != nil {
		return err
	}
	out := r.Output()
	for item, err := range in.Items(ctx) {
		if err != nil {
			return err
		}
		if err := out.Emit(ctx, item.Value); err != nil {
			return err
		}
		if err := out.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// items sends each item back with its metadata.
func items(ctx context.Context, r *sluicegate.Request) error {
	in, err := r.Input(ctx)
	if err != nil {
		return err
	}
	out := r.Output()
	for item, err := range in.Items(ctx) {
		if err != nil {
			return err
		}
		if err := out.EmitItem(ctx, item.Value, item.Meta); err != nil {
			return err
		}
	}
	return nil
}

// rot13 turns each ASCII letter into the one 13 places on.
func rot13(ctx context.Context, r *sluicegate.Request) error {
	in, err := r.Input(ctx)
	if err != nil {
		return err
	}
	out := r.Output()
	for chunk, err := range in.Chunks(ctx) {
		if err != nil {
			return err
		}
		for i, b := range chunk {
			chunk[i] = rotated[b]
		}
		if _, err := out.WriteContext(ctx, chunk); err != nil {
			return err
		}
	}
	return nil
}

var rotated = func() (table [256]byte) {
	for i := range table {
		b := byte(i)
		switch lower := b | 0x20; {
		case 'a' <= lower && lower <= 'm':
			b += 13
		case 'n' <= lower && lower <= 'z':
			b -= 13
		}
		table[i] = b
	}
	return table
}()

// sink reads everything and answers the number of values.
func sink(ctx context.Context, r *sluicegate.Request) error { return countValues(ctx, r, 0) }

// slow does SLOW_MS milliseconds of work after each value.
func slow(ctx context.Context, r *sluicegate.Request) error {
	work := 20 * time.Millisecond
	if text, set := os.LookupEnv("SLOW_MS"); set {
		millis, err := strconv.Atoi(text)
		if err != nil {
			return wrong("SLOW_MS is %q, not a number of milliseconds", text)
		}
		work = time.Duration(millis) * time.Millisecond
	}
	return countValues(ctx, r, work)
}

func countValues(ctx context.Context, r *sluicegate.Request, work time.Duration) error {
	in, err := r.Input(ctx)
	if err != nil {
		return err
	}
	values := 0
	for _, err := range in.Items(ctx) {
		if err != nil {
			return err
		}
		values++
		if work > 0 {
			select {
			case <-time.After(work):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	_, err = fmt.Fprint(r.Output(), values)
	return err
}

// digest answers what went by.
func digest(ctx context.Context, r *sluicegate.Request) error {
	in, err := r.Input(ctx)
	if err != nil {
		return err
	}
	var answer struct {
		Bytes  int    `json:"bytes"`
		Chunks int    `json:"chunks"`
		SHA256 string `json:"sha256"`
	}
	hash := sha256.New()
	for item, err := range in.Items(ctx) {
		if err != nil {
			return err
		}
		n, err := hash.Write(content(item.Value))
		if err != nil {
			return err
		}
		answer.Bytes += n
		answer.Chunks++
	}
	answer.SHA256 = hex.EncodeToString(hash.Sum(nil))
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	_, err = r.Output().Write(text)
	return err
}

// content is a value's bytes as they count for a digest: a byte string or text as it is.
func content(value sluicegate.Value) []byte {
	if content, ok := value.Bytes(); ok {
		return content
	}
	if text, ok := value.Text(); ok {
		return []byte(text)
	}
	return value
}

// multi shows everything that a request can say.
func multi(ctx context.Context, r *sluicegate.Request) error {
	if err := r.Log("info", sluicegate.ClassInternal, "working"); err != nil {
		return err
	}
	if err := r.Progress(0.5, "half"); err != nil {
		return err
	}
	other, err := r.OutputFor(second)
	if err != nil {
		return err
	}
	if err := r.Output().Emit(ctx, "main"); err != nil {
		return err
	}
	if err := other.Emit(ctx, "second"); err != nil {
		return err
	}
	return r.Finish(ctx, 0.9, "done")
}

// stderr writes 10 MiB to standard error, then answers.
func stderr(ctx context.Context, r *sluicegate.Request) error {
	line := strings.Repeat("e", 1023) + "\n"
	for range 10 << 10 {
		if _, err := io.WriteString(os.Stderr, line); err != nil {
			break // a host that closed it does not want it
		}
	}
	return r.Output().Emit(ctx, "done")
}

// crash ends the process without an answer.
func crash(ctx context.Context, r *sluicegate.Request) error {
	in, err := r.Input(ctx)
	if err != nil {
		return err
	}
	for _, err := range in.Items(ctx) {
		if err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, "one\ntwo\nthe last words")
	os.Exit(3)
	return nil
}
