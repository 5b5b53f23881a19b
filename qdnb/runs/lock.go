package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// takeLock takes the lock of a folder, which the system gives up when the process ends, however it
// ends.
func takeLock(dir string) (*flock.Flock, error) {
	path := filepath.Join(dir, lockFile)
	lock := flock.New(path, flock.SetPermissions(0o666), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	taken, err := lock.TryLock()
	if err != nil {
		return nil, failure(dir, -1, err)
	}
	if !taken {
		return nil, fmt.Errorf("%s is being trained by %s; wait for it or stop it", dir, holderOf(path))
	}
	host, _ := os.Hostname()
	if err := os.WriteFile(path, fmt.Appendf(nil, "process %d on %s\n", os.Getpid(), host),
		0o666); err != nil {
		_ = lock.Unlock()
		return nil, failure(dir, -1, err)
	}
	return lock, nil
}

// Holder names the process that holds the folder of a run, such as "process 12 on node3"; it is
// empty if none does. It asks for a shared lock and gives it back at once, so that a process which
// begins at the same moment finds the folder held.
func Holder(dir string) string {
	path := filepath.Join(dir, lockFile)
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	taken, err := lock.TryRLock()
	defer lock.Close()
	if taken || err != nil { // there is no such file, or the file system knows no locks
		return ""
	}
	return holderOf(path)
}

// holderOf is what the file of a lock says of the process that has it.
func holderOf(path string) string {
	text, err := os.ReadFile(path)
	if holder := strings.TrimSpace(string(text)); err == nil && holder != "" {
		return holder
	}
	return "another process"
}
