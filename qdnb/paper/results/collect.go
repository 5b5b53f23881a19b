package results

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// Collect reads the runs of a plan's lines from the folders below root. A run that several lines of
// one experiment and label name is read once. Errors of single runs are added to Problems; a plan
// without lines is an error.
func Collect(root string, lines []sweep.Line) (*Tables, error) {
	if len(lines) == 0 {
		return nil, fmt.Errorf("there are no runs in %s: make some with `qdnb sweep plan` and `qdnb sweep run`", root)
	}
	t := &Tables{Lines: len(lines), Generations: map[string]int64{}, root: root}
	type key struct{ experiment, label, run string }
	seen := map[key]bool{}
	for _, state := range sweep.Inspect(root, lines) {
		name := state.Run.Name()
		complete := state.Status == sweep.Done
		started := complete || state.Progress != (runs.Progress{})
		switch {
		case state.Err != nil:
			t.Problems = append(t.Problems, state.Err)
		case complete:
			t.Complete++
		case started:
			t.Incomplete++
		default:
			t.Missing++
		}
		k := key{state.Experiment, state.Label, name}
		if seen[k] || state.Err != nil || !started {
			continue
		}
		seen[k], t.Generations[name] = true, state.Progress.Generation
		if err := t.read(filepath.Join(root, name), state.Line, complete); err != nil {
			t.Problems = append(t.Problems, err)
		}
	}
	t.sort()
	return t, nil
}

func (t *Tables) read(dir string, line sweep.Line, complete bool) error {
	run, err := runs.Open(dir)
	if err != nil {
		return err
	}
	switch {
	case line.Run.SkillsRun() != "" && !complete:
		return nil
	case line.Run.Algorithm == records.Adaptation:
		err = add(&t.Adapted)(readAdapted(run, line))
	case line.Run.Algorithm == records.HierarchicalControl:
		err = add(&t.Controlled)(readControlled(run, line.Label))
	default:
		err = add(&t.Trained)(readTrained(run, line, complete))
	}
	if err != nil {
		return fmt.Errorf("%s cannot be read (%w): it is damaged or from another version of the program; "+
			"move it away and rerun its line", run.Dir, err)
	}
	return nil
}

// add returns a function that appends a row to a list unless reading it failed.
func add[T any](list *[]T) func(T, error) error {
	return func(row T, err error) error {
		if err == nil {
			*list = append(*list, row)
		}
		return err
	}
}

func readTrained(run *runs.Run, line sweep.Line, complete bool) (Trained, error) {
	c, s := run.Config, run.Status
	r := Trained{
		Experiment: line.Experiment, Label: line.Label, Algorithm: c.Algorithm, Env: c.Env, Seed: c.Seed,
		Run: c.Name(), Finished: complete,
		Generation: s.Generation, Point: Point{float64(s.EnvSteps), s.Seconds, s.MaxFitness, s.Coverage, s.QDScore},
	}
	if r.Processor = s.CPUSeconds; s.Budget.CPU > 0 {
		r.CPUSeconds = s.CPUSeconds
	}
	for i, use := range s.Machines {
		if i == 0 {
			r.Machine, r.Programs = use.Machine, use.Programs
		}
		if r.Machine != use.Machine {
			r.Machine = ""
		}
		if r.Programs != use.Programs {
			r.Programs = ""
		}
	}
	err := r.configure(c)
	if r.measure(s.Budget); err != nil || !complete {
		return r, err
	}
	rows, err := rowsOf(run, "env_steps", "seconds", "max_fitness", "coverage", "qd_score")
	if err != nil {
		return r, err
	}
	r.Curve = lists.Map(rows, func(x []float64) Point { return Point{x[0], x[1], x[2], x[3], x[4]} })
	if strings.HasPrefix(c.Algorithm, "smerl-") {
		shares, err := rowsOf(run, "accepted_share")
		opened := slices.ContainsFunc(shares, func(x []float64) bool { return x[0] > 0 }) // not for NaN
		r.GateShut = err == nil && len(shares) > 0 && !opened
	}
	return r, nil
}

