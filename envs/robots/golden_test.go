package robots_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
)

// model_*.json holds the systems that the published code builds.
func TestGoldenModels(t *testing.T) {
	spring, positions := robots.Ant(physics.Spring), robots.Ant(physics.PositionBased)
	for _, test := range []struct {
		env       string
		model     physics.Model
		feet, leg []string
	}{
		{"ant-uni", spring, robots.AntFeet, robots.AntLeg},
		{"ant-omni", spring, nil, nil},
		{"ant-trap", robots.Trap(positions), nil, nil},
		{"ant-maze", robots.Maze(positions, [2]float64{35, 0}), nil, nil},
		{"walker-uni", robots.Walker2d(), robots.Walker2dFeet, robots.Walker2dLeg},
		{"halfcheetah-uni", robots.HalfCheetah(), robots.HalfCheetahFeet, robots.HalfCheetahLeg},
		{"halfcheetah-hurdles", robots.Hurdles(robots.HalfCheetah()), nil, nil},
		{"hopper-uni", robots.Hopper(), robots.HopperFoot, nil}, // the paper changes no leg of these
		{"humanoid-uni", robots.Humanoid(), robots.HumanoidFeet, nil},
	} {
		t.Run(test.env, func(t *testing.T) {
			source := readSource(t, test.env)
			if err := test.model.Validate(); err != nil {
				t.Error(err)
			}
			same(t, "model", plain(test.model), plain(source.model(t)))
			same(t, "number of actions", must.Get(physics.NewSystem(test.model)).Actions(), source.ActionSize)
			same(t, "feet", test.feet, source.feet())
			same(t, "leg", test.leg, source.Perturbations.Actuators)
			if test.env == "ant-maze" {
				var targets []physics.Vec
				for _, target := range catalog.Targets() {
					targets = append(targets, robots.Maze(positions, target).Pose["Target"])
				}
				same(t, "targets", targets, source.Perturbations.Targets)
			}
		})
	}
}

// plain replaces the defaults of a model by explicit values, and sorts the pairs that collide.
func plain(m physics.Model) physics.Model {
	m.Bodies = slices.Clone(m.Bodies)
	for i := range m.Bodies {
		if m.Bodies[i].Inertia == (physics.Vec{}) {
			m.Bodies[i].Inertia = physics.Vec{1, 1, 1}
		}
		if m.Bodies[i].Fixed {
			m.Bodies[i].Frozen = physics.Frozen{}
		}
	}
	m.Collide = slices.Clone(m.Collide)
	for i := range m.Collide {
		slices.Sort(m.Collide[i][:])
	}
	slices.SortFunc(m.Collide, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return m
}

// same compares two values recursively, numbers as float32.
func same(t *testing.T, path string, got, want any) {
	t.Helper()
	sameValue(t, path, reflect.ValueOf(got), reflect.ValueOf(want))
}

func sameValue(t *testing.T, path string, got, want reflect.Value) {
	t.Helper()
	switch got.Kind() {
	case reflect.Float64:
		if float32(got.Float()) != float32(want.Float()) {
			t.Errorf("%s is %g, want %g", path, got.Float(), want.Float())
		}
	case reflect.Struct:
		for i := range got.NumField() {
			sameValue(t, path+"."+got.Type().Field(i).Name, got.Field(i), want.Field(i))
		}
	case reflect.Slice, reflect.Array:
		if got.Len() != want.Len() {
			t.Errorf("%s has %d elements, want %d", path, got.Len(), want.Len())
			return
		}
		for i := range got.Len() {
			sameValue(t, fmt.Sprintf("%s[%d]", path, i), got.Index(i), want.Index(i))
		}
	case reflect.Map:
		if got.Len() != want.Len() {
			t.Errorf("%s is %v, want %v", path, got, want)
			return
		}
		for _, key := range want.MapKeys() {
			element := got.MapIndex(key)
			if !element.IsValid() {
				t.Errorf("%s has no %v", path, key)
				continue
			}
			sameValue(t, fmt.Sprintf("%s[%v]", path, key), element, want.MapIndex(key))
		}
	default:
		if got.Interface() != want.Interface() {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
}
