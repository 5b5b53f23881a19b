package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
)

// mapFolder is a folder of training runs with repertoires, and their data.
type mapFolder struct {
	folder
	t    *testing.T
	data *Data
}

func newMapFolder(t *testing.T) *mapFolder {
	dir := t.TempDir()
	return &mapFolder{folder{dir: dir}, t, &Data{Tables: &results.Tables{}, Dir: dir}}
}

// add makes a run of 100 generations with a repertoire of four cells, one empty and the best with
// the given fitness, plus the additions of change.
func (f *mapFolder) add(experiment, algorithm, env string, seed int64, fitness float32, lower,
	upper [2]float32, change ...func(*runs.Writer)) {
	f.t.Helper()
	prior := !strings.HasSuffix(algorithm, ", no prior")
	algorithm = strings.TrimSuffix(algorithm, ", no prior")
	config := must.Get(runs.NewConfig(algorithm, env, seed, map[string]any{"descriptor_full_state": !prior}))
	status := runs.Status{Budget: runs.Budget{Generations: 100}, Progress: runs.Progress{Generation: 100}}
	f.run(f.t, sweep.Line{Experiment: experiment, Label: algorithm, Run: config}, status, "",
		append(change, func(w *runs.Writer) {
			must.Do(w.SaveRepertoire(fourCells(fitness, lower, upper)))
		})...)
	f.data.Trained = append(f.data.Trained, results.Trained{
		Experiment: experiment, Label: algorithm, Algorithm: algorithm, Env: env, Seed: seed,
		Run: config.Name(), Finished: true,
		Point: results.Point{QDScore: float64(fitness), Coverage: float64(fitness)}, Prior: prior,
	})
}

// fourCells is a repertoire with fitness, fitness - 10, fitness - 100 and an empty cell.
func fourCells(fitness float32, lower, upper [2]float32) *runs.Repertoire {
	r := &runs.Repertoire{
		Params: 1, Dims: 2, Genotypes: make([]float32, 4), Lower: lower[:], Upper: upper[:],
		Fitnesses: []float32{fitness, fitness - 10, float32(math.Inf(-1)), fitness - 100},
	}
	for _, at := range [][2]float32{{0.2, 0.2}, {0.8, 0.2}, {0.2, 0.8}, {0.8, 0.8}} {
		for d := range 2 {
			r.Centroids = append(r.Centroids, lower[d]+at[d]*(upper[d]-lower[d]))
		}
	}
	r.Descriptors = r.Centroids
	return r
}

// trajectories writes an evaluation of two skills: one goes to (x, y), the other half-way there.
func trajectories(t *testing.T, x, y float32) func(*runs.Writer) {
	return func(w *runs.Writer) {
		t.Helper()
		s := &runs.Skills{Observations: 1, Actions: 1, Count: 2, Which: []int{0, 1},
			Fitnesses:    []float32{1, 2},
			Trajectories: []float32{0, 0, x, y, 0, 0, x / 2, y / 2},
			Descriptors:  []float32{x, y, x / 2, y / 2}}
		s.Policy = make([]float32, runs.Row(s.Sizes()))
		must.Do(w.SaveSkills(s))
	}
}

// says returns the text of a figure, each piece between > and <.
func says(t *testing.T, g figures.Grid, err error) string {
	t.Helper()
	must.Do(err)
	path := filepath.Join(t.TempDir(), "figure.svg")
	must.Do(g.Save(path))
	return string(must.Get(os.ReadFile(path)))
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		errtest.Contains(t, text, ">"+w+"<")
	}
}

func containsNot(t *testing.T, text string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(text, ">"+w+"<") {
			t.Errorf("the figure says %q", w)
		}
	}
}

var (
	trapLower, trapUpper = [2]float32{0, -8}, [2]float32{30, 8}
	omniLower, omniUpper = [2]float32{-30, -30}, [2]float32{30, 30}
	feetLower, feetUpper = [2]float32{0, 0}, [2]float32{1, 1}
)

