// Package sweep keeps plans: lists of runs that stand on their own, one JSON object a line, which a
// laptop works through and a cluster's job array shares out.
//
// All that is known of a plan's progress lies in the folders of its runs. So nothing has to be told
// who does what, a task that was killed is started again, and the same plan can be worked at from
// several machines that share the folder of the runs.
//
// The package reads plans and folders. It does not import GoMLX; what a line does is
// qdnb/experiments' matter.
package sweep
