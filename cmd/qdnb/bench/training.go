package bench

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Training divides the time of generations, or iterations, among the programs of an algorithm and the
// host.
type Training struct {
	Algorithm   string   `json:"algorithm" default:"pga-map-elites"`
	Env         string   `json:"env" default:"walker-uni"`
	Generations int      `json:"generations" default:"5"`
	Warmup      int      `json:"-" default:"2"`
	Set         []string `json:"-" sep:"none" placeholder:"NAME=VALUE"`
}

// TrainingTiming is the result of [Training].
type TrainingTiming struct {
	Training
	Backend           string         `json:"backend"`
	Workers           int            `json:"workers"`
	CompileSeconds    float64        `json:"compile_seconds"`
	GenerationSeconds float64        `json:"generation_s"` // mean
	Programs          []ProgramShare `json:"programs"`
	HostShare         float64        `json:"host_share"`
	// CheckpointSeconds is the time to write the state once, and the transitions of the timed
	// generations.
	CheckpointSeconds float64 `json:"checkpoint_s"`
	MemoryBytes       int64   `json:"memory_bytes"`
}

// ProgramShare is the part of a program in the time of the generations.
type ProgramShare struct {
	Name    string  `json:"name"`
	Runs    int     `json:"runs"`
	Seconds float64 `json:"seconds"` // of one run; mean of all, also of those during the warm-up
	Share   float64 `json:"share"`
}

// Measure implements [Benchmark].
func (b Training) Measure(p *xla.Platform) (any, error) {
	algorithm, env, err := algorithmOf(b.Algorithm, b.Env, b.Set)
	if err != nil {
		return nil, err
	}
	search, err := algorithm.New(p, env, 0)
	if err != nil {
		return nil, err
	}
	defer search.Close()
	steps := func(n int) (err error) {
		for i := 0; i < n && err == nil; i++ {
			_, err = search.Step()
		}
		return err
	}
	if err := steps(max(1, b.Warmup)); err != nil {
		return nil, err
	}
	b.Generations = max(1, b.Generations)
	rows, before, compiled, start := written(search), p.RunTimes(), search.CompileTime(), time.Now()
	if err := steps(b.Generations); err != nil {
		return nil, err
	}
	whole := (time.Since(start) - (search.CompileTime() - compiled)).Seconds()
	t := TrainingTiming{Training: b, Backend: p.Name(), Workers: p.Workers, HostShare: 1,
		CompileSeconds: search.CompileTime().Seconds(), GenerationSeconds: whole / float64(b.Generations)}
	after := p.RunTimes()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		now := after[name]
		share := (now.Time - before[name].Time).Seconds() / whole
		t.HostShare -= share
		t.Programs = append(t.Programs, ProgramShare{name, now.Runs - before[name].Runs,
			now.Time.Seconds() / float64(now.Runs), share})
	}
	start = time.Now()
	if err := checkpoint(search, rows); err != nil {
		return nil, err
	}
	t.CheckpointSeconds, t.MemoryBytes = time.Since(start).Seconds(), peakMemory()
	return t, nil
}

// algorithmOf returns an algorithm with settings and its environment.
func algorithmOf(name, of string, set []string) (algorithms.Algorithm, envs.Env, error) {
	entry, err := registry.Find(name)
	if err != nil {
		return nil, nil, err
	}
	env, err := envs.Make(of)
	if err != nil {
		return nil, nil, err
	}
	algorithm, err := entry.Tuned(env.Spec(), runs.Assign(set...))
	return algorithm, env, err
}

// written is the number of transitions written to the replay buffer so far, if the search has one.
func written(search algorithms.Search) (total int64) {
	if r, ok := search.(algorithms.Replayer); ok {
		_, total = r.Replay()
	}
	return total
}

// checkpoint writes the state and the transitions after the first ones to a temporary folder.
func checkpoint(search algorithms.Search, from int64) error {
	folder, err := os.MkdirTemp("", "qdnb-bench")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	arrays, err := search.State().Arrays()
	if err != nil {
		return err
	}
	if r, ok := search.(algorithms.Replayer); ok {
		if buffer, total := r.Replay(); buffer != nil {
			capacity, width := buffer.Shape()
			rows, err := buffer.Rows(total, max(from, total-capacity), total)
			if err != nil {
				return err
			}
			arrays["replay"] = npz.Of(rows, len(rows)/width, width)
		}
	}
	return npz.Write(filepath.Join(folder, "state.npz"), arrays)
}