// The seed with the best QD score is drawn, and its fitness sets the colour range. Untrained
// methods and environments have no row or column.
func TestRepertoires(t *testing.T) {
	f := newMapFolder(t)
	f.add("training", "map-elites", "ant-trap", 0, 500, trapLower, trapUpper)
	f.add("training", "map-elites", "ant-trap", 1, 5300, trapLower, trapUpper) // 5200 to 5300
	f.add("training", "smerl-dads", "walker-uni", 0, 60, feetLower, feetUpper)
	// not in the paper's comparison
	f.add("training", "sac", "halfcheetah-uni", 0, 1, feetLower, feetUpper)
	figure, err := Repertoires(f.data)
	text := says(t, figure, err)
	contains(t, text, "MAP-Elites", "SMERL(DADS)", "ant-trap", "walker-uni", "x (m)", "y (m)",
		"Right foot", "Left foot", "5200", "5300", "Fitness")
	containsNot(t, text, "AURORA", "SAC", "ant-maze", "halfcheetah-uni", "500", "−200")

	errtest.Equal(t, "the seed of the best run", must.Get(f.data.Best("map-elites", "ant-trap")).Config.Seed, 1)
	errtest.Want(t, errtest.Of(f.data.Best("aurora", "ant-trap")), "aurora on ant-trap")

	width, height := must.Get(figure.Figure()).Bounds()
	if width > 7.5*72 || height > 9.5*72 {
		t.Errorf("the figure is %.1f x %.1f points: too large for a page", width, height)
	}
}

// An unreadable run leaves an empty panel unless there is no other.
func TestRepertoiresWithHoles(t *testing.T) {
	for _, c := range []struct {
		draw          func(*Data) (figures.Grid, error)
		broken, other string
	}{{Repertoires, "aurora", "dads-reward"}, {BeyondRepertoires, "dns", "map-elites"}} {
		f := newMapFolder(t)
		f.add("training", c.broken, "ant-omni", 0, 1, omniLower, omniUpper)
		must.Do(os.Remove(filepath.Join(f.data.Dir, RunsFolder, f.data.Trained[0].Run, "repertoire.npz")))
		errtest.Want(t, errtest.Of(c.draw(f.data)), f.data.Trained[0].Run)
		f.add("training", c.other, "ant-omni", 0, 3, omniLower, omniUpper)
		figure, err := c.draw(f.data)
		text := says(t, figure, err)
		contains(t, text, figures.MethodName(c.other))
		errtest.Contains(t, text, "Unreadable: "+figures.MethodName(c.broken)+" on ant-omni.")
	}
}

// Snapshots are in the row of the budget point that they passed. The seed is the one with the best final QD score.
func TestIntermediate(t *testing.T) {
	f := newMapFolder(t)
	keep := func(fitness float32, generations ...int64) func(*runs.Writer) {
		return func(w *runs.Writer) {
			for _, g := range generations {
				s := runs.Snapshot{Progress: runs.Progress{Generation: g, EnvSteps: 1000 * g, Seconds: 2 * float64(g)},
					Repertoire: *fourCells(fitness, omniLower, omniUpper)}
				must.Do(w.SaveSnapshot(s))
			}
		}
	}
	f.add("training", "map-elites", "ant-omni", 0, 5, omniLower, omniUpper, keep(100, 7))
	f.add("training", "map-elites", "ant-omni", 1, 6, omniLower, omniUpper, keep(7200, 6, 50, 100))
	f.add("training", "dads-reward", "ant-omni", 0, 6, omniLower, omniUpper, keep(7100, 17, 60))
	// half a minute of compilation
	f.data.Trained[2].Curve = []results.Point{{Seconds: 30}, {Seconds: 200}}
	figure, err := Intermediate(f.data, "ant-omni", "map-elites", "aurora", "dads-reward")
	text := says(t, figure, err)
	contains(t, text, "MAP-Elites", "DADS+REWARD", "6 % of training", "17 % of training", "50 % of training",
		"6k steps, 12 s", "50k steps, 100 s", "17k steps, 4 s", "60k steps, 90 s",
		"s, min: time without compilation. No complete runs: AURORA.", "7000", "7200")
	containsNot(t, text, "7k steps, 14 s", "100k steps, 3 min", "11 % of training", "AURORA")
	errtest.Want(t, errtest.Of(Intermediate(f.data, "ant-trap", "map-elites")), "training")
}

