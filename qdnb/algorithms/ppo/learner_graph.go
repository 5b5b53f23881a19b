package ppo

import (
	"math"

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

// distribution returns the distribution that the outputs of the policy describe.
func (a agent) distribution(outputs *Node) distribution {
	if a.discrete {
		return newCategorical(outputs)
	}
	return gaussian{nn.NewTanhGaussian(outputs)}
}

// nets holds the two networks: a pytree.
type nets struct{ Policy, Value nn.Network }

// learner is the state of the algorithm: a pytree.
type learner struct {
	Nets       nn.Trainable[nets] // one Adam for both
	Statistics *nn.Statistics     // of observations; nil without normalisation
}

// start returns a learner before its first update.
func (a agent) start(key random.Key) learner {
	g := key.Hi.Graph()
	policy := a.begin(a.policy.Init(key.FoldInEach(Const(g, []int32{0}))))
	return a.learner(policy, a.value.Init(key.FoldInEach(Const(g, []int32{1}))))
}

// begin gives actions of a random policy [1, N] the scale initial_scale and means near 0.
func (a agent) begin(policy *Node) *Node {
	if a.InitialScale == 0 || a.discrete {
		return policy
	}
	net := a.policy.View(policy)
	last := len(net.Kernel) - 1
	net.Kernel[last] = MulScalar(net.Kernel[last], 0.01)
	biases := Split(net.Bias[last], 1, 2) // of means and scales
	net.Bias[last] = Concatenate([]*Node{biases[0], AddScalar(biases[1], math.Log(math.Expm1(a.InitialScale)))}, 1)
	return net.Join()
}

// learner returns a learner before its first update with networks given as rows [1, N], see
// [nn.MLP.Layout].
func (a agent) learner(policy, value *Node) learner {
	l := learner{Nets: nn.NewTrainable(nets{a.policy.Network(policy, 0), a.value.Network(value, 0)}, a.LearningRate)}
	if a.AdamEpsilon > 0 {
		l.Nets.Adam.Epsilon = a.AdamEpsilon
	}
	if a.NormalizeObservations {
		statistics := nn.NewStatistics(policy.Graph(), a.policy.Sizes[0])
		l.Statistics = &statistics
	}
	return l
}

// normalised returns observations [..., observations] normalised for the networks; unchanged if
// statistics are nil.
func normalised(s *nn.Statistics, obs *Node) *Node {
	if s == nil {
		return obs
	}
	dims := obs.Shape().Dimensions
	return Reshape(s.Normalise(Reshape(obs, -1, dims[len(dims)-1]), nn.NormalisedLimit), dims...)
}

// modes returns policies [m, N] that act with the modes of their distributions, in an architecture with as many
// outputs as actions.
func (a agent) modes(policies *Node, mlp nn.MLP) nn.Net {
	net := a.policy.View(policies)
	last, outputs := len(net.Kernel)-1, mlp.Sizes[len(mlp.Sizes)-1]
	net.Kernel[last] = Slice(net.Kernel[last], AxisRange(), AxisRange(), AxisRange(0, outputs))
	net.Bias[last] = Slice(net.Bias[last], AxisRange(), AxisRange(0, outputs))
	net.MLP = mlp
	return net
}

// genotype returns the modes of an actor as a row of search.Task's architecture.
func (a agent) genotype(from actor, mlp nn.MLP) *Node {
	net := a.modes(from.Policy.Join(), mlp)
	if s := from.Statistics; s != nil {
		net.Mean, net.Deviation = InsertAxes(s.Mean, 0), InsertAxes(s.Deviation(), 0)
	}
	return net.Join()
}
