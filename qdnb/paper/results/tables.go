package results

import (
	"cmp"
	"slices"
)

// Experiments that lines of plans name.
const (
	ExperimentTraining    = "training"
	ExperimentTargets     = "smerl-targets"
	ExperimentAdaptation  = "adaptation"
	ExperimentHurdles     = "hurdles"
	ExperimentSensitivity = "sensitivity"
	ExperimentPrior       = "prior"
	ExperimentReward      = "reward"
)

// Experiments lists them in the paper's order.
func Experiments() []string {
	return []string{
		ExperimentTargets, ExperimentTraining, ExperimentAdaptation, ExperimentHurdles,
		ExperimentSensitivity, ExperimentPrior,
		ExperimentReward,
	}
}

// Perturbations of adaptation runs.
const (
	Gravity   = "gravity"
	Actuators = "actuators"
	Target    = "target"
)

// Algorithms of runs that are not training.
const (
	algorithmAdaptation = "adaptation"
	algorithmControl    = "ppo"
)

// Tables are the results of runs.
type Tables struct {
	Trained    []Trained
	Adapted    []Adapted
	Controlled []Controlled

	Lines      int // of the plan
	Complete   int // of them
	Incomplete int // begun, but not complete
	Missing    int // not begun
	// Problems are runs that could not be read, each in one line that names the folder.
	Problems []error

	experiments []string // that the lines belong to
}

// Trained is a training run.
type Trained struct {
	Experiment, Label, Algorithm, Env string
	Seed                              int64
	Run                               string // name of the folder
	Finished                          bool
	Generation, EnvSteps              int64
	Seconds                           float64
	MaxFitness, Coverage, QDScore     float64 // at the end; -Inf, 0 and 0 without solutions
	// of the grid of the experiment "sensitivity", if the algorithm has one
	A, B         Setting
	EdgeCoverage float64 // see [edgeCoverage]; NaN where it is not known
	Prior        bool    // what tells skills apart is the descriptor, not the whole observation
	Curve        []Point // nil if not finished
	// Short are phrases on what makes the run too small for a verdict on what the paper says of its
	// method; nil if it is not.
	Short []string
}

// Setting is a hyperparameter of a grid.
type Setting struct {
	Name  string
	Value float64
}

// Point is a row of a training run's metrics.csv.
type Point struct{ EnvSteps, Seconds, MaxFitness, Coverage, QDScore float64 }

// Adapted is an evaluation of the skills of a training run in a changed environment; see
// [Adapted.Values].
type Adapted struct {
	Experiment   string // "adaptation" or "reward", which evaluates its runs, too
	Label, Env   string
	Seed         int64 // of the training
	Run          string
	Perturbation string
	Values       []Value  // by index
	Short        []string // as [Trained], of the training run
}

// Sharded is the outcome of one value of a perturbation.
type Value struct {
	Index int
	X, Y  float64 // the multiplier and NaN, or the target's position in metres
	// Score is the best skill's: the maximum over skills of the median over initial states. Skills
	// whose median is NaN do not count; without any other it is NaN.
	Score  float64
	Skill  int // of that score; a cell or the number of a skill
	Skills int // how many were evaluated
}

// Controlled is a run of the meta-controller on hurdles.
type Controlled struct {
	Label string
	Seed  int64 // of the training
	Run   string
	Curve []ControlPoint
	Short []string // as [Trained], of the training run
}

// ControlPoint is a row of its metrics.csv.
type ControlPoint struct{ EnvSteps, FitnessMean, FitnessMax, HurdlesMean, HurdlesMax float64 }

// Neuroevolution lists the paper's quality-diversity methods in its order.
func Neuroevolution() []string {
	return []string{"map-elites", "pga-map-elites", "aurora", "pga-aurora"}
}

// Reinforcement lists the methods of reinforcement learning that the paper compares them with, in
// its order.
func Reinforcement() []string {
	return []string{"diayn-reward", "dads-reward", "smerl-diayn", "smerl-dads"}
}

// Environments lists those in which the paper trains, in its order.
func Environments() []string {
	return []string{"ant-trap", "ant-maze", "pointmaze", "ant-uni", "ant-omni", "walker-uni",
		"halfcheetah-uni"}
}

// labels are the methods in the order of the paper; others follow by name. environments are so,
// too.
var (
	labels       = slices.Concat(Neuroevolution(), Reinforcement(), []string{"diayn", "dads", "sac"})
	environments = Environments()
)

// byList compares names by their place in a list; names that are not in it come last, in order.
func byList(list []string) func(a, b string) int {
	place := func(name string) int {
		if i := slices.Index(list, name); i >= 0 {
			return i
		}
		return len(list)
	}
	return func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) }
}

var (
	byLabel = byList(labels)
	byEnv   = byList(environments)
)

// sort puts rows in the paper's order, whatever the plan's is.
func (t *Tables) sort() {
	slices.SortStableFunc(t.Trained, func(a, b Trained) int {
		return cmp.Or(byList(Experiments())(a.Experiment, b.Experiment), byEnv(a.Env, b.Env),
			byLabel(a.Label, b.Label),
			cmp.Compare(a.A.Value, b.A.Value), cmp.Compare(a.B.Value, b.B.Value),
			cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Run, b.Run))
	})
	slices.SortStableFunc(t.Adapted, func(a, b Adapted) int {
		return cmp.Or(cmp.Compare(a.Perturbation, b.Perturbation), byEnv(a.Env, b.Env),
			byLabel(a.Label, b.Label), cmp.Compare(a.Seed, b.Seed),
			cmp.Compare(a.Run, b.Run))
	})
	slices.SortStableFunc(t.Controlled, func(a, b Controlled) int {
		return cmp.Or(byLabel(a.Label, b.Label), cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Run, b.Run))
	})
}
