package paper

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/imagetest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// shippable writes an experiments folder with runs of two methods on ant-omni, all that figures can
// draw of them, and a run that is not complete. Budgets are processor time.
func shippable(t *testing.T) (dir string, lines []sweep.Line) {
	t.Helper()
	f := newFolder(t)
	const cpu = 100.0
	for i, method := range []string{"map-elites", "dads-reward"} {
		c := must.Get(runs.NewConfig(method, "ant-omni", 0, map[string]any{"cells": 4, "hidden": []int{8, 9}}))
		metrics := "generation,env_steps,seconds,max_fitness,coverage,qd_score\n"
		for row := range 10 {
			metrics += fmt.Sprintf("%d,%d,%d,%d,%d,%d\n", row, 100*row, 7*row*row, row+i, 5*row, 9*row*row)
		}
		budget := runs.Budget{CPU: time.Duration(cpu * float64(time.Second))}
		status := runs.Status{Budget: budget, QDScore: 729, Progress: runs.Progress{Generation: 9,
			EnvSteps: 900, Seconds: 567, CPUSeconds: cpu}}
		fill := []func(*runs.Writer){func(w *runs.Writer) {
			r := fourCells(5, omniLower, omniUpper)
			must.Do(w.SaveRepertoire(r))
			for k := range int64(3) {
				r.Fitnesses[0] = float32(k)
				must.Do(w.SaveSnapshot(runs.Snapshot{Progress: runs.Progress{Generation: k + 1,
					EnvSteps: 100 * (k + 1)}, Repertoire: *r}))
			}
		}}
		if method == "dads-reward" {
			fill = append(fill, trajectories(t, 9, 4))
		}
		f.run(t, sweep.Line{Experiment: results.ExperimentTraining, Label: method, Run: c, Budget: budget}, status,
			metrics, fill...)
	}
	f.open(t)
	missing := f.lines[0]
	missing.Run.Seed = 1
	return f.dir, append(f.lines, missing)
}

func shipped(t *testing.T, dir string, lines []sweep.Line) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "notebooks", "results")
	s := must.Get(Ship(out, lines, filepath.Join(dir, RunsFolder), About{"medium", "a test", "0123abc"}))
	if s.Runs != 2 || s.Left != 1 || s.Bytes < 1000 || s.Bytes > 20_000 {
		t.Errorf("shipped %+v", s)
	}
	return out
}

// Figures of shipped runs are those of the runs.
func TestShippedFigures(t *testing.T) {
	dir, lines := shippable(t)
	full := must.Get(Open(dir))
	small := must.Get(Open(shipped(t, dir, lines)))
	errtest.Equal(t, "lines", fmt.Sprint(small.Complete, len(small.Lines)), "2 2")
	for _, id := range []string{"figure-2", "figure-6", "figure-8", "figure-9", "figure-12b"} {
		item, err := Find(id)
		must.Do(err)
		figure, err := item.Figure(full)
		want := says(t, figure, err)
		figure, err = item.Figure(small)
		if got := says(t, figure, err); got != want {
			t.Errorf("%s differs", id)
		}
	}
}

func TestShippedSummary(t *testing.T) {
	dir, lines := shippable(t)
	data := must.Get(Open(shipped(t, dir, lines)))
	for _, env := range []string{"ant-omni", "ant-trap"} {
		for _, seed := range []int64{10, 3} {
			adapted := data.Lines[1]
			adapted.Experiment, adapted.Run.Env, adapted.Run.Seed = "adaptation", env, seed
			adapted.Budget = runs.Budget{}
			if seed == 10 {
				adapted.Run.Hyperparameters = json.RawMessage(`{"cells":4,"hidden":[16,16]}`)
			}
			data.Lines = append(data.Lines, adapted)
		}
	}
	other := data.Lines[len(data.Lines)-1]
	other.Run.Env = "ant-maze"
	data.Lines = append(data.Lines, other) // with one seed
	data.About.Commit = "0123abcdef0123abcdef0123abcdef0123abcdef, modified, fedcba9"
	imagetest.Text(t, "shown/summary.txt", data.Summary("training", "adaptation", "hurdles"))
}

// Shipping again replaces the folder, with the same bytes; other folders are not replaced.
func TestShipAgain(t *testing.T) {
	dir, lines := shippable(t)
	out := shipped(t, dir, lines)
	read := func() map[string]string {
		files := map[string]string{}
		must.Do(filepath.WalkDir(filepath.Dir(out), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			files[path] = string(data)
			return err
		}))
		return files
	}
	before := read()
	if len(before) != 14 { // 2 of the folder, 1 of the environment, and 5 and 6 of the runs
		t.Errorf("%d files", len(before))
	}
	about := About{"medium", "a test", "0123abc"}
	must.Get(Ship(out, lines, filepath.Join(dir, RunsFolder), about))
	after := read()
	for path, text := range after {
		errtest.Equal(t, path, text, before[path])
	}
	errtest.Equal(t, "files", len(after), len(before))
	errtest.Want(t, errtest.Of(Ship(dir, lines, filepath.Join(dir, RunsFolder), about)), "choose another folder")
	errtest.Want(t, errtest.Of(Ship(out, lines, t.TempDir(), about)), "no run of the plan is complete")
	must.Get(Open(out))
}

