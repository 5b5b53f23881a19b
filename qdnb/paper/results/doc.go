// Package results reads the run folders of experiments into tables and aggregates them as the paper
// does.
//
// [Collect] reads the runs of a plan; [Infer] reconstructs a plan from the runs in a folder.
// [Tables] holds a row for each run. Its methods return scores over seeds, and [Tables.Write]
// writes CSV files: tidy ones with one observation per row, and summaries over seeds.
//
// Only complete runs are aggregated. Others are counted in the tables and listed in training.csv,
// reward.csv and beyond.csv with finished = false. A folder that cannot be read is added to
// Problems; the others are still read. The package does not import GoMLX.
package results
