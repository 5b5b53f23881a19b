package xla

import (
	"fmt"
	"os"
	"strings"

	"github.com/pkg/errors"
)

// CheckMemory returns an error if the machine's free memory cannot hold the bytes that the workers
// share and perWorker bytes for each of them. It runs before anything is allocated. It knows the
// memory of Linux machines only; GPUs and TPUs report a lack of memory themselves.
func (p *Platform) CheckMemory(shared, perWorker int64) error {
	if p.Kind != CPU && p.Kind != Go {
		return nil
	}
	available := availableMemory()
	if need := shared + perWorker*int64(p.Workers); available > 0 && need > available {
		return errors.Errorf("this needs %.1f GB of memory on %d workers, but %.1f GB are free: lower "+
			"batch, cells or hidden, or set %s=1",
			float64(need)/1e9, p.Workers, float64(available)/1e9, WorkersEnv)
	}
	return nil
}

// availableMemory returns the bytes that Linux can provide without swapping, or 0 if unknown.
func availableMemory() int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	return parseAvailable(string(text))
}

func parseAvailable(meminfo string) int64 {
	for line := range strings.Lines(meminfo) {
		var kilobytes int64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 0
}
