// Package td3 is the reinforcement learning part of PGA-MAP-Elites: twin critics and a greedy actor
// that learn from a replay buffer, and the policy-gradient variation, which moves policies along a
// critic's gradient.
//
//	Fujimoto, van Hoof and Meger 2018, "Addressing function approximation error in actor-critic
//		methods" (TD3);
//	Nilsson and Cully 2021, "Policy gradient assisted MAP-Elites".
//
// [TD3.Train] and [TD3.Vary] are each one loop in one program. Loops carry networks cut into their
// arrays, so that a matrix product reads its kernel in place. docs/algorithms/learners.md has the equations,
// the settings ([Config]), and the role of both functions in a generation.
package td3
