package skills

import (
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// DiversityOnly is the objective of DIAYN and DADS: the diversity reward alone.
type DiversityOnly struct{}

// Reward implements [Objective].
func (DiversityOnly) Reward(_, diversity, _ *graph.Node) *graph.Node { return diversity }

// NeedsReturns implements [Objective].
func (DiversityOnly) NeedsReturns() bool { return false }

// TaskOnly is the objective of QDAC: the task reward alone. Skills differ by a [Guide].
type TaskOnly struct{}

// Reward implements [Objective].
func (TaskOnly) Reward(task, _, _ *graph.Node) *graph.Node { return task }

// NeedsReturns implements [Objective].
func (TaskOnly) NeedsReturns() bool { return false }

// PlusReward is the objective of DIAYN+REWARD and DADS+REWARD:
//
//	task + scale diversity
type PlusReward struct{ Scale float64 }

var _ xla.Parametric[Objective] = PlusReward{}

// Reward implements [Objective].
func (o PlusReward) Reward(task, diversity, returns *graph.Node) *graph.Node {
	return o.Bind(xla.ParamsOf[Objective](o).Constants(task)).Reward(task, diversity, returns)
}

// NeedsReturns implements [Objective].
func (PlusReward) NeedsReturns() bool { return false }

// Params implements [xla.Parametric].
func (o PlusReward) Params() []float64 { return []float64{o.Scale} }

// Bind implements [xla.Parametric].
func (PlusReward) Bind(numbers []*graph.Node) Objective { return plusReward{numbers[0]} }

// plusReward is a [PlusReward] whose scale is a graph node.
type plusReward struct{ scale *graph.Node }

func (o plusReward) Reward(task, diversity, _ *graph.Node) *graph.Node {
	return graph.Add(task, graph.Mul(diversity, o.scale))
}

func (plusReward) NeedsReturns() bool { return false }

// SMERL rewards diversity only in episodes that solve the task (Kumar et al., NeurIPS 2020):
//
//	task + [return >= target - margin] scale diversity
//
// A NaN return is never accepted. As in the published code, the return of a running episode is what
// it has collected so far. With negative rewards, young episodes are therefore accepted; with
// positive rewards, none is until it has collected enough. The paper writes > instead of >=.
type SMERL struct{ Target, Margin, Scale float64 }

var (
	_ Gate                      = SMERL{}
	_ xla.Parametric[Objective] = SMERL{}
)

// Reward implements [Objective].
func (o SMERL) Reward(task, diversity, returns *graph.Node) *graph.Node {
	return o.Bind(xla.ParamsOf[Objective](o).Constants(returns)).Reward(task, diversity, returns)
}

// Accepts implements [Gate].
func (o SMERL) Accepts(returns *graph.Node) *graph.Node {
	return o.Bind(xla.ParamsOf[Objective](o).Constants(returns)).(Gate).Accepts(returns)
}

// NeedsReturns implements [Objective].
func (SMERL) NeedsReturns() bool { return true }

// Params implements [xla.Parametric].
func (o SMERL) Params() []float64 { return []float64{o.Target - o.Margin, o.Scale} }

// Bind implements [xla.Parametric].
func (SMERL) Bind(numbers []*graph.Node) Objective {
	return smerl{numbers[0], plusReward{numbers[1]}}
}

// smerl is a [SMERL] whose parameters are graph nodes. It is a [Gate].
type smerl struct {
	least *graph.Node // lowest accepted return
	pays  plusReward
}

func (o smerl) Reward(task, diversity, returns *graph.Node) *graph.Node {
	return graph.Where(o.Accepts(returns), o.pays.Reward(task, diversity, nil), task)
}

func (o smerl) Accepts(returns *graph.Node) *graph.Node {
	return graph.GreaterOrEqual(returns, graph.BroadcastToDims(o.least, returns.Shape().Dimensions...))
}

func (smerl) NeedsReturns() bool { return true }
