package experiments

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/tables"
)

// compileTime is the processor time to compile a run's programs, which budgets exclude.
const compileTime = 60 * time.Second

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
