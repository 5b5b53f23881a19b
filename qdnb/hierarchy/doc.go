// Package hierarchy is control by skills: a meta-controller, trained by PPO, chooses every few steps which of the policies that were
// found elsewhere acts next (the paper's halfcheetah-hurdles).
//
// A [Task] is an environment, the form of the skills, and the length of a decision. A [Search] learns: its environments play on all
// workers, slice by slice, and its networks are updated on the first device.
package hierarchy
