package results

import (
	_ "embed"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/qdnb/qdnb/runs"
)

// MediumTime is the processor time that a training run at scale medium is worth.
const MediumTime = 6 * time.Minute

// medium has the environment steps that each method takes in [MediumTime] on the machine that its first line
// names, as `qdnb sweep measure` prints them.
//
//go:embed medium.csv
var medium string

// measured returns the steps in medium by algorithm and environment, and the machine.
var measured = sync.OnceValues(func() (map[[2]string]int64, string) {
	reader := csv.NewReader(strings.NewReader(medium))
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
	machine, _, _ := strings.Cut(strings.TrimPrefix(medium, "# "), ";")
	return steps, machine
})

// MediumSteps returns the environment steps that a method takes in [MediumTime] on one core of the machine that
// they were measured on; 0 if they were not. Plans at scale medium have them as budgets: a run is the same on all
// machines, and equal time holds by measurement, whatever else a machine does while it trains.
func MediumSteps(algorithm, env string) int64 {
	steps, _ := measured()
	return steps[[2]string{algorithm, env}]
}

// measure sets the processor time and machine of a run whose budget was measured, with networks as at scale medium,
// instead of those of the machine that happened to train it.
func (r *Trained) measure(budget runs.Budget) {
	steps, machine := measured()
	if !slices.Equal(r.Units, []int{64, 64}) {
		return
	}
	if budget.EnvSteps > 0 && budget.EnvSteps == steps[[2]string{r.Algorithm, r.Env}] {
		r.Processor, r.CPUSeconds, r.Machine = MediumTime.Seconds(), MediumTime.Seconds(), machine
	}
}
