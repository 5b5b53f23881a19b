// Package td3 is the reinforcement learning in PGA-MAP-Elites: twin critics and a greedy actor that
// learn from a replay buffer, and the policy-gradient variation, which moves policies up a critic's
// slope.
//
//	Fujimoto, van Hoof and Meger 2018, "Addressing function approximation error in actor-critic methods" (TD3);
//	Nilsson and Cully 2021, "Policy gradient assisted MAP-Elites".
//
// A [Learner] is a tree of flat rows; [TD3.Train] and [TD3.Vary] each are one loop in one program.
// Loops carry networks cut into their arrays, so that a product reads its kernel where it lies.
// docs/algorithms/td3.md has the equations ([TD3.CriticLoss], [TD3.PolicyLoss]), the settings
// ([Config]), and the place of both in a generation.
//
// # As published
//
// As in QDax (losses/td3_loss.py, emitters/qpg_emitter.py): the critics' loss is a sum of two
// means, without a half; the actor is updated at every second step of the critics, the first
// included, under the critic as it was before that step; its target follows at these steps alone,
// those of the critics at all; parents that vary in a generation see the same batches, each with an
// Adam of its own that begins anew.
package td3
