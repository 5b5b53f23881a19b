package envs_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/envtest"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

func environment(t *testing.T, name string, options ...envs.Option) envs.Env {
	return must.Get(envs.Make(name, options...))
}

// All environments keep the promises of package envtest. XLA, which takes up to fifteen seconds to compile
// one, gets three of them, except in the long tests.
func TestPromises(t *testing.T) {
	for _, name := range envs.Names() {
		if strings.Contains(name, "-v5") && name != "Hopper-v5" && os.Getenv("QDNB_LONG") == "" {
			continue // as TestGymnasium covers them; a step of the hopper's copies ends when all have converged
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel() // nearly all of the time is compilation, which uses one core
			var suite envtest.Suite
			slow := name == "ant-trap" || name == "ant-maze" || name == "halfcheetah-hurdles" ||
				strings.HasPrefix(name, "humanoid")
			switch long := os.Getenv("QDNB_LONG") != ""; {
			case long || slices.Contains([]string{"pointmaze", "arm", "walker-uni"}, name):
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
					out = append(out, Concatenate([]*Node{s.Observation, Transpose(Reshape(s.PhysicsState[0], -1, 3), 0, 1)}, 1))
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
		errtest.Equal(t, name+": walls", walls, task.Walls)
	}
	m := robots.Trap(robots.Ant(physics.PositionBased))
	m.Pose = map[string]physics.Vec{"Trap": {3, -1, 0}}
	moved := must.Get(physics.NewSystem(m))
	want := envs.Wall{X0: 14.5, Y0: -3.5, X1: 15.5, Y1: 1.5}
	if walls := (&envs.Rigid{System: moved}).Walls(); !slices.Contains(walls, want) {
		t.Errorf("a trap at x = 3, y = -1 lacks the wall %v; it has %v", want, walls)
	}
}

// The graphs built for GPUs compute the same steps: they pass the golden files, here on another backend.
func TestGraphsForAcceleratorsPassGoldenFiles(t *testing.T) {
	as := xlatest.As(xlatest.Quick(t), backend.CUDA)
	for _, name := range []string{"pointmaze", "walker-uni", "halfcheetah-uni", "ant-uni"} {
		path := golden.Path(t, "onestep_"+name+".npz")
		if found := compareFile(t, as, path, must.Get(npz.Read(path))); !found.pass() {
			t.Errorf("%s as built for a GPU:\n%s", name, found)
		}
	}
}

// limbed is a falling torso with some arms, whose policies also see the velocity of its fall.
func limbed(arms int) *envs.Rigid {
	inertia := physics.Vec{0.1, 0.1, 0.1}
	m := physics.Model{TimeStep: 0.01, Substeps: 2, Gravity: physics.Vec{0, 0, -9.81},
		Bodies: []physics.Body{{Name: "torso", Mass: 1, Inertia: inertia}},
		Pose:   map[string]physics.Vec{"torso": {0, 0, 2}}}
	var leg []string
	for i := range arms {
		arm := fmt.Sprint("arm ", i)
		m.Bodies = append(m.Bodies, physics.Body{Name: arm, Mass: 1, Inertia: inertia})
		m.Joints = append(m.Joints, physics.Joint{Name: arm, Parent: "torso", Child: arm,
			ChildOffset: physics.Vec{-0.5, 0, 0}, Rotation: physics.Vec{0, 0, float64(90 + 60*i)},
			Limits: [][2]float64{{-80, 80}}, Stiffness: 500, Damping: 1})
		m.Actuators = append(m.Actuators, physics.Actuator{Joint: arm, Strength: 5})
		leg = append(leg, arm)
	}
	return &envs.Rigid{System: must.Get(physics.NewSystem(m)), Leg: leg, Noise: 0.1,
		Settings: envs.Spec{Name: "limbed", Observations: 1 + 2*arms, Actions: arms, Length: 9, Offset: 9,
			Descriptor: envs.Descriptor{Kind: envs.Mean, Lower: []float32{-9}, Upper: []float32{9},
				Components: []string{"height (m)"}}},
		Observe: func(m envs.StepView) *Node {
			angles, velocities := m.System.JointAngles(m.State)
			fall := InsertAxes(m.Frame("torso").Velocity[2], 0)
			return Concatenate([]*Node{fall, angles, velocities}, 0)
		},
		Reward: func(_, after envs.StepView, _ *Node) *Node {
			return after.Frame("torso").Velocity[2]
		},
		Describe: func(m envs.StepView) *Node { return m.Frame("torso").Position[2] },
	}
}

// counted is a task that observes half of what it did, and counts its steps.
type counted struct{ envs.Env }

func (c counted) Unwrap() envs.Env { return c.Env }

func (c counted) Reset(keys random.Key) envs.State {
	s := c.Env.Reset(keys)
	return c.with(s, ZerosLike(s.Reward))
}

func (c counted) Step(s envs.State, action *Node) envs.State {
	n := len(s.PhysicsState) - 1
	count := AddScalar(s.PhysicsState[n], 1)
	s.PhysicsState = s.PhysicsState[:n]
	next := c.with(c.Env.Step(s, action), count)
	next.Reward = Add(next.Reward, count)
	return next
}

func (counted) with(s envs.State, count *Node) envs.State {
	s.PhysicsState = append(s.PhysicsState[:len(s.PhysicsState):len(s.PhysicsState)], count)
	s.Observation = MulScalar(s.Observation, 0.5)
	return s
}

// Loops carry states in another layout on GPUs, which changes no result.
func TestRolloutsInLoopLayouts(t *testing.T) {
	cuda := *xlatest.Pure(t).Platform
	cuda.Kind = backend.CUDA
	env := envs.AutoReset(must.Get(envs.Make("walker-uni")), 2)
	observed := envs.Recorder{Every: 1, Width: env.Spec().Observations,
		Row: func(_ envs.State, _ *Node, after envs.State) *Node { return after.Observation }}
	var results [2][]*tensors.Tensor
	for i, p := range []*xla.Platform{xlatest.Pure(t), {Platform: &cuda}} {
		results[i] = xlatest.Run(t, p, func(in []*Node) []*Node {
			keys := random.KeyOf(in[0]).Split(3)
			policy := nn.NewPolicy(env.Spec().Observations, []int{4}, env.Spec().Actions)
			score, records := envs.Record(env, policy.View(policy.Init(keys.FoldIn(1))), envs.Reset(env, keys), 5, observed)
			fitness, descriptor := score.Result()
			return append(records, fitness, descriptor)
		}, xlatest.Tensor(random.SeedWords(7), 2))
	}
	for i, what := range []string{"observations", "fitness", "descriptor"} {
		xlatest.Close(t, what, xlatest.Flat[float32](t, results[1][i]), xlatest.Flat[float32](t, results[0][i]), 0)
	}
}

// Layouts restore the states of every task to the bit, whatever wraps it: in the first step of an episode, and in
// the second, with which some episodes end.
func TestLoopLayoutsRestoreStates(t *testing.T) {
	platform := *xlatest.Pure(t).Platform
	platform.Kind = backend.CUDA
	check := func(name string, env envs.Env) {
		out := xlatest.Run(t, &xla.Platform{Platform: &platform}, func(in []*Node) []*Node {
			keys := random.KeyOf(in[0]).Split(2)
			s := envs.Reset(env, keys)
			layout := envs.LoopLayoutOf(s, env)
			var restored, states []*Node
			for step := range 2 {
				s = envs.Step(env, s, keys.FoldIn(step).Uniform(-1, 1, 2, env.Spec().Actions))
				restored = append(restored, xla.Flatten(layout.Unpack(layout.Pack(s)))...)
				states = append(states, xla.Flatten(s)...)
			}
			return xla.Map(append(restored, states...), func(x *Node) *Node {
				return ConvertDType(x, dtypes.Float32)
			})
		}, xlatest.Tensor(random.SeedWords(7), 2))
		n := len(out) / 2
		if len(out) != 2*n {
			t.Fatalf("%s: %d arrays with those that were restored", name, len(out))
		}
		for i := range n {
			if !out[i].Shape().Equal(out[n+i].Shape()) {
				t.Fatalf("%s: array %d has shape %s, want %s", name, i, out[i].Shape(), out[n+i].Shape())
			}
			xlatest.Close(t, fmt.Sprintf("%s: array %d", name, i), xlatest.Flat[float32](t, out[i]),
				xlatest.Flat[float32](t, out[n+i]), 0)
		}
	}
	for _, task := range []envs.Env{envs.Pointmaze{}, limbed(1), limbed(2), limbed(3)} {
		wrapped := map[string]envs.Env{"": task, "counted": counted{task}, "counted twice": counted{counted{task}}}
		if robot, ok := task.(*envs.Rigid); ok {
			wrapped["adjustable"] = must.Get(envs.Adjust(robot))
			drawn := must.Get(envs.WithVariations(robot, "drawn", envs.Vary(envs.GravityMultiplier, 2, 3),
				envs.Vary(envs.ActuatorsMultiplier, 0.25, 0.5)))
			wrapped["drawn"], wrapped["counted and drawn"] = drawn, counted{drawn}
		}
		for what, env := range wrapped {
			for again, env := range map[string]envs.Env{"": env, "fixed start": envs.StartAt(env, 1),
				"episodes": envs.AutoReset(env, 2), "episodes in episodes": envs.AutoReset(envs.AutoReset(env, 2), 3),
				"counted episodes":        counted{envs.AutoReset(env, 2)},
				"episodes, fixed start":   envs.AutoReset(envs.StartAt(env, 1), 2),
				"fixed start of episodes": envs.StartAt(envs.AutoReset(env, 2), 1)} {
				check(fmt.Sprintf("%s, %d actions, %s, %s", task.Spec().Name, task.Spec().Actions, what, again), env)
			}
		}
	}
}

// What automatic resets remember of the first state is not bounded as states of the bodies are.
func TestLargeObservationsOfEpisodesAreValid(t *testing.T) {
	robot := limbed(1)
	observe := robot.Observe
	robot.Observe = func(m envs.StepView) *Node { return AddScalar(observe(m), 101325) } // Pa
	for what, env := range map[string]envs.Env{"episodes": envs.AutoReset(robot, 9),
		"fixed start of episodes": envs.StartAt(envs.AutoReset(robot, 9), 1)} {
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
			policy := nn.NewPolicy(3, nil, 1)
			keys := random.KeyOf(in[0]).Split(1)
			fitness, _ := envs.Rollout(env, policy.View(policy.Init(keys)), envs.Reset(env, keys), 2)
			return []*Node{fitness}
		}, xlatest.Tensor(random.SeedWords(7), 2))
		if got := xlatest.Flat[float32](t, out[0])[0]; !(got > -9 && got < 0) {
			t.Errorf("%s: the fitness is %g", what, got)
		}
	}
}
