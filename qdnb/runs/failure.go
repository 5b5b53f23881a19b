package runs

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// advice is an error whose text says what to do; the error of the file system, with a path that
// nobody asked for, lies below.
type advice struct {
	text  string
	cause error
}

func (a *advice) Error() string { return a.text }
func (a *advice) Unwrap() error { return a.cause }

// failure turns an error of the file system into one line that says what to do. last is the
// generation of the newest good checkpoint, or -1.
func failure(dir string, last int64, err error) error {
	kept := "there is no checkpoint yet"
	if last >= 0 {
		kept = fmt.Sprintf("the last checkpoint is generation %d", last)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &advice{fmt.Sprintf("no space left in %s; free space or give --runs another folder; %s",
			dir, kept), err}
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return &advice{fmt.Sprintf("cannot write to %s; give --runs a folder that you may write to; %s",
			dir, kept), err}
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
		return &advice{fmt.Sprintf("%s is not a folder; move the file away or give --runs another folder",
			dir), err}
	}
	return fmt.Errorf("cannot keep the run in %s; %s (%w)", dir, kept, err)
}
