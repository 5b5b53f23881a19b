package qdnb

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// programSteps is the number of generations after which an algorithm has built all of its programs:
// AURORA adapts its threshold first after 40.
const programSteps = 42

// WritePrograms writes the StableHLO text of every program of a run, as it is built for a kind of
// backend (cpu, cuda or tpu) with the given number of devices, to NAME.mlir in dir, or NAME-2.mlir
// and so on for other programs of the same name, and the flags that qdnb sets for XLA to
// xla_flags.txt. It compiles and computes nothing and needs no such device; see [xla.DryRun].
// Besides the algorithms of [Train], the spec may name adaptation, or hierarchical-control
// with five skills of the paper's size. It returns the paths of the files.
func (s Spec) WritePrograms(kind backend.Kind, devices int, dir string) (paths []string, err error) {
	written := map[string][]byte{}
	platform, err := xla.DryRun(kind, devices, func(name string, text []byte) error {
		if text == nil {
			return nil
		}
		name = strings.ReplaceAll(name, "_", "-")
		for number := 1; ; number++ {
			path := filepath.Join(dir, name+".mlir")
			if number > 1 {
				path = filepath.Join(dir, fmt.Sprintf("%s-%d.mlir", name, number))
			}
			if before, ok := written[path]; !ok {
				if err := os.MkdirAll(dir, 0o777); err != nil {
					return fmt.Errorf("cannot create the folder %s: choose another one (%w)", dir, err)
				}
				written[path], paths = text, append(paths, path)
				return os.WriteFile(path, text, 0o666)
			} else if bytes.Equal(before, text) {
				return nil
			}
		}
	})
	if err != nil {
		return nil, err
	}
	switch s.Algorithm {
	case protocol.HierarchicalControl:
		err = controlPrograms(platform, s)
	case protocol.Adaptation:
		err = adaptPrograms(platform, s)
	default:
		var t session.Training
		if t, err = s.resolve(); err == nil {
			err = t.Steps(platform, programSteps)
		}
	}
	if err != nil {
		return paths, err
	}
	var flags []string
	for name, value := range backend.Flags(kind) {
		flags = append(flags, name+"="+value)
	}
	slices.Sort(flags)
	return paths, os.WriteFile(filepath.Join(dir, "xla_flags.txt"), []byte(strings.Join(flags, " ")),
		0o666)
}

// adaptPrograms compiles the evaluation of policies under conditions, of the paper's size: twenty
// policies at once, a hundred episodes each.
func adaptPrograms(platform *xla.Platform, spec Spec) error {
	if spec.Tune != nil {
		if err := spec.Tune(&struct{}{}); err != nil {
			return err
		}
	}
	env, err := envs.Make(spec.Env)
	if err != nil {
		return err
	}
	live, err := envs.NewPerturbable(env)
	if err != nil {
		return err
	}
	const together, states = 20, 100
	task := scoring.NewTask(live, []int{256, 256}, env.Spec().Length)
	evaluator, err := scoring.NewEvaluator(platform, task, scoring.Plan{Policies: together,
		States: states, Slice: policies.Slice(platform.Kind, together, states, task)})
	if err != nil {
		return err
	}
	evaluator.Free()
	return nil
}

// controlPrograms runs the first iterations of a meta-controller.
func controlPrograms(platform *xla.Platform, spec Spec) error {
	if spec.Env != policies.HurdlesEnv {
		return fmt.Errorf("hierarchical control is on %s, not on %q", policies.HurdlesEnv, spec.Env)
	}
	settings, err := controlSettings(spec.Tune)
	if err != nil {
		return err
	}
	const number = 5
	skills := policies.HurdlesSkills([]int{256, 256}, true)
	params := skills.Net.Params()
	skills.Rows = npz.Of(make([]float32, number*params), number, params)
	env, err := settings.Options(skills)
	if err != nil {
		return err
	}
	options := session.Options{Config: runs.Config{Seed: spec.Seed}}
	return session.Training{Options: options, Env: env, Algorithm: settings}.Steps(platform, 2)
}
