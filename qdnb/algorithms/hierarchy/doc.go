// Package hierarchy is hierarchical control: a meta-controller, trained by PPO, chooses every few
// steps which of a set of existing policies, the skills, acts next (the paper's
// halfcheetah-hurdles).
//
// A [Task] is an environment, the architecture of the skills, and the length of a decision. A
// [Search] trains the meta-controller: its environments run on all workers, slice by slice, and its
// networks are updated on the first device.
//
// An iteration, with the paper's numbers ([Settings]):
//
//	in each of 2048 environments, 8 times 20 decisions:
//		choice := sample of policy(observation), one of the skills
//		for 10 steps the chosen skill acts; skills do not see the robot's position
//		reward := sum of the rewards of these steps, up to the end of the episode  -- Credit
//	8 epochs, each in a new random order:
//		32 steps of Adam, each on the loss of a minibatch of 512 sequences  -- ppo.PPO.Loss
//	256 evaluation episodes from the same initial states every time:
//		choices are sampled, skills act without noise
//
// In the published code a decision is credited with what the next one earns;
// [Settings].PublishedCredit reproduces this. docs/algorithms/ppo.md says more.
package hierarchy
