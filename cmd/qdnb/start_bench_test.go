package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"example.com/qdnb/xla"
)

// BenchmarkStart times processes that train one generation of the paper's MAP-Elites on ant-uni
// with a batch of 64, and that evaluate what was trained: with programs that are compiled in the
// process ("compiled") and with programs from the cache on disk ("loaded").
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	run := func(b *testing.B, programs string, args ...string) {
		b.Helper()
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), xla.ProgramsEnv+"="+programs)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
	}
	train := func(b *testing.B, programs string, seed int) string {
		runs := filepath.Join(dir, strconv.Itoa(seed))
		run(b, programs, "train", "--algorithm", "map-elites", "--env", "ant-uni", "--set", "batch=64",
			"--generations", "1", "--quiet", "--runs", runs)
		return runs
	}
	for name, programs := range map[string]string{"compiled": "off",
		"loaded": filepath.Join(dir, "programs")} {
		runs := train(b, programs, 0)
		eval := []string{"eval", "--run", "map-elites-ant-uni-0", "--episodes", "4", "--runs", runs}
		run(b, programs, eval...)
		b.Run("train/"+name, func(b *testing.B) {
			for i := range b.N {
				b.StopTimer()
				if err := os.RemoveAll(filepath.Join(dir, strconv.Itoa(i+1))); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				train(b, programs, i+1)
			}
		})
		b.Run("eval/"+name, func(b *testing.B) {
			for range b.N {
				run(b, programs, eval...)
			}
		})
		if err := os.RemoveAll(runs); err != nil {
			b.Fatal(err)
		}
	}
}