// In a checkout, figures of experiments that are shipped use the shipped folder.
func TestFolderOfACheckout(t *testing.T) {
	dir, lines := shippable(t)
	root := filepath.Dir(filepath.Dir(shipped(t, dir, lines)))
	root = must.Get(filepath.EvalSymlinks(root))
	t.Chdir(filepath.Join(root, "notebooks"))
	t.Setenv(FolderVariable, "")
	module := func(text string) {
		must.Do(os.WriteFile(filepath.Join(root, "go.mod"), []byte(text), 0o666))
	}
	must.Do(os.WriteFile(filepath.Join(root, "Makefile"), nil, 0o666))
	outside := filepath.Join(root, "notebooks", "experiments")
	for _, other := range []string{"", "module example.com/other", "module example.com/qdnb2\n"} {
		if module(other); Folder("training") != outside {
			t.Errorf("in a folder with go.mod %q: %s, want %s", other, Folder("training"), outside)
		}
	}
	module("// A checkout.\nmodule example.com/qdnb // renamed\n\ngo 1.26\n")
	own := filepath.Join(root, "build", "experiments", "small")
	ours := filepath.Join(root, shippedFolder)
	for _, c := range []struct {
		experiments []string
		want        string
	}{{nil, own}, {[]string{"hurdles"}, own}, {[]string{"training"}, ours},
		{[]string{"hurdles", "training"}, ours}, {[]string{"figure-9"}, ours},
		{[]string{"table-10", "figure-4"}, own},
		{[]string{"figure-10", "figure-2"}, ours}} {
		errtest.Equal(t, c.experiments, Folder(c.experiments...), c.want)
	}
	if got, want := Experiments("figure-9", "training", "fig 18", "prior"), []string{"training",
		"adaptation", "hurdles", "prior"}; !slices.Equal(got, want) {
		t.Errorf("experiments %q, want %q", got, want)
	}
	t.Setenv(FolderVariable, "mine")
	errtest.Equal(t, "with the variable", Folder("training"), "mine")
}

// Thinned trajectories have the points that are drawn, up to the end of the first episode.
func TestThinTrajectories(t *testing.T) {
	const steps = 200
	s := &runs.Skills{Observations: 1, Actions: 1, Count: 2}
	s.Policy = make([]float32, runs.Row(s.Sizes()))
	for i := range 30 {
		s.Which, s.Fitnesses = append(s.Which, i%2), append(s.Fitnesses, float32(i))
		end := 20 + 5*i // the position before the last step of the first episode
		for k := range steps {
			s.Trajectories = append(s.Trajectories, float32(k)/10, float32(i))
		}
		s.Descriptors = append(s.Descriptors, float32(end)/10, float32(i))
	}
	c := must.Get(runs.NewConfig("dads-reward", "ant-omni", 0, map[string]any{}))
	write := func(s *runs.Skills) *runs.Run {
		run := must.Get(runs.Import(t.TempDir(), c, func(w *runs.Writer) error {
			if err := w.SaveSkills(s); err != nil {
				return err
			}
			return w.SaveStatus(runs.Status{Finished: true})
		}))
		return run
	}
	paths := func(run *runs.Run) []figures.Path {
		a := must.Get(figures.ArenaOf("ant-omni"))
		must.Do(a.AddSkills(run))
		return a.Paths
	}
	run := write(s)
	all := paths(run)
	thin := must.Get(run.Evaluation())
	must.Do(thinTrajectories(run, thin))
	if thin.Steps() != shippedSteps || len(thin.Which) != 2*shippedEpisodes {
		t.Fatalf("%d episodes of %d positions", len(thin.Which), thin.Steps())
	}
	thin.Policy = s.Policy
	for i, path := range paths(write(thin)) {
		whole := all[i]
		n := len(path.X)
		if n != min(shippedSteps, len(whole.X)) || path.X[0] != whole.X[0] ||
			path.X[n-1] != whole.X[len(whole.X)-1] || path.X[n-2] != whole.X[len(whole.X)-2] {
			t.Errorf("episode %d: %d points from %v to %v, of %d from %v to %v", i, n, path.X[0],
				path.X[n-1], len(whole.X), whole.X[0], whole.X[len(whole.X)-1])
		}
		if !slices.IsSorted(path.X) {
			t.Errorf("episode %d is out of order: %v", i, path.X)
		}
	}
}

