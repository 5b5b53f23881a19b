// Package envs holds the tasks of the paper as graph functions: reset, step, observation, reward,
// done, descriptor.
//
// An [Env] steps a batch of B independent copies at once. [Make] builds one by name; [Rollout] runs
// one policy per copy for an episode and returns fitness and descriptor exactly as the paper's code
// masks them ([Score]); [Record] keeps what a [Recorder] asks for of the steps on the way.
//
// [Pointmaze] is a task by itself. All others are a [Rigid]: a system of package envs/physics with
// functions that say what is seen and paid; a new task is one with other functions. What changes a
// task wraps it: [AutoReset] restarts episodes by themselves, as learning from single steps needs;
// [Perturbable] makes gravity, actuators and the target a part of the state, as adaptation needs;
// an [Option] of [Make] sets them for good.
package envs
