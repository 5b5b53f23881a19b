// Package experiments plans the experiments of the paper as lists of runs, and runs them.
//
//	training       the eight methods on the seven environments
//	               (table 1, figures 2, 6 to 8, 11, 12)
//	smerl-targets  soft actor-critic alone, to measure SMERL's target returns
//	adaptation     the skills of the eight methods under changed gravity, a weakened leg and a
//	               moved target (figures 4, 13)
//	hurdles        a meta-controller that selects skills of the eight methods on
//	               halfcheetah-hurdles (figure 5)
//	sensitivity    MAP-Elites and DADS+REWARD with nine settings each, or four at scale medium (figures 3, 14)
//	prior          DIAYN+REWARD and DADS+REWARD with skills discriminated by whole observations,
//	               on ant-omni (figures 15, 17)
//	reward         DIAYN and DADS without the task's reward, compared with their other versions
//	               (table 10, figure 16)
//	beyond         methods published after the paper, on four environments
//
// Plans share training runs: a run that two experiments need has the same configuration in both and
// is trained once.
package experiments

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// Options select the part of an experiment to plan.
type Options struct {
	Scale      Scale    // default Paper
	Seeds      int      // number of seeds, from 0; 0: the scale's default
	Envs       []string // environments of the training runs; default: all of the experiment
	Algorithms []string // algorithms of the training runs; default: all of the experiment
	// Budget is Steps or Time (processor time at scale Medium). The default is Time at scale Paper and Steps
	// at the others, which gives the same results on all machines.
	Budget string
	// Targets replace the scale's SMERL targets with the returns of SAC from the experiment
	// smerl-targets. Scale Medium has no built-in targets, since SAC is trained there first.
	Targets []results.SMERLTarget
}

// experiment is the template of a plan.
type experiment struct {
	name       string
	algorithms []string
	envs       []string
	smoke      []string // algorithms at scale Smoke
	smokeEnvs  []string
	// adds the lines of an algorithm, an environment and a seed
	lines func(planner, string, string, int64) error
}

// The paper's methods and environments.
var (
	methods = records.Compared()
	all     = slices.SortedFunc(slices.Values(protocol.Environments()), names.InOrder(catalog.Names()))
	adapted = slices.DeleteFunc(slices.Clone(all), func(env string) bool { return len(perturbations(env)) == 0 })
)

// list has the paper's experiments and the one beyond it, ordered so that they share the most runs.
var list = []experiment{
	{results.ExperimentTraining, methods, all,
		[]string{"map-elites", "dads-reward"}, []string{"ant-trap", "ant-omni", "halfcheetah-uni"},
		planner.training},
	{results.ExperimentTargets, []string{"sac"}, all, []string{"sac"}, []string{"pointmaze"}, planner.training},
	{results.ExperimentAdaptation, methods, adapted,
		[]string{"map-elites", "dads-reward"}, []string{"halfcheetah-uni"}, planner.adaptation},
	{results.ExperimentHurdles, methods, []string{"halfcheetah-uni"},
		[]string{"map-elites", "dads-reward"}, []string{"halfcheetah-uni"}, planner.hurdles},
	{results.ExperimentSensitivity, []string{"map-elites", "dads-reward"}, protocol.GridEnvironments(),
		[]string{"map-elites", "dads-reward"}, []string{"halfcheetah-uni"}, planner.sensitivity},
	{results.ExperimentPrior, records.Compared("-reward"), []string{"ant-omni"},
		[]string{"dads-reward"}, []string{"ant-omni"}, planner.prior},
	{results.ExperimentReward, slices.Concat(records.Names(records.Unrewarded), records.Names(records.Reinforcement)), all[1:],
		[]string{"dads", "dads-reward"}, []string{"halfcheetah-uni"}, planner.adaptation},
	{results.ExperimentBeyond, records.Names(records.Later), []string{"pointmaze", "walker-uni", "ant-omni", "ant-uni"},
		[]string{"dns", "metra"}, []string{"pointmaze"}, planner.training},
}