// The runs in the repository are complete and small, and figures can be drawn from them.
func TestShippedRunsOfTheRepository(t *testing.T) {
	dir := filepath.Join("..", "..", shippedFolder)
	data := must.Get(Open(dir))
	if data.About == nil || data.About.Scale == "" || data.About.Machine == "" {
		t.Errorf("about: %+v", data.About)
	}
	for _, id := range []string{"figure-2", "figure-6", "table-1"} {
		item, err := Find(id)
		must.Do(err)
		if _, err = item.Draw(data); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	if data.Complete != len(data.Lines) || len(data.Problems) > 0 {
		t.Errorf("%d of %d runs, %v", data.Complete, len(data.Lines), data.Problems)
	}
	// Three whole repertoires and the four best policies of three others can be played.
	skills := must.Get(filepath.Glob(dir + "-skills/runs/*"))
	for _, skills := range skills {
		run := must.Get(runs.Open(skills))
		if r, err := run.Repertoire(); err != nil || len(r.Filled()) < 4 {
			t.Errorf("%s: %v", skills, err)
		}
	}
	errtest.Equal(t, "runs with policies", len(skills), 6)
}

// Steps that were measured for a time are told as that time.
func TestMeasuredStepsAreToldAsTime(t *testing.T) {
	config := must.Get(runs.NewConfig("map-elites", "pointmaze", 0, map[string]any{"hidden": []int{64, 64}}))
	lines := []sweep.Line{{Run: config, Budget: runs.Budget{EnvSteps: results.MediumSteps("map-elites", "pointmaze")}},
		{Run: config, Budget: runs.Budget{CPU: 12 * time.Minute}}}
	const want = "2 runs, hidden layers of 64 and 64 units, 6m or 12m of processor time each"
	errtest.Equal(t, "lines", describe(lines), want)
}

// trainedRun writes a finished run with long metrics, a repertoire, snapshots and skills.
func trainedRun(t *testing.T, cells, params, rows int) *runs.Run {
	t.Helper()
	c := must.Get(runs.NewConfig("dads-reward", "pointmaze", 0, map[string]any{"cells": cells}))
	r := &runs.Repertoire{Params: params, Dims: 2, Genotypes: make([]float32, cells*params),
		Lower: []float32{-1, -1}, Upper: []float32{1, 1}, Offset: 10}
	for i := range cells {
		x := float32(math.Sin(float64(i)))
		r.Fitnesses = append(r.Fitnesses, -100*x*x)
		r.Descriptors = append(r.Descriptors, x, x/3)
		r.Centroids = append(r.Centroids, x/2, x/5)
		r.Origins = append(r.Origins, int32(i), 1)
	}
	for i := range r.Genotypes {
		r.Genotypes[i] = float32(math.Cos(float64(i)))
	}
	return must.Get(runs.Import(t.TempDir(), c, func(w *runs.Writer) error {
		must.Do(w.Begin(-1, "generation", "env_steps", "max_fitness"))
		for i := range rows {
			must.Do(w.Log(float64(i), float64(1000*i), -1/float64(i+3)))
		}
		for i := range 3 {
			at := runs.Progress{Generation: int64(i), Evaluations: 7, EnvSteps: 9, Seconds: 1.5}
			s := runs.Snapshot{Progress: at, Repertoire: *r}
			s.Fitnesses = append([]float32{}, r.Fitnesses...)
			s.Fitnesses[i] = float32(math.Inf(-1))
			corrected := s
			corrected.Correction = runs.Correction{Episodes: 8, FitnessStd: 0.5, DescriptorStd: 0.25}
			must.Do(w.SaveSnapshot(s))
			must.Do(w.SaveSnapshot(corrected))
		}
		must.Do(w.SaveRepertoire(r))
		must.Do(w.SaveSkills(threeSkills()))
		return w.SaveStatus(runs.Status{Progress: runs.Progress{Generation: int64(rows)}, Finished: true, MaxFitness: -1})
	}))
}

// threeSkills returns skills with an evaluation and an extra array.
func threeSkills() *runs.Skills {
	s := &runs.Skills{Observations: 2, Actions: 2, Count: 3, Hidden: []int{4}, Which: []int{0, 1, 2},
		Fitnesses: []float32{1, 2, 3}, Descriptors: []float32{1, 2, 3, 4, 5, 6},
		Extra: map[string]npz.Array{"discriminator": npz.Of([]float32{1, 2})}}
	s.Policy = make([]float32, runs.Row(s.Sizes()))
	return s
}

func shipOne(t *testing.T, run *runs.Run) *runs.Run {
	t.Helper()
	root := t.TempDir()
	must.Do(shipRun(run, root))
	t.Chdir(filepath.Join(root, RunsFolder))
	return must.Get(runs.Open(run.Name()))
}

// A shipped run is read like the run, except for its policies.
func TestShip(t *testing.T) {
	run := trainedRun(t, 40, 30, 50)
	shipped := shipOne(t, run)
	same := func(what string, read func(*runs.Run) (any, error)) {
		t.Helper()
		want := must.Get(read(run))
		got, err := read(shipped)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v\nwant %+v", what, got, err, want)
		}
	}
	same("status", func(r *runs.Run) (any, error) { return r.Status, nil })
	same("metrics", func(r *runs.Run) (any, error) {
		table, err := r.Metrics()
		for _, row := range table.Rows {
			for i, v := range row {
				row[i], _ = strconv.ParseFloat(fmt.Sprintf("%.5e", v), 64)
			}
		}
		return table, err
	})
	same("repertoire", func(r *runs.Run) (any, error) {
		m, err := r.RepertoireMap()
		m.Params, m.Origins = 0, nil
		return m, err
	})
	for what, read := range map[string]func(*runs.Run) ([]runs.Snapshot, error){
		"snapshots": (*runs.Run).Snapshots, "corrected repertoires": (*runs.Run).Corrected} {
		same(what, func(r *runs.Run) (any, error) {
			all, err := read(r)
			for i := range all {
				all[i].Descriptors, all[i].Origins = nil, nil
			}
			return all, err
		})
	}
	same("evaluation", func(r *runs.Run) (any, error) {
		s, err := r.Evaluation()
		s.Policy, s.Extra = nil, nil
		return s, err
	})
	errtest.Want(t, errtest.Of(shipped.Repertoire()), "shipped without its policies: train it again")
	errtest.Want(t, errtest.Of(shipped.Skills()), "shipped without its policies: train it again")
}

