package envs_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// A recording equals a trace of the same episodes, also beyond their ends. Recording does not
// change fitness or descriptors.
func TestRecord(t *testing.T) {
	const steps, every, rows = 7, 3, 3
	actions := []float32{0.3, 0.05, -0.2}
	n := len(actions)
	env := envs.AutoReset(walk{envs.Final}, 4)
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		// [steps+1, B] of the observation, reward, done, truncation, descriptor
		trace := traced(t, p, env, steps, actions)
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			start := env.Reset(random.NewKey(in[0].Graph(), 3).Split(n))
			all := envs.Recorder{Every: 1, Width: 6,
				Row: func(before envs.State, action *Node, after envs.State) *Node {
					columns := []*Node{before.Observation, action, after.Observation}
					for _, x := range []*Node{after.Reward, after.Done, env.Truncation(after)} {
						columns = append(columns, InsertAxes(x, -1))
					}
					return Concatenate(columns, 1)
				}}
			some := envs.Recorder{Every: every, Width: 1,
				Row: func(before envs.State, _ *Node, _ envs.State) *Node { return before.Descriptor }}
			score, records := envs.Record(env, constant{in[0]}, start, steps, all, some)
			fitness, descriptor := score.Result()
			same, sameDescriptor := envs.Rollout(env, constant{in[0]}, start, steps)
			return append(records, fitness, descriptor, same, sameDescriptor)
		}, xlatest.Tensor(actions, n, 1))
		flat := func(i int) []float32 { return xlatest.Flat[float32](t, out[i]) }
		all, some := flat(0), flat(1)
		if got := out[1].Shape().Dimensions; !slices.Equal(got, []int{n, rows, 1}) {
			t.Fatalf("rows of every %d of %d steps have the shape %v", every, steps, got)
		}
		ends := 0
		for i := range n {
			for step := range steps {
				at := func(quantity, step int) float32 { return trace[quantity][step*n+i] }
				want := []float32{at(0, step), actions[i], at(0, step+1), at(1, step+1), at(2, step+1), at(3, step+1)}
				if got := all[(i*steps+step)*6:][:6]; !slices.Equal(got, want) {
					t.Errorf("copy %d, step %d: %v is recorded, want %v", i, step, got, want)
				}
				ends += int(at(2, step+1))
				if step%every == 0 {
					if got := some[i*rows+step/every]; got != at(4, step) {
						t.Errorf("copy %d, step %d: descriptor %v is recorded, want %v", i, step, got, at(4, step))
					}
				}
			}
		}
		if ends < n {
			t.Errorf("%d episodes ended: no step after an end was compared", ends)
		}
		if !slices.Equal(flat(2), flat(4)) || !slices.Equal(flat(3), flat(5)) {
			t.Errorf("recording changes fitness %v to %v, or descriptors %v to %v", flat(4), flat(2), flat(5), flat(3))
		}
	})
}

// lapse is a task with reward 1 that is not finite for one step: copy 0 in its observation, copy 1 in
// its physics state, copy 2 in its action, copy 3 only after its episode has ended. Copy 4 is sound,
// and copy 5 starts with an infinite observation.
type lapse struct{}

func (lapse) Spec() envs.Spec {
	return envs.Spec{Name: "lapse", Observations: 1, Actions: 1, Length: 6}
}

func (lapse) at(step *Node, reward float64) envs.State {
	copies := Iota(step.Graph(), step.Shape(), 0)
	now := func(number, at float64) *Node {
		return And(Equal(copies, ConstAs(copies, number)), Equal(step, ConstAs(step, at)))
	}
	nan, inf, zero := ConstAs(step, math.NaN()), ConstAs(step, math.Inf(1)), ZerosLike(step)
	obs := Where(Or(now(0, 2), now(3, 4)), nan, Where(now(5, 0), inf, zero))
	ended := And(Equal(copies, ConstAs(copies, 3)), GreaterOrEqual(step, ConstAs(step, 3)))
	return envs.State{PhysicsState: []*Node{step, Where(now(1, 2), inf, zero)},
		Observation: InsertAxes(obs, -1), Reward: AddScalar(zero, reward),
		Done: ConvertDType(ended, dtypes.Float32)}
}

