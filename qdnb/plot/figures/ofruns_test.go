package figures

import (
	"bytes"
	"fmt"
	"image/color"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
)

// Snapshots are picked at about equal ratios of generations, without repeats where ratios fall between snapshots.
func TestSnapshots(t *testing.T) {
	for n, want := range map[int][]int{1: {9}, 2: {0, 9}, 5: {0, 1, 3, 8, 9},
		9: {0, 1, 2, 3, 4, 5, 7, 8, 9}, 10: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}} {
		errtest.Equal(t, n, byRatio([]int64{6, 12, 17, 23, 28, 34, 39, 45, 50, 100}, n), want)
	}
	errtest.Equal(t, "more than there are", byRatio([]int64{0, 1, 2}, 9), []int{0, 1, 2})

	config := must.Get(runs.NewConfig("map-elites", "pointmaze", 0, map[string]any{}))
	w := must.Get(runs.Create(t.TempDir(), config))
	defer w.Close()
	cells := sampleCells()
	repertoire := runs.Repertoire{Params: 1, Dims: 2, Lower: []float32{-1, -1}, Upper: []float32{1, 1}}
	for i, c := range cells.Centroids {
		repertoire.Centroids = append(repertoire.Centroids, float32(c[0]), float32(c[1]))
		repertoire.Fitnesses = append(repertoire.Fitnesses, float32(cells.Fitness[i]))
	}
	repertoire.Descriptors = repertoire.Centroids
	for _, g := range []int64{6, 12, 17, 23, 28, 34, 39, 45, 50, 100} {
		must.Do(w.SaveSnapshot(runs.Snapshot{Progress: runs.Progress{Generation: g}, Repertoire: repertoire}))
	}
	text := svgOf(Snapshots(w.Run, 5))
	for title, want := range map[string]int{"Generation 6": 1, "Generation 23": 1, "Generation 28": 0,
		"Generation 100": 1, "Final y": 1} {
		errtest.Equal(t, title, strings.Count(text, ">"+title+"<"), want)
	}
	errtest.Contains(t, svgOf(Repertoire(w.Run)), "fill:#A0A0A0")
	errtest.Want(t, errtest.Of(Snapshots(w.Run, 0)))
}

// logged returns a run that has logged a table.
func logged(t *testing.T, algorithm string, seed int64, table string) *runs.Run {
	t.Helper()
	run := &runs.Run{Dir: t.TempDir(), Config: runs.Config{Algorithm: algorithm, Env: "pointmaze", Seed: seed}}
	must.Do(os.WriteFile(filepath.Join(run.Dir, "metrics.csv"), []byte(table), 0o666))
	return run
}

func TestColumns(t *testing.T) {
	list := []*runs.Run{
		logged(t, "diayn-reward", 0, "env_steps,seconds,coverage,discriminator_loss\n0,1,0.5,nan\n1000,2,1,1.5\n2000,3,2,0.5\n"),
		logged(t, "my-objective", 0, "env_steps,seconds,coverage,discriminator_loss\n0,1,0.5,nan\n2000,3,2,0.25\n"),
	}
	text := svgOf(Columns(list, EnvSteps, "discriminator_loss", "coverage"))
	for _, want := range []string{"Discriminator loss", "Coverage (%)", "Environment steps", "DIAYN+REWARD", "my-objective"} {
		errtest.Contains(t, text, ">"+want+"<")
	}
	for want, err := range map[string]error{
		`did you mean "coverage"`: errtest.Of(Columns(list, Seconds, "coverag")),
		`did you mean "seconds"`:  errtest.Of(Columns(list, Axis{Column: "second"}, "coverage")),
		"0 columns of 2 runs":     errtest.Of(Columns(list, EnvSteps)),
		"metrics of 0 runs on 1":  errtest.Of(Metrics(nil, EnvSteps)),
		"1 columns of 0 runs":     errtest.Of(Columns(nil, EnvSteps, "coverage")),
	} {
		errtest.Want(t, err, want)
	}
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 7: 3} {
		g := must.Get(Columns(list, EnvSteps, slices.Repeat([]string{"coverage"}, n)...))
		errtest.Equal(t, fmt.Sprintf("%d panels", n), len(g.Panels[0]), want)
	}
	steep := []*runs.Run{logged(t, "aurora", 0, "env_steps,coverage\n0,0.1\n1,0.1\n2,50\n")}
	for _, log := range []bool{true, false} { // rows that share limits are linear
		if _, is := must.Get(columnPanels(steep, EnvSteps, log, "coverage"))[0].Y.Scale.(plot.LogScale); is != log {
			t.Errorf("logarithmic: %t, want %t", is, log)
		}
	}
}

