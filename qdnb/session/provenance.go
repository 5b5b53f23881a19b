package session

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"example.com/qdnb/qdnb/runs"
)

// Origin says by which programs a run was computed.
type Origin string

// Origins of a run.
const (
	SamePrograms    Origin = "same programs as today" // this build would run the same text
	SameNumbers     Origin = "same numbers as today"  // other text, but by the ledger it computes the same
	OtherPrograms   Origin = "other programs"         // of an earlier or a later commit
	UnknownPrograms Origin = "unknown"                // not recorded, or made by code that is not at hand
)

// Today reports whether the run is what this build would compute.
func (o Origin) Today() bool { return o == SamePrograms || o == SameNumbers }

// Origins compares the programs of runs with those of this build, which it builds once for runs
// that differ in their seeds only. Its zero value is ready.
type Origins struct{ today map[string]string }

// Of returns the origin of a run. Programs of variants and of environments of the user are unknown:
// [Train] and [Load] compare these.
func (o *Origins) Of(run *runs.Run) Origin {
	for _, use := range run.Status.Machines {
		if use.Programs == "" {
			return UnknownPrograms
		}
	}
	if len(run.Status.Machines) == 0 || len(run.Config.Parts) > 0 {
		return UnknownPrograms
	}
	config := run.Config
	config.Seed = 0
	key := config.Hash() + run.Config.SkillsRun()
	today, ok := o.today[key]
	if !ok {
		var err error
		if today, err = digestOf(run); errors.Is(err, errNoSkills) || errors.Is(err, runs.ErrWithoutPolicies) {
			today = withoutSkills
		} // after another error, such as an unknown setting, it is "", which differs
		if o.today == nil {
			o.today = map[string]string{}
		}
		o.today[key] = today
	}
	origin, numbers := SamePrograms, numbersOf(cmp.Or(run.Status.Base, config.Algorithm), config.Env)
	for _, use := range run.Status.Machines {
		switch {
		case use.Programs == today:
		case today == withoutSkills && use.Numbers == "":
			return UnknownPrograms
		case today == "" || use.Numbers == "" || use.Numbers != numbers:
			return OtherPrograms
		default:
			origin = SameNumbers
		}
	}
	return origin
}

// ledger has lines for the numbers of a small run of each algorithm, and of MAP-Elites in each environment,
// which TestLedger of package qdnb writes and compares.
//
//go:embed bytes.txt
var ledger string

// numbersOf is a hash of the lines of the ledger of an algorithm and of an environment, for pure Go, whose
// numbers do not depend on the processor: as long as a build has the same ones, its programs compute the
// same numbers, even if their texts differ. It is "" if one of them has no line.
func numbersOf(algorithm, env string) string {
	var lines []string
	var hasAlgorithm, hasEnv bool
	for line := range strings.Lines(ledger) {
		fields := strings.Fields(line) // bytes BACKEND ALGORITHM[,SETTING] ENVIRONMENT HASH
		if fields[1] != "go" {
			continue
		}
		name, _, _ := strings.Cut(fields[2], ",")
		ofAlgorithm := name == algorithm && (name != "map-elites" || fields[3] == "pointmaze")
		ofEnv := fields[2] == "map-elites" && fields[3] == env
		if ofAlgorithm || ofEnv {
			lines = append(lines, line)
		}
		hasAlgorithm, hasEnv = hasAlgorithm || ofAlgorithm, hasEnv || ofEnv
	}
	if !hasAlgorithm || !hasEnv {
		return ""
	}
	return hash(fmt.Append(nil, lines))
}

var errNoSkills = errors.New("the skills are not at hand")

// withoutSkills stands for the digest of programs that cannot be built without skills.
const withoutSkills = "without skills"

// digestOf returns the digest of the programs that this build would run for a run without own
// parts.
func digestOf(run *runs.Run) (string, error) {
	c := run.Config
	if c.SkillsRun() == "" {
		spec, err := specOf(c, cmp.Or(run.Status.Base, c.Algorithm))
		if err != nil {
			return "", err
		}
		t, err := spec.Training(context.Background())
		if err != nil {
			return "", err
		}
		return t.Digest()
	}
	skills, err := runs.Open(filepath.Join(run.Dir, "..", c.SkillsRun()))
	if err != nil {
		return "", fmt.Errorf("%w: %v", errNoSkills, err)
	}
	t, err := ofSkills(c, skills, nil)
	if err != nil {
		return "", fmt.Errorf("%w: %v", errNoSkills, err)
	}
	return t.Digest()
}

// SpecOf returns the spec that trains the run of a configuration of a built-in algorithm in a built-in
// environment. It is an error if this build would make another run.
func SpecOf(c runs.Config) (Spec, error) { return specOf(c, c.Algorithm) }

// specOf is [SpecOf] for a run that is a variant of an algorithm.
func specOf(c runs.Config, algorithm string) (Spec, error) {
	spec := Spec{Algorithm: algorithm, Name: c.Algorithm, Env: c.Env, Seed: c.Seed}
	set, err := c.Assignments()
	if err != nil {
		return spec, err
	}
	spec.Tune = runs.Assign(set...)
	made, err := spec.Config()
	if err != nil {
		return spec, fmt.Errorf("hyperparameters of %s: %w", c.Algorithm, err)
	}
	return spec, SameRun(c, made)
}

// SameRun returns an error if this build makes another run than a plan or a folder names.
func SameRun(wanted, made runs.Config) error {
	if wanted.Name() == made.Name() {
		return nil
	}
	return fmt.Errorf("this version of the program has other hyperparameters: %s would be %s; "+
		"write the plan again with `qdnb sweep plan`", wanted.Name(), made.Name())
}
