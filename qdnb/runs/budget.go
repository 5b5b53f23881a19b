package runs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Progress is the progress of a run over all its sessions.
type Progress struct {
	Generation  int64 `json:"generation"`  // generation 0 is the initial population
	Evaluations int64 `json:"evaluations"` // episodes, including those of generation 0
	// EnvSteps are the environment steps: evaluations times episode length, or those of training for
	// methods that learn one policy.
	EnvSteps int64   `json:"env_steps"`
	Seconds  float64 `json:"seconds"` // wall-clock training time, including compilation
	// CPUSeconds is the process's CPU time (user and system) during training, excluding compilation,
	// which the runs of a process share.
	CPUSeconds float64 `json:"cpu_seconds,omitzero"`
}

// Budget says when to stop: at the first limit reached. A zero field is no limit.
type Budget struct {
	Generations int64
	Evaluations int64
	EnvSteps    int64
	Time        time.Duration // wall-clock time over all sessions
	CPU         time.Duration // processor time over all sessions, comparable between runs that share a machine
}

// Validate refuses negative limits.
func (b Budget) Validate() error {
	if b.Generations < 0 || b.Evaluations < 0 || b.EnvSteps < 0 || b.Time < 0 || b.CPU < 0 {
		return fmt.Errorf("the budget is negative: %v", b)
	}
	return nil
}

// Share returns the budget of one of n runs that share the time limits.
func (b Budget) Share(n int) Budget {
	for _, limit := range []*time.Duration{&b.Time, &b.CPU} {
		if *limit > 0 {
			*limit = max(1, *limit/time.Duration(n)) // 0 would be no limit
		}
	}
	return b
}

// Done reports whether a limit is reached. A budget without limits is never done.
func (b Budget) Done(p Progress) bool { return b.Fraction(p) >= 1 }

// Fraction returns how much of the budget is spent, from 0 to 1, by the limit closest to being
// reached. It is 0 without limits.
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

// String describes the budget in words: "1.2e9 environment steps or 2h".
func (b Budget) String() string {
	var limits []string
	for _, limit := range []struct {
		count int64
		unit  string
	}{{b.Generations, "generations"}, {b.Evaluations, "evaluations"},
		{b.EnvSteps, "environment steps"}} {
		if limit.count != 0 {
			count := strconv.FormatFloat(float64(limit.count), 'g', -1, 64)
			limits = append(limits, strings.Replace(count, "e+0", "e", 1)+" "+limit.unit)
		}
	}
	if b.Time != 0 {
		limits = append(limits, inWords(b.Time))
	}
	if b.CPU != 0 {
		limits = append(limits, inWords(b.CPU)+" of processor time")
	}
	if len(limits) == 0 {
		return "no limit"
	}
	return strings.Join(limits, " or ")
}

// inWords formats a duration without units that are 0.
func inWords(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// budgetFile is a budget in JSON: unset limits are omitted, and times are strings such as "2h0m0s".
type budgetFile struct {
	Generations int64     `json:"generations,omitzero"`
	Evaluations int64     `json:"evaluations,omitzero"`
	EnvSteps    int64     `json:"env_steps,omitzero"`
	Time        timeLimit `json:"time,omitzero"`
	CPU         timeLimit `json:"cpu,omitzero"`
}

type timeLimit time.Duration

// MarshalText formats the limit.
func (l timeLimit) MarshalText() ([]byte, error) { return []byte(time.Duration(l).String()), nil }

// UnmarshalText reads what MarshalText writes.
func (l *timeLimit) UnmarshalText(text []byte) error {
	limit, err := time.ParseDuration(string(text))
	if *l = timeLimit(limit); err != nil {
		return fmt.Errorf("a time of a budget: %w", err)
	}
	return nil
}

// MarshalJSON writes the limits that are set.
func (b Budget) MarshalJSON() ([]byte, error) {
	return json.Marshal(budgetFile{b.Generations, b.Evaluations, b.EnvSteps, timeLimit(b.Time), timeLimit(b.CPU)})
}

// UnmarshalJSON reads what MarshalJSON writes. Unknown fields are errors: a misspelt limit would be
// no limit.
func (b *Budget) UnmarshalJSON(data []byte) error {
	var f budgetFile
	if err := Decode(data, &f); err != nil {
		return err
	}
	*b = Budget{f.Generations, f.Evaluations, f.EnvSteps, time.Duration(f.Time), time.Duration(f.CPU)}
	return b.Validate()
}

// SnapshotPoints is the number of snapshots in the first half of a budget. The paper's figures 11
// and 12 show nine repertoires, evenly spaced over the first hour of two.
const SnapshotPoints = 9

// SnapshotDue reports whether to save a snapshot of the repertoire between two progress values:
// when training passed one of nine evenly spaced points of the first half of the budget, or its
// end. It depends on nothing else, so an interrupted run saves the same snapshots as an
// uninterrupted one.
func SnapshotDue(b Budget, before, after Progress) bool {
	return passed(b, before, after, SnapshotPoints) || b.Fraction(before) < 1 && b.Fraction(after) >= 1
}

// CorrectionDue reports whether to correct the repertoire between two progress values: when
// training passed one of eighteen evenly spaced points, the last of which is the end.
func CorrectionDue(b Budget, before, after Progress) bool {
	return passed(b, before, after, 2*SnapshotPoints)
}

// passed reports whether one of the first n of eighteen points lies between two progress values.
func passed(b Budget, before, after Progress, n int) bool {
	from, to := b.Fraction(before), b.Fraction(after)
	for i := range n {
		if point := float64(i+1) / (2 * SnapshotPoints); from < point && point <= to {
			return true
		}
	}
	return false
}