// Runs that differ only in their seeds are one line: the median, in a band of quartiles. The last of
// several values of one x counts. What else differs is in the name.
func TestSeedsAreOneLine(t *testing.T) {
	var list []*runs.Run
	for seed := range 3 {
		list = append(list, logged(t, "map-elites", int64(seed),
			fmt.Sprintf("evaluations,coverage\n0,0\n10,%d\n20,%d\n20,%d\n", 10*seed, 99, 20*seed)))
	}
	g := must.Get(Columns(list, Evaluations, "coverage"))
	legend := g.Panels[0][0].Legend
	if len(legend) != 1 || legend[0].Text != "MAP-Elites" {
		t.Fatalf("%d lines, want 1", len(legend))
	}
	s := legend[0].Mark.(*Series)
	errtest.Equal(t, "median and quartiles", fmt.Sprint(s.Y, s.Low, s.High),
		fmt.Sprint([]float64{0, 10, 20}, []float64{0, 5, 10}, []float64{0, 15, 30}))
	other := logged(t, "map-elites", 0, "evaluations,coverage\n0,0\n")
	other.Config.Hyperparameters = []byte(`{"batch": 7}`)
	g = must.Get(Columns(append(list, other), Evaluations, "coverage"))
	errtest.Equal(t, "the other one", g.Panels[0][0].Legend[1].Text, "MAP-Elites, batch=7")
}

// The distribution falls from the coverage to the share of cells of the highest fitness.
func TestDistribution(t *testing.T) {
	config := must.Get(runs.NewConfig("map-elites", "pointmaze", 0, map[string]any{}))
	w := must.Get(runs.Create(t.TempDir(), config))
	defer w.Close()
	must.Do(w.SaveRepertoire(&runs.Repertoire{Params: 1, Dims: 1, Lower: []float32{0}, Upper: []float32{1},
		Genotypes: make([]float32, 4), Centroids: []float32{0.1, 0.3, 0.6, 0.9},
		Descriptors: []float32{0.1, 0.3, 0.6, 0.9}, Fitnesses: []float32{1, 2, float32(math.Inf(-1)), 5}}))
	w.Run.Status.Finished = true
	s := must.Get(Distribution(w.Run)).Legend[0].Mark.(*Series)
	for x, want := range map[float64]float64{1: 75, 1.5: 50, 3: 25, 5: 25} {
		i := slices.IndexFunc(s.X, func(at float64) bool { return at >= x-1e-9 })
		errtest.Equal(t, fmt.Sprintf("share of the cells that hold %g", x), s.Y[i], want)
	}
}