func TestPointOf(t *testing.T) {
	for generation, want := range map[int64]int{0: -1, 5: -1, 6: 0, 11: 0, 12: 1, 50: 8, 55: 8, 99: 8, 100: -1} {
		errtest.Equal(t, fmt.Sprintf("point of generation %d of 100", generation),
			pointOf(runs.Budget{Generations: 100}, runs.Progress{Generation: generation}), want)
	}
	// Budgets divisible by nine hit the points exactly.
	for k := range int64(runs.SnapshotPoints) {
		errtest.Equal(t, fmt.Sprintf("point of %d eighteenths", k+1),
			pointOf(runs.Budget{EnvSteps: 18e7}, runs.Progress{EnvSteps: (k + 1) * 1e7}), int(k))
	}
}

// Trajectories that end near the origin are zoomed in, equally in all maps.
func TestSkillTrajectories(t *testing.T) {
	f := newMapFolder(t)
	f.add("training", "dads-reward", "ant-omni", 0, 1, omniLower, omniUpper, trajectories(t, 25, 25))
	// the better QD score
	f.add("training", "dads-reward", "ant-omni", 1, 2, omniLower, omniUpper, trajectories(t, 1.5, -0.5))
	f.add("training", "diayn-reward", "ant-trap", 0, 1, trapLower, trapUpper, trajectories(t, 28, 3))
	f.add("training", "dads-reward", "ant-trap", 0, 1, trapLower, trapUpper, trajectories(t, 2, 0.5))
	f.add("training", "smerl-diayn", "ant-trap", 0, 1, trapLower, trapUpper) // without skills
	figure, err := SkillTrajectories(f.data, "ant-omni", "dads-reward")
	text := says(t, figure, err)
	contains(t, text, "DADS+REWARD on ant-omni", "Skill 0", "Skill 1", "Start", "End", "2", "−2", "x (m)")
	containsNot(t, text, "30", "20")

	figure, err = SkillTrajectories(f.data, "ant-trap", "diayn-reward", "smerl-diayn", "sac", "dads-reward")
	text = says(t, figure, err)
	contains(t, text, "DIAYN+REWARD on ant-trap", "DADS+REWARD on ant-trap", "30")
	containsNot(t, text, "SMERL(DIAYN) on ant-trap")
	errtest.Equal(t, "legends", strings.Count(text, ">Skill 1<"), 1)
	errtest.Want(t, errtest.Of(SkillTrajectories(f.data, "ant-trap", "smerl-diayn")), "skills.npz")
	errtest.Want(t, errtest.Of(SkillTrajectories(f.data, "ant-maze", "dads-reward")), `experiments.Prepare("training")`)
}

func TestZoom(t *testing.T) {
	nan := math.NaN()
	arena := func(env string, x, y []float64) *figures.Arena {
		a := must.Get(figures.ArenaOf(env))
		a.Paths = []figures.Path{{X: x, Y: y}}
		return a
	}
	for name, c := range map[string]struct {
		maps  []*figures.Arena
		upper [2]float64
	}{
		"a metre": {[]*figures.Arena{arena("ant-omni", []float64{0, -0.9}, []float64{0, 0.5})}, [2]float64{1, 1}},
		"the widest counts": {[]*figures.Arena{arena("ant-omni", []float64{0.1}, []float64{0}),
			arena("ant-omni", []float64{0}, []float64{-4})}, [2]float64{5, 5}},
		"all":               {[]*figures.Arena{arena("ant-omni", []float64{-16}, []float64{0})}, [2]float64{30, 30}},
		"beyond":            {[]*figures.Arena{arena("ant-omni", []float64{-60}, []float64{0})}, [2]float64{30, 30}},
		"not a number":      {[]*figures.Arena{arena("ant-omni", []float64{nan, 2.5}, []float64{nan, 0})}, [2]float64{3, 3}},
		"behind the start":  {[]*figures.Arena{arena("ant-trap", []float64{-9, 2}, []float64{0, 0.5})}, [2]float64{15, 4}},
		"in a maze":         {[]*figures.Arena{arena("ant-maze", []float64{0, 0.1}, []float64{0, 0.1})}, [2]float64{40, 40}},
		"not at the origin": {[]*figures.Arena{arena("pointmaze", []float64{0, 0.1}, []float64{-0.85, -0.8})}, [2]float64{1, 1}},
	} {
		for _, p := range must.Get(zoomed(c.maps)) {
			if math.Abs(p.X.Max-c.upper[0]) > 1e-9 || math.Abs(p.Y.Max-c.upper[1]) > 1e-9 {
				t.Errorf("%s: up to (%g, %g), want %v", name, p.X.Max, p.Y.Max, c.upper)
			}
		}
	}
}

