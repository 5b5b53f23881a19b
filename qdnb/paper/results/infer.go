package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

// Infer reconstructs a plan from the runs in the folders below root, for results without a plan.
// Problems lists the runs that cannot be read and the choices made between runs. Experiment and
// label follow from the configuration:
//
//   - A run of algorithm "adaptation" or "ppo" belongs to adaptation or hurdles. It names the
//     folder of the training run whose skills it uses, and takes that run's label.
//   - diayn-reward and dads-reward with descriptor_full_state on an environment whose descriptor is
//     a position (ant-omni, ant-trap, ant-maze, pointmaze) belong to prior, as "<algorithm>, no
//     prior". If there are such runs, the corresponding runs with the prior belong there too.
//   - map-elites with iso_sigma and line_sigma on the paper's grid, and dads-reward with
//     diversity_reward_scale and alpha_init on its grid, belong only to sensitivity. The defaults
//     of training are not on the grids.
//   - sac belongs to smerl-targets, diayn and dads to reward, everything else to training. The
//     label is the algorithm's name.
//
// Among runs with the same experiment, label, environment and seed (and grid setting or
// perturbation) that differ in other hyperparameters, the longest complete run is used. A folder
// with runs at several scales needs a plan. Imported runs, which were not trained here, are left
// out.
func Infer(root string) (lines []sweep.Line, problems []error, err error) {
	found, problems, err := runs.Find(root, "*")
	if err != nil {
		return nil, nil, err
	}
	found = slices.DeleteFunc(found, func(run *runs.Run) bool {
		return run.Status.Backend == runs.Imported
	})
	trained := map[string]string{} // labels by run name
	for _, run := range found {
		if !follows(run.Config) {
			trained[run.Name()] = labelOf(run.Config)
		}
	}
	withoutPrior := map[[2]string]bool{}
	for _, run := range found {
		if label := labelOf(run.Config); label != run.Config.Algorithm {
			withoutPrior[[2]string{run.Config.Algorithm, run.Config.Env}] = true
		}
	}
	type candidate struct {
		line sweep.Line
		run  *runs.Run
	}
	chosen := map[string]candidate{}
	rivals := map[string]int{}
	var order []string
	add := func(run *runs.Run, experiment, label, kind string) {
		line := sweep.Line{Experiment: experiment, Label: label, Run: run.Config,
			Budget: run.Status.Budget}
		if follows(run.Config) {
			line.Budget = runs.Budget{}
		}
		key := fmt.Sprintf("%s: %s on %s, seed %d%s", experiment, label, run.Config.Env, run.Config.Seed,
			kind)
		rivals[key]++
		old, ok := chosen[key]
		if !ok {
			order = append(order, key)
		}
		if !ok || longer(run, old.run) {
			chosen[key] = candidate{line, run}
		}
	}
	for _, run := range found {
		c := run.Config
		switch c.Algorithm {
		case protocol.Adaptation, protocol.HierarchicalControl:
			var settings struct {
				Perturbation string `json:"perturbation"`
			}
			skills := c.SkillsRun()
			if json.Unmarshal(c.Hyperparameters, &settings) != nil || skills == "" {
				problems = append(problems, unreadable(run,
					errors.New("the run whose skills it uses is not named")))
				continue
			}
			label, ok := trained[skills]
			if !ok {
				label = algorithmOf(skills)
			}
			if c.Algorithm == protocol.HierarchicalControl {
				add(run, ExperimentHurdles, label, "")
			} else {
				add(run, ExperimentAdaptation, label, ", "+settings.Perturbation)
			}
			continue
		}
		label := labelOf(c)
		switch {
		case label != c.Algorithm:
			add(run, ExperimentPrior, label, "")
			continue
		case onGrid(c):
			a, b, _ := gridSettings(c)
			add(run, ExperimentSensitivity, label, fmt.Sprintf(", %g and %g", a.Value, b.Value))
			continue
		case c.Algorithm == "sac":
			add(run, ExperimentTargets, label, "")
		case c.Algorithm == "diayn" || c.Algorithm == "dads":
			add(run, ExperimentReward, label, "")
		default:
			add(run, ExperimentTraining, label, "")
		}
		if withoutPrior[[2]string{c.Algorithm, c.Env}] {
			add(run, ExperimentPrior, label, "")
		}
	}
	for _, key := range order {
		if n := rivals[key]; n > 1 {
			problems = append(problems, fmt.Errorf("%s: %d runs, using %s; give a plan to choose",
				key, n, chosen[key].run.Name()))
		}
		lines = append(lines, chosen[key].line)
	}
	return lines, problems, nil
}

// follows reports whether a run uses the skills of another run.
func follows(c runs.Config) bool {
	return c.Algorithm == protocol.Adaptation || c.Algorithm == protocol.HierarchicalControl
}

// longer reports whether run a is preferred to run b.
func longer(a, b *runs.Run) bool {
	if a.Status.Finished != b.Status.Finished {
		return a.Status.Finished
	}
	return a.Status.EnvSteps > b.Status.EnvSteps
}

// labelOf returns the label of a training run. The prior of the paper is a descriptor that is a
// position.
func labelOf(c runs.Config) string {
	env, _ := catalog.Find(c.Env)
	if slices.Contains(protocol.With("-reward"), c.Algorithm) && env.Positions() {
		if all, err := discriminatesAll(c); err == nil && all {
			return c.Algorithm + ", no prior"
		}
	}
	return c.Algorithm
}

// discriminatesAll reports whether skills are discriminated by the whole observation.
func discriminatesAll(c runs.Config) (bool, error) {
	var settings struct {
		FullState bool `json:"descriptor_full_state"`
	}
	if json.Unmarshal(c.Hyperparameters, &settings) != nil {
		return false, errors.New("descriptor_full_state is neither true nor false")
	}
	return settings.FullState, nil
}

// gridSettings returns the hyperparameters of a run that the grid of its algorithm varies. Those
// that it lacks have no name, and NaN as their value.
func gridSettings(c runs.Config) (a, b Setting, err error) {
	found := [2]Setting{{Value: math.NaN()}, {Value: math.NaN()}}
	grid, _ := protocol.GridOf(c.Algorithm)
	var settings map[string]json.RawMessage
	if err := json.Unmarshal(c.Hyperparameters, &settings); err != nil {
		return found[0], found[1], err
	}
	for i, name := range grid.Settings {
		if raw, ok := settings[name]; ok {
			found[i].Name = name
			if json.Unmarshal(raw, &found[i].Value) != nil {
				return found[0], found[1], fmt.Errorf("%s is not a number", name)
			}
		}
	}
	return found[0], found[1], nil
}

func onGrid(c runs.Config) bool {
	grid, _ := protocol.GridOf(c.Algorithm)
	a, b, err := gridSettings(c)
	return err == nil && slices.Contains(grid.Values[0], a.Value) &&
		slices.Contains(slices.Concat(grid.Values[1], grid.Script), b.Value)
}

// folderName matches the name of a run's folder: algorithm, environment, seed and hash.
var folderName = regexp.MustCompile(`^(.+)-(?:` + strings.Join(protocol.Environments(), "|") +
	`)--?\d+-[0-9a-f]{8}$`)

// algorithmOf returns the algorithm in the name of a run that no longer exists, or the whole name
// if its environment is unknown.
func algorithmOf(name string) string {
	if match := folderName.FindStringSubmatch(name); match != nil {
		return match[1]
	}
	return name
}
