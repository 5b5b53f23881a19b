package ppo

import (
	"fmt"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// tolerance is relative to max(1, |x|).
const tolerance = 1e-4

// published is 10_ppo_hierarchical.npz: the outputs of the published code for given networks and
// decisions. Its data are time-major.
type published struct {
	golden.File
	agent            agent
	steps, sequences int
}

func readPublished(t *testing.T) published {
	f := golden.Read(t, "10_ppo_hierarchical.npz")
	steps, sequences := f.Shape("data.actions")[0], f.Shape("data.actions")[1]
	minibatches := int(f.Number("const.num_minibatches"))
	config := PPO{
		NumEnvs: 1, EpisodeLength: 1, EvaluationEnvs: 1, EvaluationInterval: 1,
		LearningRate: f.Number("const.learning_rate"), Discount: f.Number("const.discounting"),
		GAELambda:   f.Number("const.lambda"),
		ClipEpsilon: f.Number("const.ppo_epsilon"), EntropyCost: f.Number("const.entropy_cost"),
		RewardScaling: f.Number("const.reward_scaling"),
		UnrollLength:  steps, BatchSize: sequences / minibatches, NumMinibatches: minibatches,
		UpdateEpochs: 1,
		PolicyHidden: f.Hidden("policy.hidden_%d.bias"), ValueHidden: f.Hidden("value.hidden_%d.bias"),
		CVT: repertoire.DefaultCVT(),
	}
	must.Do(config.Check())
	return published{f, newAgent(config, f.Shape("data.obs")[2], f.Shape("data.logits")[2], true), steps,
		sequences}
}

func (f published) row(name string) *tensors.Tensor {
	data := f.Float32s(name)
	return xlatest.Tensor(data, 1, len(data))
}

// inputs returns the inputs of given: networks, then decisions.
func (f published) inputs() []*tensors.Tensor {
	in := []*tensors.Tensor{f.row("policy.flat"), f.row("value.flat")}
	for _, name := range []string{"data.obs", "data.logits", "data.rewards", "data.dones",
		"data.truncation"} {
		in = append(in, xlatest.Stored(f.File, name))
	}
	return append(in, xlatest.Tensor(f.Int32s("data.actions"), f.Shape("data.actions")...))
}

// given returns the networks and the sequences. The reward of a decision is in the next row.
func (f published) given(in []*Node) (nets, data) {
	turned := func(x *Node) *Node { return Transpose(x, 0, 1) }
	after := func(x *Node) *Node { return turned(Slice(x, AxisRange(1))) }
	d := data{
		Obs: turned(in[2]), Decision: turned(in[7]), Reward: after(in[4]), Done: after(in[5]),
		Truncation: after(in[6]),
	}
	d.LogProb = newCategorical(turned(in[3])).logProb(d.Decision)
	return f.agent.learner(in[0], in[1]).Nets.Params, d
}

// Advantages, the loss and its gradient, an epoch, and its minibatches one by one.
func TestGoldenUpdate(t *testing.T) {
	f := readPublished(t)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		order := xlatest.Tensor(f.Int32s("epoch.permutation"), f.sequences)
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			given, d := f.given(in)
			values := Reshape(given.Value.Apply(Reshape(d.Obs, -1, f.agent.policy.Sizes[0])), f.sequences, f.steps+1)
			targets, advantages := f.agent.advantages(values, d)
			before := Reshape(Slice(d.Obs, AxisRange(), AxisRange(0, f.steps)), -1, f.agent.policy.Sizes[0])
			policy := newCategorical(Reshape(given.Policy.Apply(before), f.sequences, f.steps, -1))
			outputs := xla.Map([]*Node{values, targets, advantages, policy.logProb(d.Decision), d.LogProb, policy.entropy()},
				func(x *Node) *Node { return Transpose(x, 0, 1) })

			l := f.agent.loss(nets{f.agent.policy.Network(in[0], 0), f.agent.value.Network(in[1], 0)}, d)
			gradient := Gradient(l.Total, in[0], in[1])
			outputs = append(outputs, l.Total, l.Policy, l.Value, MulScalar(l.Entropy, -f.agent.EntropyCost),
				gradient[0], gradient[1])

			after, _ := f.agent.epoch(f.agent.learner(in[0], in[1]).Nets, d, in[8])
			one := f.agent.learner(in[0], in[1]).Nets
			var total []*Node
			for k := range f.agent.NumMinibatches {
				rows := Slice(in[8], AxisRange(k*f.agent.BatchSize, (k+1)*f.agent.BatchSize))
				now := f.agent.loss(one.Params, d.at(rows))
				one, total = one.Step(now.Total), append(total, now.Total)
			}
			return append(outputs, after.Params.Policy.Join(), after.Params.Value.Join(), one.Params.Policy.Join(),
				one.Params.Value.Join(), Stack(total, 0))
		}, append(f.inputs(), order)...)
		xlatest.Matches(t, f.File, out, tolerance, "gae.values", "gae.vs", "gae.advantages", "gae.log_prob_new",
			"gae.log_prob_old", "gae.entropy", "loss.total_loss", "loss.policy_loss", "loss.v_loss", "loss.entropy_loss",
			"loss.grad_policy.flat", "loss.grad_value.flat", "epoch.policy.flat", "epoch.value.flat", "epoch.policy.flat",
			"epoch.value.flat", "epoch.total_loss")
	})
}