func (l lapse) Reset(keys random.Key) envs.State {
	return l.at(Zeros(keys.Hi.Graph(), shapes.Make(dtypes.Float32, keys.Hi.Shape().Dimensions[0])), 0)
}

func (l lapse) Step(s envs.State, _ *Node) envs.State {
	return l.at(AddScalar(s.PhysicsState[0], 1), 1)
}

// What is not finite ends an episode as invalid, also if it is so for one step only and the reward
// does not notice, but not after the end.
func TestInvalidEpisodes(t *testing.T) {
	low := float32(math.Inf(-1))
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			keys := random.NewKey(in[0].Graph(), 1).Split(6)
			score, _ := envs.Record(lapse{}, constant{in[0]}, envs.Reset(lapse{}, keys), 6)
			fitness, _ := score.Result()
			return []*Node{fitness, score.Length}
		}, xlatest.Tensor([]float32{0, 0, float32(math.NaN()), 0, 0, 0}, 6, 1))
		if got, want := xlatest.Flat[float32](t, out[0]), []float32{low, low, low, 3, 6, low}; !slices.Equal(got, want) {
			t.Errorf("fitnesses are %v, want %v", got, want)
		}
		if got, want := xlatest.Flat[float32](t, out[1]), []float32{2, 2, 1, 3, 6, 6}; !slices.Equal(got, want) {
			t.Errorf("lengths are %v, want %v", got, want)
		}
	})
}

// A robot that explodes has no fitness, even while all numbers are finite.
func TestExplodingBodies(t *testing.T) {
	for name, change := range map[string]func(*physics.Model){
		"as it is": func(*physics.Model) {},
		"light":    func(m *physics.Model) { m.Bodies[1].Inertia = physics.Vec{1e-4, 1e-4, 1e-4} },
		"strong": func(m *physics.Model) {
			for i := range m.Actuators {
				m.Actuators[i].Strength = 2e7
			}
		},
	} {
		model := robots.Walker2d()
		change(&model)
		env, err := envs.Make("walker-uni")
		if err != nil {
			t.Fatal(err)
		}
		walker := *env.(*envs.Rigid)
		walker.Done = nil
		if walker.System, err = physics.NewSystem(model); err != nil {
			t.Fatal(err)
		}
		out := xlatest.Run(t, xlatest.Quick(t), func(in []*Node) []*Node {
			keys := random.NewKey(in[0].Graph(), 1).Split(4)
			fitness, _ := envs.Rollout(&walker, constant{keys.FoldIn(3).Uniform(-1, 1, 4, 6)}, envs.Reset(&walker, keys), 100)
			return []*Node{fitness}
		}, xlatest.Tensor([]float32{0}, 1))
		for i, fitness := range xlatest.Flat[float32](t, out[0]) {
			if sound := name == "as it is"; math.IsInf(float64(fitness), -1) == sound {
				t.Errorf("%s: policy %d has fitness %g", name, i, fitness)
			}
		}
	}
}

