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
