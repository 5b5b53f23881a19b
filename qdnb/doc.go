// Package qdnb is what a notebook imports to train and to look at skills.
//
//	run := qdnb.Must(qdnb.Train(qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Budget: qdnb.Generations(100)}))
//	fmt.Println(run.Status.MaxFitness, run.Status.Coverage, run.Status.QDScore)
//
// Training is idempotent. A run is a folder, named by its configuration: asking for a run that is there loads it, one that was
// interrupted goes on bit for bit, and a larger budget extends it. So a cell can always be run again, although every cell of
// GoNB is a program of its own.
//
// The package is a thin face over qdnb/evolution (the loop), qdnb/repertoire, envs and xla. Cells that only draw import
// qdnb/runs and qdnb/figures instead, which do without GoMLX and link faster. No backend is opened before it is needed: not for
// a run that is complete.
package qdnb
