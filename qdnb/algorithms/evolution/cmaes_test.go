package evolution

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Updates of pyribs 0.12's CMA-ES over 40 parameters, young and old, with stored samples
// (tools/peer/cma_mae.py): the strategy gets the noise that would have made them.
func TestGoldenDenseStrategy(t *testing.T) {
	data := golden.Read(t, "22_cma_es.npz")
	fields := []string{"mean", "sigma", "covariance", "path", "step_path"}
	for step := 0; step <= 40; step += 10 {
		stored := func(part string, step int) []float32 { return data.Float32s(fmt.Sprintf("dense.%s_%d", part, step)) }
		n, batch := len(stored("mean", 0)), len(stored("value", 0))
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				mean, sigma, covariance, solutions, values := in[0], in[1], in[2], in[5], in[6]
				eigenvalues, basis := eigen(covariance, diagonal(OnesLike(mean)), 8*n)
				s := strategiesOf(cmaESName, 1, 0.3)
				d := s.distributions(batch).(denseCMAES)
				d.State = cmaES{batch, 0.3, mean, sigma, covariance, basis, Sqrt(eigenvalues), in[3], in[4],
					ConstAs(sigma, []float32{float32(step)})}
				white := times(BroadcastToDims(TransposeAllAxes(basis, 0, 2, 1), batch, n, n), Sub(solutions, mean))
				noise := Div(white, Mul(d.State.Scales, perRow(sigma)))
				rank := Reshape(xla.Ranks(values), batch)
				weights := make([]float32, batch)
				copy(weights, d.weights())
				weighted := Mul(noise, perRow(Gather(Const(rank.Graph(), weights), perRow(rank))))
				sum := func(x *Node) *Node { return InsertAxes(ReduceSum(x, 0), 0) }
				after, _ := d.update(sum(weighted), sum(d.second(weighted, noise)))
				state := after.(denseCMAES).State
				return []*Node{state.Mean, state.Sigma, state.Covariance, state.Path, state.StepPath,
					Add(mean, d.steps(perRow(ZerosLike(rank)), noise))}
			}, xlatest.Tensor(stored("mean", step), 1, n), xlatest.Tensor(stored("sigma", step), 1),
				xlatest.Tensor(stored("covariance", step), 1, n, n), xlatest.Tensor(stored("path", step), 1, n),
				xlatest.Tensor(stored("step_path", step), 1, n), xlatest.Tensor(stored("solutions", step), batch, n),
				xlatest.Tensor(stored("value", step), 1, batch))
			for i, field := range fields {
				xlatest.Close(t, fmt.Sprint(step, ": ", field), xlatest.Flat[float32](t, out[i]), stored(field, step+1), 3e-5)
			}
			xlatest.Close(t, fmt.Sprint(step, ": solutions"), xlatest.Flat[float32](t, out[5]), stored("solutions", step), 1e-5)
		})
	}
}

// A third of a sweep in each generation follows a covariance matrix over 100 parameters that changes: the basis
// stays orthonormal, and the matrix is what it and the scales say.
func TestDecompositionFollowsTheCovariance(t *testing.T) {
	const n, size, generations = 100, 36, 301
	p := xlatest.Best(t)
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		s := strategiesOf(cmaESName, 1, 0.3)
		start := s.distributions(size).start(Zeros(in[0].Graph(), shapes.Make(dtypes.Float32, 1, n))).(denseCMAES)
		type state struct {
			State cmaES
			Key   random.Key
		}
		var curvature []float32
		for i := range n {
			curvature = append(curvature, float32(math.Pow(1000, float64(i)/(n-1))))
		}
		end := xla.For(in[0].Graph(), generations, state{start.State, random.KeyOf(in[0])}, func(turn *Node, c state) state {
			strategies := perRow(Zeros(turn.Graph(), shapes.Make(dtypes.Int32, size)))
			x := c.State.sample(strategies, c.Key.FoldInEach(turn).Normal(size, n))
			loss := ReduceSum(Mul(Square(x), Const(turn.Graph(), [][]float32{curvature})), 1)
			c.State, _ = c.State.update(InsertAxes(x, 0), xla.Ranks(InsertAxes(Neg(loss), 0)))
			return c
		}).State
		transposed := TransposeAllAxes(end.Basis, 0, 2, 1)
		made := matrices(Mul(end.Basis, InsertAxes(Square(end.Scales), 1)), transposed)
		worst := func(x *Node) *Node { return ReduceAllMax(Abs(x)) }
		return []*Node{worst(Sub(matrices(transposed, end.Basis), diagonal(OnesLike(end.Scales)))),
			Div(worst(Sub(made, end.Covariance)), worst(end.Covariance)), ReduceAllMax(end.Scales), ReduceAllMin(end.Scales)}
	}, xlatest.Tensor([]uint32{1, 2}, 2))
	found := make([]float32, len(out))
	for i, x := range out {
		found[i] = xlatest.Flat[float32](t, x)[0]
	}
	if found[0] > 1e-5 || found[1] > 5e-3 || found[2] < 1.1*found[3] {
		t.Errorf("the basis is off by %g, the matrix by %g; scales from %g to %g", found[0], found[1], found[3], found[2])
	}
}
