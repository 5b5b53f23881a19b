// Package envtest checks the contract of an environment, including a user's own, that the rest of the
// module relies on:
//
//   - its constants are valid, and its states have the right shapes, which no step changes;
//   - a reset gives reward 0 and done 0, depends only on the key, and varies with it;
//   - the same keys and actions give the same bytes, however often it is built and run;
//   - a copy does not depend on the other copies, even if their actions are NaN;
//   - random actions lead to finite numbers, done is 0 or 1, and no component of the descriptors of
//     episodes is outside of its limits in all of them;
//   - episodes have more than one step, observations and descriptors vary, and no reward is below
//     what Offset allows for;
//   - actions change the physics state, the observation or the descriptor;
//   - all backends agree up to rounding.
//
// [Run] is for tests, [Check] for notebooks. Environments run for about twenty steps; most of the
// time is compilation.
package envtest
