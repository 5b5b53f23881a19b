// Package skills implements skill discovery by reinforcement learning: one policy, conditioned on
// a skill and trained with [example.com/qdnb/qdnb/algorithms/sac], whose skills learn to behave
// differently.
//
// An algorithm has two factors. A [Diversity] rewards skills for being distinguishable: [DIAYN] uses a
// discriminator, [DADS] a model that predicts what each skill does. An [Objective] combines this
// reward with the task's: [DiversityOnly], [PlusReward] or [SMERL].
//
//	                 DiversityOnly   PlusReward     SMERL
//	DIAYN            DIAYN           DIAYN+REWARD   SMERL(DIAYN)
//	DADS             DADS            DADS+REWARD    SMERL(DADS)
//	METRA            METRA
//
// [QDAC], an [ActorObjective], adds a term to what the actor maximises; its objective is the task's
// reward alone, [TaskOnly]. [CSF], a [SelfCritic], replaces what the actor maximises. The loop (act,
// store, update) refers to no factor by name.
//
// A variant replaces one factor of [Parts]; package algorithms shows a diversity reward. Its fields are
// its settings and, after Init, its state. A [Conditioner] also chooses the distribution of skills and
// the features that distinguish them.
//
// Sources:
//
//	Haarnoja et al. 2018, "Soft actor-critic: off-policy maximum entropy deep reinforcement
//		learning with a stochastic actor";
//	Eysenbach et al. 2019, "Diversity is all you need: learning skills without a reward
//		function" (DIAYN);
//	Sharma et al. 2020, "Dynamics-aware unsupervised discovery of skills" (DADS);
//	Kumar et al. 2020, "One solution is not all you need: few-shot extrapolation via structured
//		MaxEnt RL" (SMERL);
//	Grillotti et al. 2024, "Quality-Diversity Actor-Critic: learning high-performing and diverse
//		behaviors via value and successor features critics" (QDAC);
//	Park et al. 2024, "METRA: scalable unsupervised RL with metric-aware abstraction";
//	Zheng et al. 2025, "Can a MISL fly? Analysis and ingredients for mutual information skill learning"
//		(CSF);
//	Chalumeau et al. 2023, "Neuroevolution is a competitive alternative to reinforcement learning
//		for skill discovery" (the paper).
//
// The listings below are those of the paper's appendix, with its numbering, as implemented here.
// Names in them are hyperparameters (see [SAC], [Discovery], [PlusReward] and [SMERL]); numbers
// are the paper's. A name after -- is the code that implements the line. docs/algorithms has a page
// for each family of algorithms, with equations, figures, settings and the differences from the paper
// and its code.
//
// # DIAYN+REWARD (Algorithm 5)
//
//	z := one of 5 skills, one-hot; environment k plays skill k mod 5 during the whole run
//	x := features that distinguish skills: the position, or (descriptor_full_state) the observation
//	initialise actor(s, z), critics Q1, Q2(s, z, a), their targets, discriminator q(z|x)  -- DIAYN
//	B := empty replay buffer; P := empty cells around the centroids: the passive repertoire
//	for each iteration:
//		in each of 200 auto-reset environments:
//			a ~ actor(s, z); take a step; insert (s, a, r, s', x, x', z, end) in B
//		200 times:
//			sample 256 transitions from B
//			diversity := log q(z|x') + log 5
//			reward := reward_scaling (r + diversity_reward_scale diversity)  -- PlusReward
//			q := a step of Adam against -mean log q(z|x)
//			actor, Q1, Q2, targets := an update of SAC with this reward  -- sac.SAC.Update
//		(each update uses q and the networks from before the update)
//	before the first iteration, and every 100 000 environment steps:
//		roll out each skill without noise from 40 initial states, always the same ones
//		insert each of the 200 episodes in P, like an individual of MAP-Elites  -- repertoire.Grid
//
// # SMERL(DIAYN) (Algorithm 6)
//
//	as DIAYN+REWARD, but
//		R := return of the transition's episode so far, or in full once it ended  -- ringReturns
//		gate := [R >= smerl_target - smerl_margin]  -- SMERL
//		reward := reward_scaling (r + gate diversity_reward_scale diversity)
//
// # DADS+REWARD (Algorithm 7)
//
//	as DIAYN+REWARD, but
//		q(change|z) := mixture of 4 unit-variance Gaussians; weights and means: a network of z  -- DADS
//		mean, deviation := running statistics of x' - x over new transitions; 0 where an episode ends
//		change := clamp((x' - x - mean) / deviation, -5, 5)
//		ratio_j := clamp(log q(change|z_j) - log q(change|z), -50, 50)
//		diversity := log 5 - log(sum over all skills j of exp(ratio_j))
//		q := a step of Adam against -mean(log q(change|z) (1 - end))
//
// Positions in ant-omni and ant-trap can exceed the descriptor limits
// ([example.com/qdnb/envs.WidePositions]); the cells do not.
//
// # SMERL(DADS) (Algorithm 8)
//
//	as DADS+REWARD, with the reward of SMERL(DIAYN)
//
// # DIAYN, DADS and SAC
//
// The paper's appendix has two more listings. DIAYN and DADS without a task reward:
//
//	reward := reward_scaling diversity  -- DiversityOnly
//
// SAC without skills, whose best returns are SMERL's targets: no z, no q, and the reward is
// reward_scaling r.
package skills
