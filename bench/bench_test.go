// Package bench times the stages of training, in the standard format of Go's benchmarks:
//
//	go test ./bench -bench Rollout -benchtime 3x -env ant-uni
//
// A benchmark runs once to warm up, then as often as -benchtime says, and reports the fastest run as
// best-s. `make bench-peer` compares with the same work in JAX, `make roofline` with the machine's limits.
package bench

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// Settings of the benchmarks, of which each uses some.
var (
	algorithm = flag.String("algorithm", "",
		"`name` of the algorithm of Generation (default map-elites) or Training (pga-map-elites)")
	env      = flag.String("env", "ant-uni", "environment, or a robot's file that ends in .xml, .json or .txt")
	batch    = flag.Int("batch", 0, "policies of Rollout (default 256), copies of Robot (512), candidates of Insertion (1000)")
	steps    = flag.Int("steps", 250, "control steps per episode, or updates per program")
	slice    = flag.Int("slice", 0, "policies rolled out together; 0: the same as in training, or 16 copies of Robot")
	substeps = flag.Int("substeps", 0, "physics steps of a control step of a robot's file; 0: those of 0.02 s")
	touch    = flag.String("touch", "",
		"`names` of the geoms of a robot's file that alone touch the floor, FR,FL; empty: all contacts")
	robotTask = flag.String("task", "",
		"task of a robot's file in Rollout: walk or velocity, where its feet alone touch the floor")
	weights     = flag.String("weights", "float32", "number `format` of the policies' weights: float32 or bfloat16")
	policies    = flag.Int("policies", 64, "distinct policies of Adaptation")
	episodes    = flag.Int("episodes", 4, "episodes per policy and multiplier of gravity")
	values      = flag.Int("values", 5, "multipliers of gravity, starting at 0.25")
	learner     = flag.String("learner", "td3", "`name` of the learner of Updates: td3, sac, or variation by policy gradient")
	individuals = flag.Int("individuals", 50, "individuals varied by variation")
	buffer      = flag.Int("buffer", 100_000, "transitions in the replay buffer of Updates")
	better      = flag.Int("better", 50, "candidates that beat every occupant")
	warmup      = flag.Int("warmup", 2, "untimed generations of Generation and Training beforehand")
	settings    list
)

func init() { flag.Var(&settings, "set", "hyperparameter as `name=value`, may be repeated") }

// list is a flag that may be repeated.
type list []string