// The objectives of an episode sum to its fitness, with and without automatic resets and conditions in the state, and
// nobody who does not ask gets them. A reward is the only objective of other tasks.
func TestObjectivesSumToTheFitness(t *testing.T) {
	const n, steps = 3, 4
	for _, name := range []string{"walker-uni", "halfcheetah-uni", "ant-uni", "ant-maze", "pointmaze", "hopper-uni"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := environment(t, name)
			tasks := []envs.Env{env, envs.AutoReset(env, 3)}
			if live, err := envs.Adjust(env); err == nil {
				tasks = append(tasks, live)
			}
			spec := env.Spec()
			out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
				keys := random.KeyOf(in[0]).Split(n)
				var all []*Node
				for _, task := range tasks {
					policy := constant{keys.FoldIn(1).Uniform(-1, 1, n, spec.Actions)}
					start := envs.Reset(task, keys)
					score, _ := envs.Record(task, policy, start.WithObjectives(spec), steps)
					plain, _ := envs.Record(task, policy, start, steps)
					errtest.Equal(t, "objectives that nobody asked for", plain.Objectives, nil)
					all = append(all, score.Objectives, score.Return)
					if direct := task.Step(start.WithObjectives(spec), policy.Action); direct.Objectives != nil {
						all = append(all, direct.Objectives, direct.Reward)
					}
				}
				return all
			}, xlatest.Tensor(random.SeedWords(2), 2))
			for i := range len(out) / 2 {
				parts, want := xlatest.Flat[float32](t, out[2*i]), xlatest.Flat[float32](t, out[2*i+1])
				k := len(parts) / n
				if k != spec.Rewards() {
					t.Fatalf("%d objectives, not %d", k, spec.Rewards())
				}
				for c := range n {
					var sum float32
					for _, x := range parts[c*k : (c+1)*k] {
						sum += x
					}
					if off := math.Abs(float64(sum - want[c])); off > 1e-4 || k > 1 && parts[c*k+1] >= 0 {
						t.Errorf("pair %d: objectives %v of the fitness %g", i, parts[c*k:(c+1)*k], want[c])
					}
				}
			}
		})
	}
}

// A step that forgets the objectives, which the Spec promises, panics with the method's location.
func TestForgottenObjectives(t *testing.T) {
	task := envs.Sphere(4)
	task.Facts.Objectives = []envs.Objective{{Name: "a"}, {Name: "b"}}
	_, err := xlatest.Compile(xlatest.Pure(t), "forgotten", []shapes.Shape{shapes.Make(
		dtypes.Uint32, 2)}, func(in []*Node) []*Node {
		keys := random.KeyOf(in[0]).Split(3)
		start := envs.Reset(task, keys).WithObjectives(task.Facts)
		return []*Node{envs.Step(task, start, start.PhysicsState[0]).Objectives}
	})
	errtest.Want(t, err)
}

// generous returns the objectives of every step.
type generous struct{ envs.Env }

func (g generous) Step(s envs.State, action *Node) envs.State {
	return g.Env.Step(s.WithObjectives(g.Spec()), action)
}

// Objectives that were not asked for are dropped: the states of a loop keep their structure.
func TestObjectivesNotAskedFor(t *testing.T) {
	xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		env := generous{envs.RastriginMulti(4)}
		start := envs.Reset(env, random.KeyOf(in[0]).Split(4))
		after := envs.Step(env, start, Transpose(start.PhysicsState[0], 0, 1))
		errtest.Equal(t, "objectives after a state without", after.Objectives, nil)
		return []*Node{after.Reward}
	}, xlatest.Tensor(random.SeedWords(2), 2))
}

// rastrigin-multi in plain Go, also outside of its range.
func TestRastriginMulti(t *testing.T) {
	x := []float32{-3, 0.25, 2, 5, 0, 2.2, 1, -1}
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		objectives, descriptor := envs.RastriginMulti(4).Evaluate(in[0])
		return []*Node{objectives, descriptor}
	}, xlatest.Tensor(x, 2, 4))
	var want []float32
	for solution := range 2 {
		for _, lag := range []float64{0, 2.2} {
			sum := 0.0
			for _, c := range x[4*solution : 4*solution+4] {
				d := min(max(float64(c), -2), 4) - lag
				sum -= d*d - 10*math.Cos(2*math.Pi*d) + 10
			}
			want = append(want, float32(sum))
		}
	}
	xlatest.Close(t, "objectives", xlatest.Flat[float32](t, out[0]), want, 1e-5)
	xlatest.Close(t, "descriptors", xlatest.Flat[float32](t, out[1]), []float32{-2, 0.25, 0, 2.2}, 0)
}

// walk is a point on a line that moves by the action; it is done above 1. Its physics state has two
// axes, as with bodies.
type walk struct{ kind envs.DescriptorKind }

