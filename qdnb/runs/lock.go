package runs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// lockPatience is how long a lock may be held by processes that only look who holds it.
const lockPatience = time.Second

// HeldError says that another process holds the folder of a run.
type HeldError struct{ Dir, Holder string }

func (e HeldError) Error() string {
	if e.Holder == holder() {
		return fmt.Sprintf("%s is being trained by %s, which is this one; Close its other Search, or wait for its "+
			"other training", e.Dir, e.Holder)
	}
	return fmt.Sprintf("%s is being trained by %s; wait for it or stop it", e.Dir, e.Holder)
}

// takeLock takes the lock of a folder, which the system releases however the process ends.
func takeLock(dir string) (*flock.Flock, error) {
	path := filepath.Join(dir, lockFile)
	lock := flock.New(path, flock.SetPermissions(0o666), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	ctx, stop := context.WithTimeout(context.Background(), lockPatience)
	defer stop()
	taken, err := lock.TryLockContext(ctx, lockPatience/20)
	if err != nil && ctx.Err() == nil {
		return nil, failure(dir, -1, err)
	}
	if !taken {
		return nil, HeldError{dir, holderOf(path)}
	}
	if err := os.WriteFile(path, fmt.Appendln(nil, holder()), 0o666); err != nil {
		_ = lock.Unlock()
		return nil, failure(dir, -1, err)
	}
	return lock, nil
}

// holder describes this process.
func holder() string {
	host, _ := os.Hostname()
	return fmt.Sprintf("process %d on %s", os.Getpid(), host)
}

// Holder returns the process that holds the folder of a run, such as "process 12 on node3", or ""
// if none does. It briefly takes a shared lock, for which a process that starts at the same time
// waits.
func Holder(dir string) string {
	path := filepath.Join(dir, lockFile)
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	taken, err := lock.TryRLock()
	defer lock.Close()
	if taken || err != nil { // no lock file, or the file system does not support locks
		return ""
	}
	return holderOf(path)
}

func holderOf(path string) string {
	text, err := os.ReadFile(path)
	if holder := strings.TrimSpace(string(text)); err == nil && holder != "" {
		return holder
	}
	return "another process"
}
