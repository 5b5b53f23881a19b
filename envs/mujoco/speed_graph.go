package mujoco

import (
	"context"
	"math"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Speed measures control steps per second of random gaits of a second, in slices as rollouts have them, with the
// controls and control steps of package compiler's Reference.
func (s *System) Speed(ctx context.Context, p *xla.Platform) (stepsPerSecond float64, err error) {
	// Copies of each worker, and of a slice, which fits the caches and waits for its slowest copy.
	const copies, together = 64, 16
	m, held := s.model, max(2, int(math.Round(0.02/s.model.Opt.TimeStep)))
	steps := max(1, int(math.Round(1/(float64(held)*m.Opt.TimeStep))))
	all := xla.Slices{N: copies * p.Workers, Size: together, Workers: p.Workers}
	type inputs struct{ Seed, Worker xla.Array }
	in := inputs{p.Seed(0), xla.Value(p.WorkerNumbers())}
	defer in.Seed.Free()
	gaits := func(turn *Node, in inputs) *Node {
		g, keys := turn.Graph(), random.KeyOf(in.Seed.Tree).FoldInEach(all.Numbers(turn, in.Worker.Tree))
		angles := make([]float32, max(1, len(s.angles)))
		zero := Zeros(g, shapes.Make(dtypes.Float32, len(angles), together))
		for i, x := range s.DefaultAngles() {
			angles[i] = float32(x)
		}
		start := s.State(s.Pose(BroadcastToShape(InsertAxes(Const(g, angles), 1), zero.Shape()), zero))
		type carry struct {
			State       State
			Rate, Phase *Node
		}
		draw := func(stream int, low, high float64) *Node {
			return Transpose(keys.FoldIn(stream).Uniform(low, high, together, max(1, m.Sizes.NU)), 0, 1)
		}
		c := carry{start, draw(0, 2, 12), draw(1, 0, 2*math.Pi)}
		return xla.For(g, steps, c, func(step *Node, c carry) carry {
			at := MulScalar(ConvertDType(step, dtypes.Float32), float64(held)*m.Opt.TimeStep)
			wave := Sin(Add(Mul(c.Rate, BroadcastToShape(at, c.Rate.Shape())), c.Phase))
			var control *Node
			if m.Sizes.NU > 0 {
				control = s.Drive(wave)
			}
			c.State = s.Step(c.State, control, held)
			return c
		}).State.QPos
	}
	program, err := xla.CompileParallel(p, "MuJoCo speed", in, func(in inputs) xla.Array {
		return xla.Out(xla.MapSlices(all.Turns(), in.Worker.Tree, in, gaits))
	})
	if err != nil {
		return 0, err
	}
	defer program.Free()
	for begin := time.Now(); time.Since(begin) < 3*time.Second && ctx.Err() == nil; {
		begin := time.Now()
		out, err := program.Run(in)
		if err != nil {
			return 0, err
		}
		if _, err := out.First().Floats(); err != nil {
			return 0, err
		}
		stepsPerSecond = max(stepsPerSecond, float64(copies*p.Workers*steps)/time.Since(begin).Seconds())
		out.Free()
	}
	return stepsPerSecond, ctx.Err()
}