func (w walk) Spec() envs.Spec {
	spec := envs.Spec{Name: "walk", Observations: 1, Actions: 1, Length: 4, Descriptor: envs.Descriptor{Kind: w.kind}}
	if w.kind != envs.None {
		spec.Descriptor.Lower, spec.Descriptor.Upper, spec.Descriptor.Components = []float32{-10},
			[]float32{10}, []string{"place"}
	}
	return spec
}

func (w walk) at(x, reward *Node) envs.State {
	s := envs.State{
		PhysicsState: []*Node{InsertAxes(x, 0)}, Observation: InsertAxes(MulScalar(x, 2), -1),
		Reward: reward,
		Done:   ConvertDType(GreaterThan(x, ConstAs(x, 1)), x.DType()),
	}
	if w.kind != envs.None {
		s.Descriptor = InsertAxes(MulScalar(x, 3), -1)
	}
	return s
}

func (w walk) Reset(keys random.Key) envs.State {
	x := keys.Uniform(0, 0.5, keys.Hi.Shape().Dimensions[0])
	return w.at(x, ZerosLike(x))
}

func (w walk) Step(s envs.State, action *Node) envs.State {
	x := Add(Reshape(s.PhysicsState[0], -1), Reshape(action, -1))
	return w.at(x, MulScalar(x, 10))
}

// traced runs an environment under constant actions [B, A] and returns its states after the reset and after each step,
// [steps+1, B, ...]: observations, rewards, dones, truncations, and descriptors if it has any.
func traced(t *testing.T, p *xla.Platform, env envs.Episodes, steps int, actions []float32) [][]float32 {
	t.Helper()
	spec := env.Spec()
	n := len(actions) / spec.Actions
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		type running struct {
			State  envs.State
			Action *Node
		}
		seen := func(s envs.State) []*Node {
			nodes := []*Node{s.Observation, s.Reward, s.Done, env.Truncation(s)}
			if s.Descriptor != nil {
				nodes = append(nodes, s.Descriptor)
			}
			return nodes
		}
		start := env.Reset(random.NewKey(in[0].Graph(), 3).Split(n))
		_, trace := xla.Scan(in[0].Graph(), steps, running{start, in[0]}, func(_ *Node, r running) (running, []*Node) {
			r.State = env.Step(r.State, r.Action)
			return r, seen(r.State)
		})
		for i, first := range seen(start) {
			trace[i] = Concatenate([]*Node{InsertAxes(first, 0), trace[i]}, 0)
		}
		return trace
	}, xlatest.Tensor(actions, n, spec.Actions))
	var arrays [][]float32
	for _, o := range out {
		arrays = append(arrays, xlatest.Flat[float32](t, o))
	}
	return arrays
}

// Copies reset automatically: those that move right when they are done, the other one after 5 steps.
func TestAutoReset(t *testing.T) {
	const steps, length = 13, 5
	actions := []float32{0.4, -0.1, 0.201}
	for _, kind := range []envs.DescriptorKind{envs.Final, envs.None, envs.Outcome} {
		env := envs.AutoReset(walk{kind}, length)
		if got := env.Spec(); got.Length != length || got.Name != "walk" {
			t.Errorf("%+v", got)
		}
		xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
			got := traced(t, p, env, steps, actions)
			ends := map[string]int{}
			for i, action := range actions {
				first := got[0][i] / 2
				if first < 0 || first >= 0.5 {
					t.Fatalf("copy %d begins at %g", i, first)
				}
				x, count := first, 0
				var observation, reward, done, truncation, descriptor []float32
				record := func(o, r, d, tr float32) {
					observation, reward, done, truncation, descriptor = append(observation, 2*o),
						append(reward, r), append(done, d), append(truncation, tr), append(descriptor, 3*o)
				}
				record(x, 0, 0, 0)
				for range steps {
					x += action
					count++
					moved, fell := x, x > 1
					if fell || count == length {
						x, count = first, 0
					}
					switch {
					case fell:
						ends["fell"]++
						record(x, 10*moved, 1, 0)
					case count == 0:
						ends["cut"]++
						record(x, 10*moved, 1, 1)
					default:
						record(x, 10*moved, 0, 0)
					}
					if kind == envs.Outcome { // of the episode that ended
						descriptor[len(descriptor)-1] = 3 * moved
					}
				}
				of := func(k int) (column []float32) {
					for step := range steps + 1 {
						column = append(column, got[k][step*len(actions)+i])
					}
					return column
				}
				xlatest.Close(t, "observations", of(0), observation, 1e-5)
				xlatest.Close(t, "rewards", of(1), reward, 1e-5)
				xlatest.Close(t, "dones", of(2), done, 0)
				xlatest.Close(t, "truncations", of(3), truncation, 0)
				if kind != envs.None {
					xlatest.Close(t, "descriptors", of(4), descriptor, 1e-5)
				}
			}
			if ends["fell"] < 3 || ends["cut"] < 2 {
				t.Errorf("episodes ended %v times: the test needs ends of both kinds", ends)
			}
		})
	}
}

