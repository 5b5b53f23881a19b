package ppo

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Decisions that are not finite do not contribute, and the learner stays finite: with and without
// normalised observations.
func TestNonFiniteDecisions(t *testing.T) {
	const n, steps, observations = 4, 3, 2
	nan := float32(math.NaN())
	obs, reward := make([]float32, n*(steps+1)*observations), make([]float32, n*steps)
	for i := range obs {
		obs[i] = float32(i%7) / 7
	}
	reward[1] = nan                         // decision 1 of sequence 0
	obs[(1*(steps+1)+2)*observations] = nan // before decision 2 and after decision 1 of sequence 1
	for _, normalised := range []bool{false, true} {
		config := *Default(envs.Spec{Length: 1})
		config.NormalizeObservations, config.BatchSize, config.NumMinibatches = normalised, 2, 2
		config.PolicyHidden, config.ValueHidden, config.UnrollLength = []int{4}, []int{4}, steps
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				ppo, zero := newAgent(config, observations, 2, true), ZerosLike(in[1])
				key := random.NewKey(in[0].Graph(), 1)
				data, invalid := data{Obs: in[0], Decision: ConvertDType(zero, dtypes.Int32), LogProb: zero,
					Reward: in[1], Done: zero, Truncation: zero}.finite()
				after, losses := ppo.train(ppo.start(key), data, key)
				sum := Add(ReduceAllSum(after.Nets.Params.Policy.Join()), ReduceAllSum(after.Nets.Params.Value.Join()))
				return []*Node{invalid, data.Truncation, Stack([]*Node{losses.Total, losses.Policy, losses.Value, sum}, 0)}
			}, xlatest.Tensor(obs, n, steps+1, observations), xlatest.Tensor(reward, n, steps))
			errtest.Equal(t, "invalid decisions", xlatest.Flat[int32](t, out[0])[0], 3)
			if got, want := xlatest.Flat[float32](t, out[1])[:2*steps], []float32{0, 1, 0, 0, 1, 1}; !slices.Equal(got, want) {
				t.Errorf("truncations are %v, want %v", got, want)
			}
			for i, x := range xlatest.Flat[float32](t, out[2]) {
				if x != x {
					t.Errorf("number %d is NaN", i)
				}
			}
		})
	}
}

// A ratio that overflows, of a decision that does not count or whose advantage is clipped, leaves
// loss and gradients finite. With scales of 0.001 each of 16 actions adds 6 to the log-probability.
func TestRatiosThatOverflow(t *testing.T) {
	const n, steps, observations, actions = 2, 2, 1, 16
	config := *Default(envs.Spec{Length: 1})
	config.PolicyHidden, config.ValueHidden, config.UnrollLength = nil, []int{4}, steps
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			a := newAgent(config, observations, actions, false)
			// the scales are softplus(-30) + 0.001
			bias := Concatenate([]*Node{ZerosLike(in[2]), AddScalar(in[2], -30)}, 0)
			row := Reshape(Concatenate([]*Node{bias, ZerosLike(bias)}, 0), 1, -1)
			value := a.value.Init(random.NewKey(in[0].Graph(), 1).Split(1))
			zero := ZerosLike(in[1])
			d := data{Obs: in[0], Decision: Zeros(in[0].Graph(), shapes.Make(dtypes.Float32, n, steps, actions)),
				LogProb: zero, Reward: in[1], Done: OnesLike(zero), Truncation: in[3]}
			l := a.loss(nets{a.policy.Network(row, 0), a.value.Network(value, 0)}, d)
			return []*Node{Stack([]*Node{l.Total, l.Policy, l.Value}, 0), Gradient(l.Total, in[2])[0]}
		}, xlatest.Tensor(make([]float32, n*(steps+1)), n, steps+1, observations),
			xlatest.Tensor([]float32{0, 5, 5, 0}, n, steps), xlatest.Tensor(make([]float32, actions), actions),
			xlatest.Tensor([]float32{1, 0, 0, 1}, n, steps))
		for i := range out {
			for k, x := range xlatest.Flat[float32](t, out[i]) {
				if x-x != 0 {
					t.Errorf("result %d: number %d is %v", i, k, x)
				}
			}
		}
	})
}

// The frequencies of choices equal their probabilities within five standard errors, and impossible choices never occur.
func TestSample(t *testing.T) {
	const draws = 20000
	probabilities := []float64{0.5, 0.3, 0.15, 0.05, 0}
	logits := make([]float32, len(probabilities))
	for i, p := range probabilities {
		logits[i] = float32(math.Log(max(p, 1e-30)) + 3)
	}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g := in[0].Graph()
			keys := random.KeyOf(in[0]).FoldInEach(Iota(g, shapes.Make(dtypes.Int32, draws), 0))
			c := newCategorical(BroadcastToDims(InsertAxes(in[1], 0), draws, len(logits)))
			return []*Node{c.sample(keys)}
		}, xlatest.Tensor(random.SeedWords(7), 2), xlatest.Tensor(logits, len(logits)))
		counts := make([]float64, len(probabilities))
		for _, choice := range xlatest.Flat[int32](t, out[0]) {
			counts[choice]++
		}
		for i, want := range probabilities {
			if off := math.Abs(counts[i]/draws - want); off > 5*math.Sqrt(want*(1-want)/draws) {
				t.Errorf("choice %d has a share of %v, want %v", i, counts[i]/draws, want)
			}
		}
	})
}

