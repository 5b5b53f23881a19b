package experiments

import (
	"context"
	"fmt"
	"os"
	"time"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// mediumBudget is the budget of a method at scale Medium: its measured steps, or processor time where nothing
// was measured.
func mediumBudget(algorithm, env, unit string) runs.Budget {
	if steps := results.MediumSteps(algorithm, env); steps > 0 && unit == Steps {
		return runs.Budget{EnvSteps: steps}
	}
	return runs.Budget{CPU: results.MediumTime}
}

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
