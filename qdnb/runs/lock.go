package runs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// takeLock takes the lock of a folder. The system releases it when the process ends, however it
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

// Holder returns the process that holds the folder of a run, such as "process 12 on node3", or ""
// if none does. It briefly takes a shared lock, so a process that starts at the same time may find
// the folder locked.
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