// pulls is a task whose reward is the action times the sign that it observes. The descriptor is the action.
type pulls struct{}

func (pulls) Spec() envs.Spec {
	return envs.Spec{Name: "pulls", Observations: 1, Actions: 1, Length: 6,
		Descriptor: envs.Descriptor{Kind: envs.Outcome, Lower: []float32{-1}, Upper: []float32{1},
			Components: []string{"action"}}}
}

func (e pulls) Reset(keys random.Key) envs.State {
	u := keys.Uniform(-1, 1, keys.Hi.Shape().Size(), 1)
	return e.state(MulScalar(Sign(u), 3), ZerosLike(u))
}

func (pulls) state(sign, action *Node) envs.State {
	reward := Reshape(Mul(Sign(sign), action), -1)
	return envs.State{PhysicsState: []*Node{Transpose(sign, 0, 1)}, Observation: sign, Reward: reward,
		Done: ZerosLike(reward), Descriptor: action}
}

func (e pulls) Step(s envs.State, action *Node) envs.State { return e.state(s.Observation, action) }

// The genotype of an actor acts as the actor does in training, where normalised observations are clipped:
// of one that is 1 in three of a thousand steps, and of a pressure in Pa.
func TestGenotypesNormaliseAsInTraining(t *testing.T) {
	config := *Default(envs.Spec{Length: 1})
	config.NormalizeObservations, config.PolicyHidden = true, nil
	a, mlp := newAgent(config, 2, 1, false), scoring.NewTask(pulls{}, nil, 1).MLP()
	mlp.Sizes, mlp.Normalises = []int{2, 1}, true
	const n = 1000
	seen := make([]float32, 2*n) // of which 3 have the first component 1
	for i := range n {
		seen[2*i+1] = 101325 + float32(i%2)
	}
	seen[0], seen[200], seen[400] = 1, 1, 1
	for k, c := range []struct{ weights, observation, want []float32 }{
		{[]float32{0.06, 0}, []float32{1, 101325.5, 0, 101325.5}, []float32{0.3, -0.06 * 0.0547}},
		{[]float32{0, 0.2}, []float32{0, 101325, 0, 101326}, []float32{-0.2, 0.2}},
	} {
		xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				l := a.learner(in[0], a.value.Init(random.NewKey(in[0].Graph(), 1).Split(1)))
				statistics := l.Statistics.Update(in[1])
				l.Statistics = &statistics
				trained := a.decide(actorOf(l), in[2]).(gaussian).Mode()
				net := mlp.View(BroadcastToDims(a.genotype(actorOf(l), mlp), 2, mlp.Params()))
				return []*Node{trained, net.Apply(in[2])}
			}, xlatest.Tensor([]float32{0, 0, c.weights[0], 0, c.weights[1], 0}, 1, 6), xlatest.Tensor(seen, n, 2),
				xlatest.Tensor(c.observation, 2, 2))
			trained, archived := xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1])
			errtest.Equal(t, fmt.Sprintf("case %d: actions", k), trained, archived)
			for i, want := range c.want {
				if math.Abs(float64(archived[i])-math.Tanh(float64(want))) > 1e-3 {
					t.Errorf("case %d: action %v, want the tanh of %g", k, archived[i], want)
				}
			}
		})
	}
}

// Actions begin with means near 0 and the initial scale, whatever is observed.
func TestInitialScale(t *testing.T) {
	config := *Default(envs.Spec{Length: 1})
	config.InitialScale = 0.25
	a := newAgent(config, 3, 2, false)
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			first := a.decide(actorOf(a.start(key)), key.FoldIn(1).Split(50).Normal(50, 3)).(gaussian)
			return []*Node{first.Mean, first.Scale}
		}, xlatest.Tensor(random.SeedWords(5), 2))
		scales := xlatest.Flat[float32](t, out[1])
		for i, mean := range xlatest.Flat[float32](t, out[0]) {
			if math.Abs(float64(mean)) > 0.05 || math.Abs(float64(scales[i])-0.25) > 0.02 {
				t.Errorf("action %d has the mean %g and the scale %g, want 0 and 0.25", i, mean, scales[i])
			}
		}
	})
}

