package watch

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/policies"
)

// Choices are what a meta-controller did in an episode.
type Choices struct {
	Skills   []int // chosen, in order: skill numbers or cells
	Decision int   // steps for which a chosen skill acts
	Cells    bool  // skills are cells of a repertoire
	Hurdles  int   // passed
}

// overSkills are the recorded episodes of a meta-controller that chooses skills on hurdles.
type overSkills struct {
	envs.Hierarchical
	stage *stage
}

// torsoWidth is the number of recorded numbers before those of a film: position and height of the torso.
const torsoWidth = 2

// newOverSkills returns the environment whose recorder records a film.
func newOverSkills(env envs.Hierarchical) (*overSkills, error) {
	stage, err := newStage(env.Env)
	if err != nil {
		return nil, err
	}
	env.Watch, env.Width = func(s envs.State) *Node {
		x, z := Slice(s.Observation, AxisRange(), AxisElem(0)), Slice(s.Observation, AxisRange(), AxisElem(2))
		return Concatenate([]*Node{x, z, stage.look(s)}, 1)
	}, torsoWidth+stage.width()
	return &overSkills{env, stage}, nil
}

// episode reads a recorded episode, whose film begins at the end of the first control step.
func (o *overSkills) episode(record []float32, hurdles int) Episode {
	chosen, seen := o.Played(record)
	choices := &Choices{Decision: o.Every, Cells: !o.Skills.Gaussian, Hurdles: hurdles}
	for _, skill := range chosen {
		choices.Skills = append(choices.Skills, o.Skills.Numbers[skill])
	}
	episode := Episode{Choices: choices}
	var looks []float32
	for row := range slices.Chunk(seen, o.Width) {
		episode.Path = append(episode.Path, []float32{float32(policies.Metres(float64(row[0]))), row[1]})
		looks = append(looks, row[torsoWidth:]...)
	}
	episode.Film = o.stage.film(nil, looks)
	return episode
}

func (c *Choices) summary(fitness float32) string {
	return fmt.Sprintf("Return %s, %d of %d hurdles passed", shortNumber(float64(fitness)), c.Hurdles, catalog.HurdleNumber)
}

// overHurdles draws the torso over the hurdles in an episode, from the side, and the chosen skills.
func (r Result) overHurdles(i int) (figures.Grid, error) {
	episode := r.Recorded[i]
	choices := episode.Choices
	plot := figures.HurdleEpisode{
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
		plot.Hurdles = append(plot.Hurdles, figures.Hurdle{X: float64(i+1) * catalog.HurdleSpacing, Radius: catalog.HurdleRadius})
	}
	return figures.MetaEpisode(plot)
}
