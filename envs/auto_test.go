package envs_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// walk is a point on a line that moves by the action; it is done above 1. Its physics state has two
// axes, as with bodies.
type walk struct{ kind envs.DescriptorKind }

func (w walk) Spec() envs.Spec {
	spec := envs.Spec{Name: "walk", Observations: 1, Actions: 1, Length: 4,
		Descriptor: envs.Descriptor{Kind: w.kind}}
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

// traced runs an environment under constant actions [B, A] and returns its states after the reset
// and after each step, [steps+1, B, ...]: observations, rewards, dones, truncations, and
// descriptors if it has any.
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

// Copies reset automatically: those that move right when they are done, the other one after 5
// steps.
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
	if !fixed.Spec().Descriptor.Stays {
		t.Error("with a fixed start the descriptor does not stay")
	}
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
