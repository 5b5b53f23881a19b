package ppo

import (
	"cmp"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Improver improves policies within a program, for searches that walk (PPGA): PPO on weighted sums of the
// reward and the descriptor's components of each step. It runs on one worker. A policy is a row [1, N]
// with the scales of its actions, and so is a value function.
type Improver struct {
	agent agent
	env   envs.Episodes
	slice int    // environments stepped together
	mlp   nn.MLP // of genotypes
}

// Improver returns an improver in a task. Of the hyperparameters it does not use those of evaluations.
func (p PPO) Improver(task scoring.Task, g *Graph) Improver {
	spec := task.Env.Spec()
	if _, discrete := task.Env.(envs.Discrete); discrete {
		panic(fmt.Errorf("it does not learn discrete actions, which %s has", spec.Name))
	}
	slice := p.NumEnvs
	if xla.KindOf(g) == backend.CPU {
		slice = min(slice, sliceOnCPU)
	}
	return Improver{newAgent(p, spec.Observations, spec.Actions, false),
		envs.AutoReset(task.Env, task.Length), cmp.Or(p.Slice, slice),
		task.MLP()}
}

// Policies draws m policies, [m, N].
func (w Improver) Policies(key random.Key, m int) *Node { return w.agent.policy.Init(key.Split(m)) }

// Values draws m value functions, [m, N].
func (w Improver) Values(key random.Key, m int) *Node { return w.agent.value.Init(key.Split(m)) }

// Improve walks from a policy and its value function: iterations of PPO on the weighted sum of reward and
// descriptor, weights [1 + components]. Adam and the environments are reset. It returns both networks and
// their losses, means over the updates; a NaN one means that its network is NaN.
func (w Improver) Improve(policy, value, weights *Node, iterations int, key random.Key) (_, _, policyLoss,
	valueLoss *Node) {
	type state struct {
		Learner         learner
		Envs            envs.State
		Weights, Worker *Node
		Key             random.Key
		Sums            losses
	}
	g, c := key.Hi.Graph(), &collecting{agent: w.agent, env: w.env, describes: true,
		shared: xla.Slices{N: w.agent.NumEnvs, Size: w.slice, Workers: 1}}
	l := w.agent.learner(policy, value)
	worker := Const(g, int32(0))
	end := xla.ForUnfused(g, iterations, state{l, c.start(key, worker), weights, worker, key, noLosses(g)},
		func(i *Node, s state) state {
			var d data
			key := s.Key.FoldInEach(i)
			s.Envs, d = c.collect(actorOf(s.Learner), nil, s.Envs, key.FoldIn(streamCollect), s.Worker)
			d, _ = d.weighted(s.Weights).finite()
			var now losses
			s.Learner, now = w.agent.train(s.Learner, d, key.FoldIn(streamUpdates))
			s.Sums = xla.Map2(s.Sums, now, Add)
			return s
		})
	mean := func(sum *Node) *Node { return DivScalar(sum, float64(iterations)) }
	after := end.Learner.Nets.Params
	return after.Policy.Join(), after.Value.Join(), mean(end.Sums.Policy), mean(end.Sums.Value)
}

// Genotypes returns policies [m, N] as rows of the task's policy: without the scales of actions.
func (w Improver) Genotypes(policies *Node) *Node { return w.agent.modes(policies, w.mlp).Join() }

// WithScales is the inverse of Genotypes: it returns a genotype [1, N] with the scales of a policy.
func (w Improver) WithScales(genotype, policy *Node) *Node {
	net, of := w.mlp.View(genotype), w.agent.policy.View(policy)
	last, outputs := len(net.Kernel)-1, w.mlp.Sizes[len(w.mlp.Sizes)-1]
	net.Kernel[last] = Concatenate([]*Node{net.Kernel[last],
		Slice(of.Kernel[last], AxisRange(), AxisRange(), AxisRange(outputs))}, 2)
	net.Bias[last] = Concatenate([]*Node{net.Bias[last], Slice(of.Bias[last], AxisRange(), AxisRange(outputs))}, 1)
	net.MLP = w.agent.policy
	return net.Join()
}