// An episode that is done in its last step is not truncated.
func TestEndBeatsTruncation(t *testing.T) {
	got := traced(t, xlatest.Pure(t), envs.AutoReset(walk{}, 1), 2, []float32{2, -2})
	xlatest.Close(t, "dones", got[2], []float32{0, 0, 1, 1, 1, 1}, 0)
	xlatest.Close(t, "truncations", got[3], []float32{0, 0, 0, 1, 0, 1}, 0)
}

// The descriptor of pointmaze keeps the end position at the start of the next episode.
func TestPointmazeKeepsItsDescriptorWhenItRestarts(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		const steps = 4
		got := traced(t, p, envs.AutoReset(envs.Pointmaze{}, 2), steps, []float32{0, 0.5, 0.5, 0})
		for i := range 2 {
			at := func(k, step int) []float32 { return got[k][(step*2+i)*2 : (step*2+i+1)*2] }
			move := [][]float32{{0, 0.05}, {0.05, 0}}[i]
			gone := func(n float32) []float32 {
				return []float32{at(0, 0)[0] + n*move[0], at(0, 0)[1] + n*move[1]}
			}
			for step, want := range []struct{ observation, descriptor float32 }{{0, 0}, {1, 1}, {0, 2},
				{1, 1}, {0, 2}} {
				xlatest.Close(t, "observation", at(0, step), gone(want.observation), 1e-6)
				xlatest.Close(t, "descriptor", at(4, step), gone(want.descriptor), 1e-6)
			}
		}
		xlatest.Close(t, "truncations", got[3], []float32{0, 0, 0, 0, 1, 1, 0, 0, 1, 1}, 0)
	})
	fixed := environment(t, "pointmaze", envs.FixedStart(1))
	errtest.Equal(t, "with a fixed start the descriptor stays", fixed.Spec().Descriptor.Stays, true)
}

func TestAutoResetMistakesGiveOneLine(t *testing.T) {
	for want, env := range map[string]envs.Env{
		"episodes of walk need at least 1 step, not -1":                                envs.AutoReset(walk{}, -1),
		"PhysicsState[0] of sideways has shape (Float32)[2, 1]: the last axis must be": envs.AutoReset(sideways{}, 5),
	} {
		errtest.Want(t, errtest.Of(xla.Compile(xlatest.Pure(t), "reset", xla.Declare(dtypes.Uint32, 2),
			func(word xla.Array) xla.Array {
				return xla.Out(env.Reset(random.Key{Hi: word.Tree, Lo: word.Tree}).Reward)
			})), want)
	}
	errtest.Equal(t, "steps of episodes of the task's own length", envs.AutoReset(walk{}, 0).Spec().Length, 4)
}

// sideways has its batch on the first axis of its physics state.
type sideways struct{ walk }

func (s sideways) Spec() envs.Spec {
	spec := s.walk.Spec()
	spec.Name = "sideways"
	return spec
}

func (s sideways) Reset(keys random.Key) envs.State {
	state := s.walk.Reset(keys)
	state.PhysicsState = []*Node{Transpose(state.PhysicsState[0], 0, 1)}
	return state
}
