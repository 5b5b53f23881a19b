package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
)

// overrides returns the hyperparameters that differ from the algorithm's defaults on its
// environment, in the form of `--set`. For algorithms outside [qdnb.Algorithms] it returns all
// hyperparameters.
func overrides(c runs.Config) []string {
	own, _ := c.Assignments() // opening the run checked that they are an object
	if standard, err := (qdnb.Spec{Algorithm: c.Algorithm, Env: c.Env}).Config(); err == nil {
		defaults, _ := standard.Assignments()
		own = slices.DeleteFunc(own, func(a string) bool { return slices.Contains(defaults, a) })
	}
	return own
}

// summary lists the hyperparameters that differ from the defaults. Long values are omitted.
func summary(c runs.Config) string {
	list := overrides(c)
	for i, assignment := range list {
		if name, value, _ := strings.Cut(assignment, "="); len(value) > 40 {
			list[i] = name + "=…"
		}
	}
	if len(list) == 0 {
		return "defaults (-v lists them)"
	}
	return strings.Join(list, " ") + " (-v lists all)"
}

func compact(data []byte) string {
	var line bytes.Buffer
	if json.Compact(&line, data) != nil {
		return string(data)
	}
	return line.String()
}

// resume says how to resume an unfinished run, with the command if there is one.
func resume(run *runs.Run) string {
	if holder := runs.Holder(run.Dir); holder != "" {
		return holder + " is training it"
	}
	c := run.Config
	set := overrides(c)
	spec := qdnb.Spec{Algorithm: c.Algorithm, Env: c.Env, Seed: c.Seed, Tune: runs.Assign(set...)}
	// a variant, or a run that uses skills
	if made, err := spec.Config(); err != nil || made.Name() != c.Name() {
		return "rerun the `qdnb sweep run` or the notebook cell that started it to resume"
	}
	args := []string{"qdnb", "train", "--algorithm", c.Algorithm, "--env", c.Env}
	if c.Seed != 0 {
		args = append(args, fmt.Sprintf("--seed=%d", c.Seed))
	}
	for _, assignment := range set {
		args = append(args, "--set", shellWord(assignment))
	}
	b := run.Status.Budget
	for _, limit := range []struct {
		flag  string
		value any
		given bool
	}{
		{"--generations", b.Generations, b.Generations > 0},
		{"--evaluations", b.Evaluations, b.Evaluations > 0},
		{"--env-steps", b.EnvSteps, b.EnvSteps > 0},
		{"--time", b.Time, b.Time > 0},
		{"--cpu-time", b.CPU, b.CPU > 0},
	} {
		if limit.given {
			args = append(args, limit.flag, fmt.Sprint(limit.value))
		}
	}
	if root := filepath.Dir(run.Dir); root != filepath.Clean(runs.Folder()) {
		args = append(args, "--runs", shellWord(root))
	}
	return "resume it with `" + strings.Join(args, " ") + "`"
}

// shellWord quotes a word if a shell would not take it literally.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return quote(word)
}

// plainWord matches the words that a shell takes literally.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9=,._/:+-]+$`)
