package envs_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/envtest"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// puck is a ball in space of 1 kg with a thruster along x: an action of 1 adds 0.5 m/s in a step of 0.1 s. It
// should move at a velocity that is commanded.
func puck() *envs.Rigid {
	speed := func(m envs.StepView) *Node { return InsertAxes(m.Frame("ball").Velocity[0], 0) }
	return &envs.Rigid{
		System: must.Get(physics.NewSystem(physics.Model{TimeStep: 0.1, Substeps: 1,
			Bodies: []physics.Body{{Name: "ball", Mass: 1}}, Pose: map[string]physics.Vec{"ball": {0, 0, 3}},
			Thrusters: []physics.Thruster{{Body: "ball", Axis: 1, Strength: 5}}})),
		Settings: envs.Spec{Name: "puck", Observations: 3, Actions: 1, Length: 20, Offset: 20,
			Descriptor: envs.Descriptor{Kind: envs.None}},
		Memory: []envs.Variable{envs.Command("command", []float64{-1}, []float64{1}, 0.3), envs.LastAction("last", 1)},
		Observe: func(m envs.StepView) *Node {
			return Concatenate([]*Node{speed(m), m.Recall("command"), m.Recall("last")}, 0)
		},
		Reward: func(before, after envs.StepView, action *Node) *Node {
			off := Sub(speed(after), before.Recall("command"))
			return Reshape(Neg(Add(Square(off), Square(Sub(action, before.Recall("last"))))), -1)
		},
	}
}

// pushed returns the observations [steps + 1][copies * 3] and rewards of copies of a task, under an action of 1 in
// the first step and then of 0, and what it asks of each state.
func pushed(t *testing.T, env envs.Env, steps, copies int) (observations, rewards [][]float32) {
	t.Helper()
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) (out []*Node) {
		s := envs.Reset(env, random.KeyOf(in[0]).Split(copies))
		out = append(out, s.Observation, s.Reward)
		for i := range steps {
			s = envs.Step(env, s, Const(in[0].Graph(), slices.Repeat([][]float32{{[]float32{1, 0}[min(i, 1)]}}, copies)))
			out = append(out, s.Observation, s.Reward)
		}
		return out
	}, xlatest.Tensor(random.SeedWords(3), 2))
	for i := 0; i < len(out); i += 2 {
		observations = append(observations, xlatest.Flat[float32](t, out[i]))
		rewards = append(rewards, xlatest.Flat[float32](t, out[i+1]))
	}
	return observations, rewards
}

// Functions of a step see the memory before and after it; commands are drawn for each copy, and again after 0.3 s.
func TestMemory(t *testing.T) {
	const n, steps = 16, 7
	seen, rewards := pushed(t, puck(), steps, n)
	changes := 0
	for i := range n {
		for step := range steps {
			before, after, action := seen[step][3*i:][:3], seen[step+1][3*i:][:3], []float32{1, 0}[min(step, 1)]
			off, change := after[0]-before[1], action-before[2]
			if want := -off*off - change*change; math.Abs(float64(want-rewards[step+1][i])) > 1e-6 || after[2] != action ||
				math.Abs(float64(after[0])-0.5) > 1e-6 || !(math.Abs(float64(after[1])) <= 1) {
				t.Fatalf("copy %d, step %d: %g and %g with a reward of %g, not %g", i, step, before, after, rewards[step+1][i], want)
			}
			if redrawn := before[1] != after[1]; redrawn != ((step+1)%3 == 0) {
				t.Fatalf("copy %d: the command is %g and then %g after step %d", i, before[1], after[1], step)
			}
			if i > 0 && before[1] != seen[step][1] {
				changes++
			}
		}
	}
	if changes < n*steps/2 {
		t.Error("copies share their commands")
	}
}

// Actions take effect after the latency, which each episode draws.
func TestLatency(t *testing.T) {
	const n, steps = 64, 4
	for _, latency := range [][2]int{{0, 0}, {2, 2}, {1, 3}} {
		env := puck()
		env.Latency = latency
		seen, _ := pushed(t, env, steps, n)
		counts := map[int]int{}
		for i := range n {
			at := slices.IndexFunc(seen, func(o []float32) bool { return o[3*i] > 0.4 })
			counts[at-1]++
		}
		for late := range steps {
			errtest.Equal(t, fmt.Sprintf("with a latency of %d actions take effect at step %d", latency, late), counts[late] > 0,
				late >= latency[0] && late <= latency[1])
		}
	}
}