func TestQuartiles(t *testing.T) {
	runs := []Series{{X: []float64{0, 10}, Y: []float64{0, 10}},
		{X: []float64{2, 12}, Y: []float64{4, 4}}, {X: []float64{1, 11}, Y: []float64{0, 0}}}
	s := must.Get(Quartiles("a", runs, []float64{1, 2, 6, 10, 11}, stats.Median))
	errtest.Equal(t, "x", s.X, []float64{2, 6, 10})
	errtest.Equal(t, "medians and a band", fmt.Sprint(s.Y, s.Low[1], s.High[1]), fmt.Sprint([]float64{2, 4, 4}, 2, 5))
	runs[0].Y[1] = math.Inf(1)
	if s := must.Get(Quartiles("a", runs, []float64{2, 10}, stats.Median)); !math.IsNaN(s.Y[1]) {
		t.Errorf("the median with an infinite value is %g", s.Y[1])
	}
	for want, err := range map[string]error{
		"cover 2 to 10": errtest.Of(Quartiles("a", runs, []float64{1, math.NaN()}, stats.Median)),
		"no runs of":    errtest.Of(Quartiles("a", nil, []float64{1}, stats.Median)),
		"no x in common": errtest.Of(Quartiles("a",
			append(runs, Series{X: []float64{20}, Y: []float64{0}}), []float64{1}, stats.Median)),
		"0 x and 1 y values": errtest.Of(Quartiles("a", []Series{{Y: []float64{0}}}, []float64{1}, stats.Median)),
		"x must increase": errtest.Of(Quartiles("a", []Series{{X: []float64{1, 1}, Y: []float64{0, 0}}},
			[]float64{1}, stats.Median)),
	} {
		errtest.Want(t, err, want)
	}
}

func TestOfNoRun(t *testing.T) {
	run := &runs.Run{Config: runs.Config{Algorithm: "map-elites", Env: "ant-uni"}}
	for name, err := range map[string]error{
		"Repertoire":        errtest.Of(Repertoire(nil)),
		"Progress":          errtest.Of(Progress(nil, nil)),
		"Snapshots":         errtest.Of(Snapshots(nil, 3)),
		"Metrics":           errtest.Of(Metrics([]*runs.Run{run, nil}, EnvSteps)),
		"Columns":           errtest.Of(Columns([]*runs.Run{nil}, EnvSteps, "coverage")),
		"CorrectedMetrics":  errtest.Of(CorrectedMetrics([]*runs.Run{nil}, EnvSteps)),
		"Distribution":      errtest.Of(Distribution(nil)),
		"CellsOf":           errtest.Of(CellsOf(nil, nil)),
		"MapOf":             errtest.Of(MapOf(nil, nil, func(*Cells) {})),
		"Hypervolumes":      errtest.Of(Hypervolumes(nil)),
		"ParetoFronts":      errtest.Of(ParetoFronts(nil)),
		"SkillTrajectories": errtest.Of(SkillTrajectories(nil)),
		"AddSkills":         new(Arena).AddSkills(nil),
		"Adaptation":        errtest.Of(Adaptation(nil)),
	} {
		t.Run(name, func(t *testing.T) { errtest.Want(t, err, "no run: it is nil") })
	}
	errtest.Want(t, errtest.Of(Progress(run, nil)), "has no repertoire yet")
	errtest.Want(t, errtest.Of(CellsOf(run, nil)), "has no repertoire yet")
}

// Each map of a pair of components has its own numbers and labels, also where a neighbour shares one.
func TestPairsHaveTheirAxes(t *testing.T) {
	names := []string{"one", "two", "three", "four"}
	for _, dims := range []int{3, 4} {
		w := must.Get(runs.Create(t.TempDir(), must.Get(runs.NewConfig("map-elites", "x", 0, map[string]int{}))))
		defer w.Close()
		r := runs.Repertoire{Params: 1, Dims: dims, Lower: make([]float32, dims), Upper: slices.Repeat([]float32{1}, dims),
			Fitnesses: []float32{1, 2}, Centroids: make([]float32, 2*dims), Descriptors: make([]float32, 2*dims)}
		must.Do(w.SaveSnapshot(runs.Snapshot{Progress: runs.Progress{Generation: 1}, Repertoire: r}))
		w.Run.Status.Descriptor = names[:dims]
		text := svgOf(Repertoire(w.Run))
		for _, name := range names[:dims] {
			errtest.Equal(t, fmt.Sprint(name, " of ", dims), strings.Count(text, ">"+capital(name)+"<"), dims-1)
		}
		pairs := dims * (dims - 1) / 2
		if n := strings.Count(text, ">0<"); n != 2*pairs { // the bar's numbers are others
			t.Errorf("%d components: %d times 0, want it on both axes of %d maps", dims, n, pairs)
		}
	}
}

