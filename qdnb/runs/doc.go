// Package runs keeps training runs in folders: what was asked for, how it went, where to go on, and
// what came out.
//
//	runs/map-elites-pointmaze-0-1a2b3c4d/
//	    config.json                  what determines every generation: algorithm, environment, seed, hyperparameters
//	    status.json                  the newest numbers: progress, metrics, backend, budget, finished or not
//	    metrics.csv                  one row per logging step
//	    checkpoints/gen-000000100.npz  everything needed to go on, the newest two
//	    snapshots/gen-000000050.npz    the repertoire without genotypes, nine in the first half of the budget and one at its end
//	    replay/000000000000-000000025000.npz  rows of a replay buffer, if the algorithm has one; see [Writer.SaveReplay]
//	    repertoire.npz               the final repertoire, with genotypes
//	    skills.npz                   a policy with skills and its newest evaluation, if the algorithm has one; see [Skills]
//	    lock                         held by the process that trains
//
// The folder's name ends in a hash of the configuration, so training is idempotent: asking for a
// run that is there finds it, one that was cut off goes on, and one that is asked for with a larger
// budget is extended. The hash covers what determines generation g and nothing else: not the
// budget, not paths, not logging, not the device. Which backend computed what is written in the
// status, since going on with another one is allowed, but no longer exact to the bit.
//
// The package has two halves. [Open] and [Find] read runs, also while they are being trained, for
// figures and tables. [Create] returns a [Writer], which owns the folder while it trains: a second
// one, in this process or another, is refused, and [Holder] names who has it. [Import] makes the
// folder of a run that was not trained here.
//
// # After a crash
//
// Files are written beside their targets, forced to the disk and renamed, so a process killed at
// any moment leaves whole files. A checkpoint ends in the SHA-256 of all that comes before; one
// that is cut off or damaged is passed over, with a warning, for the one before it. What was logged
// after the checkpoint from which training goes on is dropped ([Writer.Begin]), so that a run that
// was killed ends with the same files as one that was not. A checkpoint holds metrics.csv up to it,
// from which a damaged one is restored; status.json has a checksum of itself and of the log, the
// folder's name one of config.json, and arrays have those of zip.
//
// Files are .npz, CSV and JSON: NumPy, spreadsheets and every language read them. This package does
// not import GoMLX, so that programs which only draw figures build fast.
package runs
