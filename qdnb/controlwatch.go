package qdnb

import (
	"fmt"
	"path/filepath"

	"github.com/pkg/errors"

	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/hierarchy"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// MetaEpisode is an episode under a meta-controller.
type MetaEpisode struct {
	Fitness  float64
	Hurdles  int       // passed
	X, Z     []float64 // of the torso after each step: metres along the way, and its height
	Skills   []int     // chosen, one after the other: a skill's number, or a cell
	Decision int       // steps for which a chosen skill acts
	Cells    bool      // skills are cells of a repertoire

	// Film shows it, from the end of the first step on.
	Film *scene.Film
}

// Watch lets the meta-controller of a finished run of [Control] play an episode, from an initial
// state that seed draws, as it draws what is chosen. The run whose skills it controls must lie in
// the same folder as the run.
func Watch(run *runs.Run, seed int64) (*MetaEpisode, error) {
	if run.Config.Algorithm != HierarchicalControl {
		return nil, errors.Errorf("%s has no meta-controller to watch: it is a run of %s", run.Name(),
			run.Config.Algorithm)
	}
	var settings control
	if err := run.Config.Settings(&settings); err != nil {
		return nil, err
	}
	policy, err := npz.Read(filepath.Join(run.Dir, controlPolicyFile))
	if err != nil {
		return nil, errors.Errorf("%s has no meta-controller yet (%v): train it to the end first",
			run.Dir, err)
	}
	trained, err := runs.Open(filepath.Join(filepath.Dir(run.Dir), settings.Skills))
	if err != nil {
		return nil, errors.WithMessagef(err, "the skills of %s", run.Name())
	}
	skills, err := controlSkills(trained)
	if err == nil {
		err = hierarchy.Policy(policy).Chooses(skills.rows)
	}
	if err != nil {
		return nil, errors.WithMessage(err, run.Name())
	}
	stage, err := newStage(skills.task.Env)
	if err != nil {
		return nil, err
	}
	skills.task.Look, skills.task.Looks = stage.look, stage.width()
	platform, err := xla.Open("")
	if err != nil {
		return nil, err
	}
	evaluator, err := hierarchy.NewEvaluator(platform, skills.task, settings.Settings,
		skills.rows.Shape, 1)
	if err != nil {
		return nil, err
	}
	defer evaluator.Close()
	rows, err := hierarchy.Upload(platform, skills.rows)
	if err != nil {
		return nil, err
	}
	defer rows.Free()
	found, err := evaluator.Evaluate(policy, rows, seed, 0)
	if err != nil {
		return nil, err
	}
	e := &MetaEpisode{
		Fitness: float64(found.Fitnesses[0]), Hurdles: hurdlesPassed(float64(found.Farthest(0))),
		Decision: settings.DecisionLength, Cells: !trained.HasSkills(),
	}
	steps := int(found.Steps[0])
	var looks []float32
	for step := range steps {
		at := found.Position(0, step)
		e.X, e.Z = append(e.X, metres(float64(at[0]))), append(e.Z, float64(at[1]))
		looks = append(looks, found.Looked(0, step)...)
	}
	e.Film = stage.film(nil, looks)
	e.Film.Title = fmt.Sprintf("%s on %s, led over hurdles",
		figures.MethodName(trained.Config.Algorithm), run.Config.Env)
	e.Film.Subtitle = e.summary()
	if err := e.Film.Check(); err != nil {
		return nil, errors.WithMessage(err, run.Name())
	}
	for i, k := range found.Chosen(0) {
		if i*e.Decision < steps {
			e.Skills = append(e.Skills, skills.numbers[k])
		}
	}
	return e, nil
}

// summary says how the episode went.
func (e *MetaEpisode) summary() string {
	return fmt.Sprintf("return %s, %d of %d hurdles passed", shortNumber(e.Fitness), e.Hurdles,
		robots.HurdleNumber)
}

// Figure draws the way of the torso over the hurdles, seen from the side, and which skills were
// chosen.
func (e *MetaEpisode) Figure() (*figures.Figure, error) {
	name := "skill"
	if e.Cells {
		name = "cell"
	}
	plot := figures.Episode{
		Title: e.summary(), Skill: name,
		X: e.X, Z: e.Z, Skills: e.Skills, Decision: e.Decision,
	}
	for i := range robots.HurdleNumber {
		plot.Hurdles = append(plot.Hurdles, figures.Hurdle{X: float64(i+1) * robots.HurdleSpacing,
			Radius: robots.HurdleRadius})
	}
	return figures.MetaEpisode(plot)
}
