package xla

import (
	"testing"
	"testing/fstest"
)

func TestAvailableMemoryIsLimitedByTheContainer(t *testing.T) {
	const meminfo = "MemTotal:       24000000 kB\nMemAvailable:    2000000 kB\nBuffers: 1 kB\n"
	for limit, want := range map[string]int64{"": 2000000 << 10, "max\n": 2000000 << 10,
		"8000000000\n": 2000000 << 10, "1000000000\n": 1000000000} {
		root := fstest.MapFS{"proc/meminfo": {Data: []byte(meminfo)}}
		if limit != "" {
			root["sys/fs/cgroup/memory.max"] = &fstest.MapFile{Data: []byte(limit)}
		}
		if got := availableMemory(root); got != want {
			t.Errorf("with the limit %q: %d bytes, want %d", limit, got, want)
		}
	}
	if got := availableMemory(fstest.MapFS{}); got != 0 {
		t.Errorf("without /proc: %d bytes, want 0 for unknown", got)
	}
}
