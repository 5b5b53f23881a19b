package envtest_test

import (
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/envtest"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// falling is two balls on the floor, joined by a motor, in substeps of a millisecond. One backend sees the
// floor a micrometre higher, and speeds that are greater by an error.
func falling(error float64) *envs.Rigid {
	system := must.Get(physics.NewSystem(physics.Model{
		TimeStep: 0.006, Substeps: 6, Gravity: physics.Vec{0, 0, -9.81}, Dynamics: physics.PositionBased,
		Bodies: []physics.Body{
			{Name: "floor", Fixed: true, Colliders: []physics.Collider{{Shape: physics.Plane, Friction: 1}}},
			{Name: "a", Mass: 1, Inertia: physics.Vec{0.1, 0.1, 0.1},
				Colliders: []physics.Collider{{Radius: 0.1, Length: 0.2, Friction: 1}}},
			{Name: "b", Mass: 1, Inertia: physics.Vec{0.1, 0.1, 0.1},
				Colliders: []physics.Collider{{Radius: 0.1, Length: 0.2, Friction: 1}}},
		},
		Joints: []physics.Joint{{Name: "hinge", Parent: "a", Child: "b", Limits: [][2]float64{{-90, 90}},
			ParentOffset: physics.Vec{0.25, 0, 0}, ChildOffset: physics.Vec{-0.25, 0, 0}}},
		Actuators: []physics.Actuator{{Joint: "hinge", Strength: 1}},
		Collide:   [][2]string{{"floor", "a"}, {"floor", "b"}},
	}))
	biased := func(x *Node, bias float64) *Node {
		if !xla.Supports(x.Graph(), compute.OpTypeDynamicSlice) { // pure Go lacks it
			bias = 0
		}
		return AddScalar(x, bias)
	}
	return &envs.Rigid{
		System: system,
		Settings: envs.Spec{Name: "falling", Observations: 4, Actions: 1, Length: 50, Offset: 100,
			Descriptor: envs.Descriptor{Kind: envs.None}},
		Noise: 0.1,
		Observe: func(m envs.StepView) *Node {
			angle, velocity := m.Joint("hinge")
			bottom := Min(m.Frame("a").Position[2], m.Frame("b").Position[2])
			touches := LessThan(biased(AddScalar(bottom, -0.1), -1e-6), ConstAs(bottom, 0))
			return Concatenate([]*Node{angle, velocity, InsertAxes(bottom, 0),
				InsertAxes(ConvertDType(touches, bottom.DType()), 0)}, 0)
		},
		Reward: func(_, after envs.StepView, _ *Node) *Node {
			return biased(ClipScalar(after.Frame("a").Velocity[0], -1, 1), error)
		},
	}
}

// A robot whose feet begin on the floor is sound, whatever the last bit says about their contact, and
// velocities may differ by what rounded positions make of them in a substep.
func TestRobotsOnTheFloorAreSound(t *testing.T) {
	if xlatest.Best(t).Kind == backend.Go {
		t.Skip("SKIPPED: pure Go is the only backend here; `make plugin` installs another")
	}
	both := envtest.Suite{Platforms: []*xla.Platform{xlatest.Best(t), xlatest.Pure(t)}}
	if err := both.Check(falling(0.004)); err != nil {
		t.Error(err)
	}
	errtest.Want(t, both.Check(falling(0.006)), "differ by 0.006, 0.005 is allowed (Suite.Tolerance allows more)")
}
