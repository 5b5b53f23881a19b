// Package sac is soft actor-critic (Haarnoja et al., 2018): twin critics with target networks, an
// actor that draws its actions from a tanh-Gaussian, and an entropy coefficient that is fixed or
// learnt.
//
// [SAC] is the algorithm for networks of given forms; what it knows is a [Learner], flat rows like
// all networks here. The transitions that it learns from are a replay.Batch, whose reward may be
// any: package skills puts its own in the task's place. docs/algorithms/sac.md has the equations
// ([SAC.CriticLoss], [SAC.ActorLoss]) and the settings ([Config]).
//
// # As published
//
// As in QDax (losses/sac_loss.py): the critics' loss is half of the mean over batch and critics;
// actor and critics learn from the networks as they were before the update; the entropy coefficient
// is fixed at 0.1 unless [Config].FixAlpha is false.
package sac
