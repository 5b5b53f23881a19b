package envs_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/envtest"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

func environment(t *testing.T, name string, options ...envs.Option) envs.Env {
	return must.Get(envs.Make(name, options...))
}

// All environments keep the promises of package envtest. XLA, which takes up to fifteen seconds to compile
// one, gets one of each kind, except in the long tests.
func TestPromises(t *testing.T) {
	for _, name := range envs.Names() {
		if strings.Contains(name, "-v5") && name != "Hopper-v5" && os.Getenv("QDNB_LONG") == "" {
			continue // as TestGymnasium covers them
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // nearly all of the time is compilation, which uses one core
			var suite envtest.Suite
			slow := name == "ant-trap" || name == "ant-maze" || name == "halfcheetah-hurdles" ||
				strings.HasPrefix(name, "humanoid") || strings.Contains(name, "-v5")
			switch long := os.Getenv("QDNB_LONG") != ""; {
			case long || slices.Contains([]string{"pointmaze", "arm", "walker-uni"}, name):
			case name == "Hopper-v5": // whose copies must be independent, though a step ends when all have converged
				suite.Platforms = []*xla.Platform{xlatest.Best(t)}
			default:
				suite.Platforms = []*xla.Platform{xlatest.Pure(t)}
				if slow {
					suite.Steps = 3
				}
			}
			env := environment(t, name)
			_, suite.FixedStart = env.(*envs.BlackBox)
			suite.Run(t, env)
		})
	}
}

// The state after a reset depends on the seed of a fixed start, and not on the keys.
func TestFixedStart(t *testing.T) {
	for _, name := range []string{"pointmaze", "walker-uni", "ant-maze", "Hopper-v5"} { // a task of each kind
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
				keys := random.KeyOf(in[0]).Split(3)
				var out []*Node
				for seed := range int64(2) {
					s := environment(t, name, envs.FixedStart(seed)).Reset(keys)
					out = append(out, Concatenate([]*Node{s.Observation,
						Transpose(Reshape(s.PhysicsState[0], -1, 3), 0, 1)}, 1))
				}
				return out
			}, xlatest.Tensor(random.SeedWords(5), 2))
			one, two := xlatest.Flat[float32](t, states[0]), xlatest.Flat[float32](t, states[1])
			n := len(one) / 3
			for k := range 2 {
				xlatest.Close(t, "the start of another key", one[(k+1)*n:(k+2)*n], one[:n], 1e-6)
			}
			if near(one, two) {
				t.Error("two seeds give the same start")
			}
		})
	}
}

func near(a, b []float32) bool {
	for i := range a {
		if d := a[i] - b[i]; d > 1e-4 || d < -1e-4 {
			return false
		}
	}
	return true
}

// Position descriptors are clipped to their limits, wherever the body is.
func TestPositionsAreClipped(t *testing.T) {
	for _, name := range []string{"ant-omni", "ant-trap", "ant-maze"} {
		env := environment(t, name).(*envs.Rigid)
		n := len(env.System.(*physics.System).Model().Bodies)
		pos, rot, still := make([]float32, 2*n*3), make([]float32, 2*n*4), make([]float32, 2*n*3)
		for i := range n {
			pos[3*i], pos[3*i+1] = 100, -200
			pos[3*(n+i)], pos[3*(n+i)+1] = 3, 4
		}
		for i := range 2 * n {
			rot[4*i] = 1
		}
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
			return []*Node{env.Begin(random.Key{}, env.System.(*physics.System).Import(in[0], in[1], in[2], in[2])).Descriptor}
		}, xlatest.Tensor(pos, 2, n, 3), xlatest.Tensor(rot, 2, n, 4), xlatest.Tensor(still, 2, n, 3))
		limits := env.Spec().Descriptor
		xlatest.Close(t, name, xlatest.Flat[float32](t, out[0]), []float32{limits.Upper[0], limits.Lower[1], 3, 4}, 0)
	}
}

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
			s := r.Reset(random.KeyOf(in[0]).Split(1))
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
