package nn

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// On GPUs and TPUs the cost of the auto-encoder is its number of kernels: the loops over steps are
// unrolled there. In the forward pass, each unit of each gate is an array [B], so that a step is
// elementwise and XLA makes it one kernel; with an array [Hidden, B] for each gate it makes two.
// The backward pass has more terms and keeps arrays [Hidden, B], because XLA takes longer to
// compile arrays [B]. Whatever does not depend on the previous step is a product over all steps.

func accelerated(x *Node) bool { return xla.KindOf(x.Graph()).Accelerator() }

// weighted returns kernel^T x for a kernel [K, J] and x [L, K, B], [L, J, B]. It is a sum, not a
// product: XLA finds no tiles for products of such sizes.
func weighted(kernel, x *Node) *Node {
	return ReduceSum(Mul(InsertAxes(kernel, 0, -1), InsertAxes(x, 2)), 1)
}

// outer returns the outer products of x [L, K, B] and y [L, J, B], summed over steps and batch.
func outer(x, y *Node) *Node { return ReduceSum(Mul(InsertAxes(x, 2), InsertAxes(y, 1)), 0, 3) }

// step returns x[t] of x [L, J, B].
func step(x *Node, t int) *Node {
	return Reshape(Slice(x, AxisElem(t)), x.Shape().Dimensions[1:]...)
}

// splitRows returns the rows [B] of x [n, B].
func splitRows(x *Node) (rows []*Node) {
	for i := range x.Shape().Dimensions[0] {
		rows = append(rows, Reshape(Slice(x, AxisElem(i)), -1))
	}
	return rows
}

// joinRows returns rows [B] as [L, n, B].
func joinRows(rows []*Node, n int) *Node {
	return Reshape(Stack(rows, 0), -1, n, rows[0].Shape().Size())
}

// runUnrolled is run for GPUs and TPUs.
func (c Cell) runUnrolled(x *Node, first, steps int, m Memory) (Memory, trace) {
	h, batch := c.LSTM.Hidden, x.Shape().Dimensions[2]
	input := Add(weighted(c.Input, Slice(x, AxisRange(first, first+steps))), InsertAxes(c.Bias, 0, -1))
	recurrent := make([][]*Node, h) // [Hidden][4 Hidden]: each weight as [B]
	for j := range recurrent {
		weights := Reshape(Slice(c.Recurrent, AxisElem(j)), -1, 1)
		recurrent[j] = splitRows(BroadcastToDims(weights, 4*h, batch))
	}
	cell, output := splitRows(m.Cell), splitRows(m.Output)
	gates, cells, outputs := []*Node{}, cell, output
	for t := range steps {
		now := splitRows(step(input, t))
		for k := range now {
			for j := range output {
				now[k] = Add(now[k], Mul(recurrent[j][k], output[j]))
			}
			if lstmGates[k/h] == 'g' {
				now[k] = Tanh(now[k])
			} else {
				now[k] = AddScalar(MulScalar(Tanh(MulScalar(now[k], 0.5)), 0.5), 0.5)
			}
		}
		cell, output = slices.Clone(cell), make([]*Node, h)
		for k := range h {
			f, g, i, o := now[k], now[h+k], now[2*h+k], now[3*h+k]
			cell[k] = Add(Mul(f, cell[k]), Mul(i, g))
			output[k] = Mul(o, Tanh(cell[k]))
		}
		gates = append(gates, now...)
		cells, outputs = slices.Concat(cells, cell), slices.Concat(outputs, output)
	}
	return Memory{Stack(cell, 0), Stack(output, 0)},
		trace{joinRows(gates, 4*h), joinRows(cells, h), joinRows(outputs, h)}
}

// backUnrolled is back for GPUs and TPUs.
func (c Cell) backUnrolled(done trace, last Memory, read *reading) (byZ *Node, first Memory) {
	dims := done.Gates.Shape().Dimensions
	steps, h := dims[0], c.LSTM.Hidden
	var direct *Node // [L, Hidden, B]
	if read != nil {
		direct = MulScalar(weighted(read.Kernel, read.Off), read.Scale)
	}
	var recurrent, after [4]*Node // kernels of the gates, and derivatives by z in the step after
	for k := range recurrent {
		recurrent[k] = Slice(c.Recurrent, AxisRange(), AxisRange(k*h, (k+1)*h))
	}
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
		f, g, i, o := c.LSTM.split(gates)
		dh := byOutput()
		if direct != nil {
			dh = Add(dh, step(direct, t))
		}
		squashed := Tanh(step(done.Cells, t+1))
		dc := Add(last.Cell, Mul(Mul(dh, o), OneMinus(Square(squashed))))
		after = gateGradients(dc, dh, step(done.Cells, t), squashed, f, g, i, o)
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
		LSTM:      c.LSTM,
	}
}
