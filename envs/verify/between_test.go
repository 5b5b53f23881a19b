package verify

import (
	"math"
	"path/filepath"
	"testing"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
)

// A wrong array in a file is far from the backend and does not affect the distance to the other
// backend.
func TestBetween(t *testing.T) {
	const name = "onestep_walker-uni.npz"
	p := xlatest.Pure(t)
	b := NewBetween(p, p)
	for _, path := range []string{
		change(t, name, map[string]npz.Array{"vel_after": shift(t, golden(t, name)["vel_after"], 1,
			0.5)}),
		filepath.Join("..", "testdata", "perturb_walker-uni_gravity_0.5.npz"),
		filepath.Join("..", "testdata", "onestep_pointmaze.npz"),
		filepath.Join("..", "testdata", "substep_walker-uni.npz"),
	} {
		if report, err := b.File(path); err != nil || !report.Pass { // one sample may be outside
			t.Fatal(report, err)
		}
	}
	if drifts := b.Drifts(); len(drifts) != 0 {
		t.Errorf("there were no trajectories: %+v", drifts)
	}
	want := []StepDistance{
		{Env: "pointmaze", Quantity: "positions", Numbers: 256 * 2},
		{Env: "pointmaze", Quantity: "observations", Numbers: 256 * 2},
		{Env: "pointmaze", Quantity: "rewards", Numbers: 256},
		{Env: "walker-uni", Quantity: "positions", Numbers: (256 + 64) * 8 * 3},
		{Env: "walker-uni", Quantity: "rotations", Numbers: (256 + 64) * 8 * 4},
		{Env: "walker-uni", Quantity: "velocities", Numbers: 2 * (256 + 64) * 8 * 3},
		{Env: "walker-uni", Quantity: "observations", Numbers: (256 + 64) * 20},
		{Env: "walker-uni", Quantity: "rewards", Numbers: 256 + 64},
	}
	steps := b.Steps()
	if len(steps) != len(want) {
		t.Fatalf("%+v", steps)
	}
	for i, s := range steps {
		near := math.Abs(s.Golden.Worst-0.5) < 1e-3
		if s.Env != want[i].Env || s.Quantity != want[i].Quantity || s.Numbers !=
			want[i].Numbers || s.Other != (Distance{}) ||
			near != (s.Env == "walker-uni" && s.Quantity == "velocities") || s.Golden.Median > 1e-5 {
			t.Errorf("%+v, want %+v", s, want[i])
		}
	}
}

// Two backends of one machine agree on a step of the point, and diverge no more than starts that
// are a millionth apart.
func TestDriftBetweenBackends(t *testing.T) {
	b := NewBetween(xlatest.Best(t), xlatest.Pure(t))
	if _, err := b.File(filepath.Join("..", "testdata", "traj_pointmaze.npz")); err != nil {
		t.Fatal(err)
	}
	d := b.Drifts()[0]
	if d.Env != "pointmaze" || d.Episodes != 8*policiesPerStart || len(d.Other) != len(
		d.Steps) || d.Other[0].Worst > 1e-6 || d.Nudged[0].Median == 0 {
		t.Errorf("%+v", d)
	}
}

func TestDistance(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for pair, want := range map[[2]float32]float64{{1, 3}: 2, {inf, inf}: 0, {inf, 1}: math.MaxFloat64,
		{nan, 1}: math.MaxFloat64, {1, nan}: math.MaxFloat64} {
		if got := off(pair[0], pair[1]); got != want {
			t.Errorf("%v: %v", pair, got)
		}
	}
	if d := distance([]float64{3, 0, 9, 1, 2}); d != (Distance{2, 9}) {
		t.Error(d)
	}
}
