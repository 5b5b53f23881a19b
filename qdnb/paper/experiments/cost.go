package experiments

import (
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
)

// stepsPerCPUSecond are environment steps per second and core when skills with two layers of 64
// units are evaluated: medians of the adaptation runs in notebooks/results. The batches of
// docs/performance.csv have layers of 256 units, which are slower.
var stepsPerCPUSecond = map[string]float64{
	"ant-uni": 760_000, "walker-uni": 660_000, "halfcheetah-uni": 1_060_000, "ant-maze": 250_000,
}

// compileTime is the processor time to compile a run's programs, which budgets exclude.
const compileTime = 60 * time.Second

// estimate returns the processor time of a line in seconds; 0 unless its scale is Medium.
func (p planner) estimate(run runs.Config, b runs.Budget, episodes int) float64 {
	if p.Scale != Medium {
		return 0
	}
	seconds := (compileTime + b.CPU).Seconds()
	if rate := stepsPerCPUSecond[run.Env]; rate > 0 {
		seconds += float64(episodes*protocol.EpisodeLength(run.Env)) / rate
	}
	return seconds
}

// WriteCost prints the estimated cost of a plan, per kind of line and in total on this machine's
// cores. Lines without estimates are left out. Runs that several lines name count once.
func WriteCost(w io.Writer, lines []sweep.Line) {
	type kind struct{ experiment, algorithm string }
	var kinds []kind
	costs := map[kind][]float64{}
	seen := map[string]bool{}
	total := 0.0
	for _, line := range lines {
		if line.CPUSeconds == 0 || seen[line.Run.Name()] {
			continue
		}
		seen[line.Run.Name()] = true
		total += line.CPUSeconds
		name := "training"
		if len(line.Needs) > 0 {
			name = line.Run.Algorithm
		}
		k := kind{line.Experiment, name}
		if costs[k] == nil {
			kinds = append(kinds, k)
		}
		costs[k] = append(costs[k], line.CPUSeconds)
	}
	if total == 0 {
		return
	}
	cores := float64(runtime.NumCPU())
	for _, k := range kinds {
		found := costs[k]
		each, most := tables.Duration(slices.Min(found)), tables.Duration(slices.Max(found))
		if most != each {
			each += " to " + most
		}
		sum := 0.0
		for _, cost := range found {
			sum += cost
		}
		fmt.Fprintf(w, "%s: %d runs (%s), each about %s of processor time, %s on %.0f cores\n",
			k.experiment, len(found), k.algorithm, each, tables.Duration(sum/cores), cores)
	}
	fmt.Fprintf(w, "total: %d runs, about %s on %.0f cores\n", len(seen),
		tables.Duration(total/cores), cores)
}
