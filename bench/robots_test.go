package bench

import (
	"context"
	"math"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

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
