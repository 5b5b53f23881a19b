package robots_test

import (
	"math"
	"reflect"
	"testing"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/errtest"
)

// Functions that take a model do not write to its memory, not even past the ends of slices.
func TestModelsStay(t *testing.T) {
	build := func() physics.Model {
		m := robots.Maze(robots.Ant(physics.PositionBased), [2]float64{35, 0})
		m.Bodies, m.Collide = append(m.Bodies, make([]physics.Body, 9)...),
			append(m.Collide, make([][2]string, 9)...)
		return m
	}
	whole := build()
	ant := whole
	ant.Bodies, ant.Collide = ant.Bodies[:len(ant.Bodies)-9], ant.Collide[:len(ant.Collide)-9]
	robots.Trap(ant)
	robots.Maze(ant, [2]float64{1, 2})
	robots.Hurdles(ant)
	if _, err := robots.WithGravity(ant, 2); err != nil {
		t.Error(err)
	}
	if _, err := robots.WithStrength(ant, 0.5, robots.AntLeg...); err != nil {
		t.Error(err)
	}
	if !reflect.DeepEqual(whole, build()) {
		t.Error("the model changed")
	}
}

func TestPerturbations(t *testing.T) {
	ant := robots.Ant(physics.Spring)
	heavy, err := robots.WithGravity(ant, 2)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "gravity", heavy.Gravity, physics.Vec{0, 0, -19.6})
	strong, err := robots.WithStrength(ant, 0.5, robots.AntLeg...)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range strong.Actuators {
		want := 350.
		if i >= 6 { // the last leg
			want = 175
		}
		same(t, a.Joint, a.Strength, want)
	}
	heavy.Gravity, strong.Actuators = ant.Gravity, ant.Actuators
	same(t, "rest of the heavy ant", heavy, ant)
	same(t, "rest of the strong ant", strong, ant)
}

func TestPerturbationErrors(t *testing.T) {
	walker := robots.Walker2d()
	for _, k := range []float64{-0.25, math.NaN(), math.Inf(1), math.Inf(-1)} {
		errtest.Want(t, errtest.Of(robots.WithGravity(walker, k)), "gravity")
		errtest.Want(t, errtest.Of(robots.WithStrength(walker, k,
			robots.Walker2dLeg...)), "strength")
	}
	errtest.Want(t, errtest.Of(robots.WithStrength(walker, 1, "knee")), `"knee"`)
	if m, err := robots.WithStrength(walker, 0,
		robots.Walker2dLeg...); err != nil || m.Validate() != nil {
		t.Errorf("strength 0: %v", err)
	}
	if err := robots.Trap(walker).Validate(); err == nil {
		t.Error("a trap for a walker is valid")
	}
}
