package bench

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// BenchmarkRollout times rollouts of random policies with two hidden layers of 256 units, one policy per
// copy of the environment. This is the cost of an evaluation in MAP-Elites.
func BenchmarkRollout(b *testing.B) {
	defer failing(b)
	task := scoring.NewTask(environment(*env), []int{256, 256}, *steps)
	size := batchOr(256)
	task.Weights = scoring.Precision(*weights)
	evaluator := must.Get(task.Evaluator(platform, scoring.Plan{Policies: size, Slice: *slice}))
	defer evaluator.Free()
	population := randomPolicies(task, size)
	defer population.Free()
	_, fastest := best(b, func() { must.Get(evaluator.Evaluate(population, 1, nil)) })
	report(b, map[string]float64{"batch": float64(size), "steps": float64(*steps), "slice": float64(evaluator.Slice()),
		"env-steps/s": float64(size**steps) / fastest, "compile-s": evaluator.CompileTime.Seconds(), "peak-B": peakMemory()})
}

// environment returns a built-in environment, or a task of the robot in a file: that of -task, or it observes the joints
// and rewards the velocity of the first body but one, as the first is MuJoCo's world.
func environment(name string) envs.Env {
	if !slices.Contains([]string{".xml", ".json", ".txt"}, filepath.Ext(name)) {
		return must.Get(envs.Make(name))
	}
	if *robotTask != "" {
		return must.Get(envs.ReadRobot(context.Background(), name, envs.RobotTask{Name: "robot", Task: *robotTask}))
	}
	var system envs.System
	if filepath.Ext(name) == ".txt" {
		brax, _, err := envs.ReadSystem(context.Background(), name, mujoco.Options{})
		must.Do(err)
		system = brax
	} else {
		system = robot(name)
	}
	bodies := system.BodyNames()
	env := &envs.Rigid{System: system, Noise: 0.1,
		Settings: envs.Spec{Name: name, Observations: 2 * len(system.DefaultAngles()), Actions: system.Actions(), Length: 250,
			Descriptor: envs.Descriptor{Kind: envs.None}},
		Observe: func(m envs.StepView) *graph.Node {
			angles, velocities := system.JointAngles(m.State)
			return graph.Concatenate([]*graph.Node{angles, velocities}, 0)
		},
		Reward: func(_, after envs.StepView, _ *graph.Node) *graph.Node {
			return after.Frame(bodies[min(1, len(bodies)-1)]).Velocity[0]
		},
	}
	must.Do(envs.Validate(env))
	return env
}

// BenchmarkAdaptation times the evaluations of qdnb.Adapt. Random policies with two hidden layers of 256
// units play episodes under the first of the paper's gravity multipliers.
func BenchmarkAdaptation(b *testing.B) {
	defer failing(b)
	multipliers := envs.GravityMultiplier.Values()
	if *values < 1 || *values > len(multipliers) || *policies < 1 || *episodes < 1 {
		b.Fatalf("-values must be between 1 and %d, not %d; -policies and -episodes 1 or more", len(multipliers), *values)
	}
	live := must.Get(envs.Adjust(must.Get(envs.Make(*env))))
	task := scoring.NewTask(live, []int{256, 256}, *steps)
	population := randomPolicies(task, *policies)
	defer population.Free()
	evaluator := must.Get(task.Evaluator(platform, scoring.Plan{Policies: *policies, States: *episodes}))
	defer evaluator.Free()
	first, fastest := best(b, func() {
		for _, value := range multipliers[:*values] {
			must.Get(evaluator.Evaluate(population, 1, envs.Conditions{envs.GravityMultiplier: value}))
		}
	})
	size := *policies * *episodes
	report(b, map[string]float64{"policies": float64(*policies), "episodes": float64(*episodes), "values": float64(*values),
		"steps": float64(*steps), "batch": float64(size), "slice": float64(evaluator.Slice()),
		"whole-s":     evaluator.CompileTime.Seconds() + first, // compilation and the first run
		"env-steps/s": float64(size**values**steps) / fastest})
}

// BenchmarkGeneration times generations of a neuroevolution algorithm after a warm-up that fills the
// repertoire, and the rollout of as many random policies alone: the medians.
func BenchmarkGeneration(b *testing.B) {
	defer failing(b)
	algorithm, env := tuned("map-elites")
	base, ok := algorithm.(*evolution.MapElites)
	if !ok {
		b.Fatal("generations are timed of map-elites and other neuroevolution")
	}
	search := must.Get(algorithm.New(platform, env, 0))
	defer search.Close()
	for range max(1, *warmup) {
		must.Get(search.Step())
	}
	evaluator := must.Get(search.Task().Evaluator(platform, scoring.Plan{Policies: base.Batch, Slice: base.Slice}))
	defer evaluator.Free()
	population := randomPolicies(search.Task(), base.Batch)
	defer population.Free()
	var all, alone []float64
	pair := func() { // alternates, so that a drift in machine speed affects both equally
		start := time.Now()
		must.Get(evaluator.Evaluate(population, 1, nil))
		middle := time.Now()
		must.Get(search.Step())
		all, alone = append(all, time.Since(middle).Seconds()), append(alone, middle.Sub(start).Seconds())
	}
	pair() // warms up
	all, alone = nil, nil
	for b.Loop() {
		pair()
	}
	generation, rollout := stats.Median(all), stats.Median(alone)
	report(b, map[string]float64{"batch": float64(base.Batch), "slice": float64(evaluator.Slice()),
		"steps": float64(base.EpisodeLength), "compile-s": search.CompileTime().Seconds(),
		"generation-s": generation, "evaluation-s": rollout,
		"variation-share": 1 - rollout/generation, "env-steps/s": float64(base.Batch*base.EpisodeLength) / generation})
}

