package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/progress"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/watch"
)

type evalCmd struct {
	runArg
	Skill     []int `placeholder:"N"`
	Cell      []int `placeholder:"N"`
	Corrected bool
	By        runs.Average `enum:"mean,median" default:"mean"`
	Save      bool
	Figure    string   `placeholder:"FILE"`
	Env       string   `placeholder:"NAME"`
	Episodes  int      `default:"100" placeholder:"N"`
	Seed      int64    `default:"0"`
	Gravity   *float64 `placeholder:"FACTOR"`
	Actuators *float64 `placeholder:"FACTOR"`
	Goal      *point   `name:"target" placeholder:"X,Y"`
	backendFlag
	JSON bool `name:"json"`
}

// evaluation is what `qdnb eval --json` prints.
type evaluation struct {
	Run      string            `json:"run"` // the folder's path
	Env      string            `json:"env"`
	Episodes int               `json:"episodes"` // per policy
	Steps    int               `json:"steps"`    // per episode
	Seed     int64             `json:"seed"`
	Backend  string            `json:"backend"`
	Results  []evaluatedPolicy `json:"results"`
	// with --corrected
	Archived       *repertoireStats `json:"archived,omitempty"`
	CorrectedStats *repertoireStats `json:"corrected,omitempty"`
}

// evaluatedPolicy is the result of one skill or cell. Numbers that are not finite are null.
type evaluatedPolicy struct {
	Skill          *int       `json:"skill,omitempty"`
	Cell           *int       `json:"cell,omitempty"`
	FitnessMean    *float64   `json:"fitness_mean"`
	FitnessStd     *float64   `json:"fitness_std"` // population standard deviation over episodes
	FitnessMedian  *float64   `json:"fitness_median"`
	DescriptorMean []*float64 `json:"descriptor_mean"` // empty if the environment has no descriptor
	// Fitnesses are those of the episodes, and Lengths their control steps, with --cell or --skill.
	Fitnesses []*float64 `json:"fitnesses,omitempty"`
	Lengths   []int      `json:"lengths,omitempty"`
}

func (c *evalCmd) Run(ctx context.Context) error {
	run, err := c.find()
	if err != nil {
		return err
	}
	if err := policies.Own(run); err != nil {
		return err
	}
	if c.Episodes < 1 {
		return names.Wrongf("--episodes must be 1 or more, not %d", c.Episodes)
	}
	if err := c.By.Used(c.Corrected); err != nil {
		return err
	}
	chosen := c.Cell != nil || c.Skill != nil
	spec := qdnb.PlaySpec{Skills: c.Skill, Cells: c.Cell, Episodes: c.Episodes, Seed: c.Seed, Backend: c.Backend,
		Lengths: c.JSON && chosen}
	if spec.Environment, spec.Conditions, err = c.environment(run); err != nil {
		return err
	}
	if c.Save && (!c.Corrected || spec.Environment != nil) {
		return names.Wrongf("--save stores corrected repertoires: add --corrected, and leave out options " +
			"that change the environment")
	}
	if c.Save {
		if err := watch.CanSave(run); err != nil {
			return err
		}
	}
	switch ext := strings.ToLower(filepath.Ext(c.Figure)); {
	case c.Figure == "":
	case !c.Corrected:
		return names.Wrongf("--figure draws corrected repertoires: add --corrected, or drop it")
	case !slices.Contains(figureFormats, strings.TrimPrefix(ext, ".")):
		return fmt.Errorf("--figure %s: %w", c.Figure, names.Unknown("format", ext, figureFormats))
	}
	if c.Corrected {
		repertoire, err := run.RepertoireMap()
		if err != nil {
			return err
		}
		if spec.Cells = repertoire.Filled(); len(spec.Cells) == 0 || spec.Skills != nil || c.Cell != nil {
			return names.Wrongf("--corrected evaluates all filled cells of a repertoire: leave --skill and "+
				"--cell out (%s has %d filled cells)", run.Name(), len(spec.Cells))
		}
	}
	if _, err := policies.Environment(run); err != nil && spec.Environment == nil {
		if !c.JSON && !c.Corrected {
			return errors.Join(printStored(run, spec.Skills, spec.Cells), err)
		}
		return err
	}
	bar := progress.NewBar("episodes", false)
	defer bar.Close()
	spec.Progress = counter(bar, "")
	found, err := qdnb.Play(ctx, run, spec)
	if err != nil {
		return err
	}
	bar.Done("evaluated")
	out := evaluation{Run: run.Dir, Env: found.Env, Episodes: found.Episodes, Steps: found.Steps,
		Seed: c.Seed, Backend: found.Backend}
	if !c.JSON {
		fmt.Fprintf(stdout, "run            %s\nenvironment    %s\nepisodes       %d of %d steps\nbackend       "+
			" %s\n", run.Dir, found.Env, found.Episodes, found.Steps, found.Backend)
	}
	if c.Corrected {
		if err := c.correct(run, found, &out); err != nil {
			return err
		}
	}
	if !c.JSON {
		if c.Corrected {
			return nil
		}
		for _, r := range found.Results {
			kind := "skill"
			if r.Cell {
				kind = "cell "
			}
			stored := ""
			fitness, _, err := storedOf(run, r.Cell, r.Number)
			if err == nil && !math.IsNaN(fitness) && spec.Environment == nil && spec.Conditions == nil {
				stored = fmt.Sprintf(" (in training %.6g)", fitness)
			}
			fmt.Fprintf(stdout, "%s %-6d   fitness %.6g%s, std %.4g, median %.6g; descriptor %.4g\n", kind, r.Number,
				r.Mean(), stored, r.Std(), r.Median(), r.Descriptor())
		}
		return nil
	}
	for _, r := range found.Results {
		p := evaluatedPolicy{FitnessMean: runs.Finite(r.Mean()), FitnessStd: runs.Finite(r.Std()),
			FitnessMedian: runs.Finite(r.Median()), DescriptorMean: []*float64{}}
		if r.Cell {
			p.Cell = &r.Number
		} else {
			p.Skill = &r.Number
		}
		for _, x := range r.Descriptor() {
			p.DescriptorMean = append(p.DescriptorMean, runs.Finite(x))
		}
		if p.Lengths = r.Lengths; chosen {
			for _, x := range r.Fitnesses {
				p.Fitnesses = append(p.Fitnesses, runs.Finite(float64(x)))
			}
		}
		out.Results = append(out.Results, p)
	}
	return json.NewEncoder(stdout).Encode(out)
}