// Long metrics are thinned but keep both ends.
func TestShippedMetrics(t *testing.T) {
	a := shipOne(t, trainedRun(t, 40, 30, 3000))
	table := must.Get(a.Metrics())
	if n := len(table.Rows); n < 200 || n > evenRows+ratioRows || table.Rows[0][0] != 0 ||
		table.Rows[1][0] != 1 || table.Rows[n-1][0] != 2999 {
		t.Errorf("%d rows, from %v to %v", n, table.Rows[0], table.Rows[n-1])
	}
}

func TestWrongShippedSnapshots(t *testing.T) {
	shipped := shipOne(t, trainedRun(t, 4, 3, 2))
	path := filepath.Join(shipped.Dir, "snapshots.npz")
	for _, fitnesses := range []npz.Array{
		npz.Of(make([]float32, 6), 2, 3), // other cells
		npz.Of(make([]float32, 8), 2, 4), // no other numbers
		npz.Of([]float32{}, 1<<40, 0),    // far too many
		npz.Of([]float32{1, 2}),          // not even an array
	} {
		must.Do(npz.Write(path, map[string]npz.Array{"fitnesses": fitnesses}))
		errtest.Want(t, errtest.Of(shipped.Snapshots()), path)
	}
}

// Of an adaptation run, only skills that are the best somewhere are shipped.
func TestShipAdaptation(t *testing.T) {
	c := must.Get(runs.NewConfig("adaptation", "ant-uni", 0, map[string]any{"perturbation": "gravity",
		"skills": "map-elites-ant-uni-0-00000000"}))
	const skills = 100
	score := func(index, skill int) float64 {
		switch {
		case skill == 70 && index == 2:
			return 50 // the best of this value
		case skill == 30:
			return 20 // the best of the others, and on average
		}
		return math.NaN()
	}
	run := must.Get(runs.Import(t.TempDir(), c, func(w *runs.Writer) error {
		must.Do(w.Begin(-1, "generation", "index", "x", "y", "skill", "fitness_median"))
		for index := range 3 {
			for skill := range skills {
				must.Do(w.Log(float64(index*skills+skill), float64(index), 0.5*float64(index+1),
					math.NaN(), float64(skill), score(index, skill)))
			}
		}
		return w.SaveStatus(runs.Status{Finished: true})
	}))
	shipped := shipOne(t, run)
	want := must.Get(run.Adaptation())
	got := must.Get(shipped.Adaptation())
	for i, v := range got.Values {
		a, x := v.Best()
		b, y := want.Values[i].Best()
		errtest.Equal(t, fmt.Sprintf("value %d: the best skill and its score", i), fmt.Sprint(a, x, v.Count, len(v.Skills), v.X),
			fmt.Sprint(b, y, skills, 2, want.Values[i].X))
	}
	if text, _ := json.Marshal(got.Skills); !strings.Contains(fmt.Sprint(string(text)), "map-elites") {
		t.Errorf("skills of %s", text)
	}
}
