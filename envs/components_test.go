package envs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla/random"
)

// The observations of the built-in robots are what their names say, and so are their actions.
func TestComponents(t *testing.T) {
	for _, name := range []string{"ant-uni", "ant-maze", "walker-uni", "halfcheetah-hurdles", "humanoid-uni"} {
		r := environment(t, name).(*envs.Rigid)
		spec := envs.Described(envs.StartAt(r, 1))
		must.Do(spec.Validate())
		model := r.System.(*physics.System).Model()
		if spec.ControlStep != model.TimeStep || len(spec.ObservationComponents) != spec.Observations ||
			len(spec.ActionComponents) != spec.Actions {
			t.Errorf("%s: %+v", name, spec)
		}
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
			s := r.Reset(random.KeyOf(in[0]).FoldInEach(Iota(in[0].Graph(), shapes.Make(dtypes.Int32, 1), 0)))
			m := envs.StepView{System: r.System, State: physics.State{Parts: s.PhysicsState}}
			var named []*Node
			for _, c := range spec.ObservationComponents {
				what, of, _ := strings.Cut(c.Name, " of ")
				of, axis, _ := strings.Cut(of, ", ")
				i := max(0, slices.Index([]string{"x", "y", "z"}, axis))
				switch {
				case what == "height":
					named = append(named, m.Frame(of).Position[2])
				case what == "quaternion":
					named = append(named, m.Frame(of).Rotation[strings.Index("wxyz", axis)])
				case what == "velocity":
					named = append(named, m.Frame(of).Velocity[i])
				case what == "angular velocity":
					named = append(named, m.Frame(of).AngularVelocity[i])
				case strings.HasPrefix(what, "joint "):
					angles, velocities := m.Joint(of)
					if what == "joint velocity" {
						angles = MulScalar(velocities, 1/c.Scale)
					}
					named = append(named, Reshape(Slice(angles, AxisElem(i)), -1))
				default: // an offset position, or a contact
					named = append(named, Reshape(Slice(s.Observation, AxisRange(), AxisElem(len(named))), -1))
				}
			}
			return []*Node{s.Observation, Stack(named, 1)}
		}, xlatest.Tensor(random.SeedWords(5), 2))
		xlatest.Close(t, name, xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1]), 0)
	}
	walker, own := envs.Described(environment(t, "walker-uni")), *environment(t, "halfcheetah-uni").(*envs.Rigid)
	if c := walker.ActionComponents[1]; c.Name != "torque of leg_joint" || c.Scale != -100 || c.Unit != "N m" {
		t.Errorf("%+v", c)
	}
	own.Drive, own.Settings.ObservationComponents = Neg, nil
	if s := envs.Described(&own); s.ActionComponents != nil || s.ObservationComponents != nil {
		t.Errorf("invented %+v", s)
	}
}