// Plan lists the runs of an experiment, one of [results.Experiments]. Runs that others need come
// first.
func Plan(name string, o Options) ([]sweep.Line, error) {
	i := slices.IndexFunc(list, func(e experiment) bool { return e.name == name })
	if i < 0 {
		return nil, names.Unknown("experiment", name, results.Experiments())
	}
	if o.Scale = cmp.Or(o.Scale, Paper); !slices.Contains(Scales(), o.Scale) {
		known := strings.Fields(strings.Trim(fmt.Sprint(Scales()), "[]"))
		return nil, names.Unknown("scale", string(o.Scale), known)
	}
	e := list[i].at(o.Scale)
	if o.Seeds = cmp.Or(o.Seeds, o.Scale.seeds(e.name)); o.Seeds < 1 || o.Seeds > 1000 {
		return nil, fmt.Errorf("the number of seeds must be 1 to 1000, not %d", o.Seeds)
	}
	switch o.Budget {
	case "":
		if o.Budget = Steps; o.Scale == Paper {
			o.Budget = Time
		}
	case Steps, Time:
	default:
		return nil, names.Unknown("unit of budgets", o.Budget, []string{Steps, Time})
	}
	if err := e.lacks(o); err != nil {
		return nil, err
	}
	e.algorithms, e.envs = chosen(o.Algorithms, e.algorithms), chosen(o.Envs, e.envs)

	p := planner{Options: o, experiment: e.name, lines: new([]sweep.Line)}
	for seed := range int64(o.Seeds) {
		for _, env := range e.envs {
			for _, algorithm := range e.algorithms {
				if err := e.lines(p, algorithm, env, seed); err != nil {
					return nil, fmt.Errorf("%s on %s: %w", algorithm, env, err)
				}
			}
		}
	}
	// Needed runs come first, so that all independent lines can start at once.
	slices.SortStableFunc(*p.lines, func(a, b sweep.Line) int { return min(len(a.Needs), 1) - min(len(b.Needs), 1) })
	return *p.lines, nil
}

// at returns an experiment at a scale.
func (e experiment) at(s Scale) experiment {
	if s == Smoke {
		e.algorithms, e.envs = e.smoke, e.smokeEnvs
	}
	return e
}

// lacks returns the error for an algorithm or an environment that an experiment at a scale does not have. It names the
// scales, or else the experiments, that have all that is wanted.
func (e experiment) lacks(o Options) error {
	kind, wanted, has := "algorithm", o.Algorithms, e.algorithms
	i := missing(wanted, has)
	if i < 0 {
		kind, wanted, has = "environment", o.Envs, e.envs
		i = missing(wanted, has)
	}
	if i < 0 {
		return nil
	}
	var scales, others []string
	for _, other := range list {
		for _, scale := range Scales() {
			at := other.at(scale)
			switch {
			case missing(o.Algorithms, at.algorithms) >= 0 || missing(o.Envs, at.envs) >= 0:
			case other.name == e.name:
				scales = append(scales, string(scale))
			case scale == o.Scale:
				others = append(others, other.name)
			}
		}
	}
	flags := ""
	if len(o.Algorithms) > 0 {
		flags += " --algorithms " + strings.Join(o.Algorithms, ",")
	}
	if len(o.Envs) > 0 {
		flags += " --envs " + strings.Join(o.Envs, ",")
	}
	const lacks = "experiment %s at scale %s does not have the %s %q; %s that do: %s " +
		"(`qdnb sweep plan --experiment %s --scale %s%s`)"
	switch last := len(scales) - 1; {
	case last >= 0:
		return names.Wrongf(lacks, e.name, o.Scale, kind, wanted[i], "scales", names.List(scales), e.name, scales[last], flags)
	case len(others) > 0:
		return names.Wrongf(lacks, e.name, o.Scale, kind, wanted[i], "experiments", names.List(others), others[0], o.Scale, flags)
	}
	return fmt.Errorf("experiment %s at scale %s: %w", e.name, o.Scale, names.Unknown(kind, wanted[i], has))
}

// missing returns the index of the first wanted item that is not there; -1 if all are.
func missing(wanted, has []string) int {
	return slices.IndexFunc(wanted, func(name string) bool { return !slices.Contains(has, name) })
}

// chosen returns the wanted items among those of an experiment, in the experiment's order; all if none is wanted.
func chosen(wanted, has []string) []string {
	unwanted := func(name string) bool { return len(wanted) > 0 && !slices.Contains(wanted, name) }
	return slices.DeleteFunc(slices.Clone(has), unwanted)
}

type planner struct {
	Options
	experiment string
	lines      *[]sweep.Line
}

// add adds a line, which evaluates the given episodes beyond its budget.
func (p planner) add(label string, run runs.Config, budget runs.Budget, episodes int, needs ...sweep.Need) error {
	line := sweep.Line{Experiment: p.experiment, Label: label, Run: run, Budget: budget, Needs: needs}
	if p.Scale == Medium {
		line.CPUSeconds = results.EvaluationSeconds(run.Env, episodes)
		if budget != (runs.Budget{}) {
			line.CPUSeconds += (compileTime + results.MediumTime).Seconds()
		}
	}
	line, err := line.Sealed()
	if err == nil {
		*p.lines = append(*p.lines, line)
	}
	return err
}

// addTraining adds the training run of an algorithm with additional settings.
func (p planner) addTraining(label, algorithm, env string, seed int64, more ...string) (sweep.Need, error) {
	trained, err := p.train(algorithm, env, seed, more...)
	if err == nil {
		err = p.add(label, trained.Run, trained.Budget, 0)
	}
	return trained, err
}

// train returns the training run of an algorithm with additional settings.
func (p planner) train(algorithm, env string, seed int64, more ...string) (sweep.Need, error) {
	targets, err := p.targets(algorithm, env)
	if err != nil {
		return sweep.Need{}, err
	}
	set := slices.Concat(p.Scale.settings(algorithm, env), targets, more)
	config, err := qdnb.Spec{Algorithm: algorithm, Env: env, Seed: seed, Tune: runs.Assign(set...)}.Config()
	if err != nil {
		return sweep.Need{}, err
	}
	return sweep.Need{Run: config, Budget: p.Scale.budget(algorithm, env, p.Budget)}, nil
}

