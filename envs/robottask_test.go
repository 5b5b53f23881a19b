package envs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/envtest"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Trunk and feet of robots are guessed.
func TestGuessesOfRobots(t *testing.T) {
	for name, c := range map[string]struct {
		model mujoco.Model
		trunk string
		feet  []string
	}{
		"go1":      {robots.Go1(), "trunk", []string{"FR_calf", "FL_calf", "RR_calf", "RL_calf"}},
		"ant":      {robots.Gymnasium("ant"), "torso", []string{"body 4", "body 7", "body 10", "body 13"}},
		"hopper":   {robots.Gymnasium("hopper"), "torso", []string{"foot"}},
		"walker2d": {robots.Gymnasium("walker2d"), "torso", []string{"foot", "foot_left"}},
		"humanoid": {robots.Gymnasium("humanoid"), "torso", []string{"right_foot", "left_foot"}},
	} {
		got := must.Get(envs.RobotTask{}.Complete(c.model))
		errtest.Equal(t, name, fmt.Sprint(got.Trunk, got.Feet), fmt.Sprint(c.trunk, c.feet))
		errtest.Equal(t, name, must.Get(got.Complete(c.model)), got)
	}
	above := robots.Gymnasium("ant")
	for i, body := range above.GeomBodyID {
		above.GeomPos[i][2] += 5 * min(1, float64(body)) // the origin of the trunk is below all geoms
	}
	errtest.Equal(t, "feet above the trunk", len(must.Get(envs.RobotTask{}.Complete(above)).Feet), 4)
	ant := envs.StoredRobot{Task: must.Get(envs.RobotTask{}.Complete(robots.Gymnasium("ant"))), Model: robots.Gymnasium("ant")}
	errtest.Equal(t, "motors", ant.String(), "torso walks along x; feet body 4, body 7, body 10, body 13, which alone touch "+
		"the ground; actions span the control ranges; 200 steps of 0.02 s")
	ant.Model = robots.Go1()
	errtest.Contains(t, ant.String(), "servos move by up to 0.5 rad or m from")
	for want, task := range map[string]envs.RobotTask{
		"unknown foot \"FR_calv\"":            {Feet: []string{"FR_calv"}},
		"unknown trunk \"torso\"":             {Trunk: "torso"},
		"unknown trunk \"world\"":             {Trunk: "world"},
		"unknown task \"fly\"":                {Task: "fly"},
		"keyframe":                            {Keyframe: "sitting"},
		"the reach -1 rad":                    {Reach: -1},
		"-4 of them":                          {Steps: -4},
		"a control step of 99 s cannot be":    {ControlStep: 99},
		"the reach +Inf rad":                  {Reach: math.Inf(1)},
		"a latency of -1":                     {Latency: [2]int{0, -1}},
		"-1 link contacts":                    {LinkContacts: -1},
		"the robot has no feet":               {Feet: []string{}},
		"FR_calf is named twice":              {Feet: []string{"FR_calf", "FR_calf"}},
		"up to 100 m/s or rad/s either way":   {Task: envs.Velocity, Commands: [][3]float64{{1e9, 0, 0}}},
		"an episode has 200: want less":       {Name: "go1", Latency: [2]int{0, 200}},
		"commands and stride are of the task": {Commands: [][3]float64{{1, 0, 0}}},
	} {
		errtest.Want(t, errtest.Of(task.Environment(robots.Go1())), want)
	}
	file := must.Get(os.Open("mujoco/testdata/accepted/own_spheres_model.json"))
	defer file.Close()
	errtest.Want(t, errtest.Of(envs.RobotTask{}.Complete(must.Get(mujoco.ReadModel(file)))), "no hinge or slide joints")
	fixed := robots.Gymnasium("hopper")
	fixed.JntType = slices.Repeat([]mujoco.JointType{mujoco.Hinge}, len(fixed.JntType))
	for _, task := range envs.RobotTasks() {
		errtest.Want(t, errtest.Of(envs.RobotTask{Task: task}.Complete(fixed)), "no body has a free joint", "add <freejoint/>")
	}
	for _, feet := range [][]string{nil, {"back"}} { // without a floor
		errtest.Want(t, errtest.Of(envs.RobotTask{Feet: feet}.Complete(robots.Gymnasium("swimmer"))), "add a floor")
	}
}