// An automatic reset gives the copies that ended a memory of their own, as a reset does, and what they observe fits.
func TestEachEpisodeDrawsItsMemory(t *testing.T) {
	const n, steps = 8, 6
	env := puck()
	env.Memory[0] = envs.Command("command", []float64{-1}, []float64{1}, 0)
	env.Latency = [2]int{1, 2}
	env.Done = func(m envs.StepView) *Node { // for some copies in the first step, for others in the second
		late := GreaterOrEqual(m.Time(), MulScalar(OnesLike(m.Time()), 0.15))
		return Or(late, Reshape(GreaterThan(m.Recall("command"), ZerosLike(m.Recall("command"))), -1))
	}
	seen, _ := pushed(t, envs.AutoReset(env, 0), steps, n)
	for i := range n {
		commands := map[float32]bool{}
		age := 0
		for step := range steps {
			before, after := seen[step][3*i:][:3], seen[step+1][3*i:][:3]
			commands[before[1]] = true
			age++
			if ends := before[1] > 0 || age == 2; ends != (before[1] != after[1]) || ends && (after[2] != 0 || after[0] != 0) {
				t.Fatalf("copy %d, step %d: %g becomes %g", i, step, before, after)
			} else if ends {
				age = 0
			}
		}
		if len(commands) < steps/2 {
			t.Errorf("copy %d has the commands %v in %d steps", i, commands, steps)
		}
	}
}

// A task with memory keeps the promises of environments; those of its memory are tested, too.
func TestPromisesOfMemory(t *testing.T) {
	pure := xlatest.Pure(t)
	suite := envtest.Suite{Platforms: []*xla.Platform{pure, pure}, Steps: 5} // the second one takes fewer steps
	env := puck()
	env.Latency = [2]int{0, 2}
	env.Memory = append(env.Memory, envs.Phase("phase", 2))
	if err := suite.Check(env); err != nil {
		t.Error(err)
	}
	for want, v := range map[string]envs.Variable{
		"memory: idle is [0 0] in all copies":    {Name: "idle", Size: 2},
		"it returns idle of shape":               {Name: "idle", Size: 2, Start: func(m envs.StepView) *Node { return m.Uniform(0, 1, 3) }},
		"it returns idle of shape (Float32)[1, ": {Name: "idle", Size: 2, Next: func(_, _ envs.StepView, a *Node) *Node { return a }},
		"a number that is not finite": {Name: "idle", Size: 1, Next: func(before, _ envs.StepView, _ *Node) *Node {
			return Log(before.Recall("idle"))
		}},
		"want a name and at least 1": {Name: "idle"}, `has the name "last" twice`: {Name: "last", Size: 1},
		`has the name "gyro" twice`: {Name: "gyro", Size: 1},
	} {
		bad := puck()
		bad.Memory = append(slices.Clone(bad.Memory), v)
		errtest.Want(t, suite.Check(bad), want)
	}
}

// Mistakes are one line with the nearest names.
func TestMistakesOfMemoryGiveOneLine(t *testing.T) {
	for want, change := range map[string]func(*envs.Rigid){
		`unknown variable "comand"; did you mean "command"?`: func(r *envs.Rigid) {
			r.Observe = func(m envs.StepView) *Node { return m.Recall("comand") }
		},
		"a task without memory has no Uniform: set Stochastic": func(r *envs.Rigid) {
			r.Memory = nil
			r.Observe = func(m envs.StepView) *Node { return m.Uniform(0, 1, 3) }
		},
		"it returns 0 tensors for Parts, not ": func(r *envs.Rigid) {
			r.Start = func(random.Key) (s algebra.State) { return s }
		},
		"it returns Parts[1] of shape (Float32)[": func(r *envs.Rigid) {
			r.Start = func(keys random.Key) algebra.State {
				zero := Zeros(keys.Hi.Graph(), shapes.Make(dtypes.Float32, 1, 2))
				s := r.System.Pose(zero, zero)
				s.Parts[1] = Concatenate([]*Node{s.Parts[1], s.Parts[1]}, 0)
				return s
			}
		},
		`unknown quantity "giro"; did you mean "gyro"?`: func(r *envs.Rigid) {
			r.Observe = func(m envs.StepView) *Node { return m.Sense("giro/ball") }
		},
		"it returns ends of shape (Float32)[": func(r *envs.Rigid) {
			r.Done = func(m envs.StepView) *Node { return m.Frame("ball").Position[2] }
		},
		"it returns inputs of shape (Float32)[4, ": func(r *envs.Rigid) {
			r.Drive = func(action *Node) *Node { return Concatenate([]*Node{action, action, action, action}, 0) }
		},
	} {
		r := puck()
		change(r)
		errtest.Want(t, built(r), want)
	}
	senses := func(name string) func(*envs.Rigid) {
		return func(r *envs.Rigid) { r.Observe, r.Senses = nil, []string{name} }
	}
	memory := func(v envs.Variable) func(*envs.Rigid) { return func(r *envs.Rigid) { r.Memory[0] = v } }
	for want, change := range map[string]func(*envs.Rigid){
		`Command("c", [0], [1 2], 1): want as many lower limits`: memory(envs.Command("c", []float64{0}, []float64{1, 2}, 1)),
		`Command("c", [2], [1], 1): want`:                        memory(envs.Command("c", []float64{2}, []float64{1}, 1)),
		`Command("c", [0], [1], -1): want`:                       memory(envs.Command("c", []float64{0}, []float64{1}, -1)),
		`Command("c", [-Inf], [1], 1): want`: memory(
			envs.Command("c", []float64{math.Inf(-1)}, []float64{1}, 1)),
		`Phase("p", NaN): want a finite number`:                    memory(envs.Phase("p", math.NaN())),
		`LastAction("last", 7): the number of actions is 1`:        memory(envs.LastAction("last", 7)),
		"its Latency is 2 to 1":                                    func(r *envs.Rigid) { r.Latency = [2]int{2, 1} },
		"its Pose has 1 angles, its System 0":                      func(r *envs.Rigid) { r.Pose = []float64{1} },
		`unknown body or site of gyro "bal"; did you mean "ball"?`: senses("gyro/bal"),
		"command has no parts: leave out /ball":                    senses("command/ball"),
		"there are no joint angles, since the robot has no hinge":  senses("joint angles"),
		"its Noise is +Inf":                                        func(r *envs.Rigid) { r.Noise = math.Inf(1) },
		"its Pose is [NaN]: want finite angles":                    func(r *envs.Rigid) { r.Pose = []float64{math.NaN()} },
		"Brax's engine has no accelerometer":                       senses("accelerometer/ball"),
	} {
		r := puck()
		change(r)
		errtest.Want(t, envs.Validate(r), want)
	}
}

