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
// A variant of an algorithm replaces its parts, which are fields of the hyperparameters: emitters and
// archives (see package evolution), or diversity rewards and objectives (see package skills). Its Name
// names the folder; changed code is another run.
//
//	spec := qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Name: "cma-me", Tune: qdnb.Tune(
//		func(h *evolution.MapElites) {
//			strategies := evolution.StrategySettings{Emitters: 5, Sigma0: 0.02}
//			h.Mix = evolution.Mix{{Emitter: strategies.Emitter(), Of: 1}}
//		})}
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