// For each variant, the seed with the median coverage is drawn.
func TestPrior(t *testing.T) {
	f := newMapFolder(t)
	for seed, fitness := range []float32{9000, 8000, 7000} {
		f.add("prior", "dads-reward", "ant-omni", int64(seed), fitness, omniLower, omniUpper, trajectories(t, 20, 20))
	}
	for seed, fitness := range []float32{7950, 7975} {
		f.add("prior", "diayn-reward, no prior", "ant-omni", int64(seed), fitness, omniLower, omniUpper, trajectories(t, 20, 20))
	}
	for prior, want := range map[bool]string{true: "", false: f.data.Trained[3].Run} {
		got := f.data.medianCoverage("diayn-reward", prior)
		if want == "" && got != nil || want != "" && (got == nil || got.Run != want) {
			t.Errorf("prior %v: %+v, want %q", prior, got, want)
		}
	}
	figure, err := Prior(f.data)
	text := says(t, figure, err)
	contains(t, text, "DADS+REWARD, prior", "DIAYN+REWARD, no prior", "Repertoire", "Skills", "Skill 0", "7900", "8000", "20")
	containsNot(t, text, "DADS+REWARD, no prior", "DIAYN+REWARD, prior", "9000", "7000")
	errtest.Want(t, errtest.Of(Prior(newMapFolder(t).data)), `experiments.Prepare("prior")`)
}

// Robots, arrows and target numbers are inside the picture.
func TestIllustrationsAreInThePicture(t *testing.T) {
	for _, draw := range illustrations {
		film := must.Get(scene.Illustration(draw.film))
		camera := draw.view(film)
		var labels []figures.Label
		if draw.notes != nil {
			labels = draw.notes(film, camera)
		}
		inside := func(what string, x, y float64) {
			if !(x > 2 && x < pictureWidth-2 && y > 2 && y < pictureHeight-2) {
				t.Errorf("%s: %s is at %.0f, %.0f", draw.title, what, x, y)
			}
		}
		for i, pose := range film.Poses(0) {
			body := film.Bodies[i]
			if body.Fixed && body.Name != "arrow" && !strings.HasPrefix(body.Name, "Target") {
				continue // hurdles extend beyond it
			}
			for _, s := range body.Shapes {
				for _, end := range []scene.Vec{s.A, s.B} {
					x, y, _ := camera.Project(pose.At(end), pictureWidth, pictureHeight)
					inside(body.Name, x, y)
				}
			}
		}
		for _, label := range labels {
			inside(label.Text, label.X, label.Y)
		}
		if draw.title == "target position" && len(labels) != 10 {
			t.Errorf("%d targets have numbers, want 10", len(labels))
		}
	}
}

