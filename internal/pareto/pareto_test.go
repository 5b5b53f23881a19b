package pareto

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
)

// Hypervolumes of boxes: single ones, overlapping ones, and solutions at or below the reference
// point, with one to three objectives.
func TestHypervolume(t *testing.T) {
	inf := math.Inf(-1)
	for _, c := range []struct {
		solutions [][]float64
		want      float64
	}{
		{nil, 0},
		{[][]float64{{3}, {1}, {-5}}, 4},
		{[][]float64{{1, 2}}, 6},
		{[][]float64{{1, 2}, {2, 1}, {0, 0}, {2, 1}}, 8},
		{[][]float64{{-2, 9}, {9, -1}, {inf, inf}, {0, 0}}, 1},
		{[][]float64{{0, 0, 0}, {1, 1, -0.5}}, 1 + 4*0.5 - 0.5},
		{[][]float64{{0, 0, 1}, {0, 1, 0}, {1, 0, 0}}, 4},
	} {
		k := 2
		if len(c.solutions) > 0 {
			k = len(c.solutions[0])
		}
		reference := slices.Repeat([]float64{-1}, k)
		for range c.solutions { // in every rotation
			c.solutions = append(c.solutions[1:], c.solutions[0])
			if got := Hypervolume(c.solutions, reference); math.Abs(got-c.want) > 1e-12 {
				t.Errorf("%v: %g, want %g", c.solutions, got, c.want)
			}
			if got := Hypervolume(Front(c.solutions), reference); math.Abs(got-c.want) > 1e-12 {
				t.Errorf("the front of %v: %g, want %g", c.solutions, got, c.want)
			}
		}
	}
}

func TestFront(t *testing.T) {
	got := Front([][]float64{{1, 2}, {2, 1}, {1, 1}, {0, 3}, {1, 2}, {2, 0}})
	if want := [][]float64{{2, 1}, {1, 2}, {0, 3}}; !slices.EqualFunc(got, want, slices.Equal) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestFronts(t *testing.T) {
	inf := float32(math.Inf(-1))
	fronts := slices.Collect(Fronts([]float32{1, 2, inf, inf, inf, inf, inf, inf, 3, 4, 5, 6}, 3, 2))
	errtest.Equal(t, "fronts", fmt.Sprint(len(fronts), len(fronts[0]), len(fronts[1]), fronts[1][1][1]), "2 1 2 6")
}
