package envs_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// built returns the error of building the graphs of an environment, which are not compiled.
func built(env envs.Env) error {
	p, err := xla.DryRun(backend.CPU, 1, func(string, []byte) error { return nil })
	if err != nil {
		return err
	}
	_, err = xla.Compile(p, "step", xla.Declare(dtypes.Uint32, 2), func(seed xla.Array) xla.State[envs.State] {
		g := seed.Tree.Graph()
		keys := random.KeyOf(seed.Tree).Split(2)
		action := Zeros(g, shapes.Make(dtypes.Float32, 2, env.Spec().Actions))
		return xla.Out(env.Step(env.Reset(keys), action))
	})
	return err
}

// rebuilt returns a task of a model with other gravity, actuators and target.
func rebuilt(t *testing.T, task *envs.Rigid, c envs.Conditions) *envs.Rigid {
	t.Helper()
	r, m := *task, task.System.(*physics.System).Model()
	value := func(p envs.Perturbation) float64 { return append(c[p], 1)[0] } // of a multiplier
	m.Gravity[2] *= value(envs.GravityMultiplier)
	for i, a := range m.Actuators {
		if slices.Contains(r.Leg, a.Joint) {
			k := value(envs.ActuatorsMultiplier)
			m.Actuators[i].Strength *= k
			if s := a.Servo; s != nil {
				m.Actuators[i].Servo = &physics.Servo{Bias: s.Bias * k, Stiffness: s.Stiffness * k, MinTorque: s.MinTorque * k,
					MaxTorque: s.MaxTorque * k}
			}
		}
	}
	if at := c[envs.TargetPosition]; at != nil {
		r.Target = (*[2]float64)(at)
	}
	r.Vary = nil
	r.System = must.Get(physics.NewSystem(m))
	return &r
}

// Conditions as inputs of a program have the same effect as another model. Nominal conditions have
// no effect.
func TestAdjust(t *testing.T) {
	gravity := envs.Conditions{envs.GravityMultiplier: {0.25}}
	weak := envs.Conditions{envs.ActuatorsMultiplier: {0}}
	// Powers of two are exact: the halfcheetah amplifies rounding.
	both := envs.Conditions{envs.GravityMultiplier: {4}, envs.ActuatorsMultiplier: {0.5}}
	moved := envs.Conditions{envs.TargetPosition: {-2, 15}}
	var nominal envs.Conditions
	for name, changes := range map[string][]envs.Conditions{
		"walker-uni": {nominal, gravity, weak, both}, "halfcheetah-uni": {nominal, both},
		"ant-uni": {nominal, both}, "ant-maze": {nominal, gravity, moved}, "servos": {nominal, weak, both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := environment(t, strings.Replace(name, "servos", "walker-uni", 1))
			if name == "servos" {
				servos := *task.(*envs.Rigid)
				m := servos.System.(*physics.System).Model()
				for i := range m.Actuators {
					m.Actuators[i].Servo = &physics.Servo{Bias: 5, Stiffness: 100, MinTorque: -50, MaxTorque: 60}
				}
				servos.System = must.Get(physics.NewSystem(m))
				task = &servos
			}
			live := must.Get(envs.Adjust(task))
			var last [][]float32
			for i, conditions := range changes {
				values := must.Get(live.Values(conditions))
				built := rebuilt(t, live, conditions)
				// A few copies, two steps: enough for a change of velocity to show in positions.
				out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
					keys := random.KeyOf(in[0]).Split(3)
					action := keys.FoldIn(7).Uniform(-1, 1, 3, live.Spec().Actions)
					a, b := live.Under(live.Reset(keys), in[1]), built.Reset(keys)
					for range 2 {
						a, b = live.Step(a, action), built.Step(b, action)
					}
					return []*Node{a.Observation, b.Observation, a.Reward, b.Reward}
				}, xlatest.Tensor(random.SeedWords(5), 2), xlatest.Tensor(values, len(values)))
				flat := func(i int) []float32 { return xlatest.Flat[float32](t, out[i]) }
				xlatest.Close(t, "observations", flat(0), flat(1), 2e-4)
				xlatest.Close(t, "rewards", flat(2), flat(3), 2e-4)
				seen := append(flat(0), flat(2)...)
				if i > 0 && near(seen, last[0]) {
					t.Errorf("change %d has no effect", i)
				}
				last = append(last, seen)
			}
		})
	}
}

