// Package sac is soft actor-critic (Haarnoja et al., 2018): twin critics with target networks, an actor that draws its actions from a
// tanh-Gaussian, and an entropy coefficient that is fixed or learnt.
//
// [SAC] is the algorithm for networks of given forms; what it knows is a [Learner], flat rows like all networks here. The transitions
// that it learns from are a replay.Batch, whose reward may be any: package skills puts its own in the task's place.
package sac
