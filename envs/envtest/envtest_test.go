package envtest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/envtest"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// slider is a point on a line that moves by a tenth of the action. It keeps all promises, unless
// one of its functions breaks one.
type slider struct {
	spec  func(*envs.Spec)
	start func(keys random.Key) *Node // [B]
	reset func(s *envs.State)
	step  func(x, action *Node, s *envs.State)
}

func (e slider) Spec() envs.Spec {
	spec := envs.Spec{Name: "slider", Observations: 2, Actions: 1, Length: 50, Offset: 1,
		Descriptor: envs.Descriptor{
			Kind: envs.Mean, Lower: []float32{0}, Upper: []float32{1},
			Components: []string{"share of the right"}}}
	if e.spec != nil {
		e.spec(&spec)
	}
	return spec
}

func (e slider) at(x, reward *Node) envs.State {
	right := ConvertDType(GreaterThan(x, ZerosLike(x)), x.DType())
	return envs.State{
		PhysicsState: []*Node{x}, Observation: Stack([]*Node{x, Square(x)}, -1), Reward: reward,
		Done: ConvertDType(GreaterThan(x, ConstAs(x, 1)), x.DType()), Descriptor: InsertAxes(right, -1),
	}
}

func (e slider) Reset(keys random.Key) envs.State {
	n := keys.Hi.Shape().Dimensions[0]
	x := keys.Uniform(-0.5, 0.5, n)
	if e.start != nil {
		x = e.start(keys)
	}
	s := e.at(x, ZerosLike(x))
	if e.reset != nil {
		e.reset(&s)
	}
	return s
}

func (e slider) Step(s envs.State, action *Node) envs.State {
	action = Reshape(action, -1)
	x := Add(s.PhysicsState[0], DivScalar(action, 10))
	next := e.at(x, Neg(Square(x)))
	if e.step != nil {
		e.step(x, action, &next)
	}
	return next
}

// recorder is a test that records its errors.
type recorder struct {
	testing.TB
	messages []string
}

func (r *recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.messages = append(r.messages, fmt.Sprintf(format, args...))
}
func (r *recorder) Error(args ...any) { r.messages = append(r.messages, fmt.Sprint(args...)) }

func TestGoodEnvironmentPasses(t *testing.T) {
	envtest.Run(t, slider{})
	envtest.Run(t, envs.AutoReset(slider{}, 5))
	if err := envtest.Check(slider{}); err != nil {
		t.Error(err)
	}
	none := slider{
		spec:  func(s *envs.Spec) { s.Descriptor = envs.Descriptor{Kind: envs.None} },
		reset: func(s *envs.State) { s.Descriptor = nil },
		step:  func(_, _ *Node, s *envs.State) { s.Descriptor = nil },
	}
	envtest.Run(t, none)
}

