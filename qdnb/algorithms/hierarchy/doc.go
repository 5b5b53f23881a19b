// Package hierarchy is control by skills: a meta-controller, trained by PPO, chooses every few
// steps which of the policies that were found elsewhere acts next (the paper's
// halfcheetah-hurdles).
//
// A [Task] is an environment, the form of the skills, and the length of a decision. A [Search]
// learns: its environments play on all workers, slice by slice, and its networks are updated on the
// first device.
//
// An iteration, with the numbers of the paper ([Settings]):
//
//	in each of 2048 environments, 8 times 20 decisions:
//		choice := draw of policy(observation), one of the skills
//		for 10 steps the chosen skill acts; skills do not see where the robot is
//		reward := sum of the rewards of these steps, up to the end of the episode  -- Credit
//	8 times, in a new order each time:
//		32 steps of Adam, each against the loss of 512 sequences  -- ppo.PPO.Loss
//	256 episodes are evaluated, from the same initial states every time; choices are drawn, skills act without noise
//
// In the published code a decision is credited with what the next one earns;
// [Settings].PublishedCredit does so too. docs/algorithms/ppo.md says more.
package hierarchy
