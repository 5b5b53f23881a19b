// Package ppo is proximal policy optimisation (Schulman et al., 2017) in any environment: a policy, a
// value function, generalised advantage estimation, and one Adam for both networks, as in Brax v0.0.12
// (training/ppo.py). A [PPO] trains as any [algorithms.Algorithm] does.
//
// The policy is a distribution over actions, see [nn.TanhGaussian], or over the choices of a [envs.Discrete]
// environment, such as the skills of [envs.Hierarchical]. Evaluations play the mode of the former, as a
// repertoire stores it, and sample the latter, as the paper does. The entropy of the former is that
// before the tanh; Brax estimates the one behind it. docs/algorithms/learners.md has the equations and the
// settings.
package ppo
