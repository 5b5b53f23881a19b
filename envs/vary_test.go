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
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
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

// rebuilt returns a task of a model with other gravity, actuators, target, masses, friction and damping.
func rebuilt(t *testing.T, task *envs.Rigid, c envs.Conditions) *envs.Rigid {
	t.Helper()
	r, m := *task, task.System.(*physics.System).Model()
	value := func(p envs.Perturbation) float64 { return append(c[p], 1)[0] } // of a multiplier
	m.Gravity[2] *= value(envs.GravityMultiplier)
	for i := range m.Bodies {
		b, k := &m.Bodies[i], value(envs.MassMultiplier)
		if b.Inertia == (physics.Vec{}) {
			b.Inertia = physics.Vec{1, 1, 1}
		}
		b.Mass, b.Inertia = b.Mass*k, physics.Vec{b.Inertia[0] * k, b.Inertia[1] * k, b.Inertia[2] * k}
		for j := range b.Colliders {
			b.Colliders[j].Friction *= math.Sqrt(value(envs.FrictionMultiplier))
		}
	}
	for i := range m.Joints {
		m.Joints[i].Damping *= value(envs.DampingMultiplier)
	}
	for i, a := range m.Actuators {
		m.Actuators[i].Strength *= value(envs.GainMultiplier)
		if slices.Contains(r.Leg, a.Joint) {
			m.Actuators[i].Strength *= value(envs.ActuatorsMultiplier)
		}
	}
	if at := c[envs.TargetPosition]; at != nil {
		r.Target = (*[2]float64)(at)
	}
	r.Vary = nil
	r.System = must.Get(physics.NewSystem(m))
	return &r
}

