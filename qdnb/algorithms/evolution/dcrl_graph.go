package evolution

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// DescriptorConditioned is the emitter that makes DCRL-MAP-Elites of MAP-Elites (Faldor, Chalumeau,
// Flageat and Cully 2024): critics and an actor that TD3 trains to reach a target descriptor d' with
//
//	reward = exp(-|d - d'| / lengthscale) max(r + offset, 0)
//
// where d is the descriptor of the transition's episode, offset is the environment's QD offset per
// step, and descriptors are scaled so that their limits are -1 and 1. The target of a proposal is
// the descriptor of its parent; any other episode has reached its own target.
//
// Proposals are of two kinds: parents after some gradient steps on the critic's value for their own
// descriptor, and the actor specialised to a parent's descriptor, as a policy that does not read
// the descriptor. The kinds alternate, so that each worker gets the same work.
type DescriptorConditioned struct {
	PolicyGradient
	// InjectionShare is the share of the offspring that are injected actors; its publication: 0.25.
	InjectionShare float64 `json:"injection_share" limits:"0,1"`
	// Lengthscale is the distance of scaled descriptors at which the similarity is 1/e; its publication: 0.1.
	Lengthscale float64 `json:"lengthscale" limits:">0,1e6"`

	task scoring.Task
}

var _ Observer = DescriptorConditioned{}

// Check rejects values that cannot work, for so many of the episodes of a generation.
func (e DescriptorConditioned) Check(batch, count, length int) error {
	if int(e.InjectionShare*float64(batch)) > count {
		return fmt.Errorf("injection_share must be at most the emitter's share of the offspring, %d of %d, not %g",
			count, batch, e.InjectionShare)
	}
	return e.PolicyGradient.Check(batch, count, length)
}

// conditioned returns TD3 of the actor that reads observation and target descriptor.
func (e DescriptorConditioned) conditioned() td3.TD3 {
	actor := e.policy
	actor.Sizes = slices.Clone(actor.Sizes)
	actor.Sizes[0] += e.Columns(e.task)[0]
	learner := e.Config.For(actor)
	learner.Read = e.read
	return learner
}

// unconditioned returns TD3 of the policies, which read only the observation, with the same
// critics.
func (e DescriptorConditioned) unconditioned() td3.TD3 {
	learner := e.td3()
	learner.Critic = e.conditioned().Critic
	learner.Read = e.layout().Split
	return learner
}

func (e DescriptorConditioned) layout() replay.Layout {
	layout := layoutOf(e.task)
	layout.More = e.Columns(e.task)
	return layout
}

// read splits rows of the buffer [n, width]. Observations are followed by the target descriptor,
// and rewards are scaled by the similarity.
func (e DescriptorConditioned) read(rows *Node) replay.Transitions {
	b := e.layout().Split(rows)
	reached, target := b.More[0], b.More[1]
	b.More = nil
	b.Obs, b.NextObs = Concatenate([]*Node{b.Obs, target}, 1),
		Concatenate([]*Node{b.NextObs, target}, 1)
	positive := MaxScalar(AddScalar(b.Reward, e.task.Env.Spec().Offset), 0)
	distance := Sqrt(ReduceSum(Square(Sub(reached, target)), 1))
	b.Reward = Mul(Exp(DivScalar(Neg(distance), e.Lengthscale)), positive)
	return b
}

// normalised scales descriptors [n, d] so that their limits are -1 and 1.
func normalised(d envs.Descriptor, x *Node) *Node {
	row := func(of func(lower, upper float32) float32) *Node {
		values := make([]float32, len(d.Lower))
		for i := range values {
			values[i] = of(d.Lower[i], d.Upper[i])
		}
		return InsertAxes(Const(x.Graph(), values), 0)
	}
	middle := row(func(lower, upper float32) float32 { return (lower + upper) / 2 })
	radius := row(func(lower, upper float32) float32 { return (upper - lower) / 2 })
	return Div(Sub(x, middle), radius)
}

// Init implements [Emitter]. Unlike that of PGA-MAP-Elites, the actor is a network of its own.
func (e DescriptorConditioned) Init(start Start, key random.Key) Emitter {
	e.task, e.policy = start.Task, start.Task.MLP()
	learner := e.conditioned()
	one := Const(key.Hi.Graph(), []int32{0})
	e.Learner = learner.Start(learner.Actor.Init(key.FoldIn(0).FoldInEach(one)), key.FoldIn(1))
	return e
}

// Columns implements [Observer]: the normalised descriptor of the episode, and its target.
func (DescriptorConditioned) Columns(task scoring.Task) []int {
	d := len(task.Env.Spec().Descriptor.Lower)
	return []int{d, d}
}

