package qdnb

import (
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/evolution"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// EvaluateSpec says which policies of a run to evaluate, and where.
type EvaluateSpec struct {
	Skills []int // of a run with skills; see below
	Cells  []int // of a repertoire. Without skills and cells it is all skills, or the best cell where there are no skills

	Environment envs.Env // nil: the run's. Another one must have as many observations and actions
	Episodes    int      // of each policy, each from an initial state of its own
	Seed        int64    // draws the initial states, which are the same for all policies
	Backend     string   // see [xla.Open]; empty for the best there is
}

// Evaluation is what [Evaluate] finds.
type Evaluation struct {
	Env      string
	Episodes int // of each policy
	Steps    int // of an episode, as in the run's settings
	Backend  string
	Results  []Evaluated
}

// Evaluated is how one policy did.
type Evaluated struct {
	Policy
	Fitnesses   []float32 // [episodes]; -Inf where something was not a number
	Descriptors []float32 // [episodes, d]
}

// Policy is a skill or the policy in a cell.
type Policy struct {
	Cell     bool // else a skill
	Number   int  // of the skill or the cell
	Genotype []float32
}

// episodesAtOnce is the number of episodes that one program computes. It is a part of the results: beyond it, initial states come from
// another seed.
const episodesAtOnce = 512

// Evaluate rolls policies of a run out, each for several episodes. What it finds of a policy does not depend on the others.
func Evaluate(run *runs.Run, s EvaluateSpec) (*Evaluation, error) {
	if s.Episodes < 1 || s.Episodes > 1<<20 {
		return nil, errors.Errorf("policies are evaluated for 1 to %d episodes, not %d", 1<<20, s.Episodes)
	}
	env, err := s.environment(run)
	if err != nil {
		return nil, err
	}
	policies, hidden, err := policiesOf(run, s.Skills, s.Cells)
	if err != nil {
		return nil, err
	}
	task, err := taskOf(env, run.Config)
	if err != nil {
		return nil, err
	}
	if hidden != nil {
		task = evolution.NewTask(env, hidden, task.Length)
	}
	if err := fits(task, run, len(policies[0].Genotype)); err != nil {
		return nil, err
	}
	platform, err := xla.Open(s.Backend)
	if err != nil {
		return nil, err
	}
	result := &Evaluation{Env: env.Spec().Name, Episodes: s.Episodes, Steps: task.Length, Backend: platform.Name()}
	n := min(s.Episodes, episodesAtOnce)
	evaluator, err := evolution.NewRepeatedEvaluator(platform, task, 1, n, 0)
	if err != nil {
		return nil, err
	}
	defer evaluator.Free()
	d := len(env.Spec().Descriptor.Lower)
	for _, policy := range policies {
		evaluated := Evaluated{Policy: policy}
		value := platform.Replicated(func() *tensors.Tensor {
			return tensors.FromFlatDataAndDimensions(slices.Clone(policy.Genotype), 1, len(policy.Genotype))
		})
		for part := 0; part*n < s.Episodes && err == nil; part++ {
			var fitnesses, descriptors []float32
			fitnesses, descriptors, err = evaluator.Evaluate(value, partSeed(s.Seed, part))
			evaluated.Fitnesses = append(evaluated.Fitnesses, fitnesses...)
			evaluated.Descriptors = append(evaluated.Descriptors, descriptors...)
		}
		value.Free()
		if err != nil {
			return nil, err
		}
		evaluated.Fitnesses, evaluated.Descriptors = evaluated.Fitnesses[:s.Episodes], evaluated.Descriptors[:s.Episodes*d]
		result.Results = append(result.Results, evaluated)
	}
	return result, nil
}

// partSeed is the seed of the initial states of a part of the episodes: the seed itself of the first. Golden multiples are far from the
// seeds that people choose.
func partSeed(seed int64, part int) int64 {
	return int64(uint64(seed) ^ uint64(part)*0x9E3779B97F4A7C15)
}

// environment is where to evaluate.
func (s EvaluateSpec) environment(run *runs.Run) (envs.Env, error) {
	if s.Environment != nil {
		return s.Environment, s.Environment.Spec().Validate()
	}
	if !slices.Contains(envs.Names(), run.Config.Env) {
		return nil, errors.Errorf("%s is not an environment of qdnb: give the one to evaluate in", run.Config.Env)
	}
	return envs.Make(run.Config.Env)
}

// fits tells why policies of a run do not fit a task.
func fits(task evolution.Task, run *runs.Run, params int) error {
	spec := task.Env.Spec()
	if trained, err := envs.Make(run.Config.Env); err == nil {
		if t := trained.Spec(); t.Observations != spec.Observations || t.Actions != spec.Actions {
			return errors.Errorf("%s has %d observations and %d actions, but the policies of %s are for %s, which has %d and %d",
				spec.Name, spec.Observations, spec.Actions, run.Name(), t.Name, t.Observations, t.Actions)
		}
	}
	if want := task.Policy.Params(); want != params {
		return errors.Errorf("policies for %s have %d parameters, those of %s %d", spec.Name, want, run.Name(), params)
	}
	return nil
}

// policiesOf are the policies of a run that are wanted. hidden are the hidden layers of skills; nil of cells, where the run's settings
// name them.
func policiesOf(run *runs.Run, skills, cells []int) (policies []Policy, hidden []int, err error) {
	switch {
	case len(skills) > 0 && len(cells) > 0:
		return nil, nil, errors.New("skills and cells cannot be had together: give one of them")
	case len(skills) > 0 && !run.HasSkills() && run.HasRepertoire():
		return nil, nil, errors.Errorf("%s has a repertoire and no skills: give a cell", run.Name())
	case len(cells) > 0 && !run.HasRepertoire() && run.HasSkills():
		return nil, nil, errors.Errorf("%s has skills and no repertoire: give a skill", run.Name())
	case !run.HasSkills() && !run.HasRepertoire():
		return nil, nil, errors.Errorf("%s has neither skills nor a repertoire yet; train it to the end first", run.Dir)
	case len(skills) > 0, len(cells) == 0 && run.HasSkills():
		return skillsOf(run, skills)
	}
	repertoire, err := run.Repertoire()
	if err != nil {
		return nil, nil, err
	}
	if len(cells) == 0 {
		cells = []int{repertoire.Best()}
		if cells[0] < 0 {
			return nil, nil, errors.Errorf("the repertoire of %s is empty", run.Name())
		}
	}
	filled := repertoire.Filled()
	for _, cell := range cells {
		if cell < 0 || cell >= repertoire.Cells() {
			return nil, nil, errors.Errorf("there is no cell %d: the repertoire has %d, from 0 on", cell, repertoire.Cells())
		}
		if _, ok := slices.BinarySearch(filled, cell); !ok {
			return nil, nil, errors.Errorf("cell %d is empty", cell)
		}
		policies = append(policies, Policy{true, cell, repertoire.Genotype(cell)})
	}
	return policies, nil, nil
}

// skillsOf are the skills of a run that are wanted, all if none is named.
func skillsOf(run *runs.Run, wanted []int) ([]Policy, []int, error) {
	skills, err := run.Skills()
	if err != nil {
		return nil, nil, err
	}
	if len(wanted) == 0 {
		for k := range skills.Skills() {
			wanted = append(wanted, k)
		}
	}
	var policies []Policy
	for _, k := range wanted {
		if k < 0 || k >= skills.Skills() {
			return nil, nil, errors.Errorf("there is no skill %d: %s has %d, from 0 on", k, run.Name(), skills.Skills())
		}
		policies = append(policies, Policy{false, k, skills.Genotype(k)})
	}
	return policies, append([]int{}, skills.Hidden...), nil
}

// Mean is the mean fitness.
func (e Evaluated) Mean() float64 {
	sum := 0.0
	for _, fitness := range e.Fitnesses {
		sum += float64(fitness)
	}
	return sum / float64(len(e.Fitnesses))
}

// Std is the standard deviation of the fitness over the episodes as a population: the root of the mean square distance from the
// mean, 0 of one episode, as NumPy has it.
func (e Evaluated) Std() float64 {
	mean, sum := e.Mean(), 0.0
	for _, fitness := range e.Fitnesses {
		sum += (float64(fitness) - mean) * (float64(fitness) - mean)
	}
	return math.Sqrt(sum / float64(len(e.Fitnesses)))
}

// Median is the median fitness: of an even number of episodes, the mean of the two in the middle.
func (e Evaluated) Median() float64 {
	sorted := slices.Sorted(slices.Values(e.Fitnesses))
	n := len(sorted)
	return (float64(sorted[(n-1)/2]) + float64(sorted[n/2])) / 2
}

// Descriptor is the mean descriptor, [d].
func (e Evaluated) Descriptor() []float64 {
	n := len(e.Fitnesses)
	mean := make([]float64, len(e.Descriptors)/n)
	for i, x := range e.Descriptors {
		mean[i%len(mean)] += float64(x) / float64(n)
	}
	return mean
}
