package skills

import (
	"maps"
	"math"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// grid returns a repertoire of n x n cells between -2 and 2.
func grid(n int) npz.Array {
	var centroids []float32
	at := func(i int) float32 { return 4*(float32(i)+0.5)/float32(n) - 2 }
	for i := range n {
		for k := range n {
			centroids = append(centroids, at(i), at(k))
		}
	}
	return npz.Of(centroids, n*n, 2)
}

// small configures a search that takes milliseconds.
func small() config {
	algorithm := sac.Default()
	algorithm.Hidden, algorithm.BatchSize, algorithm.LearningRate = []int{8, 8}, 16, 1e-2
	return config{
		SAC: SAC{
			Config: algorithm, EnvBatchSize: 6, GradUpdatesPerStep: 2. / 6, ReplayBufferSize: 6 * 10,
			EpisodeLength: 8, EvaluationStates: 2, EvaluationInterval: 18, EarlyInterval: 6,
			CVT: repertoire.DefaultCVT(),
		},
		Seed: 1, Centroids: grid(5),
	}
}

var (
	smallDIAYN = DIAYN{LearningRate: 1e-2, Hidden: []int{8}}
	smallDADS  = DADS{LearningRate: 1e-2, Hidden: []int{8}, Components: 2}
)

// quick configures a search that learns something within a second.
func quick(environments int) config {
	config := small()
	config.SAC.Hidden, config.SAC.BatchSize, config.SAC.LearningRate, config.SAC.Tau,
		config.SAC.AlphaInit = []int{32, 32}, 64, 3e-3, 0.02, 0.02
	config.EnvBatchSize, config.GradUpdatesPerStep = environments, 1
	config.ReplayBufferSize = environments * 300
	config.EvaluationStates, config.EvaluationInterval = 6, int64(4*environments)
	config.EarlyInterval = 0
	return config
}

// short is a point whose episodes end early or by their length.
var short = point{Edge: 1, Limit: math.Inf(1), Spread: 0.5}

// kind is a search with some method.
type kind struct {
	name   string
	method method
	config func(backend.Kind) config
}

func smallFor(backend.Kind) config { return small() }

// methodOf returns a method with one-hot skills, unless the diversity reward has others.
func methodOf(env envs.Env, skills int, d Diversity, o Objective) method {
	task := Problem{Env: env, Length: 8}
	if d != nil {
		task.Skills.OneHot, task.Features = skills, task.Descriptors()
	}
	return newMethod(task, d, o)
}

// One of each kind. SAC alone learns its entropy coefficient and, on fast backends, the task.
var (
	diaynReward = kind{"diayn-reward", methodOf(short, 3, smallDIAYN, PlusReward{2}), smallFor}
	smerlDADS   = kind{"smerl-dads", methodOf(short, 3, smallDADS,
		SMERL{Target: -8, Margin: 1, Scale: 2}), smallFor}
	sacAlone = kind{"sac", methodOf(point{Edge: math.Inf(1), Limit: math.Inf(1), Spread: 0.1}, 0, nil,
		nil), func(kind backend.Kind) config {
		config := small()
		if kind != backend.Go {
			config = quick(16)
		}
		config.SAC.FixAlpha = false
		return config
	}}
)

func startSearch(t testing.TB, p *xla.Platform, method method, config config) *search {
	t.Helper()
	s := must.Get(newSearch(p, method, config))
	t.Cleanup(s.Close)
	return s
}

// begun returns a search of a kind before its first iteration. XLA takes seconds to compile one, so
// tests share it there.
func begun(t *testing.T, p *xla.Platform, k kind) *search {
	t.Helper()
	if p.Kind == backend.Go {
		return startSearch(t, p, k.method, k.config(p.Kind))
	}
	if _, ok := compiled[k.name]; !ok {
		s := must.Get(newSearch(p, k.method, k.config(p.Kind)))
		compiled[k.name] = beginning{s, memory(t, s)}
	}
	b := compiled[k.name]
	restore(t, b.search, -1, b.held)
	return b.search
}

type beginning struct {
	search *search
	held   map[string]npz.Array
}

var compiled = map[string]beginning{}

func steps(t *testing.T, s *search, n int) (outcomes []scoring.Outcome) {
	t.Helper()
	for range n {
		outcome := must.Get(s.Step())
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// memory returns the whole state of a search: its checkpoint arrays and the rows of its replay
// buffer.
func memory(t *testing.T, s *search) map[string]npz.Array {
	t.Helper()
	arrays := must.Get(s.Arrays())
	buffer, total := s.Replay()
	capacity, width := buffer.Shape()
	first := max(0, total-capacity)
	rows := must.Get(buffer.Rows(total, first, total))
	arrays["replay"] = npz.Of(rows, int(total-first), width)
	return arrays
}

// restore restores the state that memory returned.
func restore(t *testing.T, s *search, iteration int64, held map[string]npz.Array) {
	t.Helper()
	arrays := maps.Clone(held)
	delete(arrays, "replay")
	must.Do(s.Restore(iteration, arrays))
	buffer, total := s.Replay()
	rows := held["replay"]
	must.Do(buffer.Set(total, func(put func(from int64, rows []float32) error) error {
		return put(total-int64(rows.Shape[0]), rows.Data.([]float32))
	}))
}

func floatsOf(t *testing.T, arrays map[string]npz.Array, name string) []float32 {
	return must.Get(arrays[name].Float32s())
}

// stored returns the rows of a replay buffer with up to capacity rows, and their width.
func stored(t *testing.T, s *search) (rows []float32, width int) {
	t.Helper()
	buffer, total := s.Replay()
	_, width = buffer.Shape()
	rows = must.Get(buffer.Rows(total, 0, total))
	return rows, width
}

// Arrays returns the state of a search, as a checkpoint holds it.
func (s *search) Arrays() (map[string]npz.Array, error) { return s.State().Arrays() }

// Restore restores the state that Arrays returned.
func (s *search) Restore(_ int64, arrays map[string]npz.Array) error {
	return s.State().Restore(arrays)
}

// counters are the host's values in checkpoints.
var counters = []string{"iteration", "evaluations", "metric_sums", "metric_count", "dropped"}

// entryOf returns an algorithm by its name.
func entryOf(name string) algorithms.Entry {
	return Algorithms[name]
}

// Defaults returns the hyperparameters of an algorithm of skills by its name.
func Defaults(name string, env envs.Spec) *Discovery {
	return entryOf(name).Defaults(env).(*Discovery)
}