// targets returns SMERL's target and margin as assignments if they are not the scale's.
func (p planner) targets(algorithm, env string) ([]string, error) {
	if !settingsOf(algorithm)["smerl_target"] {
		return nil, nil
	}
	i := slices.IndexFunc(p.Targets, func(t results.SMERLTarget) bool { return t.Env == env })
	switch {
	case i >= 0:
		return []string{assign("smerl_target", p.Targets[i].Target), assign("smerl_margin", p.Targets[i].Margin)}, nil
	case len(p.Targets) > 0 || p.Scale == Medium:
		return nil, fmt.Errorf("SMERL has no target on %s at scale %s: run the experiment "+
			"smerl-targets at that scale first, and pass its smerl_targets_summary.csv with --targets", env, p.Scale)
	}
	return nil, nil
}

func (p planner) training(algorithm, env string, seed int64) error {
	_, err := p.addTraining(algorithm, algorithm, env, seed)
	return err
}

// adaptation adds a training run, and an adaptation run for each perturbation of its environment.
func (p planner) adaptation(algorithm, env string, seed int64) error {
	trained, err := p.addTraining(algorithm, algorithm, env, seed)
	if err != nil {
		return err
	}
	for _, perturbation := range perturbations(env) {
		values, episodes := p.Scale.adaptation(perturbation)
		config, err := qdnb.AdaptSpec{Perturbation: perturbation, Values: values,
			Episodes: episodes}.Config(trained.Run, trained.Budget)
		if err != nil {
			return err
		}
		if values == nil {
			values = perturbation.Values()
		}
		played := episodes * len(values) * skills(algorithm)
		if err := p.add(algorithm, config, runs.Budget{}, played, trained); err != nil {
			return err
		}
	}
	return nil
}

// skills returns the maximum number of skills of a method: the cells of a full repertoire, or the
// number of skills that a policy is conditioned on.
func skills(algorithm string) int {
	if records.Of(algorithm).Evolves() {
		return 1024
	}
	return 5
}

// perturbations returns the paper's perturbations of an environment; none if it is not adapted.
func perturbations(env string) []catalog.Perturbation {
	task, _ := catalog.Find(env)
	return task.Perturbations
}

// hurdles adds a training run on halfcheetah-uni, and the training of a meta-controller on its
// skills.
func (p planner) hurdles(algorithm, env string, seed int64) error {
	trained, err := p.addTraining(algorithm, algorithm, env, seed)
	if err != nil {
		return err
	}
	set, budget := p.Scale.control()
	config, err := qdnb.ControlSpec{Tune: runs.Assign(set...)}.Config(trained.Run, trained.Budget)
	if err != nil {
		return err
	}
	return p.add(algorithm, config, budget, 0, trained)
}

// gridSteps are the environment steps of DADS+REWARD with each setting of its grid at scale Medium: four
// episodes of each of its 200 environments, so that scores do not come from their beginnings only. It
// holds where steps were measured.
const gridSteps = 200_000

func (p planner) sensitivity(algorithm, env string, seed int64) error {
	grid, _ := protocol.GridOf(algorithm)
	values := grid.Values
	switch p.Scale {
	case Smoke:
		values = [2][]float64{values[0][:2], values[1][:1]}
	case Medium: // the corners: fewer settings rather than shorter runs
		for i, v := range values {
			values[i] = []float64{v[0], v[len(v)-1]}
		}
	}
	for _, a := range values[0] {
		for _, b := range values[1] {
			run, err := p.train(algorithm, env, seed, assign(grid.Settings[0], a), assign(grid.Settings[1], b))
			if err != nil {
				return err
			}
			switch p.Scale {
			case Small: // there are 72 settings per seed
				run.Budget.Time /= 2
				run.Budget.EnvSteps /= 2
			case Medium: // as long for both methods
				if steps := results.MediumSteps("dads-reward", env); steps > 0 {
					run.Budget.EnvSteps = run.Budget.EnvSteps * gridSteps / steps
				}
			}
			if err := p.add(algorithm, run.Run, run.Budget, 0); err != nil {
				return err
			}
		}
	}
	return nil
}

func assign(name string, value float64) string {
	return name + "=" + strconv.FormatFloat(value, 'g', -1, 64)
}

// prior adds the method with and without the prior. Without it, skills are discriminated by whole
// observations instead of positions.
func (p planner) prior(algorithm, env string, seed int64) error {
	for _, full := range []bool{false, true} {
		label := algorithm
		if full {
			label += ", no prior"
		}
		_, err := p.addTraining(label, algorithm, env, seed, "descriptor_full_state="+strconv.FormatBool(full))
		if err != nil {
			return err
		}
	}
	return nil
}
