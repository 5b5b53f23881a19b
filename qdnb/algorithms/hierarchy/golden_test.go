package hierarchy

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
// B] and [t, B, observations]. It resets automatically.
type scripted struct {
	rewards, dones, truncations, obs []float32
	states, batch, observations      int
}

func readScript(t *testing.T) (scripted, golden.File) {
	f := golden.Read(t, "10_ppo_hierarchical.npz")
	shape := f.Shape("h.obs_steps")
	return scripted{
		f.Float32s("h.reward_steps"), f.Float32s("h.done_steps"), f.Float32s("h.truncation_steps"),
		f.Float32s("h.obs_steps"), shape[0], shape[1], shape[2],
	}, f
}

func (s scripted) Spec() envs.Spec {
	return envs.Spec{Name: "scripted", Observations: s.observations, Actions: 1, Length: s.states,
		Descriptor: envs.Descriptor{Kind: envs.None}}
}

// at returns state t. The physics state is the time and the truncation.
func (s scripted) at(time *Node) envs.State {
	g := time.Graph()
	row := func(data []float32, dims ...int) *Node {
		all := Reshape(Const(g, data), append([]int{s.states}, dims...)...)
		return Reshape(Gather(all, Reshape(Slice(time, AxisRange(0, 1)), 1, 1)), dims...)
	}
	return envs.State{
		PhysicsState: []*Node{time, row(s.truncations, s.batch)},
		Observation:  row(s.obs, s.batch, s.observations),
		Reward:       row(s.rewards, s.batch), Done: row(s.dones, s.batch),
	}
}

func (s scripted) Reset(keys random.Key) envs.State {
	return s.at(Zeros(keys.Hi.Graph(), shapes.Make(dtypes.Int32, s.batch)))
}
func (s scripted) Step(state envs.State, _ *Node) envs.State {
	return s.at(AddScalar(state.PhysicsState[0], 1))
}
func (s scripted) Truncation(state envs.State) *Node { return state.PhysicsState[1] }

// played returns what a meta-controller learns from the first steps: rewards, dones and truncations
// [steps, B], and the observations before the steps and after the last.
func (s scripted) played(t *testing.T, p *xla.Platform, every, steps int, published bool) [][]float32 {
	o := Options{Env: s, Skills: Skills{Net: nn.Policy(s.observations, nil, 1)}, Every: every,
		PublishedCredit: published, learning: true}
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		g := in[0].Graph()
		keys := random.KeyOf(in[0]).FoldInEach(Iota(g, shapes.Make(dtypes.Int32, s.batch), 0))
		action := Zeros(g, shapes.Make(dtypes.Float32, s.batch, o.Spec().Actions))
		state := envs.Reset(o, keys)
		obs := []*Node{state.Observation}
		var credit [3][]*Node
		for range steps {
			state = envs.Step(o, state, action)
			obs = append(obs, state.Observation)
			for i, x := range []*Node{state.Reward, state.Done, o.Truncation(state)} {
				credit[i] = append(credit[i], x)
			}
		}
		reward, done, truncation := o.Credit(Stack(credit[0], 0), Stack(credit[1], 0), Stack(credit[2], 0),
			state)
		return []*Node{reward, done, truncation, Stack(obs, 0)}
	}, xlatest.Tensor(random.SeedWords(1), 2))
	var flat [][]float32
	for _, x := range out {
		flat = append(flat, xlatest.Flat[float32](t, x))
	}
	return flat
}

// The published credit. The published code has an additional first row, which its loss does not
// use.
func TestGoldenPublishedCredit(t *testing.T) {
	s, f := readScript(t)
	every, steps := int(f.Number("const.num_h_steps")), int(f.Number("const.unroll_length"))
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		got := s.played(t, p, every, steps, true)
		for i, name := range []string{"h.rewards", "h.dones", "h.truncation"} {
			xlatest.Close(t, name, got[i], f.Float32s(name)[s.batch:], 1e-4)
		}
		xlatest.Close(t, "h.obs", got[3], f.Float32s("h.obs"), 0)
	})
}

// The correct credit, computed step by step.
func TestCleanCredit(t *testing.T) {
	s, f := readScript(t)
	every, steps := int(f.Number("const.num_h_steps")), int(f.Number("const.unroll_length"))
	rewards, dones, truncations := make([]float32, steps*s.batch), make([]float32, steps*s.batch),
		make([]float32, steps*s.batch)
	ends := 0
	for k := range steps {
		for b := range s.batch {
			for i := range every {
				at := (k*every+i+1)*s.batch + b // the state that the step leads to
				rewards[k*s.batch+b] += s.rewards[at]
				if s.dones[at] > 0 {
					dones[k*s.batch+b], truncations[k*s.batch+b] = 1, s.truncations[at]
					ends++
					break
				}
			}
		}
	}
	if ends == 0 {
		t.Fatal("no episode ends in the script")
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		got := s.played(t, p, every, steps, false)
		xlatest.Close(t, "rewards", got[0], rewards, 1e-6)
		xlatest.Close(t, "dones", got[1], dones, 0)
		xlatest.Close(t, "truncations", got[2], truncations, 0)
		xlatest.Close(t, "observations", got[3], f.Float32s("h.obs"), 0)
	})
}
