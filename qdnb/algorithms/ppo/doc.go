// Package ppo is proximal policy optimisation (Schulman et al., 2017) for discrete choices: a
// policy with a categorical distribution, a value function, generalised advantage estimation, and
// one Adam for both networks, as in Brax v0.0.12 (training/ppo.py).
//
// [PPO] is the algorithm for given network architectures. Its state is a [Learner], made of flat
// rows like all networks here. It learns from [Data], sequences of decisions from any source:
// package hierarchy collects them with skills. docs/algorithms/ppo.md has the equations
// ([PPO.Loss], [Config.Advantages]) and the settings ([Config]).
package ppo
