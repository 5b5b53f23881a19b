package main

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/backend"
)

// BenchmarkStart times processes that train two generations of the paper's MAP-Elites on ant-uni
// with a batch of 64, and that evaluate what was trained: with programs that are compiled in the
// process ("compiled") and with programs from the cache on disk ("loaded"). Of training it also
// reports the time apart from the generations, the bytes written, and the size of the folder.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	run := func(b *testing.B, programs string, args ...string) *os.ProcessState {
		b.Helper()
		cmd := exec.Command(program, args...)
		cmd.Env = append(os.Environ(), backend.ProgramsEnv+"="+programs)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		return cmd.ProcessState
	}
	train := func(b *testing.B, programs string, seed int) (folder string, written int64) {
		folder = filepath.Join(dir, strconv.Itoa(seed))
		state := run(b, programs, "train", "--algorithm", "map-elites", "--env", "ant-uni", "--set",
			"batch=64", "--generations", "2", "--quiet", "--runs", folder)
		return folder, state.SysUsage().(*syscall.Rusage).Oublock * 512
	}
	for name, programs := range map[string]string{"compiled": "off",
		"loaded": filepath.Join(dir, "programs")} {
		folder, _ := train(b, programs, 0)
		eval := []string{"eval", "--run", "map-elites-ant-uni-0", "--episodes", "4", "--runs", folder}
		run(b, programs, eval...)
		b.Run("train/"+name, func(b *testing.B) {
			var generations, written, size float64
			for i := range b.N {
				b.StopTimer()
				must.Do(os.RemoveAll(filepath.Join(dir, strconv.Itoa(i+1))))
				b.StartTimer()
				folder, bytes := train(b, programs, i+1)
				b.StopTimer()
				written += float64(bytes)
				generations += generationSeconds(b, folder)
				size += folderBytes(b, folder)
				b.StartTimer()
			}
			n := float64(b.N)
			b.ReportMetric(b.Elapsed().Seconds()/n-generations/n, "s-apart/op")
			b.ReportMetric(written/n/1e6, "MB-written/op")
			b.ReportMetric(size/n/1e6, "MB-folder/op")
		})
		b.Run("eval/"+name, func(b *testing.B) {
			for range b.N {
				run(b, programs, eval...)
			}
		})
		must.Do(os.RemoveAll(folder))
	}
}

// generationSeconds returns the time of the generations of a run, including the initial population,
// whose time is taken to be that of the others.
func generationSeconds(b *testing.B, folder string) float64 {
	b.Helper()
	run := must.Get(runs.LoadFrom(folder, "map-elites-ant-uni-0"))
	table := must.Get(run.Metrics())
	seconds := must.Get(table.Column("seconds"))
	last := len(seconds) - 1
	return (seconds[last] - seconds[0]) * float64(last+1) / float64(last)
}

// folderBytes returns the size of all files in a folder.
func folderBytes(b *testing.B, folder string) (total float64) {
	b.Helper()
	must.Do(filepath.WalkDir(folder, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			total += float64(info.Size())
		}
		return err
	}))
	return total
}
