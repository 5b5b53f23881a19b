package experiments

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// Unmeasured counts the training runs of a plan at scale Medium that have a budget of processor time.
func Unmeasured(lines []sweep.Line) (count int) {
	for _, line := range lines {
		if line.Budget.CPU > 0 {
			count++
		}
	}
	return count
}

// Measure trains a method at scale Medium for twice the given processor time in a temporary folder, and
// returns the steps that it takes in [results.MediumTime] at the rate of the second half: compilation does not
// count, and the first half has the start, and warm-up without updates. Targets of SMERL do not change the
// time, so those of the paper are used.
func Measure(ctx context.Context, algorithm, env string, half time.Duration) (int64, error) {
	folder, err := os.MkdirTemp("", "qdnb-measure-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	p := planner{Options: Options{Scale: Medium, Budget: Time}, experiment: results.ExperimentTraining}
	if settingsOf(algorithm)["smerl_target"] {
		p.Targets = []results.SMERLTarget{{Env: env, Target: 1, Margin: 0.1}}
	}
	need, err := p.train(algorithm, env, 0)
	if err != nil {
		return 0, err
	}
	spec, err := session.SpecOf(need.Run)
	if err != nil {
		return 0, err
	}
	spec.Runs, spec.Quiet, spec.KeepReplay = folder, true, true
	var reached [2]runs.Progress
	for i := range reached {
		spec.Budget = runs.Budget{CPU: half * time.Duration(i+1)}
		run, err := qdnb.Train(ctx, spec)
		if err != nil {
			return 0, err
		}
		reached[i] = run.Status.Progress
	}
	seconds := reached[1].CPUSeconds - reached[0].CPUSeconds
	if seconds <= 0 {
		return 0, fmt.Errorf("%s on %s was over within the first %s: give it longer", algorithm, env, half)
	}
	rate := float64(reached[1].EnvSteps-reached[0].EnvSteps) / seconds
	left := results.MediumTime.Seconds() - reached[1].CPUSeconds
	return reached[1].EnvSteps + int64(rate*left), nil
}

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
