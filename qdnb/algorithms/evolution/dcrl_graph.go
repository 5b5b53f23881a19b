package evolution

import (
	"cmp"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
)

// DescriptorConditionedSettings are the hyperparameters of [DescriptorConditioned].
type DescriptorConditionedSettings struct {
	PolicyGradientSettings
	// InjectionShare is the share of offspring that are specialised actors; its publication: 0.25.
	InjectionShare float64 `json:"injection_share"`
	// Lengthscale divides the distance of normalised descriptors in the similarity; its publication:
	// 0.1.
	Lengthscale float64 `json:"lengthscale"`
}

func (s DescriptorConditionedSettings) check(batch, length int) error {
	if !(s.InjectionShare >= 0 && s.InjectionShare+s.IsolineShare <= 1) {
		return errors.Errorf("injection_share must be at least 0 and at most 1 - isoline_share, not %g",
			s.InjectionShare)
	}
	return cmp.Or(s.PolicyGradientSettings.check(batch, length),
		limits.Positive("lengthscale", s.Lengthscale, 1e6))
}

// DescriptorConditioned is the learner of DCRL-MAP-Elites (Faldor, Chalumeau, Flageat and Cully
// 2024): critics and an actor that TD3 trains to reach a target descriptor d' with
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
	InjectionShare, Lengthscale float64
}

// conditioned returns TD3 of the actor that reads observation and target descriptor.
func (l DescriptorConditioned) conditioned(task scoring.Task) td3.TD3 {
	actor := task.Policy
	actor.Sizes = slices.Clone(actor.Sizes)
	actor.Sizes[0] += l.Columns(task)[0]
	learner := td3.New(l.Config, actor)
	learner.Read = func(rows *Node) replay.Batch { return l.read(task, rows) }
	return learner
}

// unconditioned returns TD3 of the policies, which read only the observation, with the same
// critics.
func (l DescriptorConditioned) unconditioned(task scoring.Task) td3.TD3 {
	learner := l.td3(task.Policy)
	learner.Critic = l.conditioned(task).Critic
	learner.Read = rowLayout(l, task).Split
	return learner
}

// read splits rows of the buffer [n, width]. Observations are followed by the target descriptor,
// and rewards are scaled by the similarity.
func (l DescriptorConditioned) read(task scoring.Task, rows *Node) replay.Batch {
	b := rowLayout(l, task).Split(rows)
	reached, target := b.More[0], b.More[1]
	b.More = nil
	b.Obs, b.NextObs = Concatenate([]*Node{b.Obs, target}, 1),
		Concatenate([]*Node{b.NextObs, target}, 1)
	positive := MaxScalar(AddScalar(b.Reward, task.Env.Spec().Offset), 0)
	b.Reward = Mul(l.similarity(reached, target), positive)
	return b
}