// Conditions as inputs of a program have the same effect as another model. Nominal conditions have no effect.
func TestAdjust(t *testing.T) {
	gravity := envs.Conditions{envs.GravityMultiplier: {0.25}}
	weak := envs.Conditions{envs.ActuatorsMultiplier: {0}}
	// Powers of two are exact: the halfcheetah amplifies rounding.
	both := envs.Conditions{envs.GravityMultiplier: {4}, envs.ActuatorsMultiplier: {0.5}}
	moved := envs.Conditions{envs.TargetPosition: {-2, 15}}
	slippery := envs.Conditions{envs.FrictionMultiplier: {0}}
	heavy := envs.Conditions{envs.MassMultiplier: {4}, envs.FrictionMultiplier: {0.25}, envs.DampingMultiplier: {2},
		envs.GainMultiplier: {0.5}}
	var nominal envs.Conditions
	more := []envs.Perturbation{envs.MassMultiplier, envs.FrictionMultiplier, envs.DampingMultiplier, envs.GainMultiplier}
	also := map[string][]envs.Perturbation{"ant-uni": more, "ant-maze": more}
	for name, changes := range map[string][]envs.Conditions{
		"walker-uni": {nominal, gravity, weak, both}, "halfcheetah-uni": {nominal, both},
		"ant-uni": {nominal, both, slippery, heavy}, "ant-maze": {nominal, gravity, moved, slippery, heavy},
		"servos": {nominal, weak, both},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			task := environment(t, strings.Replace(name, "servos", "walker-uni", 1))
			if name == "servos" {
				servos := *task.(*envs.Rigid)
				m := servos.System.(*physics.System).Model()
				for i := range m.Actuators {
					m.Actuators[i].Angle = true
				}
				servos.System = must.Get(physics.NewSystem(m))
				task = &servos
			}
			live := must.Get(envs.Adjust(task, also[name]...))
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
	errtest.Want(t, errtest.Of(envs.Adjust(environment(t, "ant-uni"), envs.CenterOffset)), "Brax's engine cannot vary center")
	at := func(x, y float64) envs.Conditions { return envs.Conditions{envs.TargetPosition: {x, y}} }
	errtest.Want(t, errtest.Of(environment(t, "ant-maze").(*envs.Rigid).Values(at(1, 0))), "does not vary target: use Adjust")
	for _, test := range []struct {
		env        string
		target     *[2]float64 // nil: the task's own
		conditions envs.Conditions
		want       string // error
	}{
		{"ant-uni", nil, at(1, 0), "no target to move: set Target"},
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
	far, one := target, []float64{1}
	far.Upper = []float64{99, 99}
	for want, bad := range map[string]envs.Variation{
		"the lower limits must not exceed":   envs.Vary(envs.GravityMultiplier, 2, 1),
		"multiplier of gravity must be":      envs.Vary(envs.GravityMultiplier, -1, 1),
		"of ant-varied: x must lie":          far,
		`unknown joint with an actuator`:     envs.Vary(envs.ActuatorsMultiplier, 0, 1, "hip"),
		"Brax's engine cannot vary armature": envs.Vary(envs.ArmatureMultiplier, 0, 1),
		"of the whole robot only":            envs.Vary(envs.FrictionMultiplier, 0, 1, "$ Torso"),
		"multiplier of mass must be":         envs.Vary(envs.MassMultiplier, 0, 1),
		"the pushes are 2 to 1 s apart":      {Quantity: envs.PushSpeed, Lower: one, Upper: one, Every: [2]float64{2, 1}},
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
		"no function Observe":        func(r *envs.Rigid) { r.Observe, r.Settings.Observations = nil, 0 },
		"has no System":              func(r *envs.Rigid) { r.System, r.Settings.Actions = nil, 0 },
		"the range Initial of ant-maze is 1 to -1: want": func(r *envs.Rigid) {
			r.Settings.Observations, r.Settings.Initial = 0, [2]float64{1, -1}
		},
		"it has no function Reward": func(r *envs.Rigid) { r.Reward = nil },
		"no function Describe":      func(r *envs.Rigid) { r.Describe = nil },
		`its Leg: unknown joint with an actuator "typo"; known: $ Torso_Aux 1`: func(r *envs.Rigid) { r.Leg = []string{"typo"} },
		"1 action":    func(r *envs.Rigid) { r.Settings.Actions = -1 },
		"8 actuators": func(r *envs.Rigid) { r.Settings.Actions = 7 },
		"Noise is -1": func(r *envs.Rigid) { r.Noise = -1 },
	} {
		r := *environment(t, "ant-maze").(*envs.Rigid)
		change(&r)
		for _, env := range []envs.Env{&r, envs.StartAt(&r, 1)} {
			if err := envs.Validate(env); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
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
			errtest.Contains(t, documented, j.Name, j.Child)
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
		errtest.Equal(t, p, fmt.Sprint(len(values), values[0][0], values[want.n-1][0]), fmt.Sprint(want.n, want.first, want.last))
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

// bodies are three bodies of MuJoCo's engine in an episode of 0.3 s: "one" rests, "four" slides at 2 m/s, and
// "eight" flies upward at 3 m/s.
func bodies(t *testing.T, vary ...envs.Variation) *envs.Rigid {
	file := must.Get(os.Open("mujoco/testdata/sliding_law.json"))
	defer file.Close()
	system := must.Get(mujoco.NewSystem(must.Get(mujoco.ReadModel(file)), mujoco.Options{}))
	m := system.Model()
	qpos, qvel := slices.Clone(m.QPos0), make([]float64, m.Sizes.NV)
	qpos[11] += 1
	qvel[2], qvel[10] = 2, 3
	env := &envs.Rigid{System: system, Vary: vary, Drive: func(action *Node) *Node { return action },
		Settings: envs.Spec{Name: "bodies", Actions: 1, Length: 15, Descriptor: envs.Descriptor{Kind: envs.None}},
		Senses:   []string{"local velocity/four", "local velocity/eight", "position/eight", "contact force/one"},
		Start: func(keys random.Key) algebra.State {
			column := func(x []float64) *Node {
				var rows [][]float32
				for _, x := range x {
					rows = append(rows, []float32{float32(x)})
				}
				return BroadcastToDims(Const(keys.Hi.Graph(), rows), len(x), keys.Hi.Shape().Size())
			}
			return system.Of(mujoco.State{QPos: column(qpos), QVel: column(qvel), QAcc: ZerosLike(column(qvel))})
		},
		Reward: func(_, after envs.StepView, _ *Node) *Node { return after.Frame("four").Position[0] }}
	must.Do(envs.Validate(env))
	return env
}

// Bodies move as their formulas say under what each copy draws: gravity, friction, mass and pushes.
func TestVariationsObeyTheirLaws(t *testing.T) {
	const copies, steps, g, dt = 6, 15, 9.81, 0.02
	push := envs.Vary(envs.PushSpeed, 0.7, 0.7, "eight")
	push.Every = [2]float64{0.04, 0.08}
	env := bodies(t, envs.Vary(envs.GravityMultiplier, 0.5, 1), envs.Vary(envs.FrictionMultiplier, 0.5, 1.2, "four"),
		envs.Vary(envs.MassMultiplier, 0.5, 2, "one"), push)
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*Node) []*Node {
		s := envs.Reset(env, random.KeyOf(in[0]).Split(copies))
		drawn := s.PhysicsState[len(s.PhysicsState)-1]
		out := []*Node{drawn}
		for range steps {
			s = envs.Step(env, s, ZerosLike(InsertAxes(s.Reward, -1)))
			out = append(out, s.Observation)
		}
		return out
	}, xlatest.Tensor(random.SeedWords(5), 2))
	flat := func(i int) []float32 { return xlatest.Flat[float32](t, out[i]) }
	drawn := flat(0)
	apart := map[float32]bool{}
	var first []int // pushes
	for i := range copies {
		gravity, friction, mass := float64(drawn[i]), float64(drawn[copies+i]), float64(drawn[2*copies+i])
		apart[drawn[i]] = true
		at := func(step, k int) float64 { return float64(flat(1 + step)[12*i+k]) }
		now, time := steps-1, steps*dt
		if lost, want := 2-at(now, 0), 0.5*friction*gravity*g*time; math.Abs(lost-want) > 0.08*want {
			t.Errorf("copy %d: friction takes %.3f m/s, want %.3f", i, lost, want)
		}
		rise, want := at(now, 8)-1.05, 3*time-0.5*gravity*g*(time*time+0.002*time)
		if math.Abs(rise-want) > 1e-4 {
			t.Errorf("copy %d: a thrown body rises by %.5f m, want %.5f", i, rise, want)
		}
		if force, want := at(now, 11), mass*gravity*g; math.Abs(force-want) > 0.01*want {
			t.Errorf("copy %d: the floor carries %.3f N, want %.3f", i, force, want)
		}
		// Each push changes the horizontal velocity by 0.7 m/s, which nothing else does.
		x, y, pushes := 0.0, 0.0, 0
		for step := range steps {
			jump := math.Hypot(at(step, 3)-x, at(step, 4)-y)
			x, y = at(step, 3), at(step, 4)
			if jump > 1e-4 {
				if pushes++; pushes == 1 {
					first = append(first, step)
				}
				if math.Abs(jump-0.7) > 1e-4 {
					t.Errorf("copy %d: a push of %.4f m/s", i, jump)
				}
			}
		}
		if pushes < 3 || pushes > 8 {
			t.Errorf("copy %d was pushed %d times in 0.3 s", i, pushes)
		}
	}
	if len(apart) < copies || slices.Min(first) == slices.Max(first) {
		t.Errorf("copies share what they draw: %v, pushes at %v", apart, first)
	}
}

// Each episode starts on the ground of its own terrain: a flat height times what is drawn, or set.
func TestTerrainOfEpisodes(t *testing.T) {
	env := must.Get(envs.RobotTask{Name: "hill"}.Environment(robots.Go1()))
	terrain := mujoco.Terrain{Cell: 1, Heights: [][]float64{{0, 0}, {0, 0}, {0.5, 0.5}, {0.5, 0.5}}}
	env.System = must.Get(mujoco.NewSystem(robots.Go1(), mujoco.Options{ControlStep: 0.02, Terrain: &terrain,
		Contacts: [][2]string{{"floor", "FR"}}}))
	env.Noise, env.Grounded = 0, true
	env.Observe, env.Settings.Observations, env.Settings.ObservationComponents = nil, 0, nil
	env.Senses = []string{"position/trunk"}
	place := envs.Variation{Quantity: envs.TerrainOffset, Lower: []float64{1.5, 0}, Upper: []float64{1.5, 0}}
	env.Vary = []envs.Variation{envs.Vary(envs.TerrainMultiplier, 0, 1), place}
	must.Do(envs.Validate(env))
	live := must.Get(envs.Adjust(env))
	const n = 4
	low := must.Get(live.Values(envs.Conditions{envs.TerrainOffset: {-1.5, 0}}))
	high := must.Get(live.Values(envs.Conditions{envs.TerrainOffset: {1.5, 0}, envs.TerrainMultiplier: {2}}))
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		keys := random.KeyOf(in[0]).Split(n)
		s := env.Reset(keys)
		set := func(values *Node) *Node { return live.Under(live.Reset(keys), values).Observation }
		return []*Node{s.PhysicsState[len(s.PhysicsState)-1], s.Observation, set(in[1]), set(in[2])}
	}, xlatest.Tensor(random.SeedWords(5), 2), xlatest.Tensor(low, len(low)), xlatest.Tensor(high, len(high)))
	flat := func(i int) []float32 { return xlatest.Flat[float32](t, out[i]) }
	ground := flat(2)[2]
	for i := range n {
		xlatest.Close(t, "the height of a trunk", []float32{flat(1)[3*i+2], flat(3)[3*i+2]},
			[]float32{ground + 0.5*flat(0)[i], ground + 1}, 1e-5)
	}
}

// A robot of Brax's engine is pushed, too.
func TestPushesOnBraxsEngine(t *testing.T) {
	env, push := puck(), envs.Vary(envs.PushSpeed, 0.7, 0.7)
	push.Every = [2]float64{0.1, 0.1}
	env.Vary = []envs.Variation{push}
	env.Observe = func(m envs.StepView) *Node {
		v := m.Frame("ball").Velocity
		return Stack(v[:], 0)
	}
	must.Do(envs.Validate(env))
	const n, steps = 4, 5
	seen, _ := pushed(t, env, steps, n)
	for i := range n {
		for step := 2; step <= steps; step++ { // a thruster acts in the first one
			was, is := seen[step-1][3*i:][:3], seen[step][3*i:][:3]
			if jump := math.Hypot(float64(is[0]-was[0]), float64(is[1]-was[1])); math.Abs(jump-0.7) > 1e-5 || is[2] != 0 {
				t.Errorf("copy %d, step %d: a push turns %g into %g m/s", i, step, was, is)
			}
		}
	}
}

// What cannot vary is one line that says why.
func TestVariationsThatCannotBe(t *testing.T) {
	free := bodies(t)
	for want, v := range map[string]envs.Variation{
		`unknown body to vary mass "for"; did you mean "four"?`:  envs.Vary(envs.MassMultiplier, 1, 2, "for"),
		`unknown geom or body to vary friction "flor"; did you`:  envs.Vary(envs.FrictionMultiplier, 1, 2, "flor"),
		`unknown joint to vary damping "hip"`:                    envs.Vary(envs.DampingMultiplier, 1, 2, "hip"),
		"give it a Terrain (mujoco.Options, --terrain)":          envs.Vary(envs.TerrainMultiplier, 0, 1),
		"nothing can be pushed":                                  envs.Vary(envs.PushSpeed, 0, 1, "one"),
		"has no target to move":                                  envs.Vary(envs.TargetPosition, 0, 1),
		"gravity is not of single elements, such as four: leave": envs.Vary(envs.GravityMultiplier, 1, 2, "four"),
		"is Apart, but names none": {Quantity: envs.MassMultiplier,
			Lower: []float64{1}, Upper: []float64{2}, Apart: true},
	} {
		r := *free
		r.Vary = []envs.Variation{v}
		errtest.Want(t, envs.Validate(&r), want)
	}
}
