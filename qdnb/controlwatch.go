package qdnb

import (
	"fmt"
	"path/filepath"

	"github.com/pkg/errors"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/hierarchy"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// MetaEpisode is an episode played by a meta-controller.
type MetaEpisode struct {
	Fitness  float64
	Hurdles  int       // passed
	X, Z     []float64 // of the torso after each step: position along the track and height, metres
	Skills   []int     // chosen, in order: skill numbers or cells
	Decision int       // steps for which a chosen skill acts
	Cells    bool      // skills are cells of a repertoire

	// Film shows the episode from the end of its first step.
	Film *scene.Film
}

// Watch plays an episode with the meta-controller of a finished run of [Control]. seed draws the
// initial state and the choices. The run that supplies the skills must lie in the same folder.
func Watch(run *runs.Run, seed int64) (*MetaEpisode, error) {
	if run.Config.Algorithm != HierarchicalControl {
		return nil, errors.Errorf("%s has no meta-controller: it is a run of %s", run.Name(),
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
	e.Film.Title = fmt.Sprintf("%s on %s, hierarchical control",
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

// summary returns the return and the number of hurdles passed.
func (e *MetaEpisode) summary() string {
	return fmt.Sprintf("return %s, %d of %d hurdles passed", shortNumber(e.Fitness), e.Hurdles,
		catalog.HurdleNumber)
}

// Figure draws the trajectory of the torso over the hurdles, seen from the side, and the chosen
// skills.
func (e *MetaEpisode) Figure() (*figures.Figure, error) {
	name := "skill"
	if e.Cells {
		name = "cell"
	}
	plot := figures.Episode{
		Title: e.summary(), Skill: name,
		X: e.X, Z: e.Z, Skills: e.Skills, Decision: e.Decision,
	}
	for i := range catalog.HurdleNumber {
		plot.Hurdles = append(plot.Hurdles, figures.Hurdle{X: float64(i+1) * catalog.HurdleSpacing,
			Radius: catalog.HurdleRadius})
	}
	return figures.MetaEpisode(plot)
}
