package qdnb

import (
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/xla"
)

// EvaluateSpec configures [Evaluate] and [Films]: which policies to evaluate, and in what
// environment.
type EvaluateSpec struct {
	// Skills or Cells select the policies. Without both, they are all skills of a run with skills,
	// else the best cell.
	Skills []int
	Cells  []int // of the repertoire

	// Environment replaces the run's environment. It must have as many observations and actions.
	Environment envs.Env

	Conditions *envs.Conditions // of the environment, see [envs.Perturbable]; nil: nominal
	Episodes   int              // per policy, from different initial states
	Seed       int64            // of the initial states, which all policies share

	// Archived starts all episodes of a cell in the initial state of its evaluation in the
	// repertoire, whatever Seed: the first episode is the archived one. Cells of AURORA and
	// PGA-AURORA share one state. Each cell of the other methods of neuroevolution has its own, for
	// which a program is compiled, so at most 16 cells can be chosen. It is an error for skills, for
	// cells filled by an older version of qdnb, and together with Conditions.
	Archived bool

	origin *[2]int32 // of the cell, see [runs.Repertoire]; set by starts

	Backend string // see [xla.Open]; the best available one if empty
}

// Evaluation is the result of [Evaluate].
type Evaluation struct {
	Env      string
	Episodes int // per policy
	Steps    int // per episode, from the run's settings
	Backend  string
	Results  []Evaluated
}

// Evaluated holds the results of one policy.
type Evaluated struct {
	Policy
	Fitnesses   []float32 // [episodes]; -Inf for an episode in which a value was NaN
	Descriptors []float32 // [episodes, d]

	records [][]float32 // per recorder, [episodes, rows * width]
}

// Evaluate rolls out policies of a run, each for several episodes. The results of a policy do not
// depend on the other policies.
func Evaluate(run *runs.Run, s EvaluateSpec) (*Evaluation, error) {
	specs, err := s.starts(run)
	if err != nil {
		return nil, err
	}
	whole, err := specs[0].evaluate(run)
	for _, spec := range specs[1:] {
		if err != nil {
			return nil, err
		}
		var more *Evaluation
		if more, err = spec.evaluate(run); err == nil {
			whole.Results = append(whole.Results, more.Results...)
		}
	}
	return whole, err
}

// evaluate is [Evaluate] of policies that share their initial states.
func (s EvaluateSpec) evaluate(run *runs.Run) (*Evaluation, error) {
	env, err := s.environment(run)
	if err != nil {
		return nil, err
	}
	policies, hidden, err := policiesOf(run, s.Skills, s.Cells)
	if err != nil {
		return nil, err
	}
	rollouts, err := newRollouts(run, env, policies, hidden, s.Episodes, s.Seed, s.Backend)
	if err != nil {
		return nil, err
	}
	defer rollouts.close()
	results, err := rollouts.under(s.Conditions, nil)
	if err != nil {
		return nil, err
	}
	return &Evaluation{
		Env: env.Spec().Name, Episodes: s.Episodes, Steps: rollouts.task.Length,
		Backend: rollouts.platform.Name(), Results: results,
	}, nil
}

// archivedCells is the largest number of cells whose archived initial states differ.
const archivedCells = 16

// starts splits a spec into specs whose policies share their initial states: a spec for each cell
// if Archived asks for a state per cell.
func (s EvaluateSpec) starts(run *runs.Run) ([]EvaluateSpec, error) {
	if a := run.Config.Algorithm; !s.Archived || a == "aurora" || a == "pga-aurora" {
		return []EvaluateSpec{s}, nil
	}
	if s.Conditions != nil {
		return nil, errors.New("Archived and Conditions are mutually exclusive")
	}
	policies, _, err := policiesOf(run, s.Skills, s.Cells)
	if err != nil {
		return nil, err
	}
	repertoire, err := run.RepertoireMap()
	if err != nil {
		return nil, err
	}
	if repertoire.Origins == nil || !policies[0].Cell {
		return nil, errors.Errorf("%s did not store the initial states of its evaluations: "+
			"leave Archived (--archived) out", run.Name())
	}
	if len(policies) > archivedCells {
		return nil, errors.Errorf("%d cells start in states of their own: choose at most %d of them, or "+
			"leave Archived (--archived) out", len(policies), archivedCells)
	}
	var specs []EvaluateSpec
	for _, policy := range policies {
		origin := [2]int32(repertoire.Origins[2*policy.Number:])
		if origin[0] < 0 {
			return nil, errors.Errorf("the initial state of %s was not stored: an older version filled it",
				policy)
		}
		own := s
		own.Cells, own.origin = []int{policy.Number}, &origin
		specs = append(specs, own)
	}
	return specs, nil
}

