package session

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// Program is the text of a program as the compiler gets it: StableHLO.
type Program struct {
	Name string // unique in a list: the second one called "evaluate" is "evaluate-2"
	Text []byte
}

// Hash returns the first sixteen hexadecimal digits of the SHA-256 of the program's text.
func (p Program) Hash() string { return hash(p.Text) }

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// dryRun returns the distinct programs that build compiles for a kind of backend with the given
// number of devices, and their names in the order in which it compiles and runs them. No such
// device is needed; see [xla.DryRun].
func dryRun(kind backend.Kind, devices int, build func(*xla.Platform) error) (list []Program, order []string, err error) {
	platform, err := xla.DryRun(kind, devices, func(name string, text []byte) error {
		name = strings.ReplaceAll(name, "_", "-")
		order = append(order, name)
		for number := 1; text != nil; number++ {
			unique := name
			if number > 1 {
				unique = fmt.Sprintf("%s-%d", name, number)
			}
			i := slices.IndexFunc(list, func(p Program) bool { return p.Name == unique })
			if i < 0 {
				list = append(list, Program{unique, text})
			}
			if i < 0 || bytes.Equal(list[i].Text, text) {
				break
			}
		}
		return nil
	})
	if err == nil {
		err = build(platform)
	}
	return list, order, err
}

// programSteps is the number of generations after which an algorithm has built all of its programs:
// AURORA adapts its threshold first after 40.
const programSteps = 42

// steps compiles the algorithm on a platform and runs the first steps, without a run folder. It
// returns the columns of the search.
func (t Training) steps(platform *xla.Platform, steps int) (columns []string, err error) {
	t.Env = hosted(t.Env, func(_ context.Context, genotypes [][]float32) ([]envs.Result, error) {
		return slices.Repeat([]envs.Result{{Fitness: float32(math.NaN())}}, len(genotypes)), nil
	})
	search, err := t.search(platform)
	if err != nil {
		return nil, err
	}
	defer search.Close()
	if _, ok := search.(*adapting); ok { // it has compiled its program
		return nil, nil
	}
	for range steps {
		if _, err := search.Step(); err != nil {
			return nil, err
		}
	}
	return search.Columns(), nil
}

// identify traces the training, once, for XLA:CPU with one worker, whatever backend computes it
// later.
func (t *Training) identify() error {
	if t.digest != "" {
		return nil
	}
	var columns []string
	list, order, err := dryRun(backend.CPU, 1, func(p *xla.Platform) (err error) {
		columns, err = t.steps(p, programSteps)
		return err
	})
	var all []byte
	for _, p := range list {
		all = fmt.Appendln(all, p.Name, p.Hash())
	}
	if err == nil {
		t.digest, t.schedule = hash(all), fmt.Sprint(columns, order)
	}
	return err
}

// digests are those of the trainings of this process without code of the user, by algorithm, environment and
// settings: seeds of a sweep, and sessions of a run, have the same programs.
var digests sync.Map

// Digest identifies the programs of the training, whatever its seed and budget, and whatever
// machine and backend compute it: a hash of their names and texts. It takes a fraction of a second.
func (t *Training) Digest() (string, error) {
	if len(t.Config.Parts) > 0 || t.Skills != nil {
		err := t.identify()
		return t.digest, err
	}
	key := fmt.Sprint(cmp.Or(t.Base, t.Config.Algorithm), " ", t.Config.Env, " ", string(t.Config.Hyperparameters))
	if known, ok := digests.Load(key); ok {
		return known.(string), nil
	}
	err := t.identify()
	if err == nil {
		digests.Store(key, t.digest)
	}
	return t.digest, err
}

// Fingerprint hashes the programs of a training with code of its user, and when the first steps run
// them. It opens no backend and computes nothing. Comments, names of variables and the seed have no
// effect; other versions of GoMLX and go-xla may build other programs from the same code. What the
// code does on the host is covered only as far as it changes a program, or by the facts, which are
// hashed, too.
func (t *Training) Fingerprint(facts ...any) (string, error) {
	err := t.identify()
	return hash(fmt.Append(nil, fmt.Sprint(facts...), t.digest, t.schedule)), err
}

// Programs returns every program of a run, as it is built for a kind of backend (cpu, cuda or tpu)
// with the given number of devices. It compiles and computes nothing and needs no such device; see
// [xla.DryRun]. Besides the algorithms of [Train], the spec may name adaptation, or
// hierarchical-control with five skills of the paper's size.
func (s Spec) Programs(kind backend.Kind, devices int) ([]Program, error) {
	build := func(p *xla.Platform) error { return controlPrograms(p, s) }
	switch s.Algorithm {
	case records.HierarchicalControl:
	case records.Adaptation:
		build = func(p *xla.Platform) error { return adaptPrograms(p, s) }
	default:
		t, err := s.Training(context.Background())
		if err != nil {
			return nil, err
		}
		build = func(p *xla.Platform) error {
			_, err := t.steps(p, programSteps)
			return err
		}
	}
	list, _, err := dryRun(kind, devices, build)
	return list, err
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
	live, err := envs.Adjust(env)
	if err != nil {
		return err
	}
	const together, states = 20, 100
	task := scoring.NewTask(live, []int{256, 256}, env.Spec().Length)
	evaluator, err := task.Evaluator(platform, scoring.Plan{Policies: together,
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
	env, err := settings.Environment(skills)
	if err != nil {
		return err
	}
	_, err = Training{Config: runs.Config{Seed: spec.Seed}, Env: env, Algorithm: settings}.steps(platform, 2)
	return err
}
