package envs_test

import (
	"slices"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
)

// The walls match the source: their centres, their lengths including caps, and half a metre to each
// side.
func TestWalls(t *testing.T) {
	for name, want := range map[string]struct {
		n    int
		some []envs.Wall
	}{
		"ant-trap": {3, []envs.Wall{{X0: 11.5, Y0: -2.5, X1: 12.5, Y1: 2.5},
			{X0: 6.5, Y0: 2.5, X1: 12.5, Y1: 3.5}, {X0: 6.5, Y0: -3.5, X1: 12.5, Y1: -2.5}}},
		"ant-maze": {7, []envs.Wall{{X0: -5.5, Y0: -5.5, X1: 40.5, Y1: -4.5},
			{X0: 9.5, Y0: 20.25, X1: 10.5, Y1: 39.75}}},
		"ant-omni": {0, nil},
	} {
		walls := environment(t, name).(*envs.Rigid).Walls()
		if len(walls) != want.n {
			t.Errorf("%s: %d walls, want %d", name, len(walls), want.n)
		}
		found := map[envs.Wall]bool{}
		for _, w := range walls {
			found[w] = true
		}
		for _, w := range want.some {
			if !found[w] {
				t.Errorf("%s lacks the wall %v; it has %v", name, w, walls)
			}
		}
	}
	m := robots.Trap(robots.Ant(physics.PositionBased))
	m.Pose = map[string]physics.Vec{"Trap": {3, -1, 0}}
	moved := must.Get(physics.NewSystem(m))
	want := envs.Wall{X0: 14.5, Y0: -3.5, X1: 15.5, Y1: 1.5}
	if walls := (&envs.Rigid{System: moved}).Walls(); !slices.Contains(walls, want) {
		t.Errorf("a trap at x = 3, y = -1 lacks the wall %v; it has %v", want, walls)
	}
}