// rollouts evaluates policies from the same initial states under any number of conditions.
type rollouts struct {
	platform  *xla.Platform
	task      scoring.Task
	evaluator *scoring.Evaluator
	recorders []envs.Recorder
	policies  []Policy
	together  int // policies per call of the program
	states    int // episodes per policy and call
	episodes  int
	seed      int64
}

// statesAtOnce is the maximum number of initial states per call of the program. Results depend on
// it: initial states beyond it are drawn from another seed.
const statesAtOnce = 512

// episodesAtOnce is the approximate number of episodes per call of the program. It limits memory
// and the time between progress reports. Results do not depend on it.
const episodesAtOnce = 2048

// recordedAtOnce replaces episodesAtOnce if steps are recorded.
const recordedAtOnce = 256

// newRollouts compiles the rollout of policies of a run. hidden is the sizes of their hidden
// layers, nil if the run's settings hold them. Recorders receive the length of an episode.
func newRollouts(run *runs.Run, env envs.Env, policies []Policy, hidden []int, episodes int,
	seed int64, backend string,
	recorders ...func(steps int) envs.Recorder) (*rollouts, error) {
	if episodes < 1 || episodes > 1<<20 {
		return nil, errors.Errorf("episodes must be between 1 and %d, not %d", 1<<20, episodes)
	}
	if live, err := envs.NewPerturbable(env); err == nil {
		env = live
	}
	task, err := taskOf(env, run.Config)
	if err != nil {
		return nil, err
	}
	if hidden != nil {
		task = scoring.NewTask(env, hidden, task.Length)
	}
	if err := fits(task, run, len(policies[0].Genotype)); err != nil {
		return nil, err
	}
	platform, err := xla.Open(backend)
	if err != nil {
		return nil, err
	}
	r := &rollouts{platform: platform, task: task, policies: policies, episodes: episodes, seed: seed}
	r.states = min(episodes, statesAtOnce)
	atOnce := episodesAtOnce
	if len(recorders) > 0 {
		atOnce = recordedAtOnce
	}
	r.together = min(len(policies), max(1, atOnce/r.states))
	// The slice must not depend on the number of policies.
	slice := scoring.DefaultSlice(platform.Kind, r.states, task.Policy.Params())
	if platform.Kind != xla.CPU {
		slice = r.together * r.states
	}
	for _, recorder := range recorders {
		r.recorders = append(r.recorders, recorder(task.Length))
	}
	r.evaluator, err = scoring.NewCrossedEvaluator(platform, task, r.together, r.states, slice,
		r.recorders...)
	if err != nil {
		return nil, err
	}
	return r, nil
}

func (r *rollouts) close() { r.evaluator.Free() }

// under evaluates all policies under conditions; nil means nominal conditions. step, if not nil, is
// called with the number of episodes computed since its last call. Its error ends the evaluation.
func (r *rollouts) under(conditions *envs.Conditions,
	step func(episodes int) error) (all []Evaluated, err error) {
	d := len(r.task.Env.Spec().Descriptor.Lower)
	for first := 0; first < len(r.policies); first += r.together {
		group := r.policies[first:min(first+r.together, len(r.policies))]
		results, err := r.group(group, conditions, step)
		if err != nil {
			return nil, err
		}
		for i := range results {
			results[i].Fitnesses, results[i].Descriptors = results[i].Fitnesses[:r.episodes],
				results[i].Descriptors[:r.episodes*d]
			for k, recorder := range r.recorders {
				results[i].records[k] = results[i].records[k][:r.episodes*recorder.Rows(
					r.task.Length)*recorder.Width]
			}
		}
		all = append(all, results...)
	}
	return all, nil
}

