// Package watch plays skills of finished runs: their fitness, their trajectories and their films.
package watch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Spec configures [Play]: which skills to play, and in what environment.
type Spec struct {
	// Skills or Cells select the policies. Without both, they are all skills of a run with skills,
	// else the best cell.
	Skills []int
	Cells  []int // of the repertoire

	// Environment replaces the run's environment. It must have as many observations and actions. A
	// run of a custom environment needs it.
	Environment envs.Env

	// Policy is the architecture of a run whose policies have code of the user.
	Policy nn.Architecture

	Conditions envs.Conditions // of the environment, see [envs.Adjust]; nil: its own
	Seed       int64           // of the initial states, which all policies share

	// Episodes is the number of episodes per policy, from different initial states. 0 plays one
	// episode and records it.
	Episodes int
	// Record stores every step of the episodes, for [Recording.Films] and
	// [Recording.Trajectories].
	Record bool
	// Lengths counts the control steps of the episodes instead, for [Result].
	Lengths bool

	// Archived starts all episodes of a cell in the initial state of its evaluation in the
	// repertoire, whatever Seed: the first episode is the archived one. Cells of AURORA and
	// PGA-AURORA share one state. Each cell of the other methods of neuroevolution has its own, for
	// which a program is compiled, so at most 16 cells can be chosen. It is an error for skills, for
	// DNS, and together with Conditions.
	Archived bool

	origin *[2]int32 // of the cell, see [runs.Repertoire]; set by starts

	Backend string // see [xla.Open]; the best available one if empty

	// Progress, if not nil, is called with the number of finished episodes and their total.
	Progress func(done, total int)
}

// Recording is the result of [Play].
type Recording struct {
	Env      string
	Episodes int // per policy
	Steps    int // per episode, from the run's settings
	Backend  string
	Results  []Result

	env envs.Env
}

// Result holds the episodes of one policy.
type Result struct {
	policies.Evaluated
	Recorded []Episode // one for each fitness; nil if steps are not recorded
	Lengths  []int     // control steps of each episode; nil if they are not counted
}

// Episode is an episode that was recorded step by step.
type Episode struct {
	Film *scene.Film // nil if the environment has no visible bodies
	// Path holds the state descriptor before each step, [steps][d]. For a meta-controller it holds
	// the torso's position along the track and its height after each step, in metres.
	Path    [][]float32
	Choices *Choices // of a meta-controller; nil for a skill
}

// Play plays episodes with policies of a run. The results of a policy do not depend on the other
// policies. The run that supplies the skills of a run of hierarchical control must lie in the same
// folder.
func Play(ctx context.Context, run *runs.Run, s Spec) (whole *Recording, err error) {
	if panicked := xla.CatchUse("PlaySpec", s, func() { whole, err = s.all(ctx, run) }); panicked != nil {
		return nil, panicked
	}
	return whole, err
}

// all is [Play] that panics.
func (s Spec) all(ctx context.Context, run *runs.Run) (*Recording, error) {
	if err := runs.Given(run); err != nil {
		return nil, err
	}
	if s.Episodes == 0 {
		s.Episodes, s.Record = 1, true
	}
	cell.Begin() // what was read before only chose the run
	specs, err := s.starts(run)
	if err != nil {
		return nil, err
	}
	whole, err := specs[0].play(ctx, run)
	for _, spec := range specs[1:] {
		if err != nil {
			return nil, err
		}
		var more *Recording
		if more, err = spec.play(ctx, run); err == nil {
			whole.Results = append(whole.Results, more.Results...)
		}
	}
	return whole, err
}

