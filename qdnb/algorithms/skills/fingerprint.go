package skills

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// Fingerprints hashes what replaced parts of a method build; see [xla.Trace]. They are named
// "diversity" and "objective". batch is the number of transitions per update. The hashes cover the
// graphs and parameters of a part and everything its other methods return.
func Fingerprints(method Method, replaced Parts, batch int) (map[string]string, error) {
	prints := map[string]string{}
	var err error
	if replaced.Diversity != nil {
		prints["diversity"], err = fingerprintDiversity(method.Task, replaced.Diversity, batch)
	}
	if err == nil && replaced.Objective != nil {
		prints["objective"], err = fingerprintObjective(replaced.Objective, batch)
	}
	return prints, err
}

func fingerprintDiversity(task Task, diversity Diversity, batch int) (string, error) {
	t := xla.NewTrace()
	t.Note(diversity.Loss(), task.Skills.OneHot, task.Skills.Evaluated, task.Skills.Redraw,
		task.Features.Columns)
	type updateIn struct {
		Rows, Seed xla.Array
		State      xla.State[Diversity]
	}
	in := updateIn{Rows: xla.Declare(dtypes.Float32, batch, task.layout().Width()),
		Seed: xla.Declare(dtypes.Uint32, 2)}
	var err error
	in.State, err = xla.TraceGraph(t, in.Seed, func(seed xla.Array) xla.State[Diversity] {
		return xla.Out(diversity.Init(task, xla.KeyOf(seed.Tree)))
	})
	if _, ok := diversity.(Conditioner); ok && err == nil {
		_, err = xla.TraceGraph(t, in.Seed, func(seed xla.Array) xla.State[[]*Node] {
			key := xla.KeyOf(seed.Tree)
			s := envs.AutoReset(task.Env, task.Length).Reset(each(key, batch))
			action := Zeros(seed.Tree.Graph(), shapes.Make(dtypes.Float32, batch, task.Env.Spec().Actions))
			skill := task.Skills.playing(action.Graph(), batch)
			if task.Skills.vectors() {
				skill = task.Skills.drawn(key, batch)
			}
			return xla.Out([]*Node{task.rows(s, s, action, skill, s.Done)})
		})
	}
	if err == nil {
		t.Note(xla.Names(in.State.Tree))
		_, err = xla.TraceGraph(t, in, func(in updateIn) xla.State[[]*Node] {
			b, model := task.read(in.Rows.Tree, nil), in.State.Tree
			if o, ok := model.(Observer); ok {
				model = o.Observe(b)
			}
			var objective []*Node
			if guide, ok := model.(ActorObjective); ok {
				b.ActorAction, b.NextActorAction = b.Action, b.Action
				objective = append(objective, guide.ActorObjective(b, b.Action, b.Done, b.Reward))
			}
			learned, loss := model.Learn(b)
			return xla.Out(slices.Concat(xla.Flatten(model), xla.Flatten(learned),
				[]*Node{model.Reward(b), loss}, objective))
		})
	}
	return t.Sum(), wrapped(err, "diversity reward")
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
	return t.Sum(), wrapped(err, "objective")
}

func wrapped(err error, part string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot build the %s: %w", part, err)
}
