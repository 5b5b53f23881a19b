// Package qdnb is what a notebook imports to train and to look at skills.
//
//	run := qdnb.Must(qdnb.Train(qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Budget: qdnb.Generations(100)}))
//	fmt.Println(run.Status.MaxFitness, run.Status.Coverage, run.Status.QDScore)
//
// Training is idempotent. A run is a folder, named by its configuration: asking for a run that is
// there loads it, one that was interrupted goes on bit for bit, and a larger budget extends it. So
// a cell can always be run again, although every cell of GoNB is a program of its own.
//
// What is done with a finished run is a function each: [Evaluate] and [Film] play its skills again,
// [Adapt] tries them in changed environments, [Control] learns to choose among them, and [Import]
// and [Export] exchange them with other programs. Those that train or take long are runs of their
// own, in folders of the same kind.
//
// The package is the face of the others: qdnb/algorithms/evolution and qdnb/algorithms/skills have
// the loops of the two families of algorithms, qdnb/algorithms/hierarchy that of control, qdnb/runs
// the folders. It alone writes checkpoints. Cells that only draw import qdnb/runs,
// qdnb/plot/figures and qdnb/paper instead, which do without GoMLX and link faster. No backend is
// opened before it is needed: not for a run that is complete.
package qdnb