// Senses are what their names say, in their order, for a robot of MuJoCo's engine that is turned by 90 degrees about
// y and moves.
func TestSenses(t *testing.T) {
	file := must.Get(os.Open("mujoco/testdata/accepted/gym_ant_model.json"))
	defer file.Close()
	model := must.Get(mujoco.ReadModel(file))
	model.Names.Site, model.SiteBodyID, model.Sizes.NSite = []string{"imu"}, []int{1}, 1
	model.SitePos, model.SiteQuat = [][3]float64{{0, 0, 0.5}}, [][4]float64{{1, 0, 0, 0}}
	system := must.Get(mujoco.NewSystem(model, mujoco.Options{Contacts: [][2]string{{"floor", "torso_geom"}}}))
	half := float32(math.Sqrt(0.5))
	qpos := []float32{1, 2, 3, half, 0, half, 0, 0, 1, 0, -1, 0, -1, 0, 1}
	qvel := append([]float32{0.1, 0.2, 0.3, 4, 5, 6, -7}, make([]float32, 7)...)
	env := &envs.Rigid{System: system, Memory: []envs.Variable{{Name: "goal", Size: 2}}, Grounded: true,
		Settings: envs.Spec{Name: "ant", Length: 5, Descriptor: envs.Descriptor{Kind: envs.None}},
		Senses: []string{"gyro/imu", "projected gravity/torso", "local velocity/torso", "position/imu", "rotation/torso",
			"joint velocities/hip_1", "joint angles/ankle_3", "joint offsets/ankle_3", "touch/torso", "previous action", "goal"},
		Start: func(keys random.Key) algebra.State {
			column := func(x []float32) *Node { return InsertAxes(Const(keys.Hi.Graph(), x), -1) }
			return system.Of(mujoco.State{QPos: column(qpos), QVel: column(qvel), QAcc: ZerosLike(column(qvel))})
		},
		Reward: func(_, after envs.StepView, _ *Node) *Node { return after.Frame("torso").Position[0] }}
	must.Do(envs.Validate(env))
	spec := env.Spec()
	if n := len(spec.ObservationComponents); n != spec.Observations || n != 30 ||
		spec.ObservationComponents[2].Name != "gyro of imu, z" ||
		spec.ObservationComponents[16].Name != "joint velocity of hip_1" {
		t.Errorf("%d observations: %v", spec.Observations, spec.ObservationComponents)
	}
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		return []*Node{envs.Reset(env, random.KeyOf(in[0]).Split(1)).Observation}
	}, xlatest.Tensor(random.SeedWords(3), 2))
	want := append([]float32{4, 5, 6, 1, 0, 0, -0.3, 0.2, 0.1, 1.5, 2, 0.25, half, 0, half, 0, -7, -1, -1, 1},
		make([]float32, 10)...)
	xlatest.Close(t, "senses", xlatest.Flat[float32](t, out[0]), want, 1e-5)
}
