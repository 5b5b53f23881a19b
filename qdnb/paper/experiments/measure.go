package experiments

import (
	"context"
	_ "embed"
	"encoding/csv"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// mediumMinutes is the processor time that a training run at scale Medium is worth.
const mediumMinutes = 6

// mediumSteps has the environment steps that each method takes in mediumMinutes on one core of the machine
// that its first line names, as `qdnb sweep measure` prints them. Plans have steps, so that a run is the same
// on all machines, and equal time holds by measurement.
//
//go:embed medium.csv
var mediumSteps string

// stepsInMinutes returns the measured steps by algorithm and environment.
var stepsInMinutes = sync.OnceValue(func() map[[2]string]int64 {
	reader := csv.NewReader(strings.NewReader(mediumSteps))
	reader.Comment = '#'
	rows, err := reader.ReadAll()
	if err != nil {
		panic(err)
	}
	steps := map[[2]string]int64{}
	for _, row := range rows[1:] {
		if steps[[2]string{row[0], row[1]}], err = strconv.ParseInt(row[2], 10, 64); err != nil {
			panic(err)
		}
	}
	return steps
})

// mediumBudget is the budget of a method at scale Medium: its measured steps, or processor time where nothing
// was measured.
func mediumBudget(algorithm, env, unit string) runs.Budget {
	if steps := stepsInMinutes()[[2]string{algorithm, env}]; steps > 0 && unit == Steps {
		return runs.Budget{EnvSteps: steps}
	}
	return runs.Budget{CPU: mediumMinutes * time.Minute}
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
// returns the steps that it takes in [mediumMinutes] at the rate of the second half: compilation does not
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
	left := mediumMinutes*60 - reached[1].CPUSeconds
	return reached[1].EnvSteps + int64(rate*left), nil
}
