// Package results reads the run folders of experiments into tables and aggregates them as the paper
// does.
//
// [Collect] reads the runs of a plan. [Tables] holds a row for each run. Its methods return scores
// over seeds, at the end of training or at equal shares of the paper's steps
// ([Tables.EqualShares]), and [Tables.Write] writes CSV files.
//
// Only complete runs are aggregated. Others are counted in the tables and listed in training.csv
// with finished = false. A folder that cannot be read is added to Problems; the others are still
// read. The package does not import GoMLX.
package results

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"maps"
	"path/filepath"
	"slices"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
)

// Names of the experiments in plans.
const (
	ExperimentTraining    = "training"
	ExperimentTargets     = "smerl-targets"
	ExperimentAdaptation  = "adaptation"
	ExperimentHurdles     = "hurdles"
	ExperimentSensitivity = "sensitivity"
	ExperimentPrior       = "prior"
	ExperimentReward      = "reward"
	ExperimentBeyond      = "beyond" // methods published later; not in the paper
)

// Experiments lists the experiments in the paper's order, and the one beyond it.
func Experiments() []string {
	return []string{
		ExperimentTargets, ExperimentTraining, ExperimentAdaptation, ExperimentHurdles,
		ExperimentSensitivity, ExperimentPrior, ExperimentReward, ExperimentBeyond,
	}
}

// Perturbations of adaptation runs.
const (
	Gravity   = string(catalog.GravityMultiplier)
	Actuators = string(catalog.ActuatorsMultiplier)
	Target    = string(catalog.TargetPosition)
)

// Tables are the results of runs. Methods that return results record by [Tables.Reads] whose they are.
type Tables struct {
	Trained    []Trained
	Adapted    []Adapted
	Controlled []Controlled

	Lines      int // lines of the plan
	Complete   int // complete lines
	Incomplete int // started, but not complete
	Missing    int // not started
	// Problems are runs that could not be read, each a one-line error that names the folder.
	Problems []error
	// Generations are those that the runs had reached, by the names of the runs that were read.
	Generations map[string]int64

	root string // the folder of the runs
}

// Reads records that the results of a run were read, as opening a run does: the next output of a notebook cell names it.
func (t *Tables) Reads(run string) { cell.Reads(filepath.Join(t.root, run)) }

// Identity is the number of the runs that were read, and a hash of their names and generations.
func (t *Tables) Identity() string {
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(t.Generations)) {
		fmt.Fprintln(sum, name, t.Generations[name])
	}
	return fmt.Sprintf("%d runs, %x", len(t.Generations), sum.Sum(nil)[:4])
}

// Trained is a training run.
type Trained struct {
	Experiment, Label, Algorithm, Env string
	Seed                              int64
	Run                               string // name of the run's folder
	Finished                          bool
	Generation                        int64
	Point                                     // at the end: -Inf, 0 and 0 without solutions
	CPUSeconds                        float64 // processor time if the budget limits it, else 0
	// Processor is the processor time of the whole training, s. Machine and Programs are those that
	// computed it (see [runs.MachineUse]), "" if they changed or are not recorded. If the budget is that of
	// [MediumSteps], time and machine are those of the measurement.
	Processor         float64
	Machine, Programs string
	// A and B are the settings of the experiment "sensitivity", if the algorithm has a grid.
	A, B  Setting
	Prior bool    // skills are discriminated by the descriptor, not the whole observation
	Units []int   // of the policy's hidden layers
	Curve []Point // nil if not finished
	// Short are the reasons why the run cannot decide the paper's claims, such as "32 cells, not 1024".
	Short    []string
	GateShut bool // SMERL's gate never opened, so the run is one of soft actor-critic
}

// Setting is a hyperparameter in a grid.
type Setting struct {
	Name  string
	Value float64
}

// Point is a row of a training run's metrics.csv.
type Point struct{ EnvSteps, Seconds, MaxFitness, Coverage, QDScore float64 }

// Adapted is an evaluation of a training run's skills in perturbed environments; see
// [Adapted.Values].
type Adapted struct {
	Experiment   string // "adaptation" or "reward", whose runs are also evaluated
	Label, Env   string
	Seed         int64 // of the training run
	Run          string
	Perturbation string
	Values       []Value // sorted by index
}

// Value is the outcome of one value of a perturbation.
type Value struct {
	Index int
	X, Y  float64 // the multiplier and NaN, or the target's position in metres
	// Score is the maximum over skills of the median fitness over initial states. Skills whose median
	// is NaN do not count; without any other skill it is NaN.
	Score  float64
	Skill  int // the skill with that score: a cell or the number of a skill
	Skills int // number of skills evaluated
}

// Controlled is a meta-controller's run on hurdles.
type Controlled struct {
	Label string
	Seed  int64 // of the training run
	Run   string
	Curve []ControlPoint
}

// ControlPoint is a row of a meta-controller's metrics.csv.
type ControlPoint struct{ EnvSteps, FitnessMean, FitnessMax, HurdlesMean, HurdlesMax float64 }

var (
	byLabel = records.Compare
	byEnv   = protocol.CompareEnvironments
)

// sort puts rows in the paper's order, independent of the plan's order.
func (t *Tables) sort() {
	slices.SortStableFunc(t.Trained, func(a, b Trained) int {
		return cmp.Or(names.InOrder(Experiments())(a.Experiment, b.Experiment), byEnv(a.Env, b.Env),
			byLabel(a.Label, b.Label), cmp.Compare(a.A.Value, b.A.Value), cmp.Compare(a.B.Value, b.B.Value),
			cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Run, b.Run))
	})
	slices.SortStableFunc(t.Adapted, func(a, b Adapted) int {
		return cmp.Or(cmp.Compare(a.Perturbation, b.Perturbation), byEnv(a.Env, b.Env),
			byLabel(a.Label, b.Label), cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Run, b.Run))
	})
	slices.SortStableFunc(t.Controlled, func(a, b Controlled) int {
		return cmp.Or(byLabel(a.Label, b.Label), cmp.Compare(a.Seed, b.Seed), cmp.Compare(a.Run, b.Run))
	})
}
