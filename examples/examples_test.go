// The Go examples do what they say.
package examples_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"
)

const watchdog = 60 * time.Second

func built(t *testing.T, name string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	if out, err := exec.Command("go", "build", "-o", program, "./"+name+"/main.go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

func TestPrograms(t *testing.T) {
	for _, name := range []string{"basic", "showcase", "ledger"} {
		t.Run(name, func(t *testing.T) {
			out, err := exec.Command(built(t, name)).Output()
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(filepath.Join(name, "expected.txt"))
			if err != nil {
				t.Fatal(err)
			}
			if string(out) != string(want) {
				t.Errorf("awaited:\n%s\ncame:\n%s", want, out)
			}
		})
	}
}

func TestHTTP(t *testing.T) {
	server := exec.Command(built(t, "http"), "0")
	said, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	told, err := server.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	hello, err := bufio.NewReader(said).ReadString('\n')
	port := strings.TrimSpace(strings.TrimPrefix(hello, "listening on "))
	if err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		t.Helper()
		answer, err := http.Get("http://127.0.0.1:" + port + path)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body)
	}
	if got, want := get("/stream?n=3"), "{\"value\":0}\n{\"value\":2}\n{\"value\":4}\n"; got != want {
		t.Errorf("awaited: %q; came: %q", want, got)
	}

	// A reader that stops reading: the sockets' buffers fill, and then the source stands still.
	slow, err := net.Dial("tcp", "127.0.0.1:"+port)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(slow, "GET /stream?n=1000000000 HTTP/1.1\r\nHost: here\r\n\r\n")
	reader := bufio.NewReader(slow)
	for range 10 {
		if _, err := reader.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	made := func() int {
		n, err := strconv.Atoi(get("/made"))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	still, before := 0, -1
	for limit := time.Now().Add(watchdog); still < 20; runtime.Gosched() {
		if now := made(); now == before {
			still++
			time.Sleep(20 * time.Millisecond) // between two looks at something that must not happen
		} else {
			still, before = 0, now
		}
		if time.Now().After(limit) {
			t.Fatalf("the source does not stand still: %d made", before)
		}
	}
	if before >= 1_000_000_000 {
		t.Fatal(before)
	}
	// It leaves: the pipeline is cancelled.
	slow.Close()
	cancelled := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(told).ReadString('\n')
		cancelled <- line
	}()
	select {
	case line := <-cancelled:
		if !strings.HasPrefix(line, "cancelled after ") {
			t.Error(line)
		}
	case <-time.After(watchdog):
		t.Fatal("the pipeline goes on")
	}
}
