package backend

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
)

// CheckMemory returns an error if the machine's free memory cannot hold the bytes that the workers
// share and perWorker bytes for each of them. It runs before anything is allocated. It knows the
// memory of Linux machines and containers only; GPUs and TPUs report a lack of memory themselves.
func (p *Platform) CheckMemory(shared, perWorker int64) error {
	if p.Kind != CPU && p.Kind != Go {
		return nil
	}
	available := availableMemory(os.DirFS("/"))
	if need := shared + perWorker*int64(p.Workers); available > 0 && need > available {
		return fmt.Errorf("this needs %.1f GB of memory on %d workers, but %.1f GB are free: lower "+
			"batch, cells, hidden, replay_buffer_size or another size, or set %s=1",
			float64(need)/1e9, p.Workers, float64(available)/1e9, WorkersEnv)
	}
	return nil
}

// availableMemory returns the bytes that Linux can provide without swapping, at most what the limit of
// a container leaves (at least 1), or 0 if unknown. root is the file system.
func availableMemory(root fs.FS) int64 {
	available := fieldOf(root, "proc/meminfo", "MemAvailable:") << 10
	limit := fieldOf(root, "sys/fs/cgroup/memory.max", "")
	if available == 0 || limit == 0 {
		return available
	}
	used := fieldOf(root, "sys/fs/cgroup/memory.current", "")
	files := fieldOf(root, "sys/fs/cgroup/memory.stat", "inactive_file") // the kernel drops these caches
	return min(available, max(limit-max(used-files, 0), 1))
}

// fieldOf returns the number after a name at the beginning of a line of a file, or 0.
func fieldOf(root fs.FS, path, name string) int64 {
	text, _ := fs.ReadFile(root, path)
	for line := range strings.Lines(string(text)) {
		rest, found := strings.CutPrefix(line, name)
		if number, _, _ := strings.Cut(strings.TrimSpace(rest), " "); found {
			n, _ := strconv.ParseInt(number, 10, 64) // "max": no limit
			return n
		}
	}
	return 0
}
