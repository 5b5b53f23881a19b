package runs

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func TestBudgetEndsAtTheFirstLimit(t *testing.T) {
	b := Budget{Generations: 100, Time: time.Hour}
	for _, c := range []struct {
		budget   Budget
		progress Progress
		fraction float64
		done     bool
	}{
		{b, Progress{}, 0, false},
		{b, Progress{Generation: 50}, 0.5, false},
		{b, Progress{Generation: 50, Seconds: 2700}, 0.75, false},
		{b, Progress{Generation: 99, Seconds: 3600}, 1, true},
		{b, Progress{Generation: 100}, 1, true},
		{b, Progress{Generation: 200}, 1, true},
		{Budget{EnvSteps: 1000}, Progress{Generation: 9, EnvSteps: 999}, 0.999, false},
		{Budget{Evaluations: 10}, Progress{Evaluations: 10}, 1, true},
		{Budget{CPU: 8 * time.Second}, Progress{Seconds: 100, CPUSeconds: 6}, 0.75, false},
		{Budget{CPU: 8 * time.Second}, Progress{Seconds: 1, CPUSeconds: 8}, 1, true},
		{Budget{}, Progress{Generation: math.MaxInt64}, 0, false},
	} {
		errtest.Equal(t, fmt.Sprintf("%v at %+v", c.budget, c.progress), c.budget.Fraction(c.progress), c.fraction)
		errtest.Equal(t, fmt.Sprintf("%v at %+v: done", c.budget, c.progress), c.budget.Done(c.progress), c.done)
	}
	if err := (Budget{Generations: -1}).Validate(); err == nil {
		t.Error("a negative budget is valid")
	}
}

// A run that shared a time limit completes the whole budget, but not one whose share is larger.
func TestCompletes(t *testing.T) {
	half := Progress{Generation: 9, Seconds: 1800}
	hours := func(n int) Budget { return Budget{Time: time.Duration(n) * time.Hour} }
	for _, c := range []struct {
		status Status
		budget Budget
		seeds  int
		want   bool
	}{
		{Status{Progress: half, Finished: true, Seeds: 4}, hours(2), 1, true},
		{Status{Progress: half, Finished: true, Seeds: 4}, hours(2), 4, true},
		{Status{Progress: half, Finished: true, Seeds: 4}, hours(4), 1, false},
		{Status{Progress: half, Finished: true, Seeds: 4}, hours(4), 4, false},
		{Status{Progress: half, Finished: true, Seeds: 4}, hours(4), 8, true},
		{Status{Progress: half, Finished: true, Seeds: 4}, Budget{Generations: 10}, 1, false},
		{Status{Progress: half, Finished: true}, hours(2), 1, false},
		{Status{Progress: half, Finished: true}, hours(2), 4, true},
		{Status{Progress: half, Finished: true}, Budget{}, 0, true},
		{Status{Progress: half, Seeds: 4}, hours(2), 1, false},
	} {
		errtest.Equal(t, fmt.Sprintf("%+v completes %v of %d", c.status, c.budget, c.seeds),
			c.status.Completes(c.budget, c.seeds), c.want)
	}
}

func TestBudgetInWordsAndJSON(t *testing.T) {
	for budget, words := range map[Budget]string{
		{}:                 "no limit",
		{Generations: 100}: "100 generations",
		{EnvSteps: 150_000_000, Time: 2 * time.Hour}:  "1.5e8 environment steps or 2h",
		{Evaluations: 200_001, CPU: 12 * time.Minute}: "200001 evaluations or 12m of processor time",
		{Time: 10 * time.Second}:                      "10s",
	} {
		errtest.Equal(t, "in words", budget.String(), words)
		data := must.Get(json.Marshal(budget))
		var back Budget
		if err := json.Unmarshal(data, &back); err != nil || back != budget {
			t.Errorf("%s came back as %+v, %v", data, back, err)
		}
	}
	for _, bad := range []string{`{"time":"2 hours"}`, `{"cpu":"720"}`, `{"cpu":"-1s"}`,
		`{"generations":-1}`, `{"generations":"a"}`} {
		var b Budget
		if err := json.Unmarshal([]byte(bad), &b); err == nil {
			t.Errorf("%s was read as %v", bad, b)
		}
	}
}

func TestSnapshotsAreNineInTheFirstHalfAndTheEnd(t *testing.T) {
	collect := func(b Budget, last, step int64) (due []int64) {
		for g := int64(0); g < last; g += step {
			if SnapshotDue(b, Progress{Generation: g}, Progress{Generation: g + step}) {
				due = append(due, g+step)
			}
		}
		return due
	}
	b := Budget{Generations: 36}
	errtest.Equal(t, "in large steps", collect(b, 36, 12), []int64{12, 24, 36})
	if got := collect(Budget{}, 36, 1); got != nil {
		t.Errorf("without a budget: %v", got)
	}
}

func TestStatusRoundTrip(t *testing.T) {
	s := Status{Progress: Progress{100, 100_000, 25_000_000, 41.5, 80.25}, CompileSeconds: 4,
		MaxFitness: -128, Coverage: 73.7,
		QDScore: 2.51e5, Backend: "xla:cpu",
		Budget:   Budget{Generations: 100},
		Finished: true, Version: "1", Updated: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, fitness := range []float64{-128, math.Inf(-1)} {
		s.MaxFitness = fitness
		data := must.Get(json.Marshal(s))
		var back Status
		err := json.Unmarshal(data, &back)
		if err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%s came back as %+v, %v", data, back, err)
		}
		errtest.Contains(t, string(data), `"env_steps":25000000`)
	}
}

// The history has no uses of generations that are recomputed, and tells of a change of the backend.
func TestUseMachineKeepsTheHistory(t *testing.T) {
	var s Status
	for _, c := range []struct {
		machine, backend, commit string
		after                    int64
		differs                  bool
		want                     string
	}{
		{"a", "cpu", "1", -1, false, "a cpu 1 -1"},
		{"a", "cpu", "1", 50, false, "a cpu 1 -1"}, // resumed
		{"b", "cpu", "1", 60, false, "a cpu 1 -1, b cpu 1 60"},
		{"b", "cpu", "2", 70, false, "a cpu 1 -1, b cpu 1 60, b cpu 2 70"},
		{"b", "cuda", "2", 80, true, "a cpu 1 -1, b cpu 1 60, b cpu 2 70, b cuda 2 80"},
		{"b", "cuda", "2", 90, true, "a cpu 1 -1, b cpu 1 60, b cpu 2 70, b cuda 2 80"}, // once mixed, always mixed
		{"b", "cpu", "1", 65, false, "a cpu 1 -1, b cpu 1 60"},
		{"b", "go", "1", -1, false, "b go 1 -1"},
	} {
		differs := s.UseMachine(MachineUse{Machine: c.machine, Backend: c.backend, Commit: c.commit, After: c.after})
		data := must.Get(json.Marshal(s))
		s = Status{}
		must.Do(json.Unmarshal(data, &s))
		var got []string
		for _, u := range s.Machines {
			got = append(got, fmt.Sprint(u.Machine, " ", u.Backend, " ", u.Commit, " ", u.After))
		}
		if strings.Join(got, ", ") != c.want || differs != c.differs || s.Backend != c.backend {
			t.Errorf("%v: the history is %q, differs %v", c, got, differs)
		}
	}
}
