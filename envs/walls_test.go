package envs_test

import (
	"slices"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
)

// The walls of a model are those of the catalog, which its golden data confirm.
func TestWalls(t *testing.T) {
	for _, name := range []string{"ant-trap", "ant-maze", "ant-omni"} {
		task, _ := catalog.Find(name)
		walls := environment(t, name).(*envs.Rigid).Walls()
		if !slices.Equal(walls, task.Walls) {
			t.Errorf("%s: walls %v, want %v", name, walls, task.Walls)
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
