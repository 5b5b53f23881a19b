// Package sac is soft actor-critic (Haarnoja et al., 2018): twin critics with target networks, an
// actor that samples its actions from a tanh-Gaussian, and an entropy coefficient that is fixed or
// learned.
//
// [SAC] is the algorithm for given network architectures. Its state is a [Learner], made of flat
// rows like all networks here. It learns from transitions in a replay.Batch with any reward:
// package skills replaces the task's reward with its own. docs/algorithms/sac.md has the equations
// ([SAC.CriticLoss], [SAC.ActorLoss]) and the settings ([Config]).
//
// # As published
//
// As in QDax (losses/sac_loss.py), the critics' loss is half the mean over batch and critics, and
// actor and critics learn from the networks before the update. The entropy coefficient is fixed at
// 0.1 unless [Config].FixAlpha is false.
package sac