// play is [Play] of policies that share their initial states.
func (s Spec) play(ctx context.Context, run *runs.Run) (*Recording, error) {
	env, err := s.environment(run)
	if err != nil {
		return nil, err
	}
	set, err := policies.Select(run, s.Skills, s.Cells)
	if err != nil {
		return nil, err
	}
	set.Architecture = s.Policy
	if s.Conditions != nil {
		if env, err = envs.Adjust(env, slices.Collect(maps.Keys(s.Conditions))...); err != nil {
			return nil, err
		}
	}
	var recorders []func(int) envs.Recorder
	var visible *stage // nil if nothing is recorded, or the environment has no visible bodies
	var over *overSkills
	shown, every := env, 1
	if options, ok := env.(envs.Hierarchical); ok {
		if over, err = newOverSkills(options); err != nil {
			return nil, err
		}
		shown, every = options.Env, options.Every
	}
	switch {
	case s.Lengths && !s.Record:
		recorders = append(recorders, ends)
	case !s.Record:
	case over != nil:
		env = over.Hierarchical
		recorders = append(recorders, func(int) envs.Recorder { return over.Recorder() })
	default:
		recorders = append(recorders, path(env))
		if stage, err := newStage(env); err == nil {
			visible, recorders = stage, append(recorders, stage.first, stage.steps)
		}
	}
	platform, err := xla.Open(ctx, s.Backend)
	if err != nil {
		return nil, err
	}
	rollouts, err := policies.NewRollouts(platform, set, env, s.Episodes, s.Seed, recorders...)
	if err != nil {
		return nil, err
	}
	defer rollouts.Close()
	done, total := 0, s.Episodes*len(set.Policies)
	results, err := rollouts.Run(ctx, s.Conditions, func(episodes int) {
		if done += episodes; s.Progress != nil {
			s.Progress(done, total)
		}
	})
	if err != nil {
		return nil, err
	}
	r := &Recording{
		Env: shown.Spec().Name, Episodes: s.Episodes, Steps: rollouts.Task.Length * every,
		Backend: platform.Name(), env: shown,
	}
	for _, evaluated := range results {
		result := Result{Evaluated: evaluated}
		for i := range s.Episodes {
			if !s.Record {
				break
			}
			part := func(k int) []float32 {
				size := len(evaluated.Records[k]) / s.Episodes
				return evaluated.Records[k][i*size : (i+1)*size]
			}
			var episode Episode
			if over != nil {
				episode = over.episode(part(0), int(evaluated.Descriptors[i]))
			} else {
				episode.Path = positions(part(0), len(env.Spec().Descriptor.Lower))
				if visible != nil {
					episode.Film = visible.film(part(1), part(2))
				}
			}
			if episode.Film != nil {
				if err := s.caption(episode, run, shown, evaluated, i); err != nil {
					return nil, err
				}
			}
			result.Recorded = append(result.Recorded, episode)
		}
		if s.Lengths && !s.Record {
			for steps := range slices.Chunk(evaluated.Records[0], rollouts.Task.Length) {
				end := slices.Index(steps, 1)
				if end < 0 {
					end = len(steps) - 1
				}
				result.Lengths = append(result.Lengths, (end+1)*every)
			}
		}
		result.Records = nil
		r.Results = append(r.Results, result)
	}
	return r, nil
}

func (s Spec) caption(played Episode, run *runs.Run, env envs.Env, e policies.Evaluated, episode int) error {
	film := played.Film
	film.Title = fmt.Sprintf("%s on %s, %s", figures.MethodName(run.Config.Algorithm), env.Spec().Name, e.Policy)
	if s.Episodes > 1 {
		film.Title += fmt.Sprintf(", episode %d", episode+1)
	}
	d := len(env.Spec().Descriptor.Lower)
	film.Outcome = &scene.Outcome{Fitness: float64(e.Fitnesses[episode]), Archived: s.Archived,
		Descriptor: lists.Convert[float64](e.Descriptors[episode*d : (episode+1)*d])}
	film.Subtitle = filmSubtitle(env, s.Conditions, film.Outcome)
	if played.Choices != nil {
		film.Subtitle = played.Choices.summary(e.Fitnesses[episode])
	}
	if err := film.Check(); err != nil {
		return fmt.Errorf("%s: %w", film.Title, err)
	}
	return nil
}

