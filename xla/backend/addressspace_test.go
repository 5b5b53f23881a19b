package backend

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A process that may not take the address space that a backend needs gets one line, whatever the backend,
// and not a dump of a library or of Go's runtime.
func TestLimitedAddressSpace(t *testing.T) {
	const childEnv = "QDNB_TEST_OPEN"
	if spec, child := os.LookupEnv(childEnv); child {
		p, err := Open(t.Context(), spec)
		fmt.Printf("opened: %v, %v, %v\n", p != nil, errors.Is(err, errAddressSpace), err)
		return
	}
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("SKIPPED: this system does not tell how much address space a process has")
	}
	for spec, limit := range map[string]string{"": "1950000", "cpu": "1950000", "go": "1450000"} {
		cmd := exec.Command("/bin/sh", "-c", "ulimit -v "+limit+"; exec \"$0\" -test.run='^TestLimitedAddressSpace$'",
			os.Args[0])
		cmd.Env = append(os.Environ(), childEnv+"="+spec, BackendEnv+"=", "GOMAXPROCS=2", "MALLOC_ARENA_MAX=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "opened: false, true, this process may use") ||
			strings.Contains(string(out), "not a PJRT plugin") {
			t.Errorf("%q: %v\n%.1000s", spec, err, out)
		}
	}
	if err := checkAddressSpace(1 << 60); err != nil {
		t.Errorf("without a limit: %v", err)
	}
}
