package qdnb

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/runs"
)

// Load returns the run that [Train] returns for a spec, without training. If the run does not
// exist, is not finished, or ended before the spec's budget, the error says what to do.
func Load(spec Spec) (*runs.Run, error) {
	p, err := spec.resolve()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(p.dir()); errors.Is(err, fs.ErrNotExist) {
		reason := ""
		if changed := p.changed(); changed != "" {
			reason = fmt.Sprintf(" (%s)", changed)
		}
		return nil, fmt.Errorf("no run %s in %s%s: train it with the same Spec", p.config().Name(),
			p.Runs, reason)
	}
	run, err := runs.Open(p.dir())
	if err != nil {
		return nil, err
	}
	if !run.Status.Finished {
		return nil, fmt.Errorf("%s is not finished: train it with the same Spec to resume it", run.Dir)
	}
	if !run.Status.Completes(p.Budget, 1) {
		return nil, fmt.Errorf("%s ended before the budget of the Spec, %v: train it with the same "+
			"Spec to extend it", run.Dir, p.Budget)
	}
	return run, nil
}

// dir is the folder of the run.
func (p plan) dir() string { return filepath.Join(p.Runs, p.config().Name()) }

// fingerprints hashes the parts that the spec supplies; nil if it supplies none.
func (p plan) fingerprints() (map[string]string, error) {
	prints := map[string]string{}
	var err error
	if custom(p.training.Algorithm, p.Loop) {
		prints["algorithm"], err = p.training.Fingerprint()
	}
	if err == nil && p.Environment != nil {
		prints["environment"], err = envs.Fingerprint(p.Environment)
	}
	if err != nil {
		return nil, untraceable{err}
	}
	if len(prints) == 0 {
		return nil, nil
	}
	return prints, nil
}

// untraceable is the error of a part whose graph cannot be built.
type untraceable struct{ error }

// compileError returns the compiler's error for a spec with a part that cannot be built. That error
// names the line of the mistake and the run's sizes, while tracing uses other sizes.
func (p plan) compileError(ctx context.Context, broken untraceable) error {
	if err := p.training.Compile(ctx, p.Backend); err != nil {
		return err
	}
	return broken.error
}

// changed describes which of the user's parts differ from those of the newest other run with the
// same name, environment, seed and hyperparameters. It returns "" if there is no such run.
func (p plan) changed() string {
	if len(p.config().Parts) == 0 {
		return ""
	}
	c := p.config()
	found, _, err := runs.Find(p.Runs, fmt.Sprintf("%s-%s-%d-*", c.Algorithm, c.Env, c.Seed))
	if err != nil {
		return ""
	}
	var newest *runs.Run
	for _, run := range found {
		other := run.Config
		other.Parts = c.Parts
		if run.Name() != c.Name() && other.Name() == c.Name() &&
			(newest == nil || run.Status.Updated.After(newest.Status.Updated)) {
			newest = run
		}
	}
	if newest == nil {
		return ""
	}
	before := newest.Config.Parts
	if len(before) == 0 {
		return fmt.Sprintf("%s did not record the fingerprints of its parts", newest.Name())
	}
	names := maps.Clone(c.Parts)
	maps.Copy(names, before)
	maps.DeleteFunc(names, func(name, _ string) bool { return c.Parts[name] == before[name] })
	return fmt.Sprintf("%s changed since %s", strings.Join(slices.Sorted(maps.Keys(names)), " and "),
		newest.Name())
}

// announce prints a line if a new run starts only because user code changed, not the settings.
func (p plan) announce() {
	if _, err := os.Stat(p.dir()); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if changed := p.changed(); changed != "" {
		fmt.Fprintf(os.Stderr, "qdnb: %s: training a new run, %s\n", changed, p.config().Name())
	}
}
