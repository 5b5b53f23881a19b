// Package envs contains the tasks of the paper, and some without physics, as graph functions:
// reset, step, observation, reward, done, descriptor.
//
// An [Env] steps a batch of B independent copies at once. [Make] builds one by name. [Rollout] runs
// one policy per copy for an episode and returns fitness and descriptor, masked exactly as in the
// paper's code ([Score]). [Record] also returns the rows that a [Recorder] takes from the steps.
//
// [Pointmaze] is implemented directly. The paper's other tasks are a [Rigid]: a system of package
// envs/physics with functions for observation, reward, done and descriptor. A new task of a robot
// is a Rigid with other functions ([WithDescriptor], [WithReward]), and one without physics a
// [BlackBox]. Wrappers change a task:
// [AutoReset] resets episodes automatically for learning from single transitions. [WithVariations]
// draws gravity, strengths, masses and other quantities for each episode, and [Adjust] lets adaptation set them.
package envs
