package skills

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// DiversityOnly is the objective of DIAYN and DADS: the diversity reward, and nothing of the task's.
type DiversityOnly struct{}

// Reward implements [Objective].
func (DiversityOnly) Reward(_, diversity, _ *Node) *Node { return diversity }

// NeedsReturns implements [Objective].
func (DiversityOnly) NeedsReturns() bool { return false }

// PlusReward is the objective of DIAYN+REWARD and DADS+REWARD:
//
//	task + scale diversity
type PlusReward struct{ Scale float64 }

// Reward implements [Objective].
func (o PlusReward) Reward(task, diversity, _ *Node) *Node {
	return Add(task, MulScalar(diversity, o.Scale))
}

// NeedsReturns implements [Objective].
func (PlusReward) NeedsReturns() bool { return false }

// SMERL asks for diversity only of episodes that solve the task (Kumar et al., NeurIPS 2020):
//
//	task + [return >= target - margin] scale diversity
//
// A return that is not a number never passes. As in the published code the return of a running episode is what it has so far, so that
// where rewards are negative young episodes pass, and where they are positive none does before it has gathered enough; the paper
// writes > in place of >=.
type SMERL struct{ Target, Margin, Scale float64 }

// Reward implements [Objective].
func (o SMERL) Reward(task, diversity, returns *Node) *Node {
	return Where(o.Accepts(returns), Add(task, MulScalar(diversity, o.Scale)), task)
}

// Accepts implements [Gate].
func (o SMERL) Accepts(returns *Node) *Node {
	return GreaterOrEqual(returns, ConstAs(returns, o.Target-o.Margin))
}

// NeedsReturns implements [Objective].
func (SMERL) NeedsReturns() bool { return true }
