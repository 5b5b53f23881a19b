package ppo

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// PPO is the algorithm for given network architectures. Its methods build graphs.
type PPO struct {
	Config
	Policy nn.MLP // observation to the logits of the choices
	Value  nn.MLP // observation to one value
}

// New returns the algorithm for the given numbers of observations and choices.
func New(config Config, observations, choices int) PPO {
	return PPO{config, nn.NewMLP(observations, config.PolicyHidden, choices),
		nn.NewMLP(observations, config.ValueHidden, 1)}
}

// Nets holds the two networks in any representation T: a pytree.
type Nets[T any] struct{ Policy, Value T }

// Learner is the state of the algorithm: a pytree. Rows are [1, N] each, see [nn.MLP.Layout].
type Learner struct {
	Nets       Nets[*Node]
	Moments    nn.MomentsOf[Nets[*Node]] // one Adam for both
	Statistics *nn.Statistics            // of observations; nil without normalisation
}

// Start returns a learner before its first update.
func (p PPO) Start(key random.Key) Learner {
	g := key.Hi.Graph()
	policy := p.Policy.Init(key.FoldInEach(Const(g, []int32{0})))
	value := p.Value.Init(key.FoldInEach(Const(g, []int32{1})))
	// the weights of its moments do not depend on the parameters
	moments := nn.NewAdam(p.LearningRate).Start(policy)
	none := Nets[*Node]{ZerosLike(policy), ZerosLike(value)}
	l := Learner{Nets: Nets[*Node]{policy, value},
		Moments: nn.MapMoments(moments, func(*Node) Nets[*Node] { return none })}
	if p.NormalizeObservations {
		statistics := nn.NewStatistics(g, p.Policy.Sizes[0])
		l.Statistics = &statistics
	}
	return l
}

// Learning is a learner with its networks cut into arrays, for many updates: a pytree.
type Learning struct {
	Nets    Nets[nn.Network]
	Moments nn.MomentsOf[Nets[nn.Network]]
}

// Cut cuts the networks of a learner into arrays for updates.
func (p PPO) Cut(l Learner) Learning {
	cut := func(n Nets[*Node]) Nets[nn.Network] {
		return Nets[nn.Network]{p.Policy.Network(n.Policy, 0), p.Value.Network(n.Value, 0)}
	}
	return Learning{cut(l.Nets), nn.MapMoments(l.Moments, cut)}
}

// Join is the inverse of [PPO.Cut]: it joins the networks back into rows.
func (l Learner) Join(after Learning) Learner {
	join := func(n Nets[nn.Network]) Nets[*Node] {
		row := func(net nn.Network) *Node { return nn.JoinNetworks([]nn.Network{net}) }
		return Nets[*Node]{row(n.Policy), row(n.Value)}
	}
	l.Nets, l.Moments = join(after.Nets), nn.MapMoments(after.Moments, join)
	return l
}

// clip bounds the absolute value of a normalised observation, as in Brax.
const clip = 5

// normalised returns observations [..., observations] normalised for the networks; unchanged if
// statistics are nil.
func normalised(s *nn.Statistics, obs *Node) *Node {
	if s == nil {
		return obs
	}
	dims := obs.Shape().Dimensions
	return Reshape(s.Normalise(Reshape(obs, -1, dims[len(dims)-1]), clip), dims...)
}

// Acting is the part of a learner that choosing needs: a pytree.
type Acting struct {
	Policy     nn.Network
	Statistics *nn.Statistics
}

// Acting cuts the policy out of its row.
func (p PPO) Acting(policy *Node, statistics *nn.Statistics) Acting {
	return Acting{p.Policy.Network(policy, 0), statistics}
}

// Choices returns the distribution over choices at observations [B, observations].
func (a Acting) Choices(obs *Node) Categorical {
	return NewCategorical(a.Policy.Apply(normalised(a.Statistics, obs)))
}
