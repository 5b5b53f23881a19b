package policies

import (
	"context"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Evaluated holds the results of one policy.
type Evaluated struct {
	Policy
	Fitnesses   []float32 // [episodes]; -Inf for an episode in which a value was NaN
	Descriptors []float32 // [episodes, d]

	// Records holds what each recorder of [NewRollouts] recorded, [episodes, rows * width].
	Records [][]float32
}

// Rollouts evaluates policies from the same initial states under any number of conditions.
type Rollouts struct {
	Task        scoring.Task
	CompileTime time.Duration

	set       *Set
	platform  *xla.Platform
	evaluator *scoring.Evaluator
	recorders []envs.Recorder
	together  int // policies per call of the program
	states    int // episodes per policy and call
	episodes  int
	seed      int64
}

// MaxEpisodes is the largest number of episodes per policy.
const MaxEpisodes = 1 << 20

// statesAtOnce is the maximum number of initial states per call of the program. Results depend on
// it: initial states beyond it are drawn from another seed.
const statesAtOnce = 512

// episodesAtOnce is the approximate number of episodes per call of the program. It limits memory
// and the time between progress reports. Results do not depend on it.
const episodesAtOnce = 2048

// recordedAtOnce replaces episodesAtOnce if steps are recorded.
const recordedAtOnce = 256

// Slice is the number of episodes that are rolled out together, of the policies of a
// task, each from the same number of states. On a CPU it does not depend on the number of
// policies, so that results do not.
func Slice(kind backend.Kind, policies, states int, task scoring.Task) int {
	if kind == backend.CPU {
		return task.DefaultSlice(kind, states)
	}
	return policies * states
}

// NewRollouts compiles the rollout of policies in an environment, for a number of episodes per
// policy. All policies share the initial states, which seed draws. Recorders receive the length of
// an episode. [Rollouts.Close] releases the program.
func NewRollouts(platform *xla.Platform, set *Set, env envs.Env, episodes int, seed int64,
	recorders ...func(steps int) envs.Recorder) (*Rollouts, error) {
	if err := limits.Int("episodes", episodes, 1, MaxEpisodes); err != nil {
		return nil, err
	}
	if r, ok := env.(*envs.Rigid); ok && len(r.Vary) == 0 {
		if live, err := envs.Adjust(r); err == nil {
			env = live
		}
	}
	task, err := set.Task(env)
	if err != nil {
		return nil, err
	}
	r := &Rollouts{Task: task, set: set, platform: platform, episodes: episodes, seed: seed}
	r.states = min(episodes, statesAtOnce)
	atOnce := episodesAtOnce
	if len(recorders) > 0 {
		atOnce = recordedAtOnce
	}
	r.together = min(max(set.most, len(set.Policies)), max(1, atOnce/r.states))
	slice := Slice(platform.Kind, r.together, r.states, task)
	for _, recorder := range recorders {
		r.recorders = append(r.recorders, recorder(task.Length))
	}
	r.evaluator, err = task.Evaluator(platform, scoring.Plan{Policies: r.together,
		States: r.states, Slice: slice, Recorders: r.recorders})
	if err != nil {
		return nil, err
	}
	r.CompileTime = r.evaluator.CompileTime
	return r, nil
}

// Close releases the program.
func (r *Rollouts) Close() { r.evaluator.Free() }

// Run evaluates all policies under conditions; nil means nominal conditions. step, if not nil, is
// called with the number of episodes computed since its last call. Run stops with the error of ctx
// when ctx is done.
func (r *Rollouts) Run(ctx context.Context, conditions envs.Conditions,
	step func(episodes int)) (all []Evaluated, err error) {
	for first := 0; first < len(r.set.Policies); first += r.together {
		group := r.set.Policies[first:min(first+r.together, len(r.set.Policies))]
		results, err := r.group(ctx, group, conditions, step)
		if err != nil {
			return nil, err
		}
		all = append(all, results...)
	}
	return all, nil
}

// group evaluates up to r.together policies. It pads a smaller group by repeating the last one.
func (r *Rollouts) group(ctx context.Context, group []Policy, conditions envs.Conditions,
	step func(int)) ([]Evaluated, error) {
	var genotypes []float32
	for i := range r.together {
		genotypes = append(genotypes, group[min(i, len(group)-1)].Genotype...)
	}
	value, err := xla.Uploads(npz.Of(genotypes, r.together, len(genotypes)/r.together), r.platform.Copies())
	if err != nil {
		return nil, err
	}
	defer value.Free()
	results := make([]Evaluated, len(group))
	for i := range results {
		results[i].Policy, results[i].Records = group[i], make([][]float32, len(r.recorders))
	}
	for part := 0; part*r.states < r.episodes; part++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		found, err := r.evaluator.Evaluate(value, partSeed(r.seed, part), conditions)
		if err != nil {
			return nil, err
		}
		n, d := min(r.states, r.episodes-part*r.states), len(found.Descriptors)/len(found.Fitnesses)
		for i := range results {
			from, to := i*r.states, i*r.states+n
			results[i].Fitnesses = append(results[i].Fitnesses, found.Fitnesses[from:to]...)
			results[i].Descriptors = append(results[i].Descriptors, found.Descriptors[from*d:to*d]...)
			for k, recorder := range r.recorders {
				size := recorder.Rows(r.Task.Length) * recorder.Width
				results[i].Records[k] = append(results[i].Records[k], found.Records[k][from*size:to*size]...)
			}
		}
		if step != nil {
			step(len(group) * n)
		}
	}
	return results, nil
}

// partSeed returns the seed of the initial states of a part of the episodes. Part 0 uses the seed
// itself. The others use golden-ratio multiples, which are far from seeds that people choose.
func partSeed(seed int64, part int) int64 {
	return int64(uint64(seed) ^ uint64(part)*0x9E3779B97F4A7C15)
}

// Mean returns the mean fitness.
func (e Evaluated) Mean() float64 { return stats.Mean(e.fitnesses()) }

// Std returns the standard deviation of the fitness over the episodes, see [stats.Std].
func (e Evaluated) Std() float64 { return stats.Std(e.fitnesses()) }

// Median returns the median fitness.
func (e Evaluated) Median() float64 { return stats.Median(e.fitnesses()) }

// Quartiles returns the quartiles of the fitness.
func (e Evaluated) Quartiles() (q1, q3 float64) { return stats.Quartiles(e.fitnesses()) }

func (e Evaluated) fitnesses() []float64 { return lists.Convert[float64](e.Fitnesses) }

// Descriptor returns the mean descriptor, [d].
func (e Evaluated) Descriptor() []float64 {
	n := len(e.Fitnesses)
	mean := make([]float64, len(e.Descriptors)/n)
	for i, x := range e.Descriptors {
		mean[i%len(mean)] += float64(x) / float64(n)
	}
	return mean
}
