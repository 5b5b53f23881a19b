package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// advice is an error whose text says what to do, in place of the file system's error.
type advice struct {
	text  string
	cause error
}

func (a *advice) Error() string { return a.text }
func (a *advice) Unwrap() error { return a.cause }

// Newest names the newest intact checkpoint, for error messages.
func (w *Writer) Newest() string { return newest(w.last) }

func newest(generation int64) string {
	if generation < 0 {
		return "there is no checkpoint yet"
	}
	return fmt.Sprintf("the last checkpoint is generation %d", generation)
}

// failure adds advice to a file system error. last is the newest intact checkpoint, or -1.
func failure(dir string, last int64, err error) error {
	kept := newest(last)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &advice{fmt.Sprintf("no space left in %s; free space or give --runs another folder; %s",
			dir, kept), err}
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return &advice{fmt.Sprintf("cannot write to %s; give --runs a writable folder; %s",
			dir, kept), err}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return &advice{fmt.Sprintf("%s is not a folder; move the file away or give --runs another folder",
			dir), err}
	}
	return fmt.Errorf("cannot store the run in %s; %s (%w)", dir, kept, err)
}