// group evaluates up to r.together policies. It pads a smaller group by repeating the last one.
func (r *rollouts) group(group []Policy, conditions *envs.Conditions,
	step func(int) error) ([]Evaluated, error) {
	var genotypes []float32
	for i := range r.together {
		genotypes = append(genotypes, group[min(i, len(group)-1)].Genotype...)
	}
	value := r.platform.Replicated(func() *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(slices.Clone(genotypes), r.together,
			len(genotypes)/r.together)
	})
	defer value.Free()
	results := make([]Evaluated, len(group))
	for i := range results {
		results[i].Policy, results[i].records = group[i], make([][]float32, len(r.recorders))
	}
	for part := 0; part*r.states < r.episodes; part++ {
		var fitnesses, descriptors []float32
		var records [][]float32
		var err error
		seed := partSeed(r.seed, part)
		if conditions == nil {
			fitnesses, descriptors, records, err = r.evaluator.Record(value, seed)
		} else {
			fitnesses, descriptors, records, err = r.evaluator.RecordUnder(value, seed, *conditions)
		}
		if err != nil {
			return nil, err
		}
		n, d := r.states, len(descriptors)/len(fitnesses)
		for i := range results {
			results[i].Fitnesses = append(results[i].Fitnesses, fitnesses[i*n:(i+1)*n]...)
			results[i].Descriptors = append(results[i].Descriptors, descriptors[i*n*d:(i+1)*n*d]...)
			for k, recorder := range r.recorders {
				size := n * recorder.Rows(r.task.Length) * recorder.Width
				results[i].records[k] = append(results[i].records[k], records[k][i*size:(i+1)*size]...)
			}
		}
		if step != nil {
			if err := step(len(group) * min(n, r.episodes-part*n)); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

// partSeed returns the seed of the initial states of a part of the episodes. Part 0 uses the seed
// itself. The others use golden-ratio multiples, which are far from seeds that people choose.
func partSeed(seed int64, part int) int64 {
	return int64(uint64(seed) ^ uint64(part)*0x9E3779B97F4A7C15)
}

// environment returns the environment in which to evaluate.
func (s EvaluateSpec) environment(run *runs.Run) (envs.Env, error) {
	if s.Archived {
		s.Archived = false
		env, err := s.environment(run)
		if err != nil {
			return nil, err
		}
		if s.origin != nil {
			return evolution.ArchivedStart(env, run.Config.Seed, s.origin[0], s.origin[1]), nil
		}
		return evolution.PassiveStart(env, run.Config.Seed), nil
	}
	if s.Environment != nil {
		return s.Environment, s.Environment.Spec().Validate()
	}
	if !slices.Contains(envs.Names(), run.Config.Env) {
		return nil, errors.Errorf("%s is not a built-in environment: set Environment", run.Config.Env)
	}
	return envs.Make(run.Config.Env)
}

// Mean returns the mean fitness.
func (e Evaluated) Mean() float64 { return stats.Mean(e.fitnesses()) }

// Std returns the standard deviation of the fitness over the episodes, see [stats.Std].
func (e Evaluated) Std() float64 { return stats.Std(e.fitnesses()) }

// Median returns the median fitness.
func (e Evaluated) Median() float64 { return stats.Median(e.fitnesses()) }

// Quartiles returns the quartiles of the fitness.
func (e Evaluated) Quartiles() (q1, q3 float64) { return stats.Quartiles(e.fitnesses()) }

func (e Evaluated) fitnesses() []float64 {
	wide := make([]float64, len(e.Fitnesses))
	for i, fitness := range e.Fitnesses {
		wide[i] = float64(fitness)
	}
	return wide
}

// Descriptor returns the mean descriptor, [d].
func (e Evaluated) Descriptor() []float64 {
	n := len(e.Fitnesses)
	mean := make([]float64, len(e.Descriptors)/n)
	for i, x := range e.Descriptors {
		mean[i%len(mean)] += float64(x) / float64(n)
	}
	return mean
}
