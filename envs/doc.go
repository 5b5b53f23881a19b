// Package envs holds the tasks of the paper as graph functions: reset, step, observation, reward, done, descriptor.
//
// An [Env] steps a batch of B independent copies at once. [Make] builds one by name; [Rollout] runs one policy per copy for
// an episode and returns fitness and descriptor exactly as the paper's code masks them.
package envs
