package ppo_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// scripted is an environment with predefined states: rewards, ends and observations of state t, [t,
// B] and [t, B, observations].
type scripted struct {
	rewards, dones, obs         []float32
	states, batch, observations int
}

func (s scripted) Spec() envs.Spec {
	return envs.Spec{Name: "scripted", Observations: s.observations, Actions: 1, Length: s.states,
		Descriptor: envs.Descriptor{Kind: envs.None}}
}

// at returns state t. The physics state is the time.
func (s scripted) at(time *Node) envs.State {
	row := func(data []float32, dims ...int) *Node {
		all := Reshape(Const(time.Graph(), data), append([]int{s.states}, dims...)...)
		return Reshape(Gather(all, Reshape(Slice(time, AxisRange(0, 1)), 1, 1)), dims...)
	}
	return envs.State{PhysicsState: []*Node{time}, Observation: row(s.obs, s.batch, s.observations),
		Reward: row(s.rewards, s.batch), Done: row(s.dones, s.batch)}
}

func (s scripted) Reset(keys random.Key) envs.State {
	return s.at(Zeros(keys.Hi.Graph(), shapes.Make(dtypes.Int32, s.batch)))
}

func (s scripted) Step(state envs.State, _ *Node) envs.State {
	return s.at(AddScalar(state.PhysicsState[0], 1))
}

// A decision earns the rewards of its own control steps up to the end of the episode, and the
// meta-controller observes what the published one does. The latter is credited with what the next
// decision earns.
func TestGoldenDecisions(t *testing.T) {
	f := golden.Read(t, "10_ppo_hierarchical.npz")
	shape, every, steps := f.Shape("h.obs_steps"), int(f.Number("const.num_h_steps")), int(f.Number("const.unroll_length"))
	s := scripted{f.Float32s("h.reward_steps"), f.Float32s("h.done_steps"), f.Float32s("h.obs_steps"), shape[0],
		shape[1], shape[2]}
	rewards, dones, ends := make([]float32, steps*s.batch), make([]float32, steps*s.batch), 0
	for i := range rewards {
		for k := range every {
			at := (i/s.batch*every+k+1)*s.batch + i%s.batch // the state that the control step leads to
			rewards[i] += s.rewards[at]
			if s.dones[at] > 0 {
				dones[i] = 1
				ends++
				break
			}
		}
	}
	if ends == 0 {
		t.Fatal("no episode ends in the script")
	}
	h := envs.Hierarchical{Env: s, Skills: envs.Skills{Net: nn.NewPolicy(s.observations, nil, 1)}, Every: every}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g := in[0].Graph()
			action := Zeros(g, shapes.Make(dtypes.Float32, s.batch, h.Spec().Actions))
			state := envs.Reset(h, random.KeyOf(in[0]).Split(s.batch))
			obs, reward, done := []*Node{state.Observation}, []*Node(nil), []*Node(nil)
			for range steps {
				state = envs.Step(h, state, action)
				obs, reward, done = append(obs, state.Observation), append(reward, state.Reward), append(done, state.Done)
			}
			return []*Node{Stack(reward, 0), Stack(done, 0), Stack(obs, 0)}
		}, xlatest.Tensor(random.SeedWords(1), 2))
		xlatest.Close(t, "rewards", xlatest.Flat[float32](t, out[0]), rewards, 1e-6)
		xlatest.Close(t, "dones", xlatest.Flat[float32](t, out[1]), dones, 0)
		xlatest.Close(t, "observations", xlatest.Flat[float32](t, out[2]), f.Float32s("h.obs"), 0)
	})
}
