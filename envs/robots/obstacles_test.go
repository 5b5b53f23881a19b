package robots_test

import (
	"reflect"
	"testing"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
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
	if !reflect.DeepEqual(whole, build()) {
		t.Error("the model changed")
	}
}