func (l *list) String() string         { return strings.Join(*l, " ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

// platform is what QDNB_BACKEND names.
var platform *xla.Platform

func TestMain(m *testing.M) {
	flag.Parse()
	var err error
	if platform, err = xla.Open(context.Background(), ""); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if flag.Lookup("test.bench").Value.String() != "" {
		fmt.Printf("backend: %s\nworkers: %d\n", platform.Name(), platform.Workers)
	}
	os.Exit(m.Run())
}

// failing makes the error of a panic the failure of a benchmark.
func failing(b *testing.B) {
	switch failure := recover().(type) {
	case nil:
	case error:
		b.Fatal(failure)
	default:
		panic(failure)
	}
}

// best runs and times a function after a warm-up, whose seconds it returns, and reports the fastest run.
func best(b *testing.B, run func()) (first, fastest float64) {
	timed := func() float64 {
		start := time.Now()
		run()
		return time.Since(start).Seconds()
	}
	first, fastest = timed(), math.Inf(1)
	for b.Loop() {
		fastest = min(fastest, timed())
	}
	b.ReportMetric(fastest, "best-s")
	return first, fastest
}

// batchOr returns -batch, or a default.
func batchOr(size int) int {
	if *batch != 0 {
		size = *batch
	}
	return size
}

// report reports numbers by their units.
func report(b *testing.B, numbers map[string]float64) {
	for unit, x := range numbers {
		b.ReportMetric(x, unit)
	}
}

// tuned returns an algorithm with the settings, and its environment.
func tuned(name string) (algorithms.Algorithm, envs.Env) {
	environment := must.Get(envs.Make(*env))
	if *algorithm != "" {
		name = *algorithm
	}
	return must.Get(must.Get(registry.Find(name)).Tuned(environment.Spec(), runs.Assign(settings...))), environment
}

// randomPolicies draws the initial population of a task on every worker.
func randomPolicies(task scoring.Task, count int) xla.Sharded {
	seed := platform.Seed(0)
	defer seed.Free()
	program := must.Get(xla.CompileParallel(platform, "random policies", seed, func(seed xla.Array) xla.Array {
		which := graph.Iota(seed.Tree.Graph(), shapes.Make(dtypes.Int32, count), 0)
		return xla.Out(task.Policy.Init(random.KeyOf(seed.Tree).FoldInEach(which)))
	}))
	defer program.Free()
	return must.Get(program.Run(seed)).Value()
}

// peakMemory returns the peak resident memory of this process in bytes, 0 without /proc.
func peakMemory() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	if fields := strings.Fields(rest); len(fields) > 0 {
		kib, _ := strconv.ParseFloat(fields[0], 64)
		return 1024 * kib
	}
	return 0
}

// Every benchmark runs at small sizes and reports numbers.
func TestBenchmarks(t *testing.T) {
	must.Do(flag.Set("test.benchtime", "1x"))
	ceilingProducts, ceilingLarge, ceilingIterations = 8, 1<<20, 64
	const small = " -set hidden=[8,8] -set episode_length=20"
	const pendulum = " -env ../envs/mujoco/testdata/accepted/gym_inverted_double_pendulum_model.json"
	for _, c := range []struct {
		run      func(*testing.B)
		flags    string
		positive string
	}{
		{BenchmarkGeneration, "-env pointmaze -warmup 1 -set batch=16 -set cells=32 -set cvt_samples=500" + small, "generation-s"},
		{BenchmarkRollout, "-env walker-uni -batch 5 -steps 3", "best-s env-steps/s compile-s peak-B"},
		{BenchmarkRollout, "-batch 2 -steps 2" + pendulum, "env-steps/s"},
		{BenchmarkRobot, "-batch 3 -slice 2 -steps 2 -substeps 4" + pendulum, "best-s env-steps/s compile-s"},
		{BenchmarkInsertion, "-batch 20 -better 6", "best-s entered"},
		{BenchmarkAdaptation, "-env walker-uni -policies 3 -episodes 2 -values 2 -steps 4", "best-s whole-s env-steps/s"},
		{BenchmarkUpdates, "-learner variation -individuals 2 -steps 2", "best-s updates/s"},
		{BenchmarkTraining, "-algorithm diayn -env pointmaze -warmup 1 -set env_batch_size=5 -set hidden=[8] " +
			"-set batch_size=8 -set replay_buffer_size=65", "generation-s checkpoint-s"},
		{BenchmarkCeilings, "", "products-gflops cache-GB/s"},
	} {
		if strings.HasPrefix(c.positive, "products") && platform.Kind == backend.Go {
			continue
		}
		flag.VisitAll(func(f *flag.Flag) { // as on a new command line
			if f.Name == "set" {
				settings = nil
			} else if !strings.HasPrefix(f.Name, "test.") {
				must.Do(f.Value.Set(f.DefValue))
			}
		})
		words := strings.Fields(c.flags)
		for i := 0; i < len(words); i += 2 {
			must.Do(flag.Set(words[i][1:], words[i+1]))
		}
		found := testing.Benchmark(c.run)
		for unit := range strings.FieldsSeq(c.positive) {
			if !(found.Extra[unit] > 0) {
				t.Errorf("%s: %s is %g", c.flags, unit, found.Extra[unit])
			}
		}
	}
}

const (
	ceilingRows    = 256 // of a matrix, like a batch of transitions
	ceilingProduct = 2 * ceilingRows * ceilingRows * ceilingRows
	ceilingChain   = 32      // multiply-adds of a value per iteration
	ceilingNumbers = 4 << 10 // values of the multiply-adds, per worker
	ceilingWeights = 1 << 20 // bytes of the arrays that fit into a cache, per worker
)

// Smaller in TestBenchmarks, which measures nothing.
var (
	ceilingProducts   = 512
	ceilingLarge      = 1 << 29 // bytes of the arrays that do not fit into a cache, per worker
	ceilingIterations = 1 << 14 // of the loops of arithmetic and cache
)

// BenchmarkCeilings measures the highest rates that XLA programs reach on this machine, with five small programs, each
// by its best of three runs, summed over all workers. They bound the times of the other benchmarks: GFLOP/s of matrix
// products with 256 rows, of the same if all cores share each, and of multiply-adds in registers; GB/s of reading two
// arrays and writing one, 1 MB per worker, and with arrays larger than the caches.
func BenchmarkCeilings(b *testing.B) {
	defer failing(b)
	square := shapes.Make(dtypes.Float32, ceilingRows, ceilingRows)
	for _, of := range []struct {
		unit  string
		work  float64 // GFLOP or GB
		alone bool    // one program for all cores instead of one per worker
		build func(x *graph.Node) *graph.Node
		shape shapes.Shape
	}{
		{"products-gflops", float64(ceilingProducts * ceilingProduct), false, products, square},
		{"shared-gflops", float64(ceilingProducts * ceilingProduct), true, products, square},
		{"arithmetic-gflops", float64(2 * ceilingChain * ceilingNumbers * ceilingIterations), false,
			func(x *graph.Node) *graph.Node {
				return xla.For(x.Graph(), ceilingIterations, x, func(_, x *graph.Node) *graph.Node {
					y := x
					for range ceilingChain {
						y = graph.Add(graph.Mul(y, x), x)
					}
					return y
				})
			}, shapes.Make(dtypes.Float32, ceilingNumbers)},
		{"cache-GB/s", float64(3 * ceilingWeights / 2 * ceilingIterations), false, func(x *graph.Node) *graph.Node {
			return damped(x, ceilingIterations)
		}, shapes.Make(dtypes.Float32, ceilingWeights/2/4)},
		{"memory-GB/s", float64(3 * ceilingLarge / 2 * 8), false, func(x *graph.Node) *graph.Node {
			return damped(x, 8)
		}, shapes.Make(dtypes.Float32, ceilingLarge/2/4)},
	} {
		workers := float64(platform.Workers)
		if of.alone {
			workers = 1
		}
		b.ReportMetric(workers*of.work/timeProgram(of.alone, of.shape, of.build)/1e9, of.unit)
	}
}

// products repeats y = y x, with rows of x that sum up to 1, so that y neither grows nor vanishes. A loop
// would be compiled into one function, without XLA's products.
func products(x *graph.Node) *graph.Node {
	x = graph.Div(x, graph.ReduceAndKeep(x, graph.ReduceSum, 1))
	y := x
	for range ceilingProducts {
		y = graph.Dot(y, x).Product()
	}
	return y
}

// damped repeats sums = sums/2 + x. The compiler cannot hoist anything out of this loop.
func damped(x *graph.Node, times int) *graph.Node {
	type state struct{ X, Sums *graph.Node }
	return xla.For(x.Graph(), times, state{x, graph.OneMinus(x)}, func(_ *graph.Node, s state) state {
		s.Sums = graph.Add(graph.MulScalar(s.Sums, 0.5), s.X)
		return s
	}).Sums
}

// timeProgram returns the shortest time, in seconds, of three runs of a program on an array of small values.
func timeProgram(alone bool, shape shapes.Shape, build func(x *graph.Node) *graph.Node) float64 {
	compile, workers := xla.CompileParallel[xla.Array, xla.Array], platform.Workers
	if alone {
		compile, workers = xla.Compile[xla.Array, xla.Array], 1
	}
	numbers := make([]float32, shape.Size())
	for i := range numbers {
		numbers[i] = 1 / float32(1024+i%1024)
	}
	input := xla.Sharded{}
	for range workers {
		input = append(input, tensors.FromFlatDataAndDimensions(numbers, shape.Dimensions...))
	}
	defer input.Free()
	program := must.Get(compile(platform, "ceiling", xla.Value(input), func(x xla.Array) xla.Array {
		return xla.Out(graph.ReduceAllMax(build(x.Tree)))
	}))
	defer program.Free()
	fastest := math.Inf(1)
	for range 4 {
		start := time.Now()
		out := must.Get(program.Run(xla.Value(input)))
		for _, result := range out.Value() {
			tensors.ToScalar[float32](result) // waits for the device
		}
		fastest = min(fastest, time.Since(start).Seconds())
		out.Free()
	}
	return fastest
}

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
