package skills

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

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
	d := task.features()
	known, err := t.Graph([]shapes.Shape{shapes.Make(dtypes.Uint32, 2)}, func(in []*Node) []*Node {
		return diversity.Start(task.Skills, d, xla.KeyOf(in[0]))
	})
	if err == nil {
		float := func(dims ...int) shapes.Shape { return shapes.Make(dtypes.Float32, dims...) }
		inputs := []shapes.Shape{float(batch, task.Skills), float(batch, d), float(batch, d),
			float(batch)}
		_, err = t.Graph(append(inputs, known...), func(in []*Node) []*Node {
			b := Batch{Skill: in[0], Now: in[1], Next: in[2], Done: in[3]}
			model := diversity.Model(in[4:], task.Skills, d).Observe(b)
			learned, loss := model.Learn(b)
			return slices.Concat(model.Params(), learned.Params(), []*Node{model.Reward(b), loss})
		})
	}
	return t.Sum(), errors.WithMessage(err, "cannot build the diversity reward")
}

func fingerprintObjective(objective Objective, batch int) (string, error) {
	t := xla.NewTrace()
	numbers := xla.ParamsOf(objective)
	t.Note([]float64(numbers), objective.NeedsReturns())
	reward := shapes.Make(dtypes.Float32, batch)
	inputs := []shapes.Shape{reward, reward, reward}
	for _, input := range numbers.Inputs() {
		inputs = append(inputs, input.Shape)
	}
	_, err := t.Graph(inputs, func(in []*Node) []*Node {
		scalars, _ := numbers.Cut(in[3:])
		tuned, returns := xla.Bind(objective, scalars), in[2]
		if !objective.NeedsReturns() {
			returns = nil
		}
		out := []*Node{tuned.Reward(in[0], in[1], returns)}
		if gate, ok := tuned.(Gate); ok {
			out = append(out, gate.Accepts(returns))
		}
		return out
	})
	return t.Sum(), errors.WithMessage(err, "cannot build the objective")
}
