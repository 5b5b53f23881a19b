package scoring

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Outcome is the result of a generation or an iteration of a search, as the host sees it.
type Outcome struct {
	// Generation is 0 for the initial population, or for the evaluation before the first step.
	Generation  int64
	Evaluations int64 // evaluation episodes so far, including those of generation 0
	EnvSteps    int64 // environment steps so far: of evaluations, or else of training
	// Fitnesses are the highest in each cell of the measured repertoire, [cells], -Inf where empty;
	// nil if it was not measured.
	Fitnesses []float32
	Evaluated int // episodes of this generation
	// Invalid evaluations have a fitness that is not finite or a NaN descriptor. They never enter.
	Invalid int
	// Outside are the valid evaluations whose descriptor exceeds the limits of the task. They enter
	// cells at the border.
	Outside int
	Beyond  []int   // of these, those that exceed the limits of each component
	Lowest  float64 // lowest fitness of the valid evaluations; +Inf if there are none
	// LowestReturns are the lowest returns of each objective, if the archive records them.
	LowestReturns []float32
	// Dropped are the steps of training since the last measurement that were not finite, from which
	// nothing is learnt.
	Dropped int
	// Extra are the search's own metrics, see its method Columns. Those of skills are means over the
	// iterations since the last evaluation; NaN at first.
	Extra []float64
}

// Diverged is the error of a metric that is not finite although all transitions are: no search can
// learn further.
type Diverged struct {
	Metric string
	Value  float64
}

func (d *Diverged) Error() string { return fmt.Sprintf("%s is %v", d.Metric, d.Value) }

// Finite returns a [Diverged] for the first of the search's own metrics, of the given names, that is NaN
// or infinite.
func (o Outcome) Finite(names []string) error {
	for i, x := range o.Extra {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return &Diverged{names[i], x}
		}
	}
	return nil
}

// NaN returns the [Diverged] of a part whose state or result has a NaN in the generation; what names it.
func (o Outcome) NaN(what string) error {
	return fmt.Errorf("%w in generation %d: mend that part", &Diverged{what, math.NaN()}, o.Generation)
}

// Tally sets the counts of evaluations, which is the inverse of [Task.Count] on the host.
func (o *Outcome) Tally(counts []float32, t Task) {
	o.Evaluated, o.Invalid, o.Outside = int(counts[0]), int(counts[1]), int(counts[2])
	o.Lowest, o.Beyond = float64(counts[3]), nil
	d := len(t.Env.Spec().Descriptor.Lower)
	for _, count := range counts[4 : 4+d] {
		o.Beyond = append(o.Beyond, int(count))
	}
	o.LowestReturns = counts[4+d:]
}

// Count counts evaluations on the device, float32 [4 + d + objectives] in the order of [Outcome.Tally]. valid
// is bool [P]; objectives [P, objectives] may be nil.
func (t Task) Count(fitness, descriptors, objectives, valid *Node) *Node {
	column := func(x *Node, k int) *Node { return Reshape(Slice(x, AxisRange(), AxisElem(k)), -1) }
	outside, limits := LogicalNot(valid), t.Env.Spec().Descriptor
	count := func(which *Node) *Node { return ReduceAllSum(ConvertDType(which, dtypes.Float32)) }
	var beyond []*Node
	for k, lower := range limits.Lower {
		// Sums that reach a limit may exceed it by their rounding.
		upper := limits.Upper[k]
		slack := 1e-5 * (upper - lower)
		x := column(descriptors, k)
		exceeds := Or(LessThan(x, ConstAs(x, lower-slack)), GreaterThan(x, ConstAs(x, upper+slack)))
		outside, beyond = Or(outside, exceeds), append(beyond, count(And(valid, exceeds)))
	}
	invalid := count(LogicalNot(valid))
	lowest := func(x *Node) *Node { return ReduceAllMin(Where(valid, x, ConstAs(x, math.Inf(1)))) }
	counts := append([]*Node{ConstAs(fitness, valid.Shape().Size()), invalid, Sub(count(outside), invalid),
		lowest(fitness)}, beyond...)
	if objectives != nil {
		for k := range objectives.Shape().Dimensions[1] {
			counts = append(counts, lowest(column(objectives, k)))
		}
	}
	return Stack(counts, 0)
}
