// Package runs stores training runs in folders: configuration, progress, checkpoints and results.
//
//	runs/map-elites-pointmaze-0-1a2b3c4d/
//	    config.json     algorithm, environment, seed and hyperparameters: all that determines the run
//	    status.json     newest progress, metrics, backend and budget; whether the run is finished
//	    metrics.csv     one row per logging step
//	    checkpoints/    state-000000100.npz: everything needed to resume, the newest two
//	    snapshots/      gen-000000050.npz: the repertoire, without genotypes by default, nine in the first half
//	                    of the budget and one at its end
//	    corrected/      gen-000000050.npz: corrected repertoires; see [Run.Corrected]
//	    replay/         000000000000-000000025000.npz: rows of a replay buffer;
//	                    see [Writer.SaveReplay]
//	    repertoire.npz  the final repertoire, with genotypes
//	    skills.npz      a skill-conditioned policy and its newest evaluation; see [Skills]
//	    lock            held by the process that trains
//
// The folder's name ends in a hash of the configuration, so training is idempotent: requesting an
// existing run finds it, an interrupted run resumes, and a larger budget extends it. The hash
// covers only what determines the generations. It does not cover the budget, paths, logging or the
// device. The status records which backend computed which generations: a run can be resumed on
// another backend, but the result is then no longer bit-identical.
//
// The package has two halves. [Open] and [Find] read runs for figures and tables, also during
// training. [Create] returns a [Writer], which owns the folder while it trains. A second writer, in
// this process or another, is refused; [Holder] names the process that holds the folder. [Import]
// creates the folder of a run that was trained elsewhere.
//
// A shipped run has what figures need of a finished run, without policies: it is such a folder with
// smaller files, and one file, snapshots.npz or corrected.npz, instead of each of these folders.
//
// # After a crash
//
// Each file is written to a temporary file, synced and renamed, so a process killed at any time
// leaves only complete files. Zip checksums the arrays. A truncated or damaged checkpoint is
// skipped with a warning, and the previous one is used. Rows logged after the checkpoint are
// dropped on resuming ([Writer.Begin]), so a killed run ends with the same files as an
// uninterrupted one. The folder's name contains a checksum of config.json.
//
// Files are .npz, CSV and JSON, which NumPy, spreadsheets and every language can read. This package
// does not import GoMLX, so programs that only draw figures build fast.
package runs