// minCells are the cells of the paper's repertoires.
const minCells = 1024

// configure sets what follows from a run's hyperparameters. Those that an imported run or a variant
// does not record are assumed to be the paper's.
func (r *Trained) configure(c runs.Config) error {
	var s struct {
		Length    int64 `json:"episode_length"`
		Cells     int64 `json:"cells"`
		Hidden    []int `json:"hidden"`
		FullState bool  `json:"descriptor_full_state"`
	}
	var settings map[string]json.RawMessage
	for _, into := range []any{&s, &settings} {
		if err := json.Unmarshal(c.Hyperparameters, into); err != nil {
			return fmt.Errorf("hyperparameters: %w", err)
		}
	}
	r.Units, r.Prior = s.Hidden, !s.FullState
	if whole := int64(protocol.EpisodeLength(c.Env)); s.Length > 0 && s.Length < whole {
		r.Short = append(r.Short, fmt.Sprintf("episodes of %d steps, not %d", s.Length, whole))
	}
	if s.Cells > 0 && s.Cells < minCells {
		r.Short = append(r.Short, fmt.Sprintf("%d cells, not %d", s.Cells, minCells))
	}
	grid, _ := protocol.GridOf(c.Algorithm)
	for i, setting := range []*Setting{&r.A, &r.B} {
		setting.Value = math.NaN()
		if raw, ok := settings[grid.Settings[i]]; ok {
			setting.Name = grid.Settings[i]
			if json.Unmarshal(raw, &setting.Value) != nil {
				return fmt.Errorf("%s is not a number", setting.Name)
			}
		}
	}
	return nil
}

// rowsOf returns columns of the metrics, a row for each generation.
func rowsOf(run *runs.Run, names ...string) ([][]float64, error) {
	table, err := run.Metrics()
	if err != nil {
		return nil, err
	}
	rows := make([][]float64, len(table.Rows))
	for _, name := range names {
		column, err := table.Column(name)
		if err != nil {
			return nil, fmt.Errorf("metrics.csv: %w", err)
		}
		for i, x := range column {
			rows[i] = append(rows[i], x)
		}
	}
	last := len(rows) - 1
	if final, err := table.Column(runs.FinalColumn); err == nil && last > 0 && final[last] == 1 &&
		table.Rows[last][0] == table.Rows[last-1][0] {
		rows = slices.Delete(rows, last-1, last) // the same generation before its measurement
	}
	return rows, nil
}

func readAdapted(run *runs.Run, line sweep.Line) (Adapted, error) {
	adaptation, err := run.Adaptation()
	if err != nil {
		return Adapted{}, err
	}
	if !slices.Contains(catalog.Perturbations(), catalog.Perturbation(adaptation.Perturbation)) {
		return Adapted{}, fmt.Errorf("unknown perturbation %q", adaptation.Perturbation)
	}
	a := Adapted{
		Experiment: line.Experiment, Label: line.Label, Env: run.Config.Env, Seed: run.Config.Seed,
		Run: run.Name(), Perturbation: adaptation.Perturbation,
	}
	for _, v := range adaptation.Values {
		skill, score := v.Best()
		a.Values = append(a.Values, Value{Index: v.Index, X: v.X, Y: v.Y, Score: score, Skill: skill, Skills: v.Count})
	}
	return a, nil
}

func readControlled(run *runs.Run, label string) (Controlled, error) {
	c := Controlled{Label: label, Seed: run.Config.Seed, Run: run.Name()}
	rows, err := rowsOf(run, "env_steps", "fitness_mean", "max_fitness", "hurdles_mean", "hurdles_max")
	if err != nil {
		return c, err
	}
	if len(rows) == 0 {
		return c, fmt.Errorf("metrics.csv has no rows")
	}
	c.Curve = lists.Map(rows, func(x []float64) ControlPoint { return ControlPoint{x[0], x[1], x[2], x[3], x[4]} })
	return c, nil
}
