package paper

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/runs"
)

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
		return w.SaveStatus(runs.Status{Progress: runs.Progress{Generation: int64(rows)}, Finished: true,
			MaxFitness: -1})
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
	errtest.Want(t, errtest.Of(shipped.Repertoire()), "shipped without its policies", "qdnb sweep run")
	errtest.Want(t, errtest.Of(shipped.Skills()), "shipped without its policies", "qdnb sweep run")
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
		if a != b || x != y || v.Count != skills || len(v.Skills) != 2 || v.X != want.Values[i].X {
			t.Errorf("value %d: skill %d of %d (%d shipped) scores %v; want %d, %v", i, a, v.Count,
				len(v.Skills), x, b, y)
		}
	}
	if text, _ := json.Marshal(got.Skills); !strings.Contains(fmt.Sprint(string(text)), "map-elites") {
		t.Errorf("skills of %s", text)
	}
}