// The lines between bins, which are blends with their colours, do not take the palette from the colour bar.
func TestBarOfPairsHasNoBands(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	w := must.Get(runs.Create(t.TempDir(), must.Get(runs.NewConfig("map-elites", "x", 0, map[string]int{}))))
	defer w.Close()
	r := runs.Repertoire{Params: 1, Dims: 4, Lower: make([]float32, 4), Upper: []float32{1, 1, 1, 1}}
	for range 400 {
		r.Fitnesses = append(r.Fitnesses, float32(rng.NormFloat64()))
		for range 4 {
			r.Descriptors = append(r.Descriptors, rng.Float32())
		}
	}
	r.Centroids = r.Descriptors
	must.Do(w.SaveSnapshot(runs.Snapshot{Progress: runs.Progress{Generation: 1}, Repertoire: r}))
	img := must.Get(png.Decode(bytes.NewReader(must.Get(figureOf(Repertoire(w.Run)).PNG(Resolution)))))
	most := 0
	for x := img.Bounds().Max.X * 7 / 8; x < img.Bounds().Max.X; x++ {
		column := map[color.Color]bool{}
		for y := range img.Bounds().Max.Y {
			column[img.At(x, y)] = true
		}
		most = max(most, len(column))
	}
	if most < 110 {
		t.Errorf("the bar has %d colours", most)
	}
}

// A repertoire is coloured by another metric in one option: in a plane, in pairs, where the fittest of a bin
// counts, and in parallel coordinates.
func TestRepertoireByAnotherMetric(t *testing.T) {
	for _, dims := range []int{2, 3, 7} {
		w := must.Get(runs.Create(t.TempDir(), must.Get(runs.NewConfig("map-elites", "x", 0, map[string]int{}))))
		defer w.Close()
		r := runs.Repertoire{Params: 1, Dims: dims, Lower: make([]float32, dims), Upper: slices.Repeat([]float32{1}, dims),
			Fitnesses: []float32{1, 2, float32(math.Inf(-1))}, Descriptors: slices.Repeat([]float32{0.1, 0.2, 0.3}, dims),
			Genotypes: make([]float32, 2), Origins: []int32{40, 0, 80, 0, -1, 0}}
		for i := range 3 * dims {
			r.Centroids = append(r.Centroids, float32(i)/float32(3*dims))
		}
		must.Do(w.SaveRepertoire(&r))
		w.Run.Status.Finished = true
		for want, by := range map[string][]Metric{"Fitness": nil, "Generation of discovery": {ByGeneration},
			"Torque": {By("Torque", []float64{5, 6, 7})}} {
			g := must.Get(Repertoire(w.Run, by...))
			errtest.Contains(t, svgOf(g, nil), ">"+want+"<")
			bar := g.Panels[0][0].Bar
			low, high := bar.limits()
			if want == "Generation of discovery" && !(low == 40 && high == 80) && dims != 3 || want == "Torque" && high > 6.5 {
				t.Errorf("%d components: %s goes from %v to %v", dims, want, low, high)
			}
		}
		for want, by := range map[string][]Metric{"2 values of Torque for 3 cells": {By("Torque", []float64{1, 2})},
			"has one colour": {ByFitness, ByFitness}} {
			errtest.Want(t, errtest.Of(Repertoire(w.Run, by...)), want)
		}
		r.Origins = nil
		errtest.Want(t, errtest.Of(ByGeneration.Of(&r)), "does not record when")
	}
}

