package faults

import (
	"path/filepath"
	"testing"

	"example.com/qdnb/qdnb"
)

// A run that no machine can hold is rejected before anything is allocated, and the error says which
// settings to lower.
func TestTooLarge(t *testing.T) {
	begin(t)
	for _, c := range []struct {
		algorithm string
		set       []string
		words     []string
	}{
		{"map-elites", []string{"hidden=[16384,16384,16384]", "batch=1000000"},
			[]string{"memory", "lower batch"}},
		{"pga-map-elites", []string{"replay_buffer_size=2000000000"}, []string{"replay_buffer_size"}},
		{"sac", []string{"replay_buffer_size=2000000000"}, []string{"replay_buffer_size"}},
		{"smerl-dads", []string{"env_batch_size=100000000", "replay_buffer_size=2000000000"},
			[]string{"env_batch_size"}},
		{"sac", []string{"batch_size=1000000000", "hidden=[4096,4096]"}, []string{"batch_size"}},
	} {
		t.Run(c.algorithm+" "+c.set[0], func(t *testing.T) {
			s := spec(c.algorithm)
			s.Budget = qdnb.Generations(1)
			s.Set = append(s.Set, c.set...)
			root := t.TempDir()
			invoke(t, trainArgs(s, root)...).oneLine(t, 1, c.words...)
			if left, _ := filepath.Glob(filepath.Join(root, "*-pointmaze-*")); len(left) > 0 {
				t.Errorf("it leaves %q", left)
			}
		})
	}
}
