package policies

import (
	"fmt"
	"math"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/hierarchy"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
)

// HurdlesEnv is the environment of hierarchical control.
const HurdlesEnv = "halfcheetah-hurdles"

// ControllerFile is the name of the file in a run's folder that holds the meta-controller.
const ControllerFile = "policy.npz"

// ControlSettings are the hyperparameters of a run of hierarchical control.
type ControlSettings struct {
	Skills       string      `json:"skills"` // name of the folder of the run that supplies the skills
	SkillsBudget runs.Budget `json:"skills_budget"`
	hierarchy.Settings
}

// HurdlesPassed returns how many hurdles a torso has passed. x is its farthest observed position.
func HurdlesPassed(x float64) int {
	count := math.Ceil(Metres(x)/catalog.HurdleSpacing) - 1 // the hurdles strictly before x
	if !(count > 0) {
		return 0
	}
	return int(min(count, catalog.HurdleNumber))
}

// Metres converts the torso's observed position to its x in metres.
func Metres(observed float64) float64 { return catalog.HurdlesHalfway * (observed + 1) }

// Choosable holds the skills that a meta-controller chooses among.
type Choosable struct {
	Task    hierarchy.Task
	Rows    npz.Array // parameters, [skills, N]
	Numbers []int     // of the skills or cells, [skills]
}

// HurdlesTask returns the task of a meta-controller, without skills. They do not see the position
// and the distance to the next hurdle.
func HurdlesTask() (hierarchy.Task, error) {
	env, err := envs.Make(HurdlesEnv)
	return hierarchy.Task{Env: env, Unseen: 2, Place: [2]int{0, 2}}, err
}

// ForControl returns the skills of a run as policies for the hurdles environment. They observe
// what they observed in training, so not the position that precedes it in the observation.
func ForControl(run *runs.Run) (*Choosable, error) {
	hurdles, err := HurdlesTask()
	if err != nil {
		return nil, err
	}
	set, env := &Choosable{Task: hurdles}, hurdles.Env
	var flat []float32
	observations, actions := env.Spec().Observations-set.Task.Unseen, env.Spec().Actions
	if run.HasSkills() {
		skills, err := run.Skills()
		if err != nil {
			return nil, err
		}
		if skills.Observations != observations || skills.Actions != actions {
			return nil,
				fmt.Errorf("the skills of %s are for %d observations and %d actions, not %d and %d",
					run.Name(), skills.Observations, skills.Actions, observations, actions)
		}
		set.Task.Skills = hierarchy.NewForm(observations, skills.Hidden, actions, true)
		for k := range skills.Skills() {
			set.Numbers = append(set.Numbers, k)
			flat = append(flat, skills.Gaussian(k)...)
		}
	} else {
		cells, err := All(run)
		if err != nil {
			return nil, err
		}
		trained, err := envs.Make(run.Config.Env)
		if err != nil {
			return nil, err
		}
		task, err := cells.Task(trained)
		if err != nil {
			return nil, err
		}
		sizes := task.Policy.Sizes
		set.Task.Skills = hierarchy.NewForm(observations, sizes[1:len(sizes)-1], actions, false)
		for _, policy := range cells.Policies {
			set.Numbers = append(set.Numbers, policy.Number)
			row := policy.Genotype
			if task.Weights == scoring.BFloat16 {
				row = task.Policy.RoundBFloat16(row)
			}
			flat = append(flat, row...)
		}
	}
	if want := len(set.Numbers) * set.Task.Skills.Net.Params(); len(flat) != want {
		return nil,
			fmt.Errorf("the skills of %s have %d parameters in total, not %d: they do not fit %s",
				run.Name(), len(flat), want, HurdlesEnv)
	}
	set.Rows = npz.Of(flat, len(set.Numbers), len(flat)/len(set.Numbers))
	return set, nil
}
