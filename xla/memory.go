package xla

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"github.com/pkg/errors"
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
		return errors.Errorf("this needs %.1f GB of memory on %d workers, but %.1f GB are free: lower "+
			"batch, cells, hidden, replay_buffer_size or another size, or set %s=1",
			float64(need)/1e9, p.Workers, float64(available)/1e9, WorkersEnv)
	}
	return nil
}

// availableMemory returns the bytes that Linux can provide without swapping, at most the limit of a
// container, or 0 if unknown. root is the file system.
func availableMemory(root fs.FS) (bytes int64) {
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &bytes); n == 1 {
			bytes <<= 10
			break
		}
	}
	if text, err = fs.ReadFile(root, "sys/fs/cgroup/memory.max"); err == nil {
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && limit < bytes {
			return limit
		}
	}
	return bytes
}
