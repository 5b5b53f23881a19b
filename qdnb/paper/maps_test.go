package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
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
	label := algorithm
	algorithm = strings.TrimSuffix(algorithm, ", no prior")
	config := must.Get(runs.NewConfig(algorithm, env, seed, map[string]any{"descriptor_full_state": !prior}))
	status := runs.Status{Budget: runs.Budget{Generations: 100}, Progress: runs.Progress{Generation: 100, EnvSteps: 1e5},
		MaxFitness: float64(fitness), QDScore: float64(fitness), Coverage: float64(fitness)}
	metrics := fmt.Sprintf("generation,env_steps,seconds,max_fitness,coverage,qd_score\n0,0,30,1,1,1\n"+
		"100,100000,200,%[1]g,%[1]g,%[1]g\n", fitness) // after half a minute of compilation
	f.run(f.t, sweep.Line{Experiment: experiment, Label: label, Run: config}, status, metrics,
		append(change, func(w *runs.Writer) {
			must.Do(w.SaveRepertoire(fourCells(fitness, lower, upper)))
		})...)
	f.data.Trained = append(f.data.Trained, results.Trained{
		Experiment: experiment, Label: label, Algorithm: algorithm, Env: env, Seed: seed,
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

var (
	trapLower, trapUpper = [2]float32{0, -8}, [2]float32{30, 8}
	omniLower, omniUpper = [2]float32{-30, -30}, [2]float32{30, 30}
	feetLower, feetUpper = [2]float32{0, 0}, [2]float32{1, 1}
)

// snapshots writes repertoires of the generations of a run of add.
func snapshots(fitness float32, correction runs.Correction, generations ...int64) func(*runs.Writer) {
	return func(w *runs.Writer) {
		for _, g := range generations {
			s := runs.Snapshot{Progress: runs.Progress{Generation: g, EnvSteps: 1000 * g, Seconds: 2 * float64(g)},
				Repertoire: *fourCells(fitness, omniLower, omniUpper), Correction: correction}
			must.Do(w.SaveSnapshot(s))
		}
	}
}

var corrected = runs.Correction{Episodes: 6, FitnessStd: 2}

// mapped has runs with repertoires, snapshots and trajectories of skills. The better seed of a method is its second.
func mapped(t *testing.T) *Data {
	f := newMapFolder(t)
	none := runs.Correction{}
	f.add("training", "map-elites", "ant-trap", 0, 500, trapLower, trapUpper)
	f.add("training", "map-elites", "ant-trap", 1, 5300, trapLower, trapUpper) // 5200 to 5300
	f.add("training", "smerl-dads", "walker-uni", 0, 60, feetLower, feetUpper)
	f.add("training", "sac", "halfcheetah-uni", 0, 1, feetLower, feetUpper) // not in the paper's comparison
	f.add("training", "map-elites", "ant-omni", 0, 5, omniLower, omniUpper, snapshots(100, none, 7))
	f.add("training", "map-elites", "ant-omni", 1, 6, omniLower, omniUpper, snapshots(7200, none, 6, 50, 100),
		snapshots(5, corrected, 100))
	f.add("training", "dads-reward", "ant-omni", 0, 6, omniLower, omniUpper, snapshots(7100, none, 17, 60),
		trajectories(t, 25, 25))
	f.add("training", "dads-reward", "ant-omni", 1, 7, omniLower, omniUpper, trajectories(t, 1.5, -0.5))
	f.add("training", "diayn-reward", "ant-trap", 0, 1, trapLower, trapUpper, trajectories(t, 28, 3))
	f.add("training", "dads-reward", "ant-trap", 0, 1, trapLower, trapUpper, trajectories(t, 2, 0.5))
	f.add("training", "smerl-diayn", "ant-trap", 0, 1, trapLower, trapUpper) // without skills
	f.add("beyond", "dns", "ant-omni", 0, 8, omniLower, omniUpper, snapshots(4, corrected, 100))
	for seed, fitness := range []float32{9000, 8000, 7000} {
		f.add("prior", "dads-reward", "ant-omni", int64(seed+2), fitness, omniLower, omniUpper, trajectories(t, 20, 20))
	}
	for seed, fitness := range []float32{7950, 7975} {
		f.add("prior", "diayn-reward, no prior", "ant-omni", int64(seed), fitness, omniLower, omniUpper, trajectories(t, 20, 20))
	}
	return f.open(t)
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

// Neither a run that was extended since nor one with a damaged file has a corrected repertoire of its end.
func TestRunsWithoutCorrectedEnd(t *testing.T) {
	f := newMapFolder(t)
	f.add("training", "map-elites", "ant-omni", 0, 9, omniLower, omniUpper, snapshots(5, corrected, 100))
	f.add("beyond", "dns", "ant-omni", 0, 8, omniLower, omniUpper, snapshots(4, corrected, 100))
	d := f.open(t)
	damaged := must.Get(filepath.Glob(filepath.Join(d.Dir, RunsFolder, "dns-*", "corrected", "*")))
	must.Do(os.Truncate(damaged[0], 9))
	table := must.Get(Corrected(d))
	errtest.Equal(t, "rows", len(table.Rows), 1)
	errtest.Equal(t, "a note", table.Notes[1], "Unreadable: DNS on ant-omni.")
	must.Do(os.Remove(damaged[0]))
	for i := range d.Trained {
		d.Trained[i].Generation++
	}
	errtest.Want(t, errtest.Of(Corrected(d)), "--corrected --save")
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

// Notebooks draw the repertoire of the best seed.
func TestBest(t *testing.T) {
	data := mapped(t)
	errtest.Equal(t, "the seed", must.Get(data.Best("map-elites", "ant-trap")).Config.Seed, 1)
	errtest.Want(t, errtest.Of(data.Best("aurora", "ant-trap")), "aurora on ant-trap")
}