// Later methods are drawn with the paper's, and corrected metrics are tabulated, also from a shipped folder.
func TestBeyond(t *testing.T) {
	f := newFolder(t)
	for i, experiment := range []string{results.ExperimentTraining, results.ExperimentBeyond} {
		method := []string{"map-elites", "dns"}[i]
		c := must.Get(runs.NewConfig(method, "ant-omni", 0, map[string]any{"cells": 4}))
		budget := runs.Budget{Generations: 9}
		line := sweep.Line{Experiment: experiment, Label: method, Run: c, Budget: budget}
		metrics := "generation,env_steps,seconds,max_fitness,coverage,qd_score\n"
		for row := range 10 {
			metrics += fmt.Sprintf("%d,%d,%d,%d,%d,%d\n", row, 100*row, 7*row, row+i, 5*row, 9*row+i)
		}
		status := runs.Status{Budget: budget, Progress: runs.Progress{Generation: 9, EnvSteps: 900},
			MaxFitness: 9 + float64(i), Coverage: 100, QDScore: 81}
		f.run(t, line, status, metrics, func(w *runs.Writer) {
			r := fourCells(5, omniLower, omniUpper)
			must.Do(w.SaveRepertoire(r))
			r.Fitnesses[1], r.Fitnesses[0] = r.Fitnesses[2], 3+float32(i)
			must.Do(w.SaveSnapshot(runs.Snapshot{Progress: status.Progress, Repertoire: *r,
				Correction: runs.Correction{Episodes: 6, FitnessStd: 2}}))
		})
	}
	d := f.open(t)
	out := t.TempDir() + "/results"
	must.Get(Ship(out, f.lines, f.dir+"/"+RunsFolder, About{Machine: "a test"}))
	small := must.Get(Open(out))
	// A run that was extended since has no corrected repertoire of its end.
	extended := *d.Tables
	extended.Trained = slices.Clone(extended.Trained)
	for i := range extended.Trained {
		extended.Trained[i].Generation++
	}
	errtest.Want(t, errtest.Of(Corrected(&Data{Dir: d.Dir, Tables: &extended})), "--corrected --save")
	for _, data := range []*Data{d, small} {
		table := must.Get(Corrected(data))
		var rows []string
		for _, row := range table.Rows {
			rows = append(rows, strings.Join(texts(row)[:7], " "))
		}
		want := []string{"ant-omni MAP-Elites 1 0.0009 9.00 3.00 100", "ant-omni DNS 1 0.0009 10.0 4.00 100"}
		errtest.Equal(t, "rows", rows, want)
		errtest.Contains(t, table.Notes[0], "6 episodes")
		for _, draw := range []func(*Data) (figures.Grid, error){BeyondCurvesOverTime, BeyondCurvesOverSteps, BeyondRepertoires} {
			must.Get(must.Get(draw(data)).Figure())
		}
	}
	g, err := metricCurves(d, []string{"map-elites", "dns"}, []string{"ant-omni"}, timeAxis)
	if err != nil || len(g.Panels[0][0].Legend) != 2 {
		t.Errorf("%+v, %v; want a line for each method", g, err)
	}
	axis := timeAxis
	axis.coloured = 1
	g = must.Get(metricCurves(d, []string{"map-elites", "dns"}, []string{"ant-omni"}, axis))
	legend := g.Panels[0][0].Legend
	errtest.Equal(t, "the legend", fmt.Sprint(legend[0].Text, " ", legend[1].Text), "Others DNS")
	// An unreadable repertoire leaves its method out.
	damaged, err := filepath.Glob(filepath.Join(d.Dir, RunsFolder, "dns-*", "corrected", "*"))
	if err != nil || len(damaged) != 1 {
		t.Fatal(damaged, err)
	}
	must.Do(os.Truncate(damaged[0], 9))
	if table, err := Corrected(d); err != nil || len(table.Rows) != 1 ||
		!strings.Contains(table.Notes[1], "Unreadable: DNS on ant-omni.") {
		t.Errorf("with a damaged file: %+v, %v", table, err)
	}
}

// Repertoires with one solution, or with none, have no range of fitnesses.
func TestBeyondRepertoiresOfFewSolutions(t *testing.T) {
	for _, filled := range []int{1, 0} {
		f := newMapFolder(t)
		f.add(results.ExperimentBeyond, "dns", "ant-omni", 0, 5, omniLower, omniUpper)
		path := filepath.Join(f.data.Dir, RunsFolder, f.data.Trained[0].Run, "repertoire.npz")
		r := must.Get(runs.ReadRepertoire(path, true))
		r.Genotypes = make([]float32, r.Cells()*r.Params)
		for cell := filled; cell < r.Cells(); cell++ {
			r.Fitnesses[cell] = float32(math.Inf(-1))
		}
		must.Do(r.Write(path))
		figure, err := BeyondRepertoires(f.data)
		contains(t, says(t, figure, err), figures.MethodName("dns"))
	}
}