// Only targets of tasks whose descriptor is a position are limited to a region, and not a task's own.
func TestValuesOfConditions(t *testing.T) {
	errtest.Want(t, errtest.Of(envs.Adjust(environment(t, "pointmaze"))), "neither gravity")
	errtest.Want(t, errtest.Of(envs.Adjust(envs.StartAt(environment(t, "ant-uni"), 1))), "fixed start")
	errtest.Want(t, errtest.Of(envs.Adjust(environment(t, "ant-uni"), envs.MassMultiplier)), "Brax's engine cannot vary mass")
	at := func(x, y float64) envs.Conditions { return envs.Conditions{envs.TargetPosition: {x, y}} }
	for _, test := range []struct {
		env        string
		target     *[2]float64 // nil: the task's own
		conditions envs.Conditions
		want       string // error
	}{
		{"ant-uni", nil, at(1, 0), "no target"},
		{"ant-maze", nil, at(99, 0), "x must lie between"},
		{"ant-maze", &[2]float64{50, 0}, nil, ""},
		{"ant-uni", nil, envs.Conditions{envs.GravityMultiplier: {-1}}, "gravity must be finite and not negative"},
		{"walker-uni", nil, envs.Conditions{envs.ActuatorsMultiplier: {-1}}, "of actuator strength"},
		{"walker-uni", nil, envs.Conditions{envs.MassMultiplier: {2}}, "does not vary mass"},
		{"walker-uni", nil, envs.Conditions{"wind": {2}}, `unknown perturbation "wind"`},
		{"walker-uni", nil, envs.Conditions{envs.GravityMultiplier: {1, 2}}, "needs 1 finite numbers"},
		{"ant-uni", &[2]float64{5, -30}, at(5, -30), ""},
		{"ant-uni", &[2]float64{5, -30}, at(math.NaN(), 0), "needs 2 finite numbers"},
	} {
		r := *environment(t, test.env).(*envs.Rigid)
		if test.target != nil {
			r.Target = test.target
		}
		live := must.Get(envs.Adjust(&r))
		if values, err := live.Values(test.conditions); test.want != "" {
			errtest.Want(t, err, test.want, test.env)
		} else if err != nil || values[2] != float32(test.target[0]) {
			t.Errorf("%s: %v, %v", test.env, values, err)
		}
	}
}

