// Package qdnb trains skills and plays them; it is the package that notebooks import.
//
//	run, err := qdnb.Train(ctx, qdnb.Spec{
//		Algorithm: "map-elites", Env: "pointmaze", Budget: qdnb.Generations(100),
//	})
//	fmt.Println(run.Status.MaxFitness, run.Status.Coverage, run.Status.QDScore)
//
// Training is idempotent. A run is a folder, named after its configuration. [Train] loads a
// finished run, resumes an interrupted run bit for bit, and extends a run whose budget has grown.
// So any cell can be rerun, although GoNB compiles every cell to a separate program.
//
// A variant of an algorithm replaces its parts, which are fields of the hyperparameters. Its Name
// names the folder; changed code is another run. Package algorithms shows how to write each of
// them:
//
//	qdnb.Tune(func(h *evolution.MapElites) {
//		h.Mix = evolution.Mix{{evolution.Stateless(crossover), 1}} // emitters
//		h.Archive = forgetful{}                                    // an archive
//	})
//	qdnb.Tune(func(h *skills.Parts) { h.Diversity = mine{} })      // a diversity reward
//	qdnb.Spec{Name: "ga", Env: "pointmaze", Loop: &geneticAlgorithm{}} // a whole loop
//
// Finished runs have a verb for each use: [Play] plays the skills, [Adapt] evaluates them in
// changed environments, and [Control] learns to choose among them. Adapt and Control create runs
// themselves, in folders of the same kind.
//
// The package is the face of the others: qdnb/session computes runs, qdnb/watch plays their skills,
// qdnb/exchange imports and exports them, and qdnb/algorithms holds the algorithms. Cells that only
// draw import qdnb/nb, qdnb/runs, qdnb/plot/figures and qdnb/paper, which do not depend on GoMLX
// and link faster. A backend is opened only when needed: never for a complete run.
package qdnb

import (
	"context"

	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/qdnb/watch"
	"example.com/qdnb/xla"
)

// Specs configure runs and episodes. `go doc -all` of session.Spec, session.AdaptSpec,
// session.ControlSpec and watch.Spec lists their fields.
type (
	Spec        = session.Spec        // of [Train], [Load] and [Ask]
	AdaptSpec   = session.AdaptSpec   // of [Adapt]
	ControlSpec = session.ControlSpec // of [Control]
	// PlaySpec says which skills or cells to play, in what environment, and how often. It plays one
	// recorded episode of all skills, or of the best cell, if it is empty.
	PlaySpec = watch.Spec
)

// Tuning changes the hyperparameters of an algorithm, to which it gets a pointer; see [Tune].
type Tuning = session.Tuning

// Search is an opened run whose genotypes its caller evaluates; see [Ask].
type Search = session.Search

// Recording holds the episodes that [Play] played: the fitness and descriptor of each, and of
// recorded episodes the trajectories and films.
type Recording = watch.Recording

// ErrInterrupted is the error of an interrupted [Train], [Adapt] or [Control]. The run is saved,
// and the same call resumes it.
var ErrInterrupted = session.ErrInterrupted

// Train trains the run of a spec, resumes it if it was interrupted, or loads it if it is complete.
// When ctx is done, it saves a checkpoint and returns [ErrInterrupted]. In a cell, ctx comes from
// Interruptible of package nb.
func Train(ctx context.Context, spec Spec) (*runs.Run, error) { return session.Train(ctx, spec) }

// TrainSeeds is [Train] for runs of a spec that differ only in their seeds. The limits of the
// budget are for each run, except times, which are for all runs and divided equally. Runs train one
// after the other, and programs are compiled once. If some fail, the others train nevertheless and
// are returned with the error.
func TrainSeeds(ctx context.Context, spec Spec, seeds ...int64) ([]*runs.Run, error) {
	return session.TrainSeeds(ctx, spec, seeds...)
}

// Ask opens the run of a spec whose Environment is an [example.com/qdnb/envs.Simulator] without
// Evaluate, for a loop that evaluates genotypes itself:
//
//	search := nb.Must(qdnb.Ask(ctx, spec))
//	defer search.Close()
//	for !search.Done() {
//		genotypes := nb.Must(search.Ask())
//		nb.Check(search.Tell(evaluate(genotypes))) // a result for each
//	}
//	run, err := search.Close()
//
// It resumes an interrupted run as [Train] does.
func Ask(ctx context.Context, spec Spec) (*Search, error) { return session.Ask(ctx, spec) }

// Load returns the run that [Train] returns for a spec, without training. If the run does not
// exist, is not finished, or ended before the spec's budget, the error says what to do.
func Load(spec Spec) (*runs.Run, error) { return session.Load(spec) }

// Play plays episodes with skills of a run, in the run's environment or in another one. For a run
// of [Control] it plays the meta-controller. The results of a skill do not depend on the other
// skills that are played.
func Play(ctx context.Context, run *runs.Run, s PlaySpec) (*Recording, error) {
	return watch.Play(ctx, run, s)
}

// Adapt evaluates the skills of a run in a changed environment, without further training: the
// paper's few-shot adaptation. It creates a run, whose metrics hold a row per value of the
// perturbation and skill (a skill's number, or a cell) with statistics of the fitness over the
// episodes, such as the median. A method's score under a value is the median of the best skill.
// Like [Train], it loads a finished run, resumes an interrupted one, and returns [ErrInterrupted]
// when ctx is done.
//
// For runs of AURORA it evaluates the measured repertoire, not the algorithm's own archive. The
// individuals of that repertoire are also individuals of the archive.
func Adapt(ctx context.Context, s AdaptSpec) (*runs.Run, error) { return session.Adapt(ctx, s) }

// Control trains a meta-controller that steers a half-cheetah over hurdles. Every ten steps the
// meta-controller, trained by PPO, chooses which skill of a run acts next. The skills are not
// trained further. Control creates a run, whose metrics are those of evaluations: the return of
// episodes, and how many of the ten hurdles they pass. Like [Train], it loads a finished run,
// resumes an interrupted one, extends a run whose budget has grown, and returns [ErrInterrupted]
// when ctx is done. [Play] plays an episode of the trained controller.
func Control(ctx context.Context, s ControlSpec) (*runs.Run, error) { return session.Control(ctx, s) }

// Generations returns a budget of n generations after the initial population. Generations(0)
// evaluates the initial population only.
func Generations(n int) runs.Budget { return session.Generations(n) }

// Tune returns a [Tuning] that calls change with the hyperparameters of type T, such as
// [example.com/qdnb/qdnb/algorithms/evolution.MapElites], or with the part of the hyperparameters that
// has this type, such as [example.com/qdnb/qdnb/algorithms/td3.Config].
// It is an error if the algorithm has no hyperparameters of type T.
//
//	qdnb.Tune(func(h *evolution.MapElites) { h.Batch = 100 })
func Tune[T any](change func(*T)) Tuning { return session.Tune(change) }

// Backend opens a backend and describes it. See [xla.Open] for the specification; empty selects the
// best available one. The plugin of XLA:CPU is downloaded if it is selected and missing.
func Backend(ctx context.Context, spec string) (string, error) {
	platform, err := xla.Open(ctx, spec)
	if err != nil {
		return "", err
	}
	return platform.String(), nil
}

// Algorithms lists the names of the algorithms of [Train].
func Algorithms() []string { return records.Names() }
