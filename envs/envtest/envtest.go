package envtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// Suite says how environments are tried. The zero value is what [Run] and [Check] take.
type Suite struct {
	// Platforms are the backends to try; nil for the best of this machine and pure Go. The first is
	// compared with the others, and what need not be tried on all is tried on the last.
	Platforms []*xla.Platform
	// FixedStart says that all episodes are to start in the same state, whatever their keys.
	FixedStart bool
	// Steps is the number of control steps; 0 for 20.
	Steps int
	// Tolerance is how far the numbers of two backends may be apart after two steps, in absolute
	// terms below 1 and relative ones above; 0 for 1e-3.
	Tolerance float64
}

// Run fails the test for each promise that env breaks.
func Run(t testing.TB, env envs.Env) {
	t.Helper()
	Suite{}.Run(t, env)
}

// Check returns an error that lists the promises that env breaks, a line each.
func Check(env envs.Env) error { return Suite{}.Check(env) }

// Run is [Run] as the suite says.
func (s Suite) Run(t testing.TB, env envs.Env) {
	t.Helper()
	broken, err := s.try(env)
	for _, promise := range broken {
		t.Errorf("%s: %s", env.Spec().Name, promise)
	}
	if err != nil {
		t.Error(err)
	}
}

// Check is [Check] as the suite says.
func (s Suite) Check(env envs.Env) error {
	broken, err := s.try(env)
	if err != nil {
		return err
	}
	switch len(broken) {
	case 0:
		return nil
	case 1:
		return errors.Errorf("%s breaks a promise of environments: %s", env.Spec().Name, broken[0])
	}
	return errors.Errorf("%s breaks %d promises of environments:\n  %s", env.Spec().Name, len(broken),
		strings.Join(broken, "\n  "))
}

// try lists the promises that an environment breaks. An error is of a backend that cannot be had.
func (s Suite) try(env envs.Env) (broken []string, err error) {
	if err := env.Spec().Validate(); err != nil {
		return []string{"Spec: " + err.Error()}, nil
	}
	if s.Steps == 0 {
		s.Steps = 20
	}
	if s.Tolerance == 0 {
		s.Tolerance = 1e-3
	}
	if s.Platforms == nil {
		if s.Platforms, err = everywhere(); err != nil {
			return nil, err
		}
	}
	t := trial{Suite: s, env: env, spec: env.Spec()}
	t.try()
	return t.broken, nil
}

// everywhere is the best backend of this machine, and pure Go.
func everywhere() ([]*xla.Platform, error) {
	best, err := xla.Default()
	if err != nil || best.Kind == xla.Go {
		return []*xla.Platform{best}, err
	}
	pure, err := xla.Open(string(xla.Go))
	return []*xla.Platform{best, pure}, err
}

// trial is a suite at work on an environment.
type trial struct {
	Suite
	env    envs.Env
	spec   envs.Spec
	broken []string
}

func (t *trial) breaks(format string, args ...any) {
	t.broken = append(t.broken, fmt.Sprintf(format, args...))
}
