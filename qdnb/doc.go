// Package qdnb trains skills and shows them; it is the package that notebooks import.
//
//	run := qdnb.Must(qdnb.Train(qdnb.Spec{
//		Algorithm: "map-elites", Env: "pointmaze", Budget: qdnb.Generations(100),
//	}))
//	fmt.Println(run.Status.MaxFitness, run.Status.Coverage, run.Status.QDScore)
//
// Training is idempotent. A run is a folder, named after its configuration. [Train] loads a
// finished run, resumes an interrupted run bit for bit, and extends a run whose budget has grown.
// So any cell can be rerun, although GoNB compiles every cell to a separate program.
//
// Finished runs have a function for each use: [Evaluate] and [Film] replay the skills, [Adapt]
// evaluates them in changed environments, [Control] learns to choose among them, and [Import] and
// [Export] exchange them with other programs. Adapt and Control create runs themselves, in folders
// of the same kind.
//
// The package is the front end of the others: qdnb/algorithms/evolution and qdnb/algorithms/skills
// hold the training loops of the two families of algorithms, qdnb/algorithms/hierarchy holds
// hierarchical control, and qdnb/runs holds the run folders. Only this package writes checkpoints.
// Cells that only draw import qdnb/runs, qdnb/plot/figures and qdnb/paper instead, which do not
// depend on GoMLX and link faster. A backend is opened only when needed: never for a complete run.
package qdnb
