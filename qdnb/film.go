package qdnb

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
)

// Film replays policies of a run, one episode each, and returns the films. It replays the policies
// in the given cells. Without cells it replays all skills of a run with skills, the meta-controller
// of a run of [Control] (see [Watch]), or the best cell of any other run. seed draws the initial
// state, which all episodes share. A film does not depend on the other films of the call.
func Film(run *runs.Run, seed int64, cells ...int) ([]*scene.Film, error) {
	if run.Config.Algorithm == HierarchicalControl && len(cells) == 0 {
		e, err := Watch(run, seed)
		if err != nil {
			return nil, err
		}
		return []*scene.Film{e.Film}, nil
	}
	return Films(run, EvaluateSpec{Cells: cells, Seed: seed, Episodes: 1})
}

// Films returns films of the episodes that [Evaluate] evaluates with the same spec, ordered by
// policy and then by episode. A custom environment must be an [envs.Rigid] or a [Visible].
func Films(run *runs.Run, s EvaluateSpec) ([]*scene.Film, error) {
	specs, err := s.starts(run)
	if err != nil {
		return nil, err
	}
	var all []*scene.Film
	for _, spec := range specs {
		films, err := spec.films(run)
		if err != nil {
			return nil, err
		}
		all = append(all, films...)
	}
	return all, nil
}

// films is [Films] of policies that share their initial states.
func (s EvaluateSpec) films(run *runs.Run) ([]*scene.Film, error) {
	env, err := s.environment(run)
	if err != nil {
		return nil, err
	}
	stage, err := newStage(env)
	if err != nil {
		return nil, err
	}
	policies, hidden, err := policiesOf(run, s.Skills, s.Cells)
	if err != nil {
		return nil, err
	}
	rollouts, err := newRollouts(run, env, policies, hidden, s.Episodes, s.Seed, s.Backend,
		stage.first, stage.steps)
	if err != nil {
		return nil, err
	}
	defer rollouts.close()
	results, err := rollouts.under(s.Conditions, s.report(len(policies)))
	if err != nil {
		return nil, err
	}
	var films []*scene.Film
	d := len(env.Spec().Descriptor.Lower)
	for _, r := range results {
		for i := range s.Episodes {
			part := func(k int) []float32 {
				size := len(r.records[k]) / s.Episodes
				return r.records[k][i*size : (i+1)*size]
			}
			film := stage.film(part(0), part(1))
			film.Title = fmt.Sprintf("%s on %s, %s", figures.MethodName(run.Config.Algorithm),
				env.Spec().Name, r.Policy)
			if s.Episodes > 1 {
				film.Title += fmt.Sprintf(", episode %d", i+1)
			}
			film.Outcome = &scene.Outcome{Fitness: float64(r.Fitnesses[i]), Archived: s.Archived}
			for _, x := range r.Descriptors[i*d : (i+1)*d] {
				film.Outcome.Descriptor = append(film.Outcome.Descriptor, float64(x))
			}
			film.Subtitle = filmSubtitle(env, s.Conditions, film.Outcome)
			if err := film.Check(); err != nil {
				return nil, errors.WithMessage(err, film.Title)
			}
			films = append(films, film)
		}
	}
	return films, nil
}

// filmSubtitle returns the fitness, the descriptor, and the conditions that differ from nominal.
func filmSubtitle(env envs.Env, conditions *envs.Conditions, o *scene.Outcome) string {
	parts := []string{"fitness " + shortNumber(o.Fitness)}
	if len(o.Descriptor) > 0 {
		var components []string
		for _, x := range o.Descriptor {
			components = append(components, shortNumber(x))
		}
		parts = append(parts, "descriptor ("+strings.Join(components, ", ")+")")
	}
	live, err := envs.NewPerturbable(env)
	if conditions == nil || err != nil {
		return strings.Join(parts, ", ")
	}
	usual := live.Nominal()
	if conditions.Gravity != usual.Gravity {
		parts = append(parts, "gravity multiplier "+shortNumber(conditions.Gravity))
	}
	if conditions.Actuators != usual.Actuators {
		parts = append(parts, "actuator strength multiplier "+shortNumber(conditions.Actuators))
	}
	if conditions.Target != usual.Target {
		parts = append(parts, fmt.Sprintf("target (%s, %s)", shortNumber(conditions.Target[0]),
			shortNumber(conditions.Target[1])))
	}
	return strings.Join(parts, ", ")
}

// shortNumber formats with three significant digits, or all digits before the decimal point, and
// with the minus sign of figure axes.
func shortNumber(x float64) string {
	text := strconv.FormatFloat(x, 'g', 3, 64)
	if math.Abs(x) >= 100 && math.Abs(x) < 1e15 {
		text = strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strings.ReplaceAll(text, "-", "−")
}
