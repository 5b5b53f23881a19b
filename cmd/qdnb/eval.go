package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
)

type evalCmd struct {
	runArg
	Skill     *int     `placeholder:"N" help:"Evaluate this skill alone (default: all skills of a run that has any)."`
	Cell      *int     `placeholder:"N" help:"Evaluate the policy in this cell (default: the best one of a run without skills)."`
	Env       string   `placeholder:"NAME" help:"Environment (default: the run's); it must have as many observations and actions."`
	Episodes  int      `default:"100" placeholder:"N" help:"Episodes of each policy, each from an initial state of its own (default 100, as in the paper)."`
	Seed      int64    `default:"0" help:"Seed of the initial states."`
	Gravity   *float64 `placeholder:"FACTOR" help:"Multiply gravity."`
	Actuators *float64 `placeholder:"FACTOR" help:"Multiply the strength of the actuators of one leg."`
	Goal      *point   `name:"target" placeholder:"X,Y" help:"Put the target of ant-maze elsewhere."`
	backendFlag
	JSON bool `name:"json" help:"Print the result as one JSON object on the last line."`
}

// evaluation is what `qdnb eval --json` prints.
type evaluation struct {
	Run      string            `json:"run"` // the folder's path
	Env      string            `json:"env"`
	Episodes int               `json:"episodes"` // of each policy
	Steps    int               `json:"steps"`    // of an episode
	Seed     int64             `json:"seed"`
	Backend  string            `json:"backend"`
	Results  []evaluatedPolicy `json:"results"`
}

// evaluatedPolicy is how a skill or cell did. What is not a finite number is null.
type evaluatedPolicy struct {
	Skill          *int       `json:"skill,omitempty"`
	Cell           *int       `json:"cell,omitempty"`
	FitnessMean    *float64   `json:"fitness_mean"`
	FitnessStd     *float64   `json:"fitness_std"` // of the episodes as a population
	FitnessMedian  *float64   `json:"fitness_median"`
	DescriptorMean []*float64 `json:"descriptor_mean"` // empty where the environment has no descriptor
}

// Run evaluates.
func (c *evalCmd) Run() error {
	run, err := c.find()
	if err != nil {
		return err
	}
	spec := qdnb.EvaluateSpec{Episodes: c.Episodes, Seed: c.Seed, Backend: c.Backend}
	if c.Skill != nil {
		spec.Skills = []int{*c.Skill}
	}
	if c.Cell != nil {
		spec.Cells = []int{*c.Cell}
	}
	if spec.Environment, spec.Conditions, err = c.environment(run); err != nil {
		return err
	}
	found, err := qdnb.Evaluate(run, spec)
	if err != nil {
		return err
	}
	if !c.JSON {
		fmt.Printf("run            %s\nenvironment    %s\nepisodes       %d of %d steps\nbackend       "+
			" %s\n", run.Dir, found.Env, found.Episodes, found.Steps, found.Backend)
		for _, r := range found.Results {
			kind := "skill"
			if r.Cell {
				kind = "cell "
			}
			fmt.Printf("%s %-6d   fitness %.6g, std %.4g, median %.6g; descriptor %.4g\n", kind, r.Number,
				r.Mean(), r.Std(), r.Median(), r.Descriptor())
		}
		return nil
	}
	out := evaluation{Run: run.Dir, Env: found.Env, Episodes: found.Episodes, Steps: found.Steps,
		Seed: c.Seed, Backend: found.Backend}
	for _, r := range found.Results {
		p := evaluatedPolicy{FitnessMean: finite(r.Mean()), FitnessStd: finite(r.Std()),
			FitnessMedian: finite(r.Median()), DescriptorMean: []*float64{}}
		if r.Cell {
			p.Cell = &r.Number
		} else {
			p.Skill = &r.Number
		}
		for _, x := range r.Descriptor() {
			p.DescriptorMean = append(p.DescriptorMean, finite(x))
		}
		out.Results = append(out.Results, p)
	}
	return json.NewEncoder(os.Stdout).Encode(out)
}

// environment is where to evaluate, and under what; nil for the run's own, and for one as it is.
func (c *evalCmd) environment(run *runs.Run) (envs.Env, *envs.Conditions, error) {
	changed := c.Gravity != nil || c.Actuators != nil || c.Goal != nil
	if c.Env == "" && !changed {
		return nil, nil, nil
	}
	env, err := envs.Make(cmp.Or(c.Env, run.Config.Env))
	if err != nil || !changed {
		return env, nil, err
	}
	live, err := envs.NewPerturbable(env)
	if err != nil {
		return nil, nil, err
	}
	conditions := live.Nominal()
	if c.Gravity != nil {
		conditions.Gravity = *c.Gravity
	}
	if c.Actuators != nil {
		conditions.Actuators = *c.Actuators
	}
	if c.Goal != nil {
		conditions.Target = *c.Goal
	}
	_, err = live.Values(conditions)
	return env, &conditions, err
}