// Observe implements [Observer].
func (e DescriptorConditioned) Observe(g Generation, key random.Key) []*Node {
	p, d := g.Found.Fitness.Shape().Dimensions[0], e.Columns(e.task)[0]
	reached := normalised(e.task.Env.Spec().Descriptor, g.Found.Descriptors)
	target := reached
	if g.Count > 0 {
		which := Iota(reached.Graph(), shapes.Make(dtypes.Int32, g.Count), 0)
		_, meant := e.parents(newParents(nil, g.Before), key.FoldInEach(which))
		own := g.Own(reached)
		later := GreaterThan(g.Number, ZerosLike(g.Number))
		meant = Where(BroadcastToDims(later, g.Count, d), meant, own)
		target = g.withOwn(reached, meant)
	}
	steps := func(x *Node) *Node {
		n := e.task.Length
		return Reshape(BroadcastToDims(InsertAxes(x, 1), p, n, d), p*n, d)
	}
	return []*Node{steps(reached), steps(target)}
}

// parents draws the parents of proposals: their cells, int32 [k], and normalised descriptors
// [k, d].
func (e DescriptorConditioned) parents(parents Parents, keys random.Key) (cells, descriptors *Node) {
	cells = parents.Sampler.Draw(keys)
	return cells, normalised(e.task.Env.Spec().Descriptor, Gather(parents.Cells.Descriptors, InsertAxes(cells, -1)))
}

// Update implements [Emitter].
func (e DescriptorConditioned) Update(g Generation, key random.Key) (after Emitter, losses []Metric) {
	e.PolicyGradient, losses = e.trained(e.conditioned(), g, key)
	return e, losses
}

// Prepare implements [Proposer]: the observations for the gradient steps, the critic and the actor.
func (e DescriptorConditioned) Prepare(buffer replay.Buffer, key random.Key) Emitter {
	e.PolicyGradient = e.prepared(e.unconditioned(), buffer, key)
	return e
}

// Offspring implements [Emitter].
func (e DescriptorConditioned) Offspring(parents Parents, which *Node, keys random.Key) *Node {
	if parents.Sampler.Within != nil {
		panic(errors.New("DescriptorConditioned needs an archive with one solution per cell"))
	}
	k, n := which.Shape().Dimensions[0], parents.Count
	injected := min(int(e.InjectionShare*float64(parents.Batch)), n)
	cells, targets := e.parents(parents, keys)
	offspring := e.specialise(e.Learner.Actor.Params, targets)
	varied := k - k*injected/n // at most so many of k proposals in a row
	if varied == 0 {
		return offspring
	}
	varies := Gather(Const(which.Graph(), gradients(n, injected)), InsertAxes(which, -1))
	climbs := GreaterThan(varies, ZerosLike(varies))
	slots, _ := xla.Nonzero(climbs)
	slots = InsertAxes(Slice(slots, AxisRange(0, varied)), -1)
	children := e.unconditioned().VaryTowards(
		Gather(parents.Genotypes, InsertAxes(Gather(cells, slots), -1)), Gather(targets, slots),
		e.Learner.Critic.Params[0], e.Observations, Reshape(Slice(which, AxisRange(0, 1))), n-injected)
	rank := AddScalar(CumSum(varies, 0), int32(-1))
	return Where(wide(climbs, offspring), Gather(children, InsertAxes(MaxScalar(rank, int32(0)), -1)), offspring)
}

// gradients returns 1 for each of n proposals that takes gradient steps, and 0 for the injected
// ones. Of k in a row, at least k * injected / n are injected.
func gradients(n, injected int) []int32 {
	kinds := make([]int32, n)
	for i := range kinds {
		if (i+1)*injected/n == i*injected/n {
			kinds[i] = 1
		}
	}
	return kinds
}

// specialise turns the actor into policies for target descriptors [k, d]: rows [k, N].
func (e DescriptorConditioned) specialise(actor nn.Network, targets *Node) *Node {
	return actor.MLP.View(actor.Join()).WithLastInputs(targets).Join()
}

var _ = preset("dcrl-map-elites", defaultDCRLMapElites)

// defaultDCRLMapElites returns DCRL-MAP-Elites with the hyperparameters of the published code's example:
// MAP-Elites with half of the offspring from a descriptor-conditioned emitter.
func defaultDCRLMapElites(env envs.Spec) *MapElites {
	m, config := DefaultMapElites(env), td3.Default()
	m.Batch, m.Hidden = 256, []int{128, 128}
	config.TransitionsBatchSize, config.PolicyLearningRate = 100, 5e-3
	config.NumCriticTrainingSteps, config.NumPGTrainingSteps = 3000, 150
	m.Mix = Mix{{DescriptorConditioned{PolicyGradient: PolicyGradient{Config: config}, InjectionShare: 0.25,
		Lengthscale: 0.1}, Rest}, {defaultIsoLine, 0.5}}
	return m
}
