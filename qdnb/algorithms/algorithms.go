package algorithms

import (
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// Algorithm is the hyperparameters of an algorithm, a pointer to a struct whose fields are stored in a
// run's config.json. Parts that are code, not numbers, are fields with the tag json:"-".
type Algorithm interface {
	// Check rejects values that cannot work, before anything is compiled. The tags limits of an [Entry]'s
	// hyperparameters are checked before; a loop of its user checks its own.
	Check() error
	// New compiles a search. All of its random numbers are functions of the seed.
	New(p *xla.Platform, env envs.Env, seed int64) (Search, error)
}

// Search is a running algorithm. Its state is on the devices; the host sees a few numbers.
type Search interface {
	// Step runs the next generation or iteration. The first call, generation 0, evaluates the initial
	// population or policy.
	Step() (scoring.Outcome, error)
	// Columns names metrics of its own: the numbers in Extra of the outcomes.
	Columns() []string
	// State lists what a checkpoint holds. A search with a restored state continues to the same bytes
	// as one that was never interrupted.
	State() *xla.Checkpoint
	// Repertoire copies the measured repertoire to the host: the arrays fitnesses [cells], descriptors
	// and centroids [cells, d] and, on request, genotypes [cells, N] of policies of Task.
	Repertoire(genotypes bool) (map[string]npz.Array, error)
	// Task is the task in which genotypes of the repertoire are evaluated.
	Task() scoring.Task
	// CompileTime is the time that XLA has spent compiling the search so far.
	CompileTime() time.Duration
	// Close frees the programs and the memory on the devices.
	Close()
}
