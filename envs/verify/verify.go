package verify

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla"
)

// Kinds of files: of perturbed environments, and of systems of rigid bodies, which are read from a file in
// the same folder.
const (
	perturbed = "perturb"
	system    = "system"
)

// kinds maps the first part of a file's name to the function that verifies this kind of file.
var kinds = map[string]func(subject, *arrays) ([]*group, error){
	"onestep": oneStep,
	perturbed: oneStep,
	"traj":    trajectories,
	system:    systemSteps,
}

// Kinds lists the kinds of golden files, sorted. A kind is the part of a file's name before the
// first underscore.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// File recomputes a golden file with this build on a backend and compares. Differences are in the
// report. An error means that the comparison was not possible: an unknown name, or an array that is
// missing, has a wrong shape or is not finite.
func File(p *xla.Platform, path string) (report Report, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	name, isArchive := strings.CutSuffix(filepath.Base(path), ".npz")
	parts := strings.Split(name, "_")
	kind := parts[0]
	if _, ok := kinds[kind]; !ok && isArchive && len(parts) > 1 {
		return report, names.Unknown("kind of golden file", kind, Kinds())
	}
	if isPerturbed := kind == perturbed; !isArchive || isPerturbed && len(parts) != 4 ||
		!isPerturbed && len(parts) != 2 {
		return report, errors.New("the name of a golden file must be <kind>_<environment>.npz, such as " +
			"traj_ant-uni.npz, or perturb_<environment>_<what>_<value>.npz")
	}
	byName, err := npz.Read(path)
	if err != nil {
		return report, err
	}
	stored := &arrays{byName, map[axis]int{}}
	var format format
	if kind == system {
		format, err = formatOfSystem(filepath.Dir(path), parts[1])
	} else if env, unknown := envs.Make(parts[1]); unknown != nil {
		err = unknown
	} else {
		format, err = formatOf(env)
	}
	if err != nil {
		return report, err
	}
	if kind == perturbed {
		if err := format.perturb(parts[2], stored); err != nil {
			return report, err
		}
	}
	groups, err := kinds[kind](subject{p, format}, stored)
	if err != nil {
		return report, err
	}
	report = Report{File: path, Env: parts[1], Kind: kind, Pass: true}
	for _, g := range groups {
		report.Arrays = append(report.Arrays, g.results...)
		report.Groups = append(report.Groups, g.Group)
		report.Pass = report.Pass && g.Outside <= g.Allowed
	}
	return report, nil
}
