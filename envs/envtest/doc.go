// Package envtest puts an environment, also one of the user's own, through what the rest of the
// module relies on:
//
//   - its constants make sense, and its states have their shapes, which no step changes;
//   - a reset gives reward 0 and done 0, depends on the key alone, and varies with it;
//   - the same keys and actions give the same bytes, however often it is built and run;
//   - a copy does not feel its neighbours, not even if their actions are NaN;
//   - random actions lead to finite numbers, done is 0 or 1, and descriptors whose mean counts keep within their limits;
//   - a policy whose actions are NaN has fitness -Inf;
//   - all backends agree, to rounding.
//
// [Run] is for tests, [Check] for notebooks. Most of the time goes into compiling; environments are
// run for some twenty steps.
package envtest
