// Package evolution is the neuroevolution loop of the paper: emit, evaluate, insert.
//
// An [Emitter] proposes the offspring of a generation; a [Search] evaluates them in a [Task] and inserts them in a
// repertoire on the device. MAP-Elites is the search with the [Isoline] emitter:
//
//	Mouret and Clune 2015, "Illuminating search spaces by mapping elites";
//	Vassiliades and Mouret 2018, "Discovering the elite hypervolume by leveraging interspecies correlation" (Iso+LineDD).
//
// # Differences from the published code
//
// Of candidates of one batch that tie for a cell the one of lowest index enters (there: unspecified). The centroids are
// the same for all runs of an environment, as the paper says (there: new ones for each seed). A NaN fitness or
// descriptor never enters (there: it blocks its cell for the batch).
//
// # How a generation runs
//
// A generation is one program. The population is cut into slices of a few policies, whose weights fit the cache of a core; the
// workers take slices in turn, and every worker holds the repertoire. A slice emits its offspring and rolls them out;
// offspring are not stored, for most do not enter: random numbers are named by (seed, generation, individual, purpose), so
// that those which do are emitted a second time from their names. Results therefore do not depend on the number
// of workers.
package evolution