// BenchmarkRobot times the physics of MuJoCo's engine alone: copies of the robot of -env start in its default
// pose, at random velocities, and its actuators follow sines of random rates and phases.
func BenchmarkRobot(b *testing.B) {
	defer failing(b)
	system := robot(*env)
	size, together := batchOr(512), *slice
	if together == 0 {
		together = 16
	}
	type inputs struct{ Seed, Worker xla.Array }
	in := inputs{xla.Declare(dtypes.Uint32, 2), xla.Declare(dtypes.Int32)}
	all := xla.Slices{N: size, Size: together, Workers: platform.Workers}
	program := must.Get(xla.CompileParallel(platform, "robot", in, func(in inputs) xla.Array {
		ends := xla.MapSlices(all.Turns(), in.Worker.Tree, in, func(turn *graph.Node, in inputs) *graph.Node {
			numbers := all.Numbers(turn, in.Worker.Tree)
			return gait(system, random.KeyOf(in.Seed.Tree).FoldInEach(numbers), together)
		})
		return xla.Out(ends)
	}))
	defer program.Free()
	in = inputs{platform.Seed(0), xla.Value(platform.WorkerNumbers())}
	_, fastest := best(b, func() {
		ends := must.Get(program.Run(in))
		numbers := must.Get(xla.Download(ends.Value()[:1]))
		for _, x := range numbers.Data.([]float32) {
			if !(math.Abs(float64(x)) < 1e6) {
				b.Fatalf("a copy of the robot ends at %v", x)
			}
		}
		ends.Free()
	})
	report(b, map[string]float64{"batch": float64(size), "steps": float64(*steps), "slice": float64(together),
		"env-steps/s": float64(size**steps) / fastest, "compile-s": program.CompileTime.Seconds(), "peak-B": peakMemory()})
}

// robot reads the robot of a file. Its control step has -substeps physics steps, and its contacts with the floor
// are those of -touch.
func robot(file string) *mujoco.System {
	model := must.Get(robots.ReadMJCF(context.Background(), file))
	options := mujoco.Options{IgnorePairs: true, ControlStep: float64(*substeps) * model.Opt.TimeStep}
	for geom := range strings.SplitSeq(*touch, ",") {
		if geom != "" {
			options.Contacts = append(options.Contacts, [2]string{"floor", geom})
		}
	}
	return must.Get(mujoco.NewSystem(model, options))
}

// gait returns the positions after -steps control steps, [nq, copies].
func gait(system *mujoco.System, keys random.Key, copies int) *graph.Node {
	m := system.Model()
	g := keys.Hi.Graph()
	start, middle, swing := m.QPos0, make([]float64, m.Sizes.NU), make([]float64, m.Sizes.NU)
	for i, r := range m.ActuatorCtrlRange {
		middle[i], swing[i] = (r[0]+r[1])/2, (r[1]-r[0])/2
	}
	if m.Sizes.NKey > 0 {
		start, middle = m.KeyQPos[0], m.KeyCtrl[0]
		for i := range swing {
			swing[i] = 0.15
		}
	}
	column := func(of []float64) *graph.Node {
		rows := make([][]float32, len(of))
		for i, x := range of {
			rows[i] = []float32{float32(x)}
		}
		return graph.BroadcastToDims(graph.Const(g, rows), len(of), copies)
	}
	draw := func(stream int, by func(key random.Key) *graph.Node) *graph.Node {
		return graph.Transpose(by(keys.FoldIn(stream)), 0, 1)
	}
	type state struct {
		Robot                      mujoco.State
		Rate, Phase, Middle, Swing *graph.Node
	}
	nv, nu := m.Sizes.NV, m.Sizes.NU
	velocity := draw(0, func(k random.Key) *graph.Node { return k.Normal(copies, nv) })
	s := state{Robot: mujoco.State{QPos: column(start), QVel: graph.MulScalar(velocity, 0.1),
		QAcc: graph.Zeros(g, shapes.Make(dtypes.Float32, nv, copies))},
		Rate:   draw(1, func(k random.Key) *graph.Node { return k.Uniform(0.5, 3, copies, nu) }),
		Phase:  draw(2, func(k random.Key) *graph.Node { return k.Uniform(0, 2*math.Pi, copies, nu) }),
		Middle: column(middle), Swing: column(swing)}
	dt := system.ControlStep()
	physics := int(math.Round(dt / m.Opt.TimeStep))
	return xla.For(g, *steps, s, func(step *graph.Node, s state) state {
		time := graph.MulScalar(graph.ConvertDType(step, dtypes.Float32), 2*math.Pi*dt)
		angle := graph.Add(graph.Mul(s.Rate, graph.BroadcastToShape(time, s.Rate.Shape())), s.Phase)
		sin, _ := algebra.SinCos(algebra.Num{Rows: nu, Node: graph.Reshape(angle, nu*copies)})
		control := graph.Add(graph.Mul(s.Swing, sin.Matrix()), s.Middle)
		s.Robot = system.Step(s.Robot, control, physics)
		return s
	}).Robot.QPos
}
