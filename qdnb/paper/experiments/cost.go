package experiments

import (
	"fmt"
	"io"
	"runtime"
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

// WriteCost prints the estimated cost of a plan on this machine's cores. Lines without estimates are
// left out. Runs that several lines name count once.
func WriteCost(w io.Writer, lines []sweep.Line) {
	costs := map[string]float64{}
	total := 0.0
	for _, line := range lines {
		if name := line.Run.Name(); line.CPUSeconds > 0 && costs[name] == 0 {
			costs[name] = line.CPUSeconds
			total += line.CPUSeconds
		}
	}
	if total > 0 {
		fmt.Fprintf(w, "%d runs, about %s on %d cores\n", len(costs),
			tables.Duration(total/float64(runtime.NumCPU())), runtime.NumCPU())
	}
}
