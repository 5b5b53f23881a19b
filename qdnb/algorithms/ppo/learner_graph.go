package ppo

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// agent is the algorithm for given network architectures. Its methods build graphs.
type agent struct {
	PPO
	policy   nn.MLP // observation to the parameters of the distribution
	value    nn.MLP // observation to one value
	discrete bool
}

// newAgent returns the algorithm for a number of observations and of choices, or of actions unless
// they are discrete.
func newAgent(config PPO, observations, actions int, discrete bool) agent {
	if !discrete {
		actions *= 2 // means and scales
	}
	return agent{config, nn.NewMLP(observations, config.PolicyHidden, actions),
		nn.NewMLP(observations, config.ValueHidden, 1), discrete}
}

// distribution returns that of the outputs of the policy.
func (a agent) distribution(outputs *Node) distribution {
	if a.discrete {
		return newCategorical(outputs)
	}
	return gaussian{nn.NewTanhGaussian(outputs)}
}

// nets holds the two networks in any representation T: a pytree.
type nets[T any] struct{ Policy, Value T }

// learner is the state of the algorithm: a pytree. Rows are [1, N] each, see [nn.MLP.Layout].
type learner struct {
	Nets       nets[*Node]
	Moments    nn.MomentsOf[nets[*Node]] // one Adam for both
	Statistics *nn.Statistics            // of observations; nil without normalisation
}

// start returns a learner before its first update.
func (a agent) start(key random.Key) learner {
	g := key.Hi.Graph()
	policy := a.policy.Init(key.FoldInEach(Const(g, []int32{0})))
	value := a.value.Init(key.FoldInEach(Const(g, []int32{1})))
	// the weights of its moments do not depend on the parameters
	moments := nn.NewAdam(a.LearningRate).Start(policy)
	none := nets[*Node]{ZerosLike(policy), ZerosLike(value)}
	l := learner{Nets: nets[*Node]{policy, value},
		Moments: nn.MapMoments(moments, func(*Node) nets[*Node] { return none })}
	if a.NormalizeObservations {
		statistics := nn.NewStatistics(g, a.policy.Sizes[0])
		l.Statistics = &statistics
	}
	return l
}

// learning is a learner with its networks cut into arrays, for many updates: a pytree.
type learning struct {
	Nets    nets[nn.Network]
	Moments nn.MomentsOf[nets[nn.Network]]
}

// cut cuts the networks of a learner into arrays for updates.
func (a agent) cut(l learner) learning {
	cut := func(n nets[*Node]) nets[nn.Network] {
		return nets[nn.Network]{a.policy.Network(n.Policy, 0), a.value.Network(n.Value, 0)}
	}
	return learning{cut(l.Nets), nn.MapMoments(l.Moments, cut)}
}

// join is the inverse of agent.cut: it joins the networks back into rows.
func (l learner) join(after learning) learner {
	join := func(n nets[nn.Network]) nets[*Node] {
		row := func(net nn.Network) *Node { return nn.JoinNetworks([]nn.Network{net}) }
		return nets[*Node]{row(n.Policy), row(n.Value)}
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
