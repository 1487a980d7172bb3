package sluicegate

import (
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// descriptors makes two blocking descriptors of a connection, for core to own: a file's own, else
// one end of a pipe whose other end goroutines pump. The connection is closed when it is over.
func descriptors(r io.Reader, w io.Writer) (read, write int, err error) {
	// Both first, then close what was copied: r and w may be the same file.
	read, pumpIn, err := readable(r)
	if err != nil {
		return 0, 0, err
	}
	write, pumpOut, err := writable(w)
	if err != nil {
		_ = syscall.Close(read)
		if pumpIn != nil {
			_ = pumpIn.Close()
		}
		return 0, 0, err
	}
	var pumps sync.WaitGroup
	if pumpIn != nil {
		pumps.Add(1)
		go func() {
			defer pumps.Done()
			_, _ = io.Copy(pumpIn, r) // an error shows as the end of the connection
			_ = pumpIn.Close()
		}()
	}
	if pumpOut != nil {
		pumps.Add(1)
		go func() {
			defer pumps.Done()
			_, _ = io.Copy(w, pumpOut)
			_ = pumpOut.Close()
			if half, ok := w.(interface{ CloseWrite() error }); ok {
				_ = half.CloseWrite() // the other end may still have something to say
			} else {
				hangUp(w)
			}
		}()
	}
	if pumpIn == nil {
		hangUp(r)
	}
	if pumpOut == nil {
		hangUp(w)
	}
	go func() {
		pumps.Wait()
		hangUp(r)
		hangUp(w)
	}()
	return read, write, nil
}

// hangUp closes what can be closed.
func hangUp(end any) {
	if closer, ok := end.(io.Closer); ok {
		_ = closer.Close()
	}
}

// readable answers a descriptor to read from and, unless it is r's own, where to pump r to.
func readable(r io.Reader) (int, *os.File, error) {
	if file, ok := r.(*os.File); ok {
		fd, err := copyOf(file)
		return fd, nil, err
	}
	read, write, err := pipe()
	if err != nil {
		return 0, nil, err
	}
	pump, err := polled(write)
	return read, pump, err
}

// writable answers a descriptor to write to and, unless it is w's own, where to pump w from.
func writable(w io.Writer) (int, *os.File, error) {
	if file, ok := w.(*os.File); ok {
		fd, err := copyOf(file)
		return fd, nil, err
	}
	read, write, err := pipe()
	if err != nil {
		return 0, nil, err
	}
	pump, err := polled(read)
	return write, pump, err
}

// pipe answers both ends of a new pipe, blocking.
func pipe() (read, write int, err error) {
	var ends [2]int
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := syscall.Pipe(ends[:]); err != nil {
		return 0, 0, fmt.Errorf("pipe: %w", err)
	}
	syscall.CloseOnExec(ends[0])
	syscall.CloseOnExec(ends[1])
	return ends[0], ends[1], nil
}

// polled is our end of a pipe: waiting on it holds no thread.
func polled(fd int) (*os.File, error) {
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("pipe: %w", err)
	}
	return os.NewFile(uintptr(fd), "pipe"), nil
}

// copyOf answers a blocking copy of a file's descriptor.
func copyOf(file *os.File) (int, error) {
	conn, err := file.SyscallConn()
	if err != nil {
		return 0, err
	}
	var fd int
	var failure error
	err = conn.Control(func(own uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if fd, failure = syscall.Dup(int(own)); failure != nil {
			return
		}
		syscall.CloseOnExec(fd)
		if failure = syscall.SetNonblock(fd, false); failure != nil {
			_ = syscall.Close(fd)
		}
	})
	if err == nil {
		err = failure
	}
	if err != nil {
		return 0, fmt.Errorf("dup %s: %w", file.Name(), err)
	}
	return fd, nil
}
