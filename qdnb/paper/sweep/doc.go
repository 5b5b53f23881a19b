// Package sweep reads and writes plans: lists of independent runs, one JSON object per line, for a
// laptop to run in sequence or a cluster's job array to run in parallel.
//
// A plan's progress is stored only in the folders of its runs. So work needs no coordinator, a
// killed task can simply be restarted, and machines that share the runs folder can share a plan.
//
// The package reads plans and folders and does not import GoMLX. Package experiments runs the
// lines.
package sweep
