// Package results reads the folders of an experiment's runs into tables, and aggregates them as the
// paper does.
//
// [Collect] reads the runs of a plan, [Infer] makes the plan of what lies in a folder. The [Tables]
// hold a row for each run; their methods give scores over seeds, and [Tables.Write] writes CSV
// files: tidy ones, which have one observation a row, and summaries over seeds.
//
// Only complete runs count. Others are counted in the tables and stand in training.csv with
// finished = false. A folder that cannot be read is among the Problems, and the others are read all
// the same. The package does not import GoMLX.
package results