// adapted returns an adaptation run with the given rows: index, x, y, skill, median.
func adapted(t *testing.T, perturbation string, rows ...[5]float64) *runs.Run {
	t.Helper()
	config := must.Get(runs.NewConfig("adaptation", "ant-uni", 0,
		map[string]any{"perturbation": perturbation, "skills": "map-elites-ant-uni-0-1a2b3c4d"}))
	w := must.Get(runs.Create(t.TempDir(), config))
	defer w.Close()
	must.Do(w.Begin(-1, "generation", "index", "x", "y", "skill", "fitness_median"))
	for i, row := range rows {
		must.Do(w.Log(append([]float64{float64(i)}, row[:]...)...))
	}
	return w.Run
}

// The method's score is the best skill's score at each value. The second curve shows the skill that
// is best without perturbation, or best on average.
func TestAdaptation(t *testing.T) {
	nan := math.NaN()
	gravity := adapted(t, "gravity",
		[5]float64{0, 0.5, nan, 3, 10}, [5]float64{0, 0.5, nan, 7, 40}, [5]float64{1, 1, nan, 3, 90},
		[5]float64{1, 1, nan, 7, 60})
	target := adapted(t, "target", [5]float64{0, 11, 35, 3, -10}, [5]float64{0, 11, 35, 7, -40}, [5]float64{1, 2, 14, 3, -90},
		[5]float64{1, 2, 14, 7, -50})
	for run, want := range map[*runs.Run][]Series{
		gravity: {{Name: "map-elites", X: []float64{0.5, 1}, Y: []float64{40, 90}},
			{Name: "best skill without perturbation", X: []float64{0.5, 1}, Y: []float64{10, 90}}},
		target: {{Name: "map-elites", X: []float64{0, 1}, Y: []float64{-10, -50}},
			{Name: "best skill on average", X: []float64{0, 1}, Y: []float64{-40, -50}}},
	} {
		panel := must.Get(Adaptation(run))
		_, log := panel.X.Scale.(plot.LogScale)
		errtest.Equal(t, "logarithmic x", log, run == gravity)
		for i, s := range want {
			got := panel.Legend[i].Mark.(*Series)
			errtest.Equal(t, panel.X.Label.Text, fmt.Sprint(got.Name, got.X, got.Y), fmt.Sprint(s.Name, s.X, s.Y))
		}
	}
	errtest.Want(t, errtest.Of(Adaptation(adapted(t, "gravity"))), "no results yet")
}

// An episode ends at its descriptor, or at the step into the goal that follows.
func TestFirstEpisode(t *testing.T) {
	nan := float32(math.NaN())
	goal := &Rect{X0: 0.5, Y0: 0.5, X1: 0.6, Y1: 0.6}
	for name, c := range map[string]struct {
		positions, descriptor []float32
		goal                  *Rect
		want                  int
	}{
		"to the end":              {[]float32{0, 0, 1, 0, 2, 0}, []float32{2, 0}, nil, 3},
		"ended before":            {[]float32{0, 0, 1, 0, 2, 0}, []float32{1, 0}, nil, 2},
		"waits":                   {[]float32{0, 0, 1, 0, 1, 0}, []float32{1, 0}, goal, 3},
		"into the goal":           {[]float32{0, 0, 0.4, 0.5, 0.5, 0.6, 2, 2}, []float32{0.4, 0.5}, goal, 3},
		"around the goal":         {[]float32{0, 0, 0.4, 0.5, 0.5, 0.6, 0.4, 0.5, 0.5, 0.6}, []float32{0.4, 0.5}, goal, 3},
		"goal in the last step":   {[]float32{0, 0, 0.4, 0.5}, []float32{0.4, 0.5}, goal, 2},
		"there is no goal":        {[]float32{0, 0, 0.4, 0.5, 0.5, 0.6, 2, 2}, []float32{0.4, 0.5}, nil, 2},
		"one coordinate is equal": {[]float32{0, 0, 0, 1, 1, 1}, []float32{0, 1}, nil, 2},
		"not a number":            {[]float32{0, 0, nan, 0, nan, 0}, []float32{nan, 0}, nil, 3},
	} {
		errtest.Equal(t, name, firstEpisode(c.positions, c.descriptor, c.goal), c.want)
	}
}

