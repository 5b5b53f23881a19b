// Package atomicfile writes files atomically: after a crash, a full disk or a power failure a file
// has its old contents or the new ones, never a part.
package atomicfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// prefix marks hidden files being written, next to their targets, for [Sweep].
const prefix = ".writing-"

// Disk holds the operations that a full disk may fail and a power failure may undo. Tests replace them.
var Disk = struct {
	Sync   func(*os.File) error
	Rename func(from, to string) error
	Remove func(path string) error
}{(*os.File).Sync, os.Rename, os.Remove}

// Write creates or replaces the file at path with what the function writes. The new contents go to
// a temporary file in the same folder, which is renamed once it is synced to disk.
func Write(path string, write func(io.Writer) error) (err error) {
	dir, name := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	f, err := create(dir, name)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close() // a second Close only fails
			os.Remove(f.Name())
		}
		if at := (*fs.PathError)(nil); errors.As(err, &at) && at.Path == f.Name() {
			err = &fs.PathError{Op: at.Op, Path: path, Err: at.Err}
		}
	}()
	buffered := bufio.NewWriterSize(f, 1<<16)
	if err := write(buffered); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	if err := Disk.Sync(f); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := Disk.Rename(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// WriteBytes creates or replaces the file at path with the given bytes.
func WriteBytes(path string, data []byte) error {
	return Write(path, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// create creates a new file in dir with the default permissions (os.CreateTemp would make it
// private to the user).
func create(dir, name string) (*os.File, error) {
	for attempt := 0; ; attempt++ {
		path := filepath.Join(dir, fmt.Sprintf("%s%s-%08x", prefix, name, rand.Uint32()))
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if errors.Is(err, os.ErrExist) && attempt < 100 {
			continue
		}
		return f, err
	}
}

// SyncDir makes created, renamed or removed files of a folder survive a power failure. It does
// nothing on file systems that cannot do this (some network shares).
func SyncDir(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := Disk.Sync(f); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

// Sweep removes the unfinished files that a killed process left in a folder. No other process may
// be writing there.
func Sweep(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), prefix) && entry.Type().IsRegular() {
			if err := os.Remove(filepath.Join(dir, entry.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
