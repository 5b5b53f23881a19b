package skills

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
)

// Fingerprints hashes what user-supplied parts of a search build; see [xla.Trace]. The parts in own
// are named "diversity" and "objective". batch is the number of transitions per update. The hashes
// cover the graphs and parameters of a part and everything its other methods return.
func Fingerprints(task Task, own Method, batch int) (map[string]string, error) {
	prints := map[string]string{}
	var err error
	if own.Diversity != nil {
		prints["diversity"], err = fingerprintDiversity(task, own.Diversity, batch)
	}
	if err == nil && own.Objective != nil {
		prints["objective"], err = fingerprintObjective(own.Objective, batch)
	}
	return prints, err
}

func fingerprintDiversity(task Task, diversity Diversity, batch int) (string, error) {
	t := xla.NewTrace()
	t.Note(diversity.Fields(), diversity.Loss())
	d := task.width()
	type modelIn struct {
		Skill, Now, Next, Done xla.Array
		Known                  xla.State[[]*Node]
	}
	known, err := xla.TraceGraph(t, xla.Declare(dtypes.Uint32, 2),
		func(seed xla.Array) xla.State[[]*Node] {
			return xla.Out(diversity.Start(task.inputs(), d, xla.KeyOf(seed.Tree)))
		})
	if err == nil {
		float := func(dims ...int) xla.Array { return xla.Declare(dtypes.Float32, dims...) }
		in := modelIn{float(batch, task.inputs()), float(batch, d), float(batch, d), float(batch), known}
		_, err = xla.TraceGraph(t, in, func(in modelIn) xla.State[[]*Node] {
			b := Batch{Skill: in.Skill.Tree, Now: in.Now.Tree, Next: in.Next.Tree, Done: in.Done.Tree}
			model := diversity.Model(in.Known.Tree, task.inputs(), d).Observe(b)
			var aim []*Node
			if guide, ok := model.(Guide); ok {
				b.Acts = task.idle(b.Done)
				aim = append(aim, guide.Aim(b, b.Acts.Here, b.Done, b.Done))
			}
			learned, loss := model.Learn(b)
			return xla.Out(slices.Concat(model.Params(), learned.Params(), []*Node{model.Reward(b), loss},
				aim))
		})
	}
	return t.Sum(), errors.WithMessage(err, "cannot build the diversity reward")
}

func fingerprintObjective(objective Objective, batch int) (string, error) {
	t := xla.NewTrace()
	t.Note(objective.NeedsReturns())
	type rewardIn struct{ Task, Diversity, Returns xla.Array }
	reward := xla.Declare(dtypes.Float32, batch)
	_, err := xla.TraceGraph(t, rewardIn{reward, reward, reward},
		func(in rewardIn) xla.State[[]*Node] {
			returns := in.Returns.Tree
			if !objective.NeedsReturns() {
				returns = nil
			}
			out := []*Node{objective.Reward(in.Task.Tree, in.Diversity.Tree, returns)}
			if gate, ok := objective.(Gate); ok {
				out = append(out, gate.Accepts(returns))
			}
			return xla.Out(out)
		})
	return t.Sum(), errors.WithMessage(err, "cannot build the objective")
}

// idle returns acts of zeros in the transitions of a batch, of which done [B] is given.
func (t Task) idle(done *Node) *Acts {
	spec, n := t.Env.Spec(), done.Shape().Dimensions[0]
	obs := Zeros(done.Graph(), shapes.Make(dtypes.Float32, n, spec.Observations+t.inputs()))
	action := Zeros(done.Graph(), shapes.Make(dtypes.Float32, n, spec.Actions))
	return &Acts{replay.Batch{Obs: obs, NextObs: obs, Action: action, Reward: done, Done: done,
		Truncation: done}, action, action}
}
