package watch

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// Choices are what a meta-controller did in an episode.
type Choices struct {
	Skills   []int // chosen, in order: skill numbers or cells
	Decision int   // steps for which a chosen skill acts
	Cells    bool  // skills are cells of a repertoire
	Hurdles  int   // passed
}

// playController is [Play] with the meta-controller of a finished run of hierarchical control. A
// film shows its episode from the end of the first step.
func (s Spec) playController(ctx context.Context, run *runs.Run) (*Recording, error) {
	if s.Skills != nil || s.Cells != nil || s.Environment != nil || s.Conditions != nil || s.Archived {
		return nil, fmt.Errorf("%s selects skills itself: set only Seed and Episodes", run.Name())
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var settings policies.ControlSettings
	if err := run.Config.Settings(&settings); err != nil {
		return nil, err
	}
	controller, err := npz.Read(filepath.Join(run.Dir, policies.ControllerFile))
	if err != nil {
		return nil, fmt.Errorf("%s has no meta-controller yet (%v): train it to the end first",
			run.Dir, err)
	}
	trained, err := runs.Open(filepath.Join(run.Dir, "..", settings.Skills))
	if err != nil {
		return nil, fmt.Errorf("the skills of %s: %w", run.Name(), err)
	}
	skills, numbers, err := policies.ForControl(trained)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", run.Name(), err)
	}
	env, err := settings.Options(skills)
	if err != nil {
		return nil, err
	}
	stage, err := newStage(env.Env)
	if err != nil {
		return nil, err
	}
	const place = 2 // numbers before those of the film: position and height
	env.Watch, env.Width = func(s envs.State) *Node {
		x, z := Slice(s.Observation, AxisRange(), AxisElem(0)), Slice(s.Observation, AxisRange(), AxisElem(2))
		return Concatenate([]*Node{x, z, stage.look(s)}, 1)
	}, place+stage.width()
	platform, err := xla.Open(ctx, s.Backend)
	if err != nil {
		return nil, err
	}
	task := settings.Task(env)
	row, err := ppo.Genotype(controller, task)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", run.Name(), err)
	}
	evaluator, err := scoring.NewEvaluator(platform, task, scoring.Plan{Policies: 1, Episodes: s.Episodes,
		Recorders: []envs.Recorder{env.Recorder()}})
	if err != nil {
		return nil, err
	}
	defer evaluator.Free()
	genotype, err := xla.Uploads(row, platform.Copies())
	if err != nil {
		return nil, err
	}
	defer genotype.Free()
	found, err := evaluator.Evaluate(genotype, s.Seed, nil)
	if err != nil {
		return nil, err
	}
	result := Result{}
	result.Fitnesses = found.Fitnesses
	for i := range s.Episodes {
		if !s.Record {
			break
		}
		size := len(found.Records[0]) / s.Episodes
		chosen, seen := env.Played(found.Records[0][i*size : (i+1)*size])
		choices := &Choices{Decision: settings.DecisionLength, Cells: !trained.HasSkills(),
			Hurdles: int(found.Descriptors[i])}
		for _, skill := range chosen {
			choices.Skills = append(choices.Skills, numbers[skill])
		}
		episode := Episode{Choices: choices}
		var looks []float32
		for row := range slices.Chunk(seen, env.Width) {
			episode.Path = append(episode.Path, []float32{float32(policies.Metres(float64(row[0]))), row[1]})
			looks = append(looks, row[place:]...)
		}
		episode.Film = stage.film(nil, looks)
		episode.Film.Title = fmt.Sprintf("%s on %s, hierarchical control",
			figures.MethodName(trained.Config.Algorithm), run.Config.Env)
		episode.Film.Subtitle = choices.summary(found.Fitnesses[i])
		if err := episode.Film.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", run.Name(), err)
		}
		result.Recorded = append(result.Recorded, episode)
	}
	return &Recording{
		Env: run.Config.Env, Episodes: s.Episodes, Steps: settings.EpisodeLength,
		Backend: platform.Name(), Results: []Result{result}, env: env.Env,
	}, nil
}

// summary returns the return and the number of hurdles passed.
func (c *Choices) summary(fitness float32) string {
	return fmt.Sprintf("return %s, %d of %d hurdles passed", shortNumber(float64(fitness)), c.Hurdles,
		catalog.HurdleNumber)
}

// overHurdles draws the trajectory of the torso over the hurdles in an episode, seen from the side,
// and the chosen skills.
func (r Result) overHurdles(i int) (figures.Grid, error) {
	episode := r.Recorded[i]
	choices := episode.Choices
	plot := figures.Episode{
		Title: choices.summary(r.Fitnesses[i]), Skill: "skill",
		Skills: choices.Skills, Decision: choices.Decision,
	}
	if choices.Cells {
		plot.Skill = "cell"
	}
	for _, at := range episode.Path {
		plot.X, plot.Z = append(plot.X, float64(at[0])), append(plot.Z, float64(at[1]))
	}
	for i := range catalog.HurdleNumber {
		plot.Hurdles = append(plot.Hurdles, figures.Hurdle{X: float64(i+1) * catalog.HurdleSpacing,
			Radius: catalog.HurdleRadius})
	}
	return figures.MetaEpisode(plot)
}
