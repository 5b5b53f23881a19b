package envtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// Suite configures the checks. [Run] and [Check] use the zero value.
type Suite struct {
	// Platforms are the backends; nil means the best one of this machine and pure Go. The first is
	// compared with the others. Checks that do not need all backends use the last.
	Platforms []*xla.Platform
	// FixedStart means that all episodes must start in the same state, whatever their keys.
	FixedStart bool
	// Steps is the number of control steps; 0 means 20.
	Steps int
	// Tolerance is the allowed difference between two backends after two steps: absolute for values
	// below 1, relative above; 0 means 1e-3, and more if a robot's substeps are shorter than 5 ms, because
	// its velocities are differences of rounded positions over a substep.
	Tolerance float64
}

// Run fails the test for each promise that env breaks.
func Run(t testing.TB, env envs.Env) {
	t.Helper()
	Suite{}.Run(t, env)
}

// Check returns an error that lists the promises that env breaks, one per line.
func Check(env envs.Env) error { return Suite{}.Check(env) }

// Run is [Run] with the settings of the suite.
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

// Check is [Check] with the settings of the suite.
func (s Suite) Check(env envs.Env) error {
	broken, err := s.try(env)
	if err != nil {
		return err
	}
	switch len(broken) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s breaks a promise of environments: %s", env.Spec().Name, broken[0])
	}
	return fmt.Errorf("%s breaks %d promises of environments:\n  %s", env.Spec().Name, len(broken),
		strings.Join(broken, "\n  "))
}

// try lists the promises that an environment breaks. It returns an error if a backend is not
// available.
func (s Suite) try(env envs.Env) (broken []string, err error) {
	if err := envs.Validate(env); err != nil {
		return []string{err.Error()}, nil
	}
	if s.Steps == 0 {
		s.Steps = 20
	}
	if s.Tolerance == 0 {
		s.Tolerance = tolerance(env)
	}
	if s.Platforms == nil {
		if s.Platforms, err = everywhere(); err != nil {
			return nil, err
		}
	}
	t := trial{Suite: s, env: aboveFloor(env), spec: env.Spec()}
	t.try()
	return t.broken, nil
}

// tolerance is the default of [Suite.Tolerance].
func tolerance(env envs.Env) float64 {
	const usual = 0.005 // s: substeps of Brax's robots
	if r, ok := envs.Inner(env).(*envs.Rigid); ok {
		if brax, ok := r.System.(*physics.System); ok {
			m := brax.Model()
			return 1e-3 * max(1, usual*float64(m.Substeps)/m.TimeStep)
		}
	}
	return 1e-3
}

// aboveFloor returns a robot that is free to move such that its episodes begin a millimetre higher. A
// reset puts its lowest point on the floor, where the last bit decides whether a foot touches it.
func aboveFloor(env envs.Env) envs.Env {
	r, ok := env.(*envs.Rigid)
	if !ok {
		return env
	}
	brax, ok := r.System.(*physics.System)
	if !ok {
		return env
	}
	model := brax.Model()
	for _, j := range model.Joints {
		if i := slices.IndexFunc(model.Bodies, func(b physics.Body) bool { return b.Name == j.Parent }); i >= 0 &&
			model.Bodies[i].Fixed {
			return env
		}
	}
	return lifted{r, brax}
}

// lifted is a robot above the floor.
type lifted struct {
	*envs.Rigid
	brax *physics.System
}

// Unwrap returns the robot.
func (l lifted) Unwrap() envs.Env { return l.Rigid }

func (l lifted) Reset(keys random.Key) envs.State {
	position, rotation, velocity, angular := l.System.Export(physics.State{Parts: l.Rigid.Reset(keys).PhysicsState})
	up := Const(position.Graph(), [][][]float32{{{0, 0, 0.001}}})
	return l.Begin(keys, l.brax.Import(Add(position, BroadcastToShape(up, position.Shape())), rotation, velocity, angular))
}

// everywhere returns the best backend of this machine, and pure Go.
func everywhere() ([]*xla.Platform, error) {
	best, err := xla.Open(context.Background(), "")
	if err != nil || best.Kind == backend.Go {
		return []*xla.Platform{best}, err
	}
	pure, err := xla.Open(context.Background(), string(backend.Go))
	return []*xla.Platform{best, pure}, err
}

// trial is a run of a suite on an environment.
type trial struct {
	Suite
	env    envs.Env
	spec   envs.Spec
	broken []string
}

func (t *trial) breaks(format string, args ...any) {
	t.broken = append(t.broken, fmt.Sprintf(format, args...))
}