// Episodes of a task that varies are those of an adjustable one under what was drawn, which is uniform.
func TestWithVariations(t *testing.T) {
	maze := environment(t, "ant-maze")
	target := envs.Variation{Quantity: envs.TargetPosition, Lower: []float64{0, 10}, Upper: []float64{0, 20}}
	env := must.Get(envs.WithVariations(maze, "ant-varied", envs.Vary(envs.GravityMultiplier, 0.5, 1.5),
		envs.Vary(envs.ActuatorsMultiplier, 0, 0.5), target))
	live := must.Get(envs.Adjust(env))
	const n = 200
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		keys := random.KeyOf(in[0]).Split(n)
		some := random.Key{Hi: Slice(keys.Hi, AxisRange(0, 1)), Lo: Slice(keys.Lo, AxisRange(0, 1))}
		all, one, set := env.Reset(keys), envs.Reset(env, some), live.Reset(some)
		drawn := all.PhysicsState[len(all.PhysicsState)-1]
		set = live.Under(set, Reshape(Slice(drawn, AxisRange(), AxisElem(0)), -1))
		action := Ones(in[0].Graph(), shapes.Make(dtypes.Float32, 1, 8))
		a, b := envs.Step(env, one, action), envs.Step(live, set, action)
		return []*Node{drawn, a.Observation, b.Observation, a.Reward, b.Reward}
	}, xlatest.Tensor(random.SeedWords(5), 2))
	flat := func(i int) []float32 { return xlatest.Flat[float32](t, out[i]) }
	for i, limits := range [][2]float32{{0.5, 1.5}, {0, 0.5}, {0, 0}, {10, 20}} {
		row := flat(0)[i*n:][:n]
		low, high, sum := slices.Min(row), slices.Max(row), float32(0)
		for _, x := range row {
			sum += x
		}
		width := limits[1] - limits[0]
		if off := sum/n - (limits[0]+limits[1])/2; low < limits[0] || high > limits[1] || high-low < 0.9*width ||
			off > 0.1*width || off < -0.1*width {
			t.Errorf("condition %d: %g to %g with mean %g, want %v", i, low, high, sum/n, limits)
		}
	}
	xlatest.Close(t, "observations", flat(1), flat(2), 0)
	xlatest.Close(t, "rewards", flat(3), flat(4), 0)
	far := target
	far.Upper = []float64{99, 99}
	for want, bad := range map[string]envs.Variation{
		"the lower limits must not exceed":   envs.Vary(envs.GravityMultiplier, 2, 1),
		"multiplier of gravity must be":      envs.Vary(envs.GravityMultiplier, -1, 1),
		"of ant-varied: x must lie":          far,
		`unknown joint with an actuator`:     envs.Vary(envs.ActuatorsMultiplier, 0, 1, "hip"),
		"Brax's engine cannot vary friction": envs.Vary(envs.FrictionMultiplier, 0, 1),
		`unknown perturbation "wind"`:        envs.Vary("wind", 0, 1),
	} {
		_, err := envs.WithVariations(maze, "ant-varied", bad)
		errtest.Want(t, err, want)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(*envs.Rigid){
		"":                           func(*envs.Rigid) {},
		"ant-maze: it has no System": func(r *envs.Rigid) { r.System = nil },
		"no function Observe":        func(r *envs.Rigid) { r.Observe = nil },
		"it has no function Reward":  func(r *envs.Rigid) { r.Reward = nil },
		"no function Describe":       func(r *envs.Rigid) { r.Describe = nil },
		`its Leg: unknown joint with an actuator "typo"; known: $ Torso_Aux 1`: func(r *envs.Rigid) { r.Leg = []string{"typo"} },
		"1 action":    func(r *envs.Rigid) { r.Settings.Actions = -1 },
		"8 actuators": func(r *envs.Rigid) { r.Settings.Actions = 7 },
		"Noise is -1": func(r *envs.Rigid) { r.Noise = -1 },
	} {
		r := *environment(t, "ant-maze").(*envs.Rigid)
		change(&r)
		for _, env := range []envs.Env{&r, envs.StartAt(&r, 1)} {
			if err := envs.Validate(env); (err == nil) != (want == "") ||
				err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
}

// Wrong names of bodies and joints are one line that lists the right ones, as the documentation does.
func TestNamesOfBodiesAndJoints(t *testing.T) {
	documented := string(must.Get(os.ReadFile("rigid_graph.go")))
	for _, name := range []string{"ant-uni", "walker-uni", "halfcheetah-uni"} {
		model := environment(t, name).(*envs.Rigid).System.(*physics.System).Model()
		for _, j := range model.Joints {
			if !strings.Contains(documented, j.Name) || !strings.Contains(documented, j.Child) {
				t.Errorf("%s: StepView does not document %q of %q", name, j.Name, j.Child)
			}
		}
	}
	ant, d := environment(t, "ant-uni"), envs.Descriptor{Kind: envs.Mean, Lower: []float32{0},
		Upper: []float32{1}, Components: []string{"x"}}
	for want, describe := range map[string]func(m envs.StepView) *Node{
		`unknown body "Torso"; did you mean "$ Torso"? known: $ Body 10, $`: func(m envs.StepView) *Node {
			return m.Frame("Torso").Position[2]
		},
		`unknown body "leg"; known: $ Body 10, $`: func(m envs.StepView) *Node { return m.Touching("leg") },
		`unknown joint "knee"; known: $ Torso_Aux 1`: func(m envs.StepView) *Node {
			angle, _ := m.Joint("knee")
			return angle
		},
		"it returns descriptors of shape (Float32)[2, 2], not (Float32)[1, 2]": func(m envs.StepView) *Node {
			return m.Touching("$ Body 4", "$ Body 7")
		},
	} {
		env := must.Get(envs.WithDescriptor(ant, "own", d, describe))
		errtest.Want(t, built(env), want)
	}
	for want, wrong := range map[string]envs.Env{"pointmaze is no task of rigid bodies": envs.Pointmaze{},
		"or wrapped": envs.StartAt(ant, 1)} {
		errtest.Want(t, errtest.Of(envs.WithReward(wrong, "own", 1, nil)), want)
	}
	errtest.Want(t, errtest.Of(envs.WithReward(ant, "own", 1, nil)), "own: it has no function Reward")
}

func TestPerturbations(t *testing.T) {
	for p, want := range map[envs.Perturbation]struct {
		n           int
		nominal     int // index of the nominal value; -1 if there is none
		first, last float64
	}{
		envs.GravityMultiplier: {20, 3, 0.25, 5}, envs.ActuatorsMultiplier: {20, 4, 0, 4.75},
		envs.TargetPosition: {10, -1, 11.739233, 19.50973},
	} {
		values := p.Values()
		if len(values) != want.n || values[0][0] != want.first || values[want.n-1][0] != want.last {
			t.Errorf("%s: %v", p, values)
		}
		if want.nominal >= 0 && values[want.nominal][0] != 1 {
			t.Errorf("%s: value %d is %v", p, want.nominal, values[want.nominal])
		}
		changed := map[string]bool{}
		for _, value := range values {
			must.Do(envs.Conditions{p: value}.Check())
			changed[fmt.Sprint(value)] = true
		}
		errtest.Equal(t, fmt.Sprintf("different values of %s", p), len(changed), want.n)
	}
}