func TestSkillLabels(t *testing.T) {
	s := &runs.Skills{Count: 3, Which: []int{0, 2, 1, 0, 2}, Fitnesses: []float32{-100, 3, float32(math.Inf(-1)), -201, 4}}
	if got, want := skillLabels(s), []string{"skill 0: −150", "skill 1: −Inf", "skill 2: 3.5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s = &runs.Skills{Which: []int{0, 0}, Fitnesses: []float32{1, 2}}
	if got, want := skillLabels(s), []string{"policy: 1.5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// skilled returns a run of two skills with two episodes each, of three steps along x. The episodes
// of skill 1 end a step earlier.
func skilled(t *testing.T, env string) *runs.Run {
	t.Helper()
	config := must.Get(runs.NewConfig("diayn-reward", env, 3, map[string]any{}))
	w := must.Get(runs.Create(t.TempDir(), config))
	defer w.Close()
	s := &runs.Skills{Observations: 1, Actions: 1, Count: 2, Which: []int{0, 1, 1, 0}, Fitnesses: []float32{1, 2, 4, 3}}
	s.Policy = make([]float32, runs.Row(s.Sizes()))
	for i, k := range s.Which {
		y := 0.1 * float32(i)
		s.Trajectories = append(s.Trajectories, 0, y, 0.1, y, 0.2, y)
		s.Descriptors = append(s.Descriptors, 0.2-0.1*float32(k), y)
	}
	// The same sums as above, rounded alike.
	for i, k := range s.Which {
		s.Descriptors[2*i] = s.Trajectories[6*i+4-2*k]
	}
	must.Do(w.SaveSkills(s))
	return w.Run
}

func TestAddSkills(t *testing.T) {
	run := skilled(t, "ant-omni")
	arena := must.Get(ArenaOf("ant-omni"))
	must.Do(arena.AddSkills(run))
	for i, want := range []struct {
		label string
		steps int
	}{{"skill 0", 3}, {"skill 1", 2}, {"skill 1", 2}, {"skill 0", 3}} {
		if p := arena.Paths[i]; p.Label != want.label || len(p.X) != want.steps || len(p.Y) != want.steps {
			t.Errorf("path %d is %+v, want %+v", i, p, want)
		}
	}
	svg := svgOf(SkillTrajectories(run))
	for _, want := range []string{"DIAYN+REWARD on ant-omni, mean fitness of 4 episodes", "Skill 0: 2.0", "Skill 1: 3.0",
		"x (m)"} {
		errtest.Contains(t, svg, ">"+want+"<")
	}
	errtest.Want(t, errtest.Of(SkillTrajectories(skilled(t, "walker-uni"))), "has no positions")
}

// A front of three objectives is drawn as the border of what it dominates in two.
func TestParetoFrontsAreStairs(t *testing.T) {
	got := stairs([][]float64{{1, 5, 0}, {3, 2, 0}, {2, 4, 0}, {2, 3, 9}})
	errtest.Equal(t, "border", fmt.Sprint(got), "[[3 2] [2 2] [2 4] [1 4] [1 5]]")
}

// Each arena owns its walls and goal: changing them does not affect the next arena.
func TestArenaOfIsACopy(t *testing.T) {
	for range 2 {
		a, err := ArenaOf("pointmaze")
		if err != nil || len(a.Walls) != 2 || a.Goal == nil || a.Goal.X0 != -0.55 {
			t.Fatalf("%+v, %v", a, err)
		}
		a.Walls = append(a.Walls, Rect{})
		a.Goal.X0 = 9
		a.Walls[0].X0 = 9
	}
}