// A robot starts on the ground, and has fallen where its trunk is below half of its height above it, wherever its file
// places both.
func TestFallenRobots(t *testing.T) {
	for name, change := range map[string]func(*mujoco.Model){
		"as it is":   func(*mujoco.Model) {},
		"in the air": func(m *mujoco.Model) { m.QPos0[2] += 3 },
		"sunk":       func(m *mujoco.Model) { m.QPos0[2] -= 3 },
		"on a floor that is lower": func(m *mujoco.Model) {
			m.GeomPos[slices.Index(m.GeomType, mujoco.Plane)][2] = -7
		},
	} {
		ant, go1 := robots.Gymnasium("ant"), robots.Go1()
		change(&ant)
		go1.KeyQPos[0][2] += 1 // a keyframe in the air
		for _, model := range []mujoco.Model{ant, go1} {
			env := must.Get(envs.RobotTask{Name: "robot"}.Environment(model))
			out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) (out []*Node) {
				s := env.Reset(random.KeyOf(in[0]).Split(2))
				lower := slices.Clone(s.PhysicsState)
				sinks := make([][]float32, model.Sizes.NQ)
				for i := range sinks {
					sinks[i] = make([]float32, 1)
				}
				sinks[2][0] = -0.2 // of 0.3 m
				lower[0] = Add(lower[0], BroadcastToShape(Const(in[0].Graph(), sinks), lower[0].Shape()))
				for _, parts := range [][]*Node{s.PhysicsState, lower} {
					s.PhysicsState = parts
					out = append(out, ConvertDType(env.Done(env.View(s)), dtypes.Float32))
				}
				return out
			}, xlatest.Tensor(random.SeedWords(3), 2))
			errtest.Equal(t, name, xlatest.Flat[float32](t, out[0]), []float32{0, 0})
			errtest.Equal(t, name+", lowered", xlatest.Flat[float32](t, out[1]), []float32{1, 1})
		}
	}
}

// A compiled model and its task are read as they were written, and are a compiled model, too.
func TestStoredRobots(t *testing.T) {
	for name, model := range map[string]mujoco.Model{"go1": robots.Go1(), "humanoid": robots.Gymnasium("humanoid")} {
		rough := mujoco.RoughGround(3, 0.1, 0.3, 0)
		task := envs.RobotTask{Name: name, Steps: 50, Forward: "-y", Terrain: &rough, Vary: []envs.Variation{
			envs.Vary(envs.FrictionMultiplier, 0.5, 1.5), envs.Vary(envs.GravityMultiplier, 1, 1), envs.Vary(envs.PushSpeed, 0, 1)}}
		env := must.Get(task.Environment(model))
		robot, _ := envs.Robot(env)
		text := must.Get(json.Marshal(robot))
		if again := must.Get(mujoco.ReadModel(bytes.NewReader(text))); !reflect.DeepEqual(again, model) {
			t.Errorf("the model of %s is read otherwise than it was written", name)
		}
		path := filepath.Join(t.TempDir(), "robot.json")
		must.Do(os.WriteFile(path, text, 0o600))
		read, ok := envs.Robot(must.Get(envs.ReadRobot(t.Context(), path, envs.RobotTask{})))
		if !ok || !reflect.DeepEqual(read, robot) {
			t.Errorf("%s is read as %+v, not %+v", name, read.Task, robot.Task)
		}
		errtest.Contains(t, robot.String(), "; terrain of 3 x 3 cells of 0.3 m, ",
			"; each episode draws friction 0.5 to 1.5, gravity 1 to 1, push 0 to 1")
		whole := float64(robot.Task.Steps) * robot.Task.ControlStep
		errtest.Equal(t, "seconds between pushes", robot.Task.Vary[2].Every, [2]float64{whole / 4, whole / 2})
		task.Vary, task.Terrain = []envs.Variation{}, &mujoco.Terrain{}
		nothing, _ := envs.Robot(must.Get(envs.ReadRobot(t.Context(), path, task)))
		errtest.Equal(t, "neither", fmt.Sprint(len(nothing.Task.Vary), nothing.Task.Terrain), "0 <nil>")
		task.Vary, task.Terrain = nil, nil
		env = must.Get(task.Environment(model))
		if _, ok := envs.Robot(must.Get(envs.Adjust(env, envs.MassMultiplier))); !ok {
			t.Error("a task under nominal conditions does not count as that of the robot")
		}
		robot, _ = envs.Robot(env)
		height := func(_, after envs.StepView, _ *Node) *Node { return after.Frame(robot.Task.Trunk).Position[2] }
		for what, change := range map[string]func(*envs.Rigid){
			"reward":    func(r *envs.Rigid) { r.Reward = height },
			"mass":      func(r *envs.Rigid) { r.Vary = []envs.Variation{envs.Vary(envs.MassMultiplier, 0.5, 2)} },
			"condition": func(r *envs.Rigid) { r.Vary = []envs.Variation{envs.Vary(envs.GravityMultiplier, 2, 2)} },
			"memory":    func(r *envs.Rigid) { r.Memory = append(r.Memory, envs.Phase("phase", 1)) },
			"system":    func(r *envs.Rigid) { r.System = must.Get(mujoco.NewSystem(model, mujoco.Options{ControlStep: 0.1})) },
			"length":    func(r *envs.Rigid) { r.Settings.Length = 9 },
		} {
			changed := *env
			change(&changed)
			if _, ok := envs.Robot(&changed); ok {
				t.Errorf("a task with another %s counts as that of the robot", what)
			}
		}
	}
	for path, want := range map[string]string{"robot.txt": "ends in .xml or .json", "robot.urdf": "write a scene.xml"} {
		errtest.Want(t, errtest.Of(envs.ReadRobot(t.Context(), path, envs.RobotTask{})), want)
	}
}

