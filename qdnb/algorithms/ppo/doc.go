// Package ppo is proximal policy optimisation (Schulman et al., 2017) for a choice among a few: a
// policy that is a categorical distribution, a value function, generalised advantage estimates, and
// one Adam for both networks, as Brax v0.0.12 has it (training/ppo.py).
//
// [PPO] is the algorithm for networks of given forms; what it knows is a [Learner], flat rows like
// all networks here. What it learns from is [Data], sequences of decisions that anything may have
// collected: package hierarchy does so with skills. docs/algorithms/ppo.md has the equations
// ([PPO.Loss], [Config.Advantages]) and the settings ([Config]).
package ppo
