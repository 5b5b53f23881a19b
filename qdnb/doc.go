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
// A variant of an algorithm replaces its parts, which are fields of the hyperparameters. Its Name names
// the folder; changed code is another run. Package algorithms shows how to write each of them:
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
