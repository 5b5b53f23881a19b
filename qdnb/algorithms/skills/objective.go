package skills

import (
	"errors"
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// DiversityOnly is the objective of DIAYN and DADS: the diversity reward alone.
type DiversityOnly struct{}

// Reward implements [Objective].
func (DiversityOnly) Reward(_, diversity, _ *graph.Node) *graph.Node { return diversity }

// NeedsReturns implements [Objective].
func (DiversityOnly) NeedsReturns() bool { return false }

// TaskOnly is the objective of QDAC: the task reward alone. Skills differ by an [ActorObjective].
type TaskOnly struct{}

// Reward implements [Objective].
func (TaskOnly) Reward(task, _, _ *graph.Node) *graph.Node { return task }

// NeedsReturns implements [Objective].
func (TaskOnly) NeedsReturns() bool { return false }

// PlusReward is the objective of DIAYN+REWARD and DADS+REWARD:
//
//	task + scale diversity
type PlusReward struct {
	// Scale is the weight of the diversity reward; paper: 2 to 4 by environment.
	Scale float64 `json:"diversity_reward_scale" limits:"-1e6,1e6"`
}

// Reward implements [Objective].
func (o PlusReward) Reward(task, diversity, _ *graph.Node) *graph.Node {
	return graph.Add(task, graph.MulScalar(diversity, o.Scale))
}

// NeedsReturns implements [Objective].
func (PlusReward) NeedsReturns() bool { return false }

// SMERL rewards diversity only in episodes that solve the task (Kumar et al., NeurIPS 2020):
//
//	task + [return >= target - margin] scale diversity
//
// A NaN return is never accepted. As in the published code, the return of a running episode is what
// it has collected so far. With negative rewards, young episodes are therefore accepted; with
// positive rewards, none is until it has collected enough. The paper writes > instead of >=.
type SMERL struct {
	// Target is the return of a policy that solves the task; paper: by environment.
	Target float64 `json:"smerl_target"`
	// Margin is by how much a return may miss the target; paper: a tenth of the target's absolute value.
	Margin float64 `json:"smerl_margin" limits:"0"`
	Scale  float64 `json:"diversity_reward_scale" limits:"-1e6,1e6"` // weight of the diversity reward
}

// Check rejects values that cannot work.
func (o SMERL) Check() error {
	if math.IsNaN(o.Target) {
		return errors.New("smerl_target is unknown for this environment; set it to the return of a " +
			"policy that solves the task, such as one trained by `qdnb train --algorithm sac`")
	}
	return nil
}

var _ gate = SMERL{}

// Reward implements [Objective].
func (o SMERL) Reward(task, diversity, returns *graph.Node) *graph.Node {
	return graph.Where(o.Accepts(returns), PlusReward{o.Scale}.Reward(task, diversity, nil), task)
}

// Accepts returns which transitions have a return of at least Target - Margin, booleans [B].
func (o SMERL) Accepts(returns *graph.Node) *graph.Node {
	return graph.GreaterOrEqual(returns, graph.ConstAs(returns, o.Target-o.Margin))
}

// NeedsReturns implements [Objective].
func (SMERL) NeedsReturns() bool { return true }
