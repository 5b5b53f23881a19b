package bench

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
)

// BenchmarkTraining divides the time of generations, or iterations, among the programs of an algorithm and
// the host: the mean time of a generation, each program's share, and the time to write a checkpoint with
// the transitions of the timed generations.
func BenchmarkTraining(b *testing.B) {
	defer failing(b)
	algorithm, env := tuned("pga-map-elites")
	search := must.Get(algorithm.New(platform, env, 0))
	defer search.Close()
	for range max(1, *warmup) {
		must.Get(search.Step())
	}
	rows, before, compiled, start := written(search), platform.RunTimes(), search.CompileTime(), time.Now()
	generations := 0
	for b.Loop() {
		must.Get(search.Step())
		generations++
	}
	whole := (time.Since(start) - (search.CompileTime() - compiled)).Seconds()
	host, after := 1.0, platform.RunTimes()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		share := (after[name].Time - before[name].Time).Seconds() / whole
		host -= share
		b.ReportMetric(share, strings.ReplaceAll(name, " ", "-")+"-share")
	}
	start = time.Now()
	checkpoint(b, search, rows)
	report(b, map[string]float64{"generation-s": whole / float64(generations), "host-share": host, "peak-B": peakMemory(),
		"compile-s": search.CompileTime().Seconds(), "checkpoint-s": time.Since(start).Seconds()})
}

// written is the number of transitions written to the replay buffer so far, if the search has one.
func written(search algorithms.Search) (total int64) {
	if r, ok := search.(algorithms.Replayer); ok {
		_, total = r.Replay()
	}
	return total
}

// checkpoint writes the state, and the transitions after the first ones.
func checkpoint(b *testing.B, search algorithms.Search, from int64) {
	arrays := must.Get(search.State().Arrays())
	if r, ok := search.(algorithms.Replayer); ok {
		if buffer, total := r.Replay(); buffer != nil {
			capacity, width := buffer.Shape()
			rows := must.Get(buffer.Rows(total, max(from, total-capacity), total))
			arrays["replay"] = npz.Of(rows, len(rows)/width, width)
		}
	}
	must.Do(npz.Write(filepath.Join(b.TempDir(), "state.npz"), arrays))
}
