package backend

import (
	"testing"
	"testing/fstest"
)

func TestAvailableMemoryIsLimitedByTheContainer(t *testing.T) {
	const meminfo = "MemTotal:       24000000 kB\nMemAvailable:    2000000 kB\nBuffers: 1 kB\n"
	const machine = 2000000 << 10
	for _, c := range []struct {
		limit, used, stat string
		want              int64
	}{
		{"", "", "", machine}, {"max\n", "900000000\n", "", machine},
		{"8000000000\n", "10\n", "", machine}, {"1000000000\n", "", "", 1000000000},
		{"1000000000\n", "700000000\n", "", 300000000},
		{"1000000000\n", "700000000\n", "anon 3\ninactive_file 200000000\n", 500000000},
		{"1000000000\n", "1000000000\n", "inactive_anon 5\n", 1}, // full, not unknown
	} {
		root := fstest.MapFS{"proc/meminfo": {Data: []byte(meminfo)}}
		for name, text := range map[string]string{"max": c.limit, "current": c.used, "stat": c.stat} {
			if text != "" {
				root["sys/fs/cgroup/memory."+name] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		if got := availableMemory(root); got != c.want {
			t.Errorf("%+v: %d bytes", c, got)
		}
	}
	if got := availableMemory(fstest.MapFS{}); got != 0 {
		t.Errorf("without /proc: %d bytes, want 0 for unknown", got)
	}
}