// Every promise can be broken, and the failure names it.
func TestBrokenPromisesAreSaid(t *testing.T) {
	pure := []*xla.Platform{xlatest.Pure(t)}
	built := 0
	same := func(keys random.Key) *Node {
		return MulScalar(keys.Uniform(0, 1, keys.Hi.Shape().Dimensions[0]), 0)
	}
	for want, broken := range map[string]slider{
		"slider has 4611686018427387904 observations and":      {spec: func(s *envs.Spec) { s.Observations = 1 << 62 }},
		"slider needs at least 1 observation":                  {spec: func(s *envs.Spec) { s.Observations = 0 }},
		`limits of "share of the right" in slider are 2 and 1`: {spec: func(s *envs.Spec) { s.Descriptor.Lower[0] = 2 }},
		"observations that are always 0 must ascend from 0 to at most 1, not [1 2]": {
			spec: func(s *envs.Spec) { s.Zero = []int{1, 2} }},
		"zero: number 0 of the observation of copy 0 after 0 steps": {
			spec: func(s *envs.Spec) { s.Zero = []int{0} }},
		"1 upper limits and 2 names": {spec: func(s *envs.Spec) { s.Descriptor.Components = []string{"a", "b"} }},
		"it returns Observation of shape (Float32)[5, 2], not (Float32)[5, 3]": {
			spec: func(s *envs.Spec) { s.Observations = 3 }},
		"it returns nil for Descriptor of shape (Float32)[5, 1]": {
			reset: func(s *envs.State) { s.Descriptor = nil }},
		"PhysicsState[0] of slider has shape (Float32)[5, 1]: the last axis must be the batch": {
			reset: func(s *envs.State) { s.PhysicsState[0] = InsertAxes(s.PhysicsState[0], -1) }},
		"it returns no PhysicsState": {reset: func(s *envs.State) { s.PhysicsState = nil }},
		"it returns PhysicsState[0] of shape (Float32)[1, 5], not (Float32)[5]": {
			step: func(_, _ *Node, s *envs.State) { s.PhysicsState = []*Node{InsertAxes(s.PhysicsState[0], 0)} }},
		"it returns 2 tensors for PhysicsState, not 1": {
			step: func(x, _ *Node, s *envs.State) { s.PhysicsState = append(s.PhysicsState, x) }},
		`the model has no body "leg"`: {step: func(_, _ *Node, _ *envs.State) { panic(`the model has no body "leg"`) }},
		"reset: it must give reward 0 and done 0: number 0 of the reward of copy 0 after 0 steps is -1": {
			reset: func(s *envs.State) { s.Reward = AddScalar(s.Reward, -1) }},
		"reset: all keys give the same state": {start: same},
		"reset: the same key gives another state at another batch index": {
			start: func(keys random.Key) *Node {
				return random.Key{Hi: Const(keys.Hi.Graph(), uint32(1)),
					Lo: Const(keys.Hi.Graph(), uint32(2))}.Uniform(-0.5, 0.5, keys.Hi.Shape().Dimensions[0])
			}},
		"same bytes: a second build behaves differently": {start: func(keys random.Key) *Node {
			built++
			return AddScalar(keys.Uniform(-0.5, 0.5, keys.Hi.Shape().Dimensions[0]), 0.1*float64(built%7))
		}},
		"independence: a copy depends on the other copies, on go": {
			step: func(x, _ *Node, s *envs.State) { s.Reward = Sub(s.Reward, ReduceAllMean(Square(x))) }},
		"finite: random actions lead to a number that is not finite, or a body beyond 100000 m, m/s " +
			"or rad/s: number 0 of the reward": {
			step: func(x, _ *Node, s *envs.State) { s.Reward = Log(s.Reward) }},
		"done: it must be 0 or 1: number 0 of done of copy 0 after 1 steps is 0.5": {
			step: func(x, _ *Node, s *envs.State) { s.Done = AddScalar(s.Done, 0.5) }},
		`limits: "share of the right" is from 6.9`: {
			step: func(x, _ *Node, s *envs.State) { s.Descriptor = AddScalar(s.Descriptor, 7) }},
		"done: all 5 copies are done in step 1 of 50": {
			step: func(x, _ *Node, s *envs.State) { s.Done = OnesLike(s.Done) }},
		"of the reward of copy 0 after 1 steps is -3, but Offset is 1: it must be at least 3, or": {
			step: func(x, _ *Node, s *envs.State) { s.Reward = AddScalar(ZerosLike(s.Reward), -3) }},
		"observation: it is [0.5 0.5] in all steps of all copies": {
			step: func(_, _ *Node, s *envs.State) { s.Observation = AddScalar(ZerosLike(s.Observation), 0.5) }},
		"descriptor: it is [1] in all steps of all copies": {
			step: func(_, _ *Node, s *envs.State) { s.Descriptor = OnesLike(s.Descriptor) }},
		`limits: "share of the right" is from -7 to -7 at the end of all copies, outside of its limits, ` +
			"0 and 1": {spec: func(s *envs.Spec) { s.Descriptor.Kind = envs.Final },
			step: func(_, _ *Node, s *envs.State) { s.Descriptor = AddScalar(ZerosLike(s.Descriptor), -7) }},
	} {
		r := &recorder{}
		envtest.Suite{Platforms: pure}.Run(r, broken)
		said := strings.Join(r.messages, "\n")
		if !strings.Contains(said, want) || !strings.HasPrefix(said, "slider: ") {
			t.Errorf("said %q, want %q", said, want)
		}
		if err := (envtest.Suite{Platforms: pure}).Check(broken); err == nil || !strings.HasPrefix(err.Error(),
			"slider breaks ") {
			t.Errorf("%s: Check returns %v", want, err)
		}
	}
}

// idle ignores its actions.
type idle struct{ slider }

func (e idle) Step(s envs.State, _ *Node) envs.State {
	x := MulScalar(s.PhysicsState[0], 0.9)
	return e.at(x, Neg(Square(x)))
}

func TestActionsHaveAnEffect(t *testing.T) {
	err := envtest.Suite{Platforms: []*xla.Platform{xlatest.Pure(t)}}.Check(idle{})
	if err == nil || !strings.Contains(err.Error(), "actions: they change neither the physics state") {
		t.Errorf("said %v", err)
	}
}

// A reward that does not depend on actions is allowed: a rollout notices NaN actions itself.
func TestConstantRewardKeepsAllPromises(t *testing.T) {
	envtest.Suite{Platforms: []*xla.Platform{xlatest.Pure(t)}}.Run(t, slider{step: func(x, _ *Node, s *envs.State) {
		s.PhysicsState[0] = Where(NotEqual(x, x), ZerosLike(x), x)
		s.Reward = OnesLike(s.Reward)
	}})
}

func TestFixedStartIsAPromiseToo(t *testing.T) {
	suite := envtest.Suite{Platforms: []*xla.Platform{xlatest.Pure(t)}, FixedStart: true}
	still := slider{start: func(keys random.Key) *Node {
		return MulScalar(keys.Uniform(0, 1, keys.Hi.Shape().Dimensions[0]), 0)
	}}
	suite.Run(t, still)
	errtest.Want(t, suite.Check(slider{}), "keys give different states in an environment with a fixed start")
}

