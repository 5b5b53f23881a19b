package runs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Progress is how far a run is, over all the sessions it took.
type Progress struct {
	Generation  int64   `json:"generation"`  // generation 0 is the initial population
	Evaluations int64   `json:"evaluations"` // episodes
	EnvSteps    int64   `json:"env_steps"`   // environment steps: evaluations times episode length
	Seconds     float64 `json:"seconds"`     // wall-clock time of training, compilation included
	// CPUSeconds is the processor time (user and system) of the process while it trained, without
	// compilation, which is shared by the runs of a process. It is 0 in runs of older programs.
	CPUSeconds float64 `json:"cpu_seconds,omitzero"`
}

// Budget says when to stop. The first limit that is reached ends the run; a field that is zero is
// no limit.
type Budget struct {
	Generations int64
	Evaluations int64
	EnvSteps    int64
	Time        time.Duration // wall-clock, over all sessions
	// processor time, over all sessions: equal for runs that share a machine with other work
	CPU time.Duration
}

// Validate refuses negative limits.
func (b Budget) Validate() error {
	if b.Generations < 0 || b.Evaluations < 0 || b.EnvSteps < 0 || b.Time < 0 || b.CPU < 0 {
		return fmt.Errorf("a budget cannot be negative: %v", b)
	}
	return nil
}

// Timed tells whether a limit is one of time, within which the amount of work depends on the
// machine.
func (b Budget) Timed() bool { return b.Time > 0 || b.CPU > 0 }

// Done tells whether a limit is reached. A budget without limits is never done.
func (b Budget) Done(p Progress) bool { return b.Fraction(p) >= 1 }

// Fraction is how much of the budget is spent, from 0 to 1: that of the limit which is nearest. It
// is 0 without limits.
func (b Budget) Fraction(p Progress) float64 {
	fraction := 0.0
	for _, limit := range []struct{ spent, of float64 }{
		{float64(p.Generation), float64(b.Generations)},
		{float64(p.Evaluations), float64(b.Evaluations)},
		{float64(p.EnvSteps), float64(b.EnvSteps)},
		{p.Seconds, b.Time.Seconds()},
		{p.CPUSeconds, b.CPU.Seconds()},
	} {
		if limit.of > 0 && limit.spent > 0 {
			fraction = max(fraction, limit.spent/limit.of)
		}
	}
	return min(fraction, 1)
}

// String is the budget in words: "100 generations or 2h0m0s".
func (b Budget) String() string {
	var limits []string
	for _, limit := range []struct {
		count int64
		unit  string
	}{{b.Generations, "generations"}, {b.Evaluations, "evaluations"},
		{b.EnvSteps, "environment steps"}} {
		if limit.count != 0 {
			limits = append(limits, fmt.Sprintf("%d %s", limit.count, limit.unit))
		}
	}
	if b.Time != 0 {
		limits = append(limits, b.Time.String())
	}
	if b.CPU != 0 {
		limits = append(limits, b.CPU.String()+" of processor time")
	}
	if len(limits) == 0 {
		return "no limit"
	}
	return strings.Join(limits, " or ")
}

// budgetFile is a budget in JSON: limits that are not set are left out, and times are text such as
// "2h0m0s".
type budgetFile struct {
	Generations int64  `json:"generations,omitempty"`
	Evaluations int64  `json:"evaluations,omitempty"`
	EnvSteps    int64  `json:"env_steps,omitempty"`
	Time        string `json:"time,omitempty"`
	CPU         string `json:"cpu,omitempty"`
}

// MarshalJSON writes the limits that are set.
func (b Budget) MarshalJSON() ([]byte, error) {
	file := budgetFile{Generations: b.Generations, Evaluations: b.Evaluations, EnvSteps: b.EnvSteps}
	if b.Time != 0 {
		file.Time = b.Time.String()
	}
	if b.CPU != 0 {
		file.CPU = b.CPU.String()
	}
	return json.Marshal(file)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Budget) UnmarshalJSON(data []byte) error {
	var file budgetFile
	if err := json.Unmarshal(data, &file); err != nil {
		return err
	}
	*b = Budget{Generations: file.Generations, Evaluations: file.Evaluations, EnvSteps: file.EnvSteps}
	for _, limit := range []struct {
		name, text string
		of         *time.Duration
	}{{"time", file.Time, &b.Time}, {"cpu", file.CPU, &b.CPU}} {
		if limit.text == "" {
			continue
		}
		duration, err := time.ParseDuration(limit.text)
		if err != nil {
			return errors.New(limit.name + " of a budget: " + err.Error())
		}
		*limit.of = duration
	}
	return b.Validate()
}

// SnapshotPoints is the number of snapshots in the first half of a budget. The paper's figures 11
// and 12 show nine repertoires, evenly spaced over the first hour of two.
const SnapshotPoints = 9

// SnapshotDue tells whether a snapshot of the repertoire is to be kept on going from one progress
// to another: when one of nine even points of the first half of the budget, or its end, was passed.
// It depends on nothing else, so that a run which was cut off keeps the same snapshots as one that
// was not.
func SnapshotDue(b Budget, before, after Progress) bool {
	from, to := b.Fraction(before), b.Fraction(after)
	for i := 1; i <= SnapshotPoints; i++ {
		if point := float64(i) / (2 * SnapshotPoints); from < point && point <= to {
			return true
		}
	}
	return from < 1 && to >= 1
}