// A flat terrain is as the plane that it replaces, also under elliptic cones, where contacts that do not touch must be
// finite.
func TestFlatTerrain(t *testing.T) {
	flat := mujoco.Terrain{Cell: 1, Heights: [][]float64{{0}}}
	var ends [2][]float32
	for i, terrain := range []*mujoco.Terrain{nil, &flat} {
		env := must.Get(envs.RobotTask{Name: "a1", Terrain: terrain}.Environment(robots.A1()))
		env.Grounded = false
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
			s := envs.Reset(env, random.KeyOf(in[0]).Split(1))
			for range 3 {
				s = envs.Step(env, s, OnesLike(Slice(s.Observation, AxisRange(), AxisRange(0, 12))))
			}
			return []*Node{s.Observation}
		}, xlatest.Tensor(random.SeedWords(3), 2))
		ends[i] = xlatest.Flat[float32](t, out[0])
	}
	xlatest.Close(t, "what it observes", ends[1], ends[0], 1e-3)
}

// Both tasks keep the promises of environments.
func TestPromisesOfRobotTasks(t *testing.T) {
	for _, task := range envs.RobotTasks() {
		env := must.Get(envs.RobotTask{Name: "a dog", Task: task, Steps: 9, Latency: [2]int{0, 2}}.Environment(robots.Go1()))
		envtest.Suite{Platforms: []*xla.Platform{xlatest.Pure(t)}, Steps: 3}.Run(t, env)
	}
}

// A robot that stands still is rewarded for walking nowhere, and, if that is commanded, nearly in full.
func TestStandingStill(t *testing.T) {
	walk := must.Get(envs.RobotTask{Name: "walk"}.Environment(robots.Go1()))
	follow := must.Get(envs.RobotTask{Name: "follow", Task: envs.Velocity}.Environment(robots.Go1()))
	lower, hill := robots.Go1(), mujoco.Terrain{Cell: 1, Heights: [][]float64{{3}}}
	lower.GeomPos[slices.Index(lower.GeomType, mujoco.Plane)][2] = -7
	below := must.Get(envs.RobotTask{Name: "below", Task: envs.Velocity}.Environment(lower))
	above := must.Get(envs.RobotTask{Name: "above", Task: envs.Velocity, Terrain: &hill}.Environment(robots.Go1()))
	for _, env := range []*envs.Rigid{follow, below, above} {
		env.Memory[0].Start, env.Memory[0].Next = nil, nil // the command stays 0
	}
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) (out []*Node) {
		keys := random.KeyOf(in[0]).Split(2)
		for _, env := range []envs.Env{walk, follow, below, above} {
			s := envs.Reset(env, keys)
			for range 4 {
				s = envs.Step(env, s, Zeros(in[0].Graph(), shapes.Make(dtypes.Float32, 2, 12)))
			}
			out = append(out, s.Reward, s.Done, s.Descriptor)
		}
		return out
	}, xlatest.Tensor(random.SeedWords(3), 2))
	for i := range 2 {
		if r := xlatest.Flat[float32](t, out[0])[i]; r < -0.01 || r > 0.01 {
			t.Errorf("a robot that stands walks %g m in a step", r)
		}
		// tracking 1 + 0.5, pose 0.5, less small costs, times 0.02 s
		for at := 3; at < 12; at += 3 {
			if r := xlatest.Flat[float32](t, out[at])[i]; r < 0.02 || r > 0.04 {
				t.Errorf("a robot that stands as commanded gets %g", r)
			}
		}
		errtest.Equal(t, "ends and truncations", xlatest.Flat[float32](t, out[1])[i]+xlatest.Flat[float32](t, out[4])[i], 0)
	}
}