// PPO learns continuous actions, and the repertoire holds the policies that were evaluated, also with
// normalised observations, and from rewards that are small compared with the entropy if advantages are normalised.
func TestLearnsActions(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		c := Default(pulls{}.Spec())
		c.CVT = repertoire.CVT{Cells: 4, CVTSamples: 100}
		if p.Kind == backend.Go {
			c.NormalizeObservations, c.NormalizeAdvantages, c.RewardScaling, c.InitialScale = true, true, 1e-5, 0.5
		}
		c.LearningRate, c.UnrollLength, c.BatchSize, c.NumMinibatches = 1e-2, 6, 16, 2
		c.NumEnvs, c.EvaluationEnvs, c.PolicyHidden, c.ValueHidden = 32, 4, []int{8}, []int{8}
		search := must.Get(c.New(p, pulls{}, 1))
		defer search.Close()
		var o scoring.Outcome
		for range 20 {
			o = must.Get(search.Step())
		}
		if o.Extra[0] < 5.5 || o.EnvSteps != 19*32*6 {
			t.Errorf("mean return %v of at most 6 after %d steps", o.Extra[0], o.EnvSteps)
		}
		arrays := must.Get(search.Repertoire(true))
		fitnesses := must.Get(arrays["fitnesses"].Float32s())
		cell := slices.Index(fitnesses, slices.Max(fitnesses))
		task := search.Task()
		n := task.Policy.Params()
		row := must.Get(arrays["genotypes"].Float32s())[cell*n : (cell+1)*n]
		e := must.Get(task.Evaluator(p, scoring.Plan{Policies: 1, States: 8}))
		defer e.Free()
		rows := must.Get(xla.Uploads(npz.Of(row, 1, n), p.Copies()))
		defer rows.Free()
		found := must.Get(e.Evaluate(rows, 1, nil))
		if best := slices.Max(found.Fitnesses); math.Abs(float64(best-fitnesses[cell])) > 1e-3 {
			t.Errorf("the policy in cell %d returns %v, not %v", cell, best, fitnesses[cell])
		}
	})
}

// An improver that maximises a final position gets its change in each step, whose mean is the position, and not
// the position itself; nothing in the step that ends an episode, after which the next one has begun.
func TestWalkersMeasureChangesOfPositions(t *testing.T) {
	const n, length = 4, 5
	config := *Default(envs.Spec{Length: length})
	config.NumEnvs, config.UnrollLength, config.BatchSize, config.NumMinibatches = n, 8, n, 1
	a := newAgent(config, 2, 2, false)
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			c := &collecting{agent: a, env: envs.AutoReset(envs.Pointmaze{}, length), describes: true,
				shared: xla.Slices{N: n, Size: n, Workers: 1}}
			worker := Const(in[0].Graph(), int32(0))
			l := a.start(key.FoldIn(1))
			_, d := c.collect(actorOf(l), nil, c.start(key, worker), key.FoldIn(2), worker)
			return []*Node{d.Obs, d.Done, d.Descriptor}
		}, xlatest.Tensor([]uint32{1, 2}, 2))
		positions, done, measured := xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1]),
			xlatest.Flat[float32](t, out[2])
		moved := 0.0
		for i := range n {
			for step := range 8 {
				for k := range 2 {
					at := func(step int) float64 { return float64(positions[(i*9+step)*2+k]) }
					want := length * (at(step+1) - at(step))
					if done[i*8+step] > 0 {
						want = 0
					}
					got := float64(measured[(i*8+step)*2+k])
					if moved = max(moved, math.Abs(got)); math.Abs(got-want) > 1e-5 {
						t.Errorf("environment %d, step %d: %g, want %g", i, step, got, want)
					}
				}
			}
		}
		if moved == 0 {
			t.Error("nothing moves")
		}
	})
}

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
		RewardScaling: 4 * f.Number("const.reward_scaling"), // of quarters of the rewards, see given
		UnrollLength:  steps, BatchSize: sequences / minibatches, NumMinibatches: minibatches,
		UpdateEpochs: 1,
		PolicyHidden: f.Hidden("policy.hidden_%d.bias"), ValueHidden: f.Hidden("value.hidden_%d.bias"),
		CVT: repertoire.DefaultCVT(),
	}
	must.Do(config.Check())
	return published{f, newAgent(config, f.Shape("data.obs")[2], f.Shape("data.logits")[2], true), steps, sequences}
}

func (f published) row(name string) *tensors.Tensor {
	data := f.Float32s(name)
	return xlatest.Tensor(data, 1, len(data))
}

// inputs returns the inputs of given: networks, then decisions.
func (f published) inputs() []*tensors.Tensor {
	in := []*tensors.Tensor{f.row("policy.flat"), f.row("value.flat")}
	for _, name := range []string{"data.obs", "data.logits", "data.rewards", "data.dones", "data.truncation"} {
		in = append(in, xlatest.Stored(f.File, name))
	}
	return append(in, xlatest.Tensor(f.Int32s("data.actions"), f.Shape("data.actions")...))
}

// given returns the networks and the sequences. The reward of a decision is in the next row; it is a quarter of the
// published one, which is scaled by 1.
func (f published) given(in []*Node) (nets, data) {
	turned := func(x *Node) *Node { return Transpose(x, 0, 1) }
	after := func(x *Node) *Node { return turned(Slice(x, AxisRange(1))) }
	d := data{
		Obs: turned(in[2]), Decision: turned(in[7]), Reward: MulScalar(after(in[4]), 0.25), Done: after(in[5]),
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
