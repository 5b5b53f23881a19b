// Package sac is soft actor-critic (Haarnoja et al., 2018): twin critics with target networks, an
// actor that samples its actions from a tanh-Gaussian, and an entropy coefficient that is fixed or
// learned.
//
// [SAC] is the algorithm for given network architectures. Its state is a [TrainingState]: a
// pytree. It learns from [replay.Transitions] with any reward: package skills replaces the
// task's reward with its own. docs/algorithms/learners.md has the equations
// and the settings ([Config]).
package sac
