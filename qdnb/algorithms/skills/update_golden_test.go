package skills

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// rowsOf returns the given rows of the transitions and their skills.
func (f published) rowsOf(in []*Node, index *Node, full bool) Batch {
	at := func(x *Node) *Node { return Gather(x, InsertAxes(index, -1)) }
	obs, nextObs, now, next, done, reward, action, truncation := at(in[0]), at(in[1]), at(in[2]),
		at(in[3]), at(in[4]), at(in[5]), at(in[6]), at(in[7])
	width := obs.Shape().Dimensions[1] - f.skills
	b := Batch{Transitions: replay.Transitions{Obs: obs, NextObs: nextObs, Action: action, Reward: reward, Done: done,
		Truncation: truncation}, Skill: Slice(obs, AxisRange(), AxisRange(width)), Now: now, Next: next}
	if full {
		b.Now, b.Next = Slice(obs, AxisRange(), AxisRange(0, width)),
			Slice(nextObs, AxisRange(), AxisRange(0, width))
	}
	return b
}

// sac returns the algorithm of the golden networks.
func (f published) sac(prefix string) sac.SAC {
	config := sac.Config{
		LearningRate: f.Number("const.learning_rate"), Discount: f.Number("const.discount"),
		Tau:           f.Number("const.tau"),
		RewardScaling: f.Number("const.reward_scaling"), AlphaInit: f.Number("const.alpha_init"),
		FixAlpha: true, BatchSize: f.Shape(prefix + "update.idx")[1],
	}
	units := f.hidden(prefix + "policy.mlp.linear_%d.b")
	config.Hidden = units[:len(units)-1]
	return sac.New(config, f.Shape("data.obs")[1], f.Shape("data.actions")[1])
}

// updates compares successive updates of +REWARD with the arrays of a prefix. name names the network
// of the diversity reward. more returns its initial state other than that.
func (f published) updates(t *testing.T, prefix, name string, diversity Diversity, task Problem,
	full bool, more func() []*tensors.Tensor) {
	steps := f.Shape(prefix + "update.idx")[0]
	algorithm := f.sac(prefix)
	it := iteration{sac: algorithm,
		method: method{task, diversity, PlusReward{f.Number("const.diversity_reward_scale")}}}
	rows := func(name string, mlp nn.MLP) *tensors.Tensor {
		data := f.Float32s(prefix + name)
		return xlatest.Tensor(data, len(data)/mlp.Params(), mlp.Params())
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		inputs := []*tensors.Tensor{
			rows("policy.flat", algorithm.Actor), rows("critic.flat", algorithm.Critic),
			rows("target_critic.flat", algorithm.Critic),
			array(f.File, prefix+name+".flat"), xlatest.Tensor(f.Int32s(prefix+"update.idx"),
				f.Shape(prefix+"update.idx")...),
			array(f.File, prefix+"update.eps_critic"), array(f.File, prefix+"update.eps_policy"),
		}
		own := len(inputs)
		inputs = append(append(inputs, f.transitions()...), array(f.File, "data.actions"),
			array(f.File, "data.truncations"))
		data := len(inputs)
		inputs = append(inputs, more()...)
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			alpha := Log(Const(in[0].Graph(), float32(algorithm.AlphaInit)))
			l := learning{algorithm.StateOf(in[0], in[1], in[2], alpha),
				withRow(diversity, task, InsertAxes(in[3], 0))}
			if dads, ok := l.Diversity.(DADS); ok {
				dads.Changes = xla.Unflatten(dads.Changes, in[data:])
				l.Diversity = dads
			}
			var results []*Node
			for k := range steps {
				step := func(x *Node) *Node {
					return Reshape(Slice(x, AxisRange(k, k+1)), x.Shape().Dimensions[1:]...)
				}
				var means metrics
				l, means = it.learn(l, f.rowsOf(in[own:data], step(in[4]), full), nil,
					sac.Noise{Critic: step(in[5]), Actor: step(in[6])})
				results = append(results, l.Learner.Actor.Params.Join(),
					nn.JoinNetworks(l.Learner.Critic.Params), nn.JoinNetworks(l.Learner.Critic.Target),
					rowOf(l.Diversity), means.Actor, means.Critic, means.Diversity)
			}
			return results
		}, inputs...)
		names := []string{"policy", "critic", "target_critic", name, "actor_loss", "critic_loss", name +
			"_loss"}
		for i, value := range out {
			k, array := i/len(names), prefix+"update."+names[i%len(names)]
			want := f.Float32s(array)
			want = want[k*len(want)/steps : (k+1)*len(want)/steps]
			xlatest.Close(t, fmt.Sprintf("%s after %d", array, k+1), xlatest.Flat[float32](t, value), want,
				5e-5)
		}
	})
}

func TestGoldenUpdatesOfDIAYN(t *testing.T) {
	f := readPublished(t, "06_diayn.npz")
	none := func() []*tensors.Tensor { return nil }
	for _, prefix := range []string{"desc.", "full."} {
		diayn, task := f.diayn(prefix)
		t.Run(prefix, func(t *testing.T) {
			f.updates(t, prefix, "discriminator", diayn, task, prefix == "full.", none)
		})
	}
}

func TestGoldenUpdatesOfDADS(t *testing.T) {
	f := readPublished(t, "07_dads.npz")
	dads, task := f.dads("paper.")
	f.updates(t, "paper.", "dynamics", dads, task, false, f.normaliser)
}
