// Package skills is the reinforcement-learning family: one policy that is told which of a few
// skills to play, trained by [example.com/qdnb/qdnb/algorithms/sac] so that its skills do different
// things.
//
// Its methods are two factors. A [Diversity] rewards skills for being told apart: [DIAYN] by a
// discriminator, [DADS] by how well each skill foretells what it does. An [Objective] says what
// that is worth beside the task: [DiversityOnly], [PlusReward] or [SMERL].
//
//	                 DiversityOnly   PlusReward     SMERL
//	DIAYN            DIAYN           DIAYN+REWARD   SMERL(DIAYN)
//	DADS             DADS            DADS+REWARD    SMERL(DADS)
//
// A new variant is one new factor. [Search] is the loop: act, store, update; it knows no factor by
// name.
//
// Sources:
//
//	Haarnoja et al. 2018, "Soft actor-critic: off-policy maximum entropy deep reinforcement learning with a stochastic actor";
//	Eysenbach et al. 2019, "Diversity is all you need: learning skills without a reward function" (DIAYN);
//	Sharma et al. 2020, "Dynamics-aware unsupervised discovery of skills" (DADS);
//	Kumar et al. 2020, "One solution is not all you need: few-shot extrapolation via structured MaxEnt RL" (SMERL);
//	Chalumeau et al. 2023, "Neuroevolution is a competitive alternative to reinforcement learning for skill discovery" (the paper).
//
// The listings below are those of the paper's appendix, numbered as there, as this package carries
// them out. Names in them are settings (see [SAC], [Discovery], [Rewarded] and [Selective]);
// numbers are the paper's. After -- is what does it. docs/algorithms has a page on each algorithm,
// with equations, figures, settings and commands.
//
// # DIAYN+REWARD (Algorithm 5)
//
//	z := one of 5 skills, one-hot; environment k plays skill k mod 5 in the whole run
//	x := what skills are told apart by: the position, or (descriptor_full_state) the whole observation
//	actor(s, z), Q1, Q2(s, z, a) := networks, drawn; targets of Q1 and Q2 := copies; q(z|x) := discriminator, drawn  -- DIAYN
//	B := replay buffer, empty; P := cells around the centroids, all empty: the passive repertoire
//	in every iteration:
//		in each of 200 environments, which restart by themselves:
//			a := draw of actor(s, z); take a step; insert (s, a, r, s', x, x', z, end) in B
//		200 times:
//			draw 256 transitions from B
//			diversity := log q(z|x') + log 5
//			reward := reward_scaling (r + diversity_reward_scale diversity)  -- PlusReward
//			q := a step of Adam against -mean log q(z|x)
//			actor, Q1, Q2, targets := an update of SAC with this reward  -- sac.SAC.Update
//		(diversity is of q, and the update of networks, as they were before)
//	before all, and every 100 000 environment steps:
//		play each skill without noise from 40 initial states, the same every time
//		insert each of the 200 episodes in P, as an individual of MAP-Elites  -- repertoire.Winners
//
// # SMERL(DIAYN) (Algorithm 6)
//
//	as DIAYN+REWARD, but
//		R := sum of r of the transition's episode so far; of one that has ended, of all of it  -- replay.Returns
//		reward := reward_scaling (r + [R >= smerl_target - smerl_margin] diversity_reward_scale diversity)  -- SMERL
//
// # DADS+REWARD (Algorithm 7)
//
//	as DIAYN+REWARD, but
//		q(change|z) := mixture of 4 normal distributions of unit variance, whose weights and means are a network of z  -- DADS
//		mean, deviation := running statistics of x' - x, which see each new transition once, as 0 if it is an end
//		change := clamp((x' - x - mean) / deviation, -5, 5)
//		diversity := log 5 - log(sum over all skills j of exp(clamp(log q(change|z_j) - log q(change|z), -50, 50)))
//		q := a step of Adam against -mean(log q(change|z) (1 - end))
//
// Positions of ant-omni and ant-trap may go beyond the limits of the descriptor
// ([example.com/qdnb/envs.WidePositions]); the cells do not.
//
// # SMERL(DADS) (Algorithm 8)
//
//	as DADS+REWARD, with the reward of SMERL(DIAYN)
//
// # DIAYN, DADS and SAC
//
// The paper's appendix has two more. DIAYN and DADS without a task:
//
//	reward := reward_scaling diversity  -- DiversityOnly
//
// and SAC without skills, whose best returns are the targets of SMERL: no z, no q, and the reward
// is reward_scaling r.
//
// # Differences from the paper and the published code
//
// The published code is that of QDax, branch qdbenchmark, and of qd-skill-discovery-benchmark.
// Where it differs from the paper this package follows the code: skills belong to environments (the
// paper draws one for each episode); DIAYN's discriminator learns from where transitions begin and
// rewards where they lead to; reward_scaling is of the sum, and 10 on walker-uni (the paper: 1);
// SMERL's gate has >= (the paper: >) and sees running episodes by what they have so far; there are
// 200 updates for a step of all environments. Here, and not there:
//
//   - The return of an episode is a running sum over the ring of transitions ([example.com/qdnb/qdnb/algorithms/replay.Returns]; there: a table of
//     episodes, which mixes episodes where a row of it outlives its transitions).
//   - The centroids of P are the same for all runs of an environment, as the paper says (there: new ones for each seed).
//   - P is filled more often in the first 100 000 steps (early_interval), so that short runs have something to show. Learning does not look
//     at it.
//   - warmup_steps may begin a run with random actions; by default it does not, as there.
package skills
