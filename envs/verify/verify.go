package verify

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// kinds are the functions that verify a kind of file, by the first part of the file's name.
var kinds = map[string]func(subject, *arrays) ([]Result, error){
	"onestep": oneStep,
	"traj":    trajectories,
}

// File computes what a golden file holds with this build on a backend, and compares. An error means that there was nothing to
// compare: an unknown name, or an array that is missing, misshapen or not finite. Differences are in the report.
func File(p *xla.Platform, path string) (Report, error) {
	kind, name, ok := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".npz"), "_")
	if !ok || filepath.Ext(path) != ".npz" {
		return Report{}, errors.Errorf("%s: the name of a golden file is <kind>_<environment>.npz, such as traj_pointmaze.npz", path)
	}
	verify, ok := kinds[kind]
	if !ok {
		return Report{}, errors.Errorf("%s: unknown kind of golden file %q; there are: %s", path, kind, names(kinds))
	}
	env, err := envs.Make(name)
	if err != nil {
		return Report{}, errors.WithMessage(err, path)
	}
	form, ok := forms[name]
	if !ok {
		return Report{}, errors.Errorf("%s: %s cannot be verified; these can: %s", path, name, names(forms))
	}
	stored, err := read(path)
	if err != nil {
		return Report{}, err
	}
	results, err := verify(subject{p, env, form}, stored)
	if err != nil {
		return Report{}, errors.WithMessage(err, path)
	}
	pass := !slices.ContainsFunc(results, func(r Result) bool { return !r.Pass })
	return Report{File: path, Env: name, Kind: kind, Arrays: results, Pass: pass}, nil
}

// names lists the keys of a table, sorted.
func names[V any](table map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}
