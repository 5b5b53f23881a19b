package backend

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// CheckMemory returns an error if the machine's free memory cannot hold the bytes that the workers
// share and perWorker bytes for each of them. It runs before anything is allocated. It knows the
// memory of Linux machines and containers only; GPUs and TPUs report a lack of memory themselves.
func (p *Platform) CheckMemory(shared, perWorker int64) error {
	if p.Kind != CPU && p.Kind != Go {
		return nil
	}
	available, why := availableMemory(os.DirFS("/")), "free: "
	if space, limited := addressSpace(os.DirFS("/")); limited && (space < available || available == 0) {
		available, why = max(space, 1), fmt.Sprintf("left by a limit of address space: %v, or ", errAddressSpace)
	}
	if need := shared + perWorker*int64(p.Workers); available > 0 && need > available {
		return fmt.Errorf("this needs %.1f GB of memory on %d workers, but %.1f GB are %slower "+
			"batch, cells, hidden, replay_buffer_size or another size, or set %s=1",
			float64(need)/1e9, p.Workers, float64(available)/1e9, why, WorkersEnv)
	}
	return nil
}

// Address space in bytes that XLA:CPU takes for its library, its threads and a small program, and that the pure
// Go backend takes. With less, libraries and Go's runtime abort the process.
const (
	spaceOfXLA = 1_200_000_000
	spaceOfGo  = 500_000_000
)

// errAddressSpace says that a limit of the process, as set by ulimit -v, leaves too little.
var errAddressSpace = errors.New("raise the limit, as with ulimit -v unlimited")

// checkAddressSpace returns an error if the process may not take as much address space as needed.
func checkAddressSpace(need int64) error {
	if space, limited := addressSpace(os.DirFS("/")); limited && space < need {
		return fmt.Errorf("this process may use %.1f GB more of address space, and the backend needs at least %.1f GB: "+
			"%w", float64(space)/1e9, float64(need)/1e9, errAddressSpace)
	}
	return nil
}

// addressSpace returns how many bytes of address space a limit leaves to the process, if there is a limit.
func addressSpace(root fs.FS) (left int64, limited bool) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || limit.Cur >= 1<<62 {
		return 0, false
	}
	return max(int64(limit.Cur)-fieldOf(root, "proc/self/status", "VmSize:")<<10, 0), true
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
