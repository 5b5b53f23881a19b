package qdnb

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// Load returns the run that [Train] returns for a spec, without training. If the run does not
// exist, is not finished, or ended before the spec's budget, the error says what to do.
func Load(spec Spec) (*runs.Run, error) {
	t, err := spec.resolve()
	if err != nil {
		return nil, err
	}
	dir := t.Options.Dir()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		reason := ""
		if changed := changed(t.Options); changed != "" {
			reason = fmt.Sprintf(" (%s)", changed)
		}
		return nil, fmt.Errorf("no run %s in %s%s: train it with the same Spec", filepath.Base(dir),
			t.Options.Root, reason)
	}
	run, err := runs.Open(dir)
	if err != nil {
		return nil, err
	}
	if !run.Status.Finished {
		return nil, fmt.Errorf("%s is not finished: train it with the same Spec to resume it", run.Dir)
	}
	if !run.Status.Completes(t.Options.Budget, 1) {
		return nil, fmt.Errorf("%s ended before the budget of the Spec, %v: train it with the same "+
			"Spec to extend it", run.Dir, t.Options.Budget)
	}
	return run, nil
}

// fingerprints hashes the programs of a training with code of its user.
func (s Spec) fingerprints(t session.Training) (map[string]string, error) {
	part, facts := "algorithm", []any(nil)
	if env := t.Env.Spec(); s.Environment != nil {
		env.Descriptor.Components = nil // the names have no effect
		facts = []any{env.Descriptor, env.Offset, env.Initial}
		if !s.custom(t.Algorithm) {
			part = "environment"
		}
	} else if !s.custom(t.Algorithm) {
		return nil, nil
	}
	print, err := t.Fingerprint(facts...)
	return map[string]string{part: print}, err
}

// changed names the newest other run with the same name, environment, seed and hyperparameters, whose
// code differs. It returns "" if there is no such run.
func changed(o session.Options) string {
	c := o.Config
	if len(c.Parts) == 0 {
		return ""
	}
	found, _, err := runs.Find(o.Root, fmt.Sprintf("%s-%s-%d-*", c.Algorithm, c.Env, c.Seed))
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
	return "its code changed since " + newest.Name()
}

// announce prints a line if a new run starts only because user code changed, not the settings.
func announce(o session.Options) {
	if _, err := os.Stat(o.Dir()); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if changed := changed(o); changed != "" {
		fmt.Fprintf(os.Stderr, "qdnb: %s: training a new run, %s\n", changed, o.Config.Name())
	}
}