func TestBackendsAreCompared(t *testing.T) {
	best, pure := xlatest.Best(t), xlatest.Pure(t)
	if best.Kind == backend.Go {
		t.Skip("SKIPPED: pure Go is the only backend here; `make plugin` installs another")
	}
	biased := slider{step: func(x, _ *Node, s *envs.State) {
		if xla.Supports(x.Graph(), compute.OpTypeDynamicSlice) { // pure Go lacks it
			s.Reward = AddScalar(s.Reward, 0.01)
		}
	}}
	err := envtest.Suite{Platforms: []*xla.Platform{best, pure}}.Check(biased)
	errtest.Want(t, err, "agreement: "+best.Name()+
		" and go differ by 0.01, 0.001 is allowed (Suite.Tolerance allows more): number 0 of the reward of copy 0 after 1 steps")
	if err := (envtest.Suite{Platforms: []*xla.Platform{best, pure}, Tolerance: 0.02}).Check(biased); err != nil {
		t.Error(err)
	}
}

// Check returns a list of promises, as a notebook shows it, without those that depend on finite numbers.
func TestCheckListsAll(t *testing.T) {
	pure := xlatest.Pure(t)
	err := envtest.Suite{Platforms: []*xla.Platform{pure, pure}}.Check(slider{step: func(x, _ *Node, s *envs.State) {
		s.Done = AddScalar(s.Done, 0.5)
		s.Reward = AddScalar(s.Reward, math.Inf(1))
	}})
	if err == nil || !strings.HasPrefix(err.Error(), "slider breaks ") || strings.Count(err.Error(), "\n  ") < 2 ||
		strings.Contains(err.Error(), "offset: ") || strings.Contains(err.Error(), "agreement: ") {
		t.Errorf("%v", err)
	}
}

// falling is two balls on the floor, joined by a motor, in substeps of a millisecond. One backend sees the
// floor a micrometre higher, and speeds that are greater by an error.
func falling(error float64) *envs.Rigid {
	system := must.Get(physics.NewSystem(physics.Model{
		TimeStep: 0.006, Substeps: 6, Gravity: physics.Vec{0, 0, -9.81}, Dynamics: physics.PositionBased,
		Bodies: []physics.Body{
			{Name: "floor", Fixed: true, Colliders: []physics.Collider{{Shape: physics.Plane, Friction: 1}}},
			{Name: "a", Mass: 1, Inertia: physics.Vec{0.1, 0.1, 0.1},
				Colliders: []physics.Collider{{Radius: 0.1, Length: 0.2, Friction: 1}}},
			{Name: "b", Mass: 1, Inertia: physics.Vec{0.1, 0.1, 0.1},
				Colliders: []physics.Collider{{Radius: 0.1, Length: 0.2, Friction: 1}}},
		},
		Joints: []physics.Joint{{Name: "hinge", Parent: "a", Child: "b", Limits: [][2]float64{{-90, 90}},
			ParentOffset: physics.Vec{0.25, 0, 0}, ChildOffset: physics.Vec{-0.25, 0, 0}}},
		Actuators: []physics.Actuator{{Joint: "hinge", Strength: 1}},
		Collide:   [][2]string{{"floor", "a"}, {"floor", "b"}},
	}))
	biased := func(x *Node, bias float64) *Node {
		if !xla.Supports(x.Graph(), compute.OpTypeDynamicSlice) { // pure Go lacks it
			bias = 0
		}
		return AddScalar(x, bias)
	}
	return &envs.Rigid{
		System: system,
		Settings: envs.Spec{Name: "falling", Observations: 4, Actions: 1, Length: 50, Offset: 100,
			Descriptor: envs.Descriptor{Kind: envs.None}},
		Noise: 0.1,
		Observe: func(m envs.StepView) *Node {
			angle, velocity := m.Joint("hinge")
			bottom := Min(m.Frame("a").Position[2], m.Frame("b").Position[2])
			touches := LessThan(biased(AddScalar(bottom, -0.1), -1e-6), ConstAs(bottom, 0))
			return Concatenate([]*Node{angle, velocity, InsertAxes(bottom, 0),
				InsertAxes(ConvertDType(touches, bottom.DType()), 0)}, 0)
		},
		Reward: func(_, after envs.StepView, _ *Node) *Node {
			return biased(ClipScalar(after.Frame("a").Velocity[0], -1, 1), error)
		},
	}
}

// A robot whose feet begin on the floor is sound, whatever the last bit says about their contact, and
// velocities may differ by what rounded positions make of them in a substep.
func TestRobotsOnTheFloorAreSound(t *testing.T) {
	if xlatest.Best(t).Kind == backend.Go {
		t.Skip("SKIPPED: pure Go is the only backend here; `make plugin` installs another")
	}
	both := envtest.Suite{Platforms: []*xla.Platform{xlatest.Best(t), xlatest.Pure(t)}}
	if err := both.Check(falling(0.004)); err != nil {
		t.Error(err)
	}
	errtest.Want(t, both.Check(falling(0.006)), "differ by 0.006, 0.005 is allowed (Suite.Tolerance allows more)")
}
