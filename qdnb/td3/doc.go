// Package td3 is the reinforcement learning in PGA-MAP-Elites: twin critics and a greedy actor that learn from a replay buffer, and
// the policy-gradient variation, which moves policies up a critic's slope.
//
//	Fujimoto, van Hoof and Meger 2018, "Addressing function approximation error in actor-critic methods" (TD3);
//	Nilsson and Cully 2021, "Policy gradient assisted MAP-Elites".
//
// A [Learner] is a tree of flat rows; [TD3.Train] and [TD3.Vary] each are one loop in one program. Loops carry networks cut into
// their arrays, so that a product reads its kernel where it lies.
package td3
