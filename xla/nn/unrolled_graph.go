package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// On GPUs and TPUs the cost of the auto-encoder is its number of kernels: the loops over steps are
// unrolled there, with each gate in an array of its own, so that XLA makes a step one kernel. What
// does not depend on the step before is a product over all steps.

func accelerated(x *Node) bool { return xla.KindOf(x.Graph()).Accelerator() }

// weighted returns kernel^T x for a kernel [K, J] and x [L, K, B], [L, J, B]. It is a sum, not a
// product: XLA finds no tiles for products of such sizes.
func weighted(kernel, x *Node) *Node {
	return ReduceSum(Mul(InsertAxes(kernel, 0, -1), InsertAxes(x, 2)), 1)
}

// outer returns the outer products of x [L, K, B] and y [L, J, B], summed over steps and batch.
func outer(x, y *Node) *Node { return ReduceSum(Mul(InsertAxes(x, 2), InsertAxes(y, 1)), 0, 3) }

// rowsOf returns the rows k*n to k*n+n-1 of x [., B].
func rowsOf(x *Node, k, n int) *Node { return Slice(x, AxisRange(k*n, (k+1)*n)) }

// step returns x[t] of x [L, J, B].
func step(x *Node, t int) *Node {
	return Reshape(Slice(x, AxisElem(t)), x.Shape().Dimensions[1:]...)
}

// gatesOf cuts a kernel [K, 4 Hidden] into those of the gates, [K, Hidden].
func (l LSTM) gatesOf(kernel *Node) (gates [4]*Node) {
	for k := range gates {
		gates[k] = Slice(kernel, AxisRange(), AxisRange(k*l.Hidden, (k+1)*l.Hidden))
	}
	return gates
}

// runUnrolled is run for GPUs and TPUs.
func (c Cell) runUnrolled(x *Node, first, steps int, m Memory) (Memory, trace) {
	h := c.Form.Hidden
	input := weighted(c.Input, Slice(x, AxisRange(first, first+steps)))
	recurrent := c.Form.gatesOf(c.Recurrent)
	gates, cells, outputs := []*Node{}, []*Node{m.Cell}, []*Node{m.Output}
	for t := range steps {
		now := step(input, t)
		var made [4]*Node
		for k := range made {
			z := Add(InsertAxes(rowsOf(c.Bias, k, h), -1), rowsOf(now, k, h))
			z = addWeighted(z, recurrent[k], m.Output)
			if lstmGates[k] == 'g' {
				made[k] = Tanh(z)
			} else {
				made[k] = AddScalar(MulScalar(Tanh(MulScalar(z, 0.5)), 0.5), 0.5)
			}
		}
		f, g, i, o := made[0], made[1], made[2], made[3]
		m.Cell = Add(Mul(f, m.Cell), Mul(i, g))
		m.Output = Mul(o, Tanh(m.Cell))
		gates = append(gates, made[:]...)
		cells, outputs = append(cells, m.Cell), append(outputs, m.Output)
	}
	batch := x.Shape().Dimensions[2]
	return m, trace{Reshape(Concatenate(gates, 0), steps, 4*h, batch), Stack(cells, 0),
		Stack(outputs, 0)}
}

// backUnrolled is back for GPUs and TPUs. read is [L, Hidden, B], or nil.
func (c Cell) backUnrolled(done trace, last Memory, read *Node) (byZ *Node, first Memory) {
	dims := done.Gates.Shape().Dimensions
	steps, h := dims[0], c.Form.Hidden
	recurrent := c.Form.gatesOf(c.Recurrent)
	var after [4]*Node // with respect to z in the step after
	byOutput := func() *Node {
		sum := last.Output
		if after[0] == nil {
			return sum
		}
		for k := range after {
			sum = addWeighted(sum, Transpose(recurrent[k], 0, 1), after[k])
		}
		return sum
	}
	all := make([]*Node, 4*steps)
	for t := steps - 1; t >= 0; t-- {
		gates := step(done.Gates, t)
		f, g, i, o := c.Form.split(gates)
		dh := byOutput()
		if read != nil {
			dh = Add(dh, step(read, t))
		}
		squashed := Tanh(step(done.Cells, t+1))
		dc := Add(last.Cell, Mul(Mul(dh, o), OneMinus(Square(squashed))))
		after = [4]*Node{
			Mul(Mul(dc, step(done.Cells, t)), Mul(f, OneMinus(f))),
			Mul(Mul(dc, i), OneMinus(Square(g))),
			Mul(Mul(dc, g), Mul(i, OneMinus(i))),
			Mul(Mul(dh, squashed), Mul(o, OneMinus(o))),
		}
		copy(all[4*t:], after[:])
		last = Memory{Mul(dc, f), Zeros(dh.Graph(), shapes.Make(dtypes.Float32, h, dims[2]))}
	}
	first = Memory{last.Cell, byOutput()}
	return Reshape(Concatenate(all, 0), dims...), first
}

// gradientOfSteps is gradient for GPUs and TPUs.
func (c Cell) gradientOfSteps(x *Node, first int, done trace, byZ *Node) Cell {
	steps := byZ.Shape().Dimensions[0]
	return Cell{
		Input:     outer(Slice(x, AxisRange(first, first+steps)), byZ),
		Recurrent: outer(Slice(done.Outputs, AxisRange(0, steps)), byZ),
		Bias:      ReduceSum(byZ, 0, 2),
		Form:      c.Form,
	}
}
