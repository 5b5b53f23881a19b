package sweep

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"example.com/qdnb/qdnb/runs"
)

// Status is the progress of a line.
type Status string

// Statuses of a line, from its folder.
const (
	Done        Status = "done"        // nothing left to do
	Running     Status = "running"     // a process holds its folder
	Interrupted Status = "interrupted" // started, and held by no process
	Ready       Status = "not begun"   // can start
	Waiting     Status = "waiting"     // a run that it needs is not complete
	Broken      Status = "broken"      // its folder cannot be read; State.Err says why
)

// Statuses lists all statuses in the order of reports.
var Statuses = []Status{Done, Running, Interrupted, Ready, Waiting, Broken}

// State is a line with its progress.
type State struct {
	Line
	Index    int
	Status   Status
	Progress runs.Progress
	Compile  float64  // compilation time within Progress, in seconds
	Fraction float64  // fraction of the budget spent, from 0 to 1
	Holder   string   // the process that holds the folder while running, such as "process 12 on node3"
	Missing  []string // names of the runs the line waits for
	Err      error    // why it is broken
}

// folder is what a run's folder contains.
type folder struct {
	run    *runs.Run // nil if there is none
	holder string
	err    error
}

// Inspect returns the states of a plan's lines. It reads the folders below root and writes nothing.
func Inspect(root string, lines []Line) []State {
	seen := map[string]folder{}
	look := func(c runs.Config) folder {
		name := c.Name()
		f, ok := seen[name]
		if !ok {
			if f.run, f.err = open(root, c); f.err == nil {
				f.holder = runs.Holder(filepath.Join(root, name))
			}
			seen[name] = f
		}
		return f
	}
	states := make([]State, len(lines))
	for i, line := range lines {
		states[i] = stateOf(line, i, look)
	}
	return states
}

func stateOf(line Line, index int, look func(runs.Config) folder) State {
	s := State{Line: line, Index: index}
	f := look(line.Run)
	if f.run != nil {
		s.Progress, s.Compile = f.run.Status.Progress, f.run.Status.CompileSeconds
		s.Fraction = cmp.Or(line.Budget, f.run.Status.Budget).Fraction(s.Progress) // a line without ends by itself
	}
	switch {
	case f.err != nil:
		s.Status, s.Err = Broken, f.err
	case f.run != nil && f.run.Status.Completes(line.Budget, 1):
		s.Status, s.Fraction = Done, 1
	case f.holder != "":
		s.Status, s.Holder = Running, f.holder
	case s.Progress != (runs.Progress{}):
		s.Status = Interrupted
	default:
		s.Status = Ready
	}
	if s.Status != Ready {
		return s
	}
	for _, need := range line.Needs {
		if f := look(need.Run); f.err != nil || f.run == nil || !f.run.Status.Completes(need.Budget, 1) {
			s.Status = Waiting
			s.Missing = append(s.Missing, need.Run.Name())
		}
	}
	return s
}

// IsDone reports whether the run of a configuration below root is complete and has spent a budget.
// It fails if the run's folder cannot be read.
func IsDone(root string, c runs.Config, b runs.Budget) (bool, error) {
	run, err := open(root, c)
	return err == nil && run != nil && run.Status.Completes(b, 1), err
}

// open reads the run of a configuration; nil if the folder or its config.json does not exist.
func open(root string, c runs.Config) (*runs.Run, error) {
	dir := filepath.Join(root, c.Name())
	if _, err := os.Stat(filepath.Join(dir, "config.json")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return runs.Open(dir)
}

// Totals summarise a plan.
type Totals struct {
	Lines    int            `json:"lines"`
	Count    map[Status]int `json:"count"`
	EnvSteps int64          `json:"env_steps"` // done so far
	Seconds  float64        `json:"seconds"`   // spent so far
	Left     Left           `json:"left"`
}

// Left estimates the remaining work of a plan, run sequentially on this machine.
type Left struct {
	Time    time.Duration `json:"-"`
	Seconds float64       `json:"seconds"` // Time
	// Unknown counts lines whose time is unknown because no similar run has started. The times exclude
	// them.
	Unknown int `json:"unknown_lines"`
}

// String formats the time, and the number of lines without one.
func (l Left) String() string {
	text := fmt.Sprintf("%v sequentially", l.Time)
	if l.Unknown > 0 {
		text += fmt.Sprintf(", plus %d lines of unknown duration", l.Unknown)
	}
	return text
}

// Total sums the states of a plan. Runs that several lines name count once. A line takes as long as
// its own progress or else its budget says; else as long as its estimate; else as long as the started
// lines of the same algorithm and environment.
func Total(states []State) Totals {
	t := Totals{Lines: len(states), Count: map[Status]int{}}
	similar := map[string][]float64{}
	for _, s := range states {
		if seconds := s.extrapolated(); seconds > 0 {
			similar[s.kind()] = append(similar[s.kind()], seconds)
		}
	}
	counted := map[string]bool{}
	for _, s := range states {
		t.Count[s.Status]++
		if counted[s.Run.Name()] {
			continue
		}
		counted[s.Run.Name()] = true
		t.EnvSteps += s.Progress.EnvSteps
		t.Seconds += s.Progress.Seconds
		if s.Status == Done {
			continue
		}
		others := 0.0
		for _, seconds := range similar[s.kind()] {
			others += seconds / float64(len(similar[s.kind()]))
		}
		seconds := cmp.Or(s.extrapolated(), s.Budget.Time.Seconds(), s.CPUSeconds/float64(runtime.NumCPU()), others)
		if seconds == 0 {
			t.Left.Unknown++
		}
		t.Left.Seconds += seconds * (1 - s.Fraction)
	}
	t.Left.Time = time.Duration(t.Left.Seconds * float64(time.Second)).Round(time.Second)
	t.Left.Seconds = t.Left.Time.Seconds()
	return t
}

// kind groups the lines that take about as long as each other.
func (s State) kind() string { return s.Run.Algorithm + "/" + s.Run.Env }

// extrapolated is the time of a whole line by its progress; 0 before 2 % of the budget, where
// start-up dominates. It excludes compilation, whose time does not grow with progress. It is
// wall-clock time or, if the plan estimates processor time, that divided by the number of cores.
func (s State) extrapolated() float64 {
	if s.Fraction < 0.02 {
		return 0
	}
	if s.CPUSeconds > 0 {
		return s.Progress.CPUSeconds / float64(runtime.NumCPU()) / s.Fraction
	}
	return max(s.Progress.Seconds-s.Compile, 0) / s.Fraction
}