// correct adds the metrics of a repertoire and the corrected ones to the output.
func (c *evalCmd) correct(run *runs.Run, found *qdnb.Recording, out *evaluation) error {
	corrected, err := found.Corrected(run, c.By)
	if err != nil {
		return err
	}
	before, after := statsOf(corrected.Archived), statsOf(&corrected.Repertoire)
	out.Archived, out.CorrectedStats = &before, &after
	if !c.JSON {
		a, b := corrected.Archived.Stats(), corrected.Repertoire.Stats()
		w := tabwriter.NewWriter(stdout, 0, 0, 3, ' ', tabwriter.AlignRight)
		fmt.Fprintf(w, "\tarchived\t%v\t\n", corrected.Correction)
		fmt.Fprintf(w, "max fitness\t%.6g\t%.6g\t\n", a.MaxFitness, b.MaxFitness)
		fmt.Fprintf(w, "coverage\t%.2f %%\t%.2f %%\t\n", a.Coverage, b.Coverage)
		fmt.Fprintf(w, "QD score\t%.6g\t%.6g\t\n", a.QDScore, b.QDScore)
		if err := w.Flush(); err != nil {
			return err
		}
		fmt.Fprintf(stdout, "Over its episodes, the median policy has a standard deviation of %.4g in fitness "+
			"and %.4g in descriptor.\n", corrected.FitnessStd, corrected.DescriptorStd)
	}
	if c.Save {
		if err := corrected.Save(); err != nil {
			return err
		}
	}
	if c.Figure == "" {
		return nil
	}
	figure, err := corrected.Figure()
	if err != nil {
		return err
	}
	_, err = save(c.Figure, figure.Save)
	return err
}

// environment returns the environment to evaluate in and its conditions; nil means the run's own
// environment or unchanged conditions.
func (c *evalCmd) environment(run *runs.Run) (envs.Env, envs.Conditions, error) {
	changed := c.Gravity != nil || c.Actuators != nil || c.Goal != nil
	if c.Env == "" && !changed {
		return nil, nil, nil
	}
	var env envs.Env
	var err error
	if c.Env == "" {
		env, err = policies.Environment(run)
	} else {
		env, err = envs.Make(c.Env)
	}
	if err != nil || !changed {
		return env, nil, err
	}
	live, err := envs.Adjust(env)
	if err != nil {
		return nil, nil, err
	}
	conditions := envs.Conditions{}
	if c.Gravity != nil {
		conditions[envs.GravityMultiplier] = []float64{*c.Gravity}
	}
	if c.Actuators != nil {
		conditions[envs.ActuatorsMultiplier] = []float64{*c.Actuators}
	}
	if c.Goal != nil {
		conditions[envs.TargetPosition] = c.Goal[:]
	}
	_, err = live.Values(conditions)
	return env, conditions, err
}