// filmSubtitle returns the fitness, the descriptor, and the conditions that differ from nominal.
func filmSubtitle(env envs.Env, conditions envs.Conditions, o *scene.Outcome) string {
	parts := []string{"fitness " + shortNumber(o.Fitness)}
	if len(o.Descriptor) > 0 {
		parts = append(parts, "descriptor ("+shortNumbers(o.Descriptor)+")")
	}
	for _, p := range envs.Perturbations() {
		value, nominal := conditions[p], p.Nominal()
		if r := envs.RigidOf(env); r != nil && r.Target != nil && p == envs.TargetPosition {
			nominal = r.Target[:]
		}
		switch {
		case value == nil || slices.Equal(value, nominal):
		case p.Multiplies():
			parts = append(parts, p.Title()+" multiplier "+shortNumber(value[0]))
		default:
			parts = append(parts, fmt.Sprintf("%s (%s)", p.Title(), shortNumbers(value)))
		}
	}
	return strings.Join(parts, ", ")
}

// shortNumber formats with three significant digits, and with the minus sign of figure axes.
func shortNumber(x float64) string { return strings.ReplaceAll(tables.Short(x, 3), "-", "−") }

func shortNumbers(list []float64) string { return strings.Join(lists.Map(list, shortNumber), ", ") }

// Films returns the films of the recorded episodes, ordered by policy and then by episode. A custom
// environment must be an [envs.Rigid] or a [Visible].
func (r *Recording) Films() (films []*scene.Film, err error) {
	for _, result := range r.Results {
		for _, episode := range result.Recorded {
			if episode.Film == nil {
				_, err := newStage(r.env)
				return nil, err
			}
			films = append(films, episode.Film)
		}
	}
	if len(films) == 0 {
		return nil, errors.New("the episodes are not recorded: set Record in the Spec")
	}
	return films, nil
}

// archivedCells is the largest number of cells whose archived initial states differ.
const archivedCells = 16

// starts splits a spec into specs whose policies share their initial states: a spec for each cell
// if Archived asks for a state per cell.
func (s Spec) starts(run *runs.Run) ([]Spec, error) {
	if !s.Archived {
		return []Spec{s}, nil
	}
	if s.Conditions != nil {
		return nil, errors.New("Archived and Conditions are mutually exclusive")
	}
	algorithm := cmp.Or(run.Status.Base, run.Config.Algorithm)
	set, err := policies.Select(run, s.Skills, s.Cells)
	if err != nil {
		return nil, err
	}
	repertoire, err := run.RepertoireMap()
	if err != nil {
		return nil, err
	}
	if repertoire.Origins == nil && slices.Contains(records.Compared("aurora"), algorithm) {
		return []Spec{s}, nil
	}
	if repertoire.Origins == nil || !set.Policies[0].Cell {
		return nil, fmt.Errorf("%s did not store the initial states of its evaluations: "+
			"leave Archived (--archived) out", run.Name())
	}
	if n := len(set.Policies); n > archivedCells {
		return nil, fmt.Errorf("%d cells have different initial states: choose at most %d of them, "+
			"or leave Archived (--archived) out", n, archivedCells)
	}
	var specs []Spec
	for _, policy := range set.Policies {
		origin := [2]int32(repertoire.Origins[2*policy.Number:])
		own := s
		own.Cells, own.origin = []int{policy.Number}, &origin
		specs = append(specs, own)
	}
	return specs, nil
}

func (s Spec) environment(run *runs.Run) (envs.Env, error) {
	var env envs.Env
	var err error
	if env = s.Environment; env != nil {
		err = envs.Validate(env)
	} else {
		env, err = policies.Environment(run)
	}
	if err != nil || !s.Archived {
		return env, err
	}
	var settings struct{ Starts evolution.Starts }
	if s.origin == nil {
		return settings.Starts.Passive(env, run.Config.Seed), nil
	}
	if err := json.Unmarshal(run.Config.Hyperparameters, &settings); err != nil {
		return nil, fmt.Errorf("cannot read the settings of %s: %w", run.Name(), err)
	}
	return settings.Starts.Of(env, run.Config.Seed, s.origin[0], s.origin[1]), nil
}
