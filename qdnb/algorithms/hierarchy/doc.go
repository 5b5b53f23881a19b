// Package hierarchy is hierarchical control: a meta-controller chooses every few steps which of a set
// of existing policies, the skills, acts next (the paper's halfcheetah-hurdles).
//
// [Options] makes an environment of this: an action is a skill, a step is several control steps of
// another environment. Package ppo trains the meta-controller in it, package scoring evaluates it. An
// iteration, with the paper's numbers ([Settings]):
//
//	in each of 2048 environments, 8 times 20 decisions:
//		choice := sample of policy(observation), one of the skills
//		for 10 steps the chosen skill acts; skills do not see the robot's position
//		reward := sum of the rewards of these steps, up to the end of the episode  -- Options.Step
//	8 epochs, each in a new random order:
//		32 steps of Adam, each on the loss of a minibatch of 512 sequences
//	256 evaluation episodes from the same initial states every time:
//		choices are sampled, skills act without noise
//
// In the published code a decision is credited with what the next one earns;
// [Settings].PublishedCredit reproduces this. docs/algorithms/ppo.md says more.
package hierarchy
