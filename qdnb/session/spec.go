package session

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/runs"
)

// Spec configures [Train]: what to train, and for how long.
type Spec struct {
	Algorithm string // see [records.Names]
	Env       string // see [envs.Names]
	Seed      int64

	// Environment is a custom environment, or an [envs.Simulator], and replaces Env. The run's folder
	// is named after the name in its Spec, which must not be one of [envs.Names].
	Environment envs.Env

	// Robot is the file of a robot and replaces Env: MuJoCo's XML, a compiled model, or the robot.json of
	// a run. Task is its task, to walk by default; what is not set is guessed from the model. The run's
	// folder keeps both, so that nothing else needs the file; see [envs.ReadRobot]. Without an Algorithm, MAP-Elites
	// with small policies finds gaits, and PPO with a Stride of 2 learns the task [envs.Velocity]; Tune changes their
	// settings.
	Robot string
	Task  envs.RobotTask

	// Start names what the first generations evaluate in place of random policies: a finished run or an
	// imported repertoire, by its folder or its name in Runs, or an .npz file with an array genotypes
	// [n, N]. Its cells, settings and algorithm may differ; the layers of the policies must not. The
	// genotypes belong to the run's identity. Only neuroevolution starts from genotypes.
	Start string

	// Tune changes hyperparameters. The function finds the defaults in its argument: see [Tune].
	Tune Tuning

	// Budget ends the run when the first of its limits is reached. The default is the paper's two
	// hours, and for a Robot 100 generations, or 400 of PPO for the task [envs.Velocity].
	Budget runs.Budget

	// Loop is a custom algorithm and replaces Algorithm. If its struct has the fields hidden
	// and episode_length in JSON, like those of the built-in algorithms, its policies can be played.
	//
	// A Loop, parts that Tune replaces (see [evolution.Parts], and Parts of package skills) and Environment
	// belong to the run's identity, through the programs that they make with all constants. If the programs
	// differ from those of the newest run with this name, environment, seed and hyperparameters, Train
	// starts another run and says "its code (Mix, Environment) changed since" that run and its date: in
	// parentheses are those of these fields that the Spec has, one of which changed. Functions that they
	// call count, also of other cells and modules. Comments and variable names do not count, nor what
	// depends on the clock, on random numbers or on earlier calls.
	Loop algorithms.Algorithm

	Name string // of a variant or a Loop; defaults to Algorithm

	Runs    string // folder of the runs; [runs.Folder] if empty
	Backend string // see [xla.Open]; the best available one if empty
	Quiet   bool   // no progress bar, and no figure; warnings are still printed

	// Still draws no figure below a notebook cell. Without it, Train draws the repertoire and the QD
	// score so far, at most every two seconds and in at most 1 % of the run's time.
	Still bool

	// Fresh trains from the start. Train moves an existing folder of the run to the folder
	// set-aside and never deletes it. It is an error if another process trains in the folder.
	Fresh bool

	// KeepReplay keeps a learner's replay buffer on disk (hundreds of megabytes) when the run
	// finishes. A finished run of a learner can be extended only if its buffer was kept, and then
	// ends as if it had never stopped.
	KeepReplay bool

	// KeepGenotypes stores the genotypes in each snapshot, too, for [runs.Run.History]: a snapshot is then as
	// large as repertoire.npz. The run's identity does not include it.
	KeepGenotypes bool

	// Corrected is the number of episodes in which each policy of the repertoire is evaluated again at
	// eighteen evenly spaced points of the budget, and CorrectedBy what stands for them, the mean by
	// default; Flageat and Cully 2023 take the median of 512. The results are in the run's folder
	// corrected; see [runs.Run.Corrected]. Neither the run's time nor its identity includes them. 0
	// evaluates nothing again.
	Corrected   int
	CorrectedBy runs.Average

	// TensorBoard writes the metrics as an event file to the run's folder tensorboard, during training or
	// for a finished run, too. `tensorboard --logdir runs` shows all runs.
	TensorBoard bool
}

// Generations returns a budget of n generations after the initial population.
func Generations(n int) runs.Budget {
	if n == 0 { // in a budget, 0 generations are no limit
		return runs.Budget{Evaluations: 1}
	}
	return runs.Budget{Generations: int64(n)}
}

// Tuning changes the hyperparameters of an algorithm, to which it gets a pointer.
type Tuning func(hyperparameters any) error

// Tune returns a [Tuning] that calls change with the hyperparameters of type T, or with the part of the
// algorithm that has this type or embeds it; see qdnb.Tune.
func Tune[T any](change func(*T)) Tuning {
	return func(hyperparameters any) error {
		if change == nil {
			return errors.New("Tune(nil): give it a function")
		}
		if parts.Change(hyperparameters, change) {
			return nil
		}
		return fmt.Errorf("Tune changes %s, but the hyperparameters are %T: change those, or one of their "+
			"parts", reflect.TypeFor[T](), hyperparameters)
	}
}

// And returns a tuning that makes the changes of t and then those of next; each may be nil.
func (t Tuning) And(next Tuning) Tuning {
	if t == nil {
		return next
	}
	if next == nil {
		return t
	}
	return func(hyperparameters any) error {
		if err := t(hyperparameters); err != nil {
			return err
		}
		return next(hyperparameters)
	}
}

// PaperBudget is the paper's budget for every run.
var PaperBudget = runs.Budget{Time: 2 * time.Hour}
