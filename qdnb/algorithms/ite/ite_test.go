package ite

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// line is a repertoire of cells along a line, from the limit -2 to 2.
func line(fitnesses ...float32) *runs.Repertoire {
	r := &runs.Repertoire{Params: 1, Dims: 1, Fitnesses: fitnesses, Lower: []float32{-2}, Upper: []float32{2}}
	for i := range fitnesses {
		at := -2 + 4*float32(i)/float32(len(fitnesses)-1)
		r.Descriptors, r.Centroids = append(r.Descriptors, at), append(r.Centroids, at)
	}
	return r
}

// The numbers are those of scikit-learn 1.9.1: GaussianProcessRegressor(Matern(0.4, nu=2.5),
// alpha=0.001, optimizer=None).
func TestProcess(t *testing.T) {
	gp := process{Length: 0.4, Noise: 0.001}
	if mean, variance := gp.Predict([]float64{1, 2}); mean != 0 || variance != 1 {
		t.Errorf("without observations: %g, %g", mean, variance)
	}
	must.Do(gp.Observe([]float64{0.1, 0.2}, -0.5))
	// One observation has a closed form: k y / (1 + noise), 1 - k² / (1 + noise).
	d := math.Sqrt(5) * 0.5 / 0.4
	k := (1 + d + d*d/3) * math.Exp(-d)
	check := func(point []float64, mean, variance float64) {
		t.Helper()
		m, v := gp.Predict(point)
		if math.Abs(m-mean) > 1e-9 || math.Abs(v-variance) > 1e-9 {
			t.Errorf("at %v: %.12g, %.12g, want %.12g, %.12g", point, m, v, mean, variance)
		}
	}
	check([]float64{0.4, 0.6}, -0.5*k/1.001, 1-k*k/1.001)
	must.Do(gp.Observe([]float64{0.7, 0.3}, 0.8))
	must.Do(gp.Observe([]float64{0.2, 0.9}, 0.1))
	check([]float64{0.4, 0.6}, 0.241249518318, 0.460943835754)
	check([]float64{0.7, 0.3}, 0.798997595614, 0.000998908097301)
	check([]float64{2, 2}, 0.000404324508738, 0.999999676951)
	errtest.Want(t, gp.Observe([]float64{0, 0}, math.Inf(-1)), "must be finite")
	exact := process{Length: 1}
	must.Do(exact.Observe([]float64{1}, 1))
	errtest.Want(t, exact.Observe([]float64{1}, 1), "need noise")
}

// A damage that ruins the best half is noticed after few trials, whatever the unit of the fitness.
func TestSearch(t *testing.T) {
	fitnesses := make([]float32, 101)
	for i := range fitnesses {
		fitnesses[i] = 1 + float32(i)/100
	}
	var cells []int
	for _, unit := range []float64{1, 64} {
		scaled := make([]float32, len(fitnesses))
		for i, f := range fitnesses {
			scaled[i] = f * float32(unit)
		}
		trials := must.Get(Search(line(scaled...), Default(), func(cell int) (float64, error) {
			if cell > 50 {
				return 0, nil
			}
			return float64(scaled[cell]), nil
		}))
		best := trials[len(trials)-1]
		if trials[0].Cell != 100 || trials[0].Expected != 2*unit || len(trials) > 10 || best.Fitness < 1.1*unit {
			t.Errorf("unit %g: %+v", unit, trials)
		}
		for i, trial := range trials {
			if unit == 1 {
				cells = append(cells, trial.Cell)
			} else if trial.Cell != cells[i] {
				t.Errorf("unit %g: trial %d is of cell %d, not %d", unit, i, trial.Cell, cells[i])
			}
		}
	}
}

// Without damage the first trial is the last. Empty cells are never tried.
func TestSearchStops(t *testing.T) {
	r := line(1, float32(math.Inf(-1)), 5, 4)
	trials := must.Get(Search(r, Default(), func(cell int) (float64, error) { return float64(r.Fitnesses[cell]), nil }))
	errtest.Equal(t, "trials", fmt.Sprint(len(trials), trials[0].Cell), "1 2")
	trials = must.Get(Search(r, Default(), func(cell int) (float64, error) {
		if cell == 1 {
			t.Error("an empty cell is tried")
		}
		return -1, nil
	}))
	errtest.Equal(t, "trials", len(trials), 20)
	_, err := Search(r, Default(), func(int) (float64, error) { return 0, errors.New("no power") })
	errtest.Want(t, err, "trial 1, cell 2: no power")
	_, err = Search(r, Default(), func(int) (float64, error) { return math.NaN(), nil })
	errtest.Want(t, err, "trial 1, cell 2: the observed value is NaN")
	_, err = Search(line(float32(math.Inf(-1)), float32(math.Inf(-1))), Default(), nil)
	errtest.Want(t, err, "empty")
}

func ExampleSearch() {
	repertoire := &runs.Repertoire{Dims: 1, // of five gaits, by the fraction of time on the left leg
		Fitnesses:   []float32{3, 5, 6, 8, 9},
		Descriptors: []float32{0, 0.25, 0.5, 0.75, 1},
	}
	damaged := []float64{3, 4, 4, 1, 0} // the left leg is broken
	trials, err := Search(repertoire, Default(), func(cell int) (float64, error) { return damaged[cell], nil })
	if err != nil {
		panic(err)
	}
	for _, t := range trials {
		fmt.Printf("cell %d: expected %.1f ± %.1f, walked %g\n", t.Cell, t.Expected, t.Std, t.Fitness)
	}
	// Output:
	// cell 4: expected 9.0 ± 9.0, walked 0
	// cell 1: expected 3.5 ± 8.9, walked 4
}