// similarity is exp(-distance / lengthscale) of normalised descriptors [n, d], [n].
func (l DescriptorConditioned) similarity(a, b *Node) *Node {
	distance := Sqrt(ReduceSum(Square(Sub(a, b)), 1))
	return Exp(DivScalar(Neg(distance), l.Lengthscale))
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

// Start implements [Learner]. Unlike that of PGA-MAP-Elites, the actor is a network of its own.
func (l DescriptorConditioned) Start(task scoring.Task, first *Node, key xla.Key) []*Node {
	learner := l.conditioned(task)
	one := Const(first.Graph(), []int32{0})
	return l.leaves(learner.Start(learner.Actor.Init(key.FoldIn(0).FoldInEach(one)), key.FoldIn(1)))
}

// Columns implements [Observer]: the normalised descriptor of the episode, and its target.
func (DescriptorConditioned) Columns(task scoring.Task) []int {
	d := len(task.Env.Spec().Descriptor.Lower)
	return []int{d, d}
}

// Observe implements [Observer].
func (l DescriptorConditioned) Observe(task scoring.Task, known []*Node, seen Evaluation,
	key xla.Key) (after, more []*Node) {
	p, d, g := seen.Fitness.Shape().Dimensions[0], l.Columns(task)[0], seen.Fitness.Graph()
	reached := normalised(task.Env.Spec().Descriptor, seen.Descriptors)
	target := reached
	if n := l.Proposals(p); n > 0 {
		before := repertoire.Cells{Fitness: seen.Before[0], Descriptors: seen.Before[1]}
		parents := NewParents(nil, before)
		_, meant := l.parents(task, parents, Iota(g, shapes.Make(dtypes.Int32, n), 0), key)
		later := GreaterThan(seen.Number, ZerosLike(seen.Number))
		target = Where(BroadcastToDims(later, n, d), meant, Slice(reached, AxisRange(0, n)))
		if n < p {
			target = Concatenate([]*Node{target, Slice(reached, AxisRange(n))}, 0)
		}
	}
	steps := func(x *Node) *Node {
		return Reshape(BroadcastToDims(InsertAxes(x, 1), p, task.Length, d), p*task.Length, d)
	}
	return known, []*Node{steps(reached), steps(target)}
}

// parents draws the parents of proposals: their cells, int32 [k], and normalised descriptors
// [k, d].
func (DescriptorConditioned) parents(task scoring.Task, parents Parents, which *Node,
	key xla.Key) (cells, descriptors *Node) {
	cells = parents.Sampler.Draw(key.FoldIn(0).FoldInEach(which))
	return cells, normalised(task.Env.Spec().Descriptor,
		Gather(parents.Cells.Descriptors, InsertAxes(cells, -1)))
}

// Learn implements [Learner].
func (l DescriptorConditioned) Learn(task scoring.Task, known []*Node, buffer replay.Buffer,
	key xla.Key) (after, losses []*Node) {
	learner, loss := l.conditioned(task).Train(l.learner(known), buffer, key,
		l.NumCriticTrainingSteps)
	return l.leaves(learner), []*Node{loss.Critic, loss.Actor}
}

// Prepare implements [Learner]: the observations for the gradient steps, the critics and the actor.
func (l DescriptorConditioned) Prepare(task scoring.Task, known []*Node, buffer replay.Buffer,
	key xla.Key) []*Node {
	learner := l.learner(known)
	return []*Node{l.unconditioned(task).DrawObservations(buffer, key.FoldIn(1), l.NumPGTrainingSteps),
		learner.Critic, learner.Actor}
}

// Propose implements [Learner].
func (l DescriptorConditioned) Propose(task scoring.Task, prepared []*Node, parents Parents,
	which *Node, batch int, key xla.Key) *Node {
	if parents.Sampler.Within != nil {
		panic(errors.New("DescriptorConditioned needs an archive with one solution per cell"))
	}
	observations, critics, actor := prepared[0], prepared[1], prepared[2]
	k, n, injected := which.Shape().Dimensions[0], l.Proposals(batch), l.injected(batch)
	cells, targets := l.parents(task, parents, which, key)
	offspring := l.specialise(task, actor, targets)
	varied := k - k*injected/n // at most so many of k proposals in a row
	if varied == 0 {
		return offspring
	}
	varies := Gather(Const(which.Graph(), gradients(n, injected)), InsertAxes(which, -1))
	climbs := GreaterThan(varies, ZerosLike(varies))
	slots, _ := repertoire.Compact(climbs)
	slots = InsertAxes(Slice(slots, AxisRange(0, varied)), -1)
	children := l.unconditioned(task).VaryTowards(
		Gather(parents.Genotypes, InsertAxes(Gather(cells, slots), -1)), Gather(targets, slots), critics,
		observations, Reshape(Slice(which, AxisRange(0, 1))),
		td3.Together(xla.KindOf(which.Graph()), n-injected))
	rank := AddScalar(CumSum(varies, 0), int32(-1))
	return Where(BroadcastToDims(InsertAxes(climbs, -1), offspring.Shape().Dimensions...),
		Gather(children, InsertAxes(MaxScalar(rank, int32(0)), -1)), offspring)
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

// injected is the number of offspring that are specialised actors.
func (l DescriptorConditioned) injected(batch int) int {
	return min(int(l.InjectionShare*float64(batch)), l.Proposals(batch))
}

// specialise turns the actor [1, N'] into policies for target descriptors [k, d]: rows [k, N].
func (l DescriptorConditioned) specialise(task scoring.Task, actor, targets *Node) *Node {
	return l.conditioned(task).Actor.View(actor).WithLastInputs(targets).Join()
}

// DCRLMapElites are the hyperparameters of DCRL-MAP-Elites: MAP-Elites with half of the offspring
// from a descriptor-conditioned learner.
type DCRLMapElites struct {
	MapElites
	DescriptorConditionedSettings
}

// DefaultDCRLMapElites returns the hyperparameters of the published code's example.
func DefaultDCRLMapElites(env envs.Spec) *DCRLMapElites {
	d := &DCRLMapElites{*DefaultMapElites(env), DescriptorConditionedSettings{
		PolicyGradientSettings: DefaultPolicyGradient(), InjectionShare: 0.25, Lengthscale: 0.1}}
	d.Batch, d.Hidden = 256, []int{128, 128}
	d.TransitionsBatchSize, d.PolicyLearningRate = 100, 5e-3
	d.NumCriticTrainingSteps, d.NumPGTrainingSteps = 3000, 150
	return d
}

// Check implements [Hyperparameters].
func (d *DCRLMapElites) Check() error {
	return cmp.Or(d.MapElites.Check(),
		d.DescriptorConditionedSettings.check(d.Batch, d.EpisodeLength))
}

// Method implements [Hyperparameters]: MAP-Elites with a learner.
func (d *DCRLMapElites) Method(centroids npz.Array) Method {
	method := d.MapElites.Method(centroids)
	method.Learner = DescriptorConditioned{PolicyGradient{d.PolicyGradientSettings}, d.InjectionShare,
		d.Lengthscale}
	return method
}
