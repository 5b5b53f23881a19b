package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/exchange"
	"example.com/qdnb/qdnb/runs"
)

type importCmd struct {
	Policy     string   `placeholder:"FILE"`
	Repertoire string   `placeholder:"DIR"`
	Algorithm  string   `required:"" placeholder:"NAME"`
	Env        string   `required:"" placeholder:"NAME"`
	Seed       int64    `default:"0"`
	Set        []string `sep:"none" placeholder:"NAME=VALUE"`
	runsFlag
	JSON bool `name:"json"`
}

// importResult is the output of `qdnb import --json`.
type importResult struct {
	described
	Params int  `json:"params"` // of the original network, or of a genotype
	Skills *int `json:"skills,omitempty"`
	Cells  *int `json:"cells,omitempty"`
	Filled *int `json:"filled,omitempty"`
}

func (c *importCmd) Run() error {
	run, err := exchange.Import(exchange.ImportSpec{
		Algorithm: c.Algorithm, Env: c.Env, Seed: c.Seed, Policy: c.Policy, Repertoire: c.Repertoire,
		Set: c.Set, Runs: c.Runs,
	})
	if err != nil {
		return err
	}
	r, err := resultOf(run)
	if err != nil {
		return err
	}
	if err := reportBeyond(run); err != nil {
		return err
	}
	if c.JSON {
		return json.NewEncoder(stdout).Encode(r)
	}
	fmt.Fprintf(stdout, "run            %s\nalgorithm      %s\nenvironment    %s\nseed           "+
		"%d\nparameters     %d\n", r.Run, r.Algorithm, r.Env, r.Seed, r.Params)
	if r.Skills != nil {
		fmt.Fprintf(stdout, "skills         %d\n", *r.Skills)
		return nil
	}
	fmt.Fprintf(stdout, "cells          %d, %d filled\nmax fitness    %.6g\ncoverage       %.2f "+
		"%%\nQD score       %.6g\n", *r.Cells, *r.Filled, run.Status.MaxFitness, r.Coverage, r.QDScore)
	return nil
}

// reportBeyond prints what in an imported repertoire its environment does not provide for.
func reportBeyond(run *runs.Run) error {
	if !run.HasRepertoire() {
		return nil
	}
	r, err := run.RepertoireMap()
	if err != nil {
		return err
	}
	lowest, outside := math.Inf(1), 0
	beyond := map[int]bool{}
	for _, cell := range r.Filled() {
		lowest = min(lowest, float64(r.Fitnesses[cell]))
		exceeds := false
		for k, x := range r.Descriptor(cell) {
			if x < r.Lower[k] || x > r.Upper[k] {
				exceeds, beyond[k] = true, true
			}
		}
		if exceeds {
			outside++
		}
	}
	if allowed := -r.Offset; lowest < allowed-1e-5*math.Abs(allowed) {
		fmt.Fprintf(os.Stderr, "qdnb: the lowest fitness, %g, is below %g, which the offset of %s allows: it "+
			"lowers the QD score; if episodes are longer, set episode_length\n", lowest, allowed+0, run.Config.Env)
	}
	if outside > 0 {
		fmt.Fprintf(os.Stderr, "qdnb: %d of %d descriptors are outside of the limits of %s, %s\n", outside,
			len(r.Filled()), run.Config.Env, envs.Descriptor{Lower: r.Lower, Upper: r.Upper,
				Components: run.Status.Descriptor}.Ranges(func(k int) bool { return beyond[k] }))
	}
	return nil
}

func resultOf(run *runs.Run) (importResult, error) {
	r := importResult{described: describe(run)}
	if run.HasSkills() {
		skills, err := run.Skills()
		if err != nil {
			return r, err
		}
		r.Params, r.Skills = len(skills.Policy), &skills.Count
		return r, nil
	}
	repertoire, err := run.RepertoireMap()
	if err != nil {
		return r, err
	}
	stats := repertoire.Stats()
	r.Params, r.Cells, r.Filled = repertoire.Params, &stats.Cells, &stats.Filled
	return r, nil
}

type exportCmd struct {
	runArg
	Skill      *int `placeholder:"N"`
	Cell       *int `placeholder:"N"`
	Repertoire bool
	Out        string `required:"" placeholder:"FILE"`
	Force      bool
}

func (c *exportCmd) Run() error {
	run, err := c.find()
	if err != nil {
		return err
	}
	shapes, err := exchange.Export(run, exchange.ExportSpec{Skill: c.Skill, Cell: c.Cell,
		Repertoire: c.Repertoire, Out: c.Out, Force: c.Force})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "file           %s\n", c.Out)
	if model, ok := strings.CutSuffix(c.Out, ".onnx"); ok {
		fmt.Fprintf(stdout, "contract       %s.json\n", model)
	}
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		fmt.Fprintf(stdout, "  %-14s %v\n", name, shapes[name])
	}
	return nil
}