// The loss and the logits for normalised observations; package nn compares their statistics.
func TestGoldenNormalisation(t *testing.T) {
	f := readPublished(t)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		batches, inputs := 0, f.inputs()
		for ; f.Has(fmt.Sprintf("norm.obs_%d", batches)); batches++ {
			inputs = append(inputs, xlatest.Stored(f.File, fmt.Sprintf("norm.obs_%d", batches)))
		}
		inputs = append(inputs, xlatest.Stored(f.File, "h.obs"))
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			nets, d := f.given(in)
			observations := f.agent.policy.Sizes[0]
			statistics := nn.NewStatistics(in[0].Graph(), observations)
			for _, obs := range in[8 : 8+batches] {
				statistics = statistics.Update(Reshape(obs, -1, observations))
			}
			d.Obs = normalised(&statistics, d.Obs)
			l := f.agent.loss(nets, d)
			decisions := Slice(in[8+batches], AxisRange(0, f.Shape("h.logits")[0]))
			logits := f.agent.decide(actor{nets.Policy, &statistics}, Reshape(decisions, -1, observations))
			return []*Node{Transpose(d.Obs, 0, 1), l.Total, l.Policy, l.Value, MulScalar(l.Entropy, -f.agent.EntropyCost),
				logits.(categorical).logProbs, newCategorical(Reshape(in[9+batches], -1, f.Shape("h.logits")[2])).logProbs}
		}, append(inputs, xlatest.Stored(f.File, "h.logits"))...)
		xlatest.Matches(t, f.File, out, tolerance, "norm.applied", "loss_norm.total_loss", "loss_norm.policy_loss",
			"loss_norm.v_loss", "loss_norm.entropy_loss")
		xlatest.Close(t, "h.logits", xlatest.Flat[float32](t, out[5]), xlatest.Flat[float32](t, out[6]), tolerance)
	})
}

// 21_ppga.npz: a walk of one update by PPGA's published code, with decisions whose probability was another
// before, and returns for another lambda. tools/golden_ppga.py made it. NaN stands for gradients of
// parameters that the published policy lacks.
func TestGoldenWalk(t *testing.T) {
	f := golden.Read(t, "21_ppga.npz")
	dims, actions, hidden := f.Shape("obs"), f.Shape("actions")[1], f.Shape("value")[0]/(f.Shape("obs")[2]+2)
	n, steps := dims[0], dims[1]-1
	a := newAgent(PPO{Discount: f.Number("const.gamma"), GAELambda: 1, ClipEpsilon: f.Number("const.clip_coef"),
		RewardScaling: 1, PolicyHidden: []int{hidden}, ValueHidden: []int{hidden}}, dims[2], actions, false)
	a.policy.Hidden, a.value.Hidden = Tanh, Tanh
	shapes := map[string][]int{"policy": {1, f.Shape("policy")[0]}, "value": {1, f.Shape("value")[0]},
		"actions": {n, steps, actions}, "older": {n, steps}}
	names := []string{"policy", "value", "obs", "actions", "older", "reward", "dones", "measures", "coefficients"}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		var inputs []*tensors.Tensor
		for _, name := range names {
			shape, ok := shapes[name]
			if !ok {
				shape = f.Shape(name)
			}
			inputs = append(inputs, xlatest.Tensor(f.Float32s(name), shape...))
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			d := data{Obs: in[2], Decision: in[3], Reward: in[5], Done: in[6], Truncation: ZerosLike(in[6]),
				Descriptor: in[7]}.weighted(in[8])
			nets := nets{Policy: a.policy.Network(in[0], 0), Value: a.value.Network(in[1], 0)}
			before := Reshape(Slice(d.Obs, AxisRange(), AxisRange(0, steps)), n*steps, dims[2])
			now := a.distribution(nets.Policy.Apply(before)).logProb(Reshape(d.Decision, n*steps, actions))
			d.LogProb = StopGradient(Add(Reshape(now, n, steps), in[4]))
			l := a.loss(nets, d)
			gradient := Gradient(l.Total, in[0], in[1])
			values := Reshape(nets.Value.Apply(Reshape(d.Obs, -1, dims[2])), n, steps+1)
			targets, advantages := a.advantages(values, d)
			other := a
			other.GAELambda = 0.9
			otherTargets, _ := other.advantages(values, d)
			return []*Node{targets, advantages, otherTargets, l.Policy, l.Value, gradient[0], gradient[1]}
		}, inputs...)
		for i, name := range []string{"returns", "advantages", "returns.0.9", "loss.policy", "loss.value", "gradient.policy",
			"gradient.value"} {
			got, want := xlatest.Flat[float32](t, out[i]), slices.Clone(f.Float32s(name))
			for k, x := range want {
				if x != x {
					got[k], want[k] = 0, 0
				}
			}
			xlatest.Close(t, name, got, want, 1e-5)
		}
	})
}