// A stride lifts diagonal feet of a Go1 together, along the gradients of their heights: by MuJoCo's mj_jacSite, -0.166
// m/rad of the knees and 0.053 m/rad of the hips, inwards. The phase is observed last.
func TestStride(t *testing.T) {
	env := must.Get(envs.RobotTask{Name: "go1", Task: envs.Velocity, Stride: 2}.Environment(robots.Go1()))
	const copies = 16
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		s := envs.Reset(env, random.KeyOf(in[0]).Split(copies))
		return []*Node{env.Guide(env.View(s)), Slice(s.Observation, AxisRange(), AxisElem(-1))}
	}, xlatest.Tensor(random.SeedWords(3), 2))
	lifts, sines, halves := xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1]), map[bool]bool{}
	for i, sine := range sines {
		halves[sine > 0] = true
		for leg, side := range []float64{-1, 1, -1, 1} { // FR, FL, RR, RL
			up := max(0, -float64(sine))
			if leg == 1 || leg == 2 {
				up = max(0, float64(sine))
			}
			for joint, slope := range []float64{side * 0.053, 0, -0.166} {
				want := 0.1 * slope / (0.053*0.053 + 0.166*0.166) * up
				if got := float64(lifts[(3*leg+joint)*copies+i]); math.Abs(got-want) > 0.01 {
					t.Errorf("sine %g: joint %d of leg %d is lifted by %g rad, want %g", sine, joint, leg, got, want)
				}
			}
		}
	}
	errtest.Equal(t, "halves of the stride of all copies", len(halves), 2)
}

// All copies follow the same commands, one after the other for equal times, or each copy draws its own.
func TestCommands(t *testing.T) {
	turn, side := [3]float64{0.5, 0, 1}, [3]float64{0, -0.25, 0}
	commanded := func(list [][3]float64) (found [][]float32) {
		env := must.Get(envs.RobotTask{Name: "go1", Task: envs.Velocity, Commands: list, Steps: 4}.Environment(robots.Go1()))
		for _, tensor := range xlatest.Run(t, xlatest.Pure(t), func(in []*Node) (out []*Node) {
			s := envs.Reset(env, random.KeyOf(in[0]).Split(2))
			for step := range 5 {
				if step > 0 {
					s = envs.Step(env, s, Zeros(in[0].Graph(), shapes.Make(dtypes.Float32, 2, 12)))
				}
				out = append(out, Slice(s.Observation, AxisRange(), AxisRange(-3)))
			}
			return out
		}, xlatest.Tensor(random.SeedWords(3), 2)) {
			found = append(found, xlatest.Flat[float32](t, tensor))
		}
		return found
	}
	for step, got := range commanded([][3]float64{turn, side}) {
		want := []float32{0.5, 0, 1, 0.5, 0, 1}
		if step >= 2 {
			want = []float32{0, -0.25, 0, 0, -0.25, 0}
		}
		errtest.Equal(t, step, got, want)
	}
	if first := commanded([][3]float64{})[0]; slices.Equal(first[:3], first[3:]) {
		t.Errorf("copies draw the same command %v", first)
	}
}

// Following commands is rewarded as by MuJoCo Playground's own code in the same states (tools/golden_playground.py).
func TestRewardsOfPlayground(t *testing.T) {
	file := golden.Read(t, "playground_go1.npz")
	env := must.Get(envs.RobotTask{Name: "go1", Task: envs.Velocity}.Environment(robots.Go1()))
	system := env.System.(*mujoco.System)
	steps := file.Shape("rewards")[1]
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		qpos, qvel, actions, commands := in[0], in[1], in[2], in[3]
		at := func(x *Node, step int) *Node { return Squeeze(Slice(x, AxisRange(), AxisElem(step)), 1) }
		state := func(step int) algebra.State {
			velocity := Transpose(at(qvel, step), 0, 1)
			return system.Of(mujoco.State{QPos: Transpose(at(qpos, step), 0, 1), QVel: velocity, QAcc: ZerosLike(velocity)})
		}
		env.Memory[0].Start = func(envs.StepView) *Node { return Transpose(commands, 0, 1) }
		env.Memory[0].Next = nil // no new command
		keys := random.KeyOf(in[4]).Split(qpos.Shape().Dimensions[0])
		s, rewards := env.Begin(keys, state(0)), []*Node{}
		for step := range steps {
			moved := env.Moved(func(algebra.State, *Node) algebra.State { return state(step + 1) })
			s = moved.Step(s, at(actions, step))
			rewards = append(rewards, s.Reward)
		}
		return []*Node{Stack(rewards, 1)}
	}, xlatest.Stored(file, "qpos"), xlatest.Stored(file, "qvel"), xlatest.Stored(file, "actions"),
		xlatest.Stored(file, "commands"), xlatest.Tensor(random.SeedWords(0), 2))
	got, above, worst := xlatest.Flat[float32](t, out[0]), 0, 0.0
	for i, want := range file.Float32s("rewards") {
		if want > 0 {
			above++
		}
		e := math.Abs(float64(got[i] - want))
		if worst = max(worst, e); e > 1e-6 {
			t.Errorf("step %d of episode %d: reward %g, not %g", i%steps+1, i/steps, got[i], want)
		}
	}
	t.Logf("%d rewards above 0 of %d, off by at most %.1e", above, len(got), worst)
}
