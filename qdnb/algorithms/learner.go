package algorithms

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/xla"
)

// Learner is a [Base] for searches that train policies in iterations and evaluate them at intervals, each
// time from the same initial states. Its generations are iterations. A search that embeds it adds State.
type Learner struct {
	*Base
	Steps int64 // environment steps of an iteration
	Every int64 // steps between evaluations; the first one precedes all iterations
	Early int64 // replaces Every during the first such interval, unless it is 0
	// Train runs an iteration. It returns the metrics and behind them the number of steps that were not
	// finite.
	Train func(iteration int64) ([]float64, error)
	// Policies returns the genotypes of the current policies.
	Policies func() (xla.Array, error)
	// Describes adds columns for the episodes of an evaluation, before the metrics of Train: mean
	// and standard deviation of the fitness, mean and maximum of each component of the descriptor.
	Describes bool

	metrics     []string  // names of Train's metrics
	sums        []float64 // of the metrics since the last evaluation
	count       float64   // iterations in sums
	evaluations int64     // evaluation episodes so far
	dropped     float64   // steps since the last evaluation that were not finite
}

// NewLearner compiles the evaluation of policies in a task, as a plan says, and their insertion into
// cells. metrics are the names of Train's metrics.
func NewLearner(p *xla.Platform, task scoring.Task, cells repertoire.CVT, plan scoring.Plan, metrics []string,
	seed int64) (*Learner, error) {
	if plan.States != 0 {
		return nil, errors.New("a Learner has no States in its plan: set Episodes")
	}
	plan.Episodes = cmp.Or(plan.Episodes, plan.Policies)
	base, err := newBase(p, task, cells, plan, seed)
	return &Learner{Base: base, metrics: metrics, sums: make([]float64, len(metrics))}, err
}

// EnvSteps is the number of environment steps taken after an iteration.
func (l *Learner) EnvSteps(iteration int64) int64 { return max(0, iteration) * l.Steps }

// Due reports whether policies are evaluated after an iteration. This does not affect learning.
func (l *Learner) Due(iteration int64) bool {
	before, after, every := l.EnvSteps(iteration-1), l.EnvSteps(iteration), l.Every
	if l.Early > 0 && after < every {
		every = l.Early
	}
	return after == 0 || before/every != after/every
}

// Step implements [Search]: an iteration. The first call only evaluates the untrained policies.
func (l *Learner) Step() (o scoring.Outcome, err error) {
	next := l.Generation + 1
	if l.Every < 1 || l.Steps < 1 || l.Train == nil || l.Policies == nil {
		return o, fmt.Errorf("a Learner needs Train, Policies, and Steps and Every of at least 1, not %d and %d", l.Steps,
			l.Every)
	}
	if next > 0 {
		metrics, err := l.Train(next)
		if err != nil {
			return o, err
		}
		n := len(l.sums)
		if err := (scoring.Outcome{Extra: metrics[:n]}).Finite(l.metrics); err != nil {
			return o, fmt.Errorf("%w in iteration %d: lower learning_rate or reward_scaling", err, next)
		}
		for i, x := range metrics[:n] {
			l.sums[i] += x
		}
		l.count++
		l.dropped += metrics[n]
	}
	l.Generation = next
	if l.Measured() {
		if o, err = l.Conclude(); err != nil {
			return o, err
		}
		l.dropped = 0
		l.Forget()
	}
	o.Generation, o.EnvSteps, o.Evaluations = next, l.EnvSteps(next), l.evaluations
	return o, nil
}

// Measured reports whether policies are evaluated after the newest iteration.
func (l *Learner) Measured() bool { return l.Due(l.Generation) }

// Conclude evaluates the policies of the newest iteration and inserts them into
// the repertoire. The evaluations of a search that continues would differ afterwards.
func (l *Learner) Conclude() (o scoring.Outcome, err error) {
	policies, err := l.Policies()
	if err != nil {
		return o, err
	}
	defer policies.Free()
	found, err := l.Rollout(policies)
	if err != nil {
		return o, err
	}
	l.evaluations += int64(l.plan.Episodes)
	o.Generation, o.Dropped = l.Generation, int(l.dropped)
	if l.Describes {
		o.Extra = described(found)
	}
	for _, sum := range l.sums {
		o.Extra = append(o.Extra, sum/l.count)
	}
	o.Extra = append(o.Extra, float64(l.evaluations*int64(l.task.Length)))
	return o, l.found.Add(policies, found, &o)
}

// Rollout evaluates genotypes [policies, N] on the first device. It does not change the search.
func (l *Learner) Rollout(genotypes xla.Array) (scoring.Results, error) {
	return l.evaluator.Evaluate(genotypes.Value(), l.seed, nil)
}

// Choices are the actions of a [envs.Discrete] environment; empty for others.
func (l *Learner) Choices() xla.Array { return l.evaluator.Choices }

// nonWord matches what the name of a column leaves out.
var nonWord = regexp.MustCompile(`[^\p{L}\p{Nd}]+`)

// Columns implements [Search]: those of Describes, the metrics, and [records.EvaluationSteps].
func (l *Learner) Columns() (columns []string) {
	if l.Describes {
		columns = []string{"fitness_mean", "fitness_std"}
		var components []string
		for _, component := range l.task.Env.Spec().Descriptor.Components {
			components = append(components, strings.Trim(nonWord.ReplaceAllString(strings.ToLower(component), "_"), "_"))
		}
		for _, name := range names.Columns(components, "fitness") { // which has these columns, too
			columns = append(columns, name+"_mean", name+"_max")
		}
	}
	return slices.Concat(columns, l.metrics, []string{records.EvaluationSteps})
}

// described returns what Describes adds for an evaluation.
func described(found scoring.Results) []float64 {
	wide := func(x []float32, from, every int) (column []float64) {
		for i := from; i < len(x); i += every {
			column = append(column, float64(x[i]))
		}
		return column
	}
	fitnesses := wide(found.Fitnesses, 0, 1)
	columns := []float64{stats.Mean(fitnesses), stats.Std(fitnesses)}
	d := len(found.Descriptors) / len(found.Fitnesses)
	for k := range d {
		column := wide(found.Descriptors, k, d)
		columns = append(columns, stats.Mean(column), slices.Max(column))
	}
	return columns
}

// Forget drops the metrics since the last evaluation.
func (l *Learner) Forget() {
	clear(l.sums)
	l.count = 0
}

// Store lists the repertoire and the counters in a checkpoint.
func (l *Learner) Store(c *xla.Checkpoint) {
	l.found.Store(c, "passive_")
	c.Host("iteration", &l.Generation)
	c.Host("evaluations", &l.evaluations)
	c.Host("metric_sums", &l.sums)
	c.Host("metric_count", &l.count)
	c.Host("dropped", &l.dropped)
}
