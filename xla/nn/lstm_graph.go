package nn

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// LSTM describes a long short-term memory cell. The equations are those of Flax's LSTMCell, with
// one bias per gate and no offset of the forget gate:
//
//	f = sigmoid(x Wf + h Uf + bf)    i = sigmoid(x Wi + h Ui + bi)    o = sigmoid(x Wo + h Uo + bo)
//	g = tanh(x Wg + h Ug + bg)       c' = f c + i g                   h' = o tanh(c')
//
// A row holds bias and recurrent kernel U of f, g, i and o, then the input kernels W in the same
// order.
//
// Internally, sequences are [L, Inputs, B] with the batch on the last axis. The matrices are small
// (AURORA's gates have 5 units), and in a loop that XLA:CPU compiles into one function a matrix
// product is a scalar loop. Products are therefore written out as sums of a number times a row of
// the batch, which become vector instructions: 10 to 20 times faster. The backward pass is written
// out for the same reason: GoMLX's Gradient does not cross loops and would produce such matrix
// products.
type LSTM struct{ Inputs, Hidden int }

// lstmGates names the gates in their order, in rows and in all arrays of four gates.
const lstmGates = "fgio"

// Params returns the number of parameters.
func (l LSTM) Params() int { return 4 * l.Hidden * (1 + l.Hidden + l.Inputs) }

// Init draws a row [N]: input kernels from LeCun's truncated normal distribution (variance
// 1/Inputs), recurrent kernels uniform over the orthogonal matrices, gate by gate, and biases 0.
func (l LSTM) Init(key random.Key) *Node {
	biases := Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32, 4, 1, l.Hidden))
	recurrent := Concatenate([]*Node{biases, orthogonal(key.FoldIn(0), 4, l.Hidden)}, 1)
	return Concatenate([]*Node{Reshape(recurrent, -1), leCunNormal(key.FoldIn(1), l.Inputs, 4*l.Inputs*l.Hidden)}, 0)
}

// leCunNormal draws n numbers of mean 0 and variance 1/inputs from a normal distribution truncated
// at two standard deviations and rescaled to that variance.
func leCunNormal(key random.Key, inputs, n int) *Node {
	const (
		tries = 8 // one number in 6e10 fails all of them
		// shrinks is the standard deviation of a standard normal number truncated to +-2.
		shrinks = 0.879625661034239780
	)
	draws := key.Normal(tries, n)
	try := func(i int) *Node { return Reshape(Slice(draws, AxisElem(i)), n) }
	x := MulScalar(try(0), 0.25) // Normal stays below 8
	for i := range tries {
		x = Where(LessThan(Abs(try(i)), ConstAs(x, float32(2))), try(i), x)
	}
	return MulScalar(x, 1/(shrinks*math.Sqrt(float64(inputs))))
}

// orthogonal draws matrices [count, n, n] uniformly (Haar measure): Gram-Schmidt orthonormalises
// normal rows. In float32 projecting twice suffices even for nearly dependent rows.
func orthogonal(key random.Key, count, n int) *Node {
	type state struct{ Normal, Done *Node } // [row, count, n]; rows not yet done are 0 in Done
	normal := key.Normal(n, count, n)
	rows := xla.For(normal.Graph(), n, state{normal, ZerosLike(normal)}, func(i *Node, s state) state {
		v := xla.Row(s.Normal, i)
		for range 2 {
			along := ReduceSum(Mul(s.Done, InsertAxes(v, 0)), 2)
			v = Sub(v, ReduceSum(Mul(s.Done, InsertAxes(along, -1)), 0))
		}
		length := Sqrt(ReduceSum(Square(v), 1))
		s.Done = xla.SetRow(s.Done, i, Div(v, InsertAxes(length, -1)))
		return s
	}).Done
	return Transpose(rows, 0, 1)
}

// Cell is a cell cut out of a row, its gates joined: a pytree that loops can carry.
type Cell struct {
	Input     *Node // [Inputs, 4 Hidden]
	Recurrent *Node // [Hidden, 4 Hidden]
	Bias      *Node // [4 Hidden]
	LSTM      LSTM
}

// View cuts a row [N] into a cell.
func (l LSTM) View(row *Node) Cell {
	if row.Rank() != 1 || row.Shape().Dimensions[0] != l.Params() {
		panic(fmt.Errorf("an LSTM of %d inputs and %d units has %d parameters, a row of shape %s "+
			"does not fit", l.Inputs, l.Hidden, l.Params(), row.Shape()))
	}
	h, split := l.Hidden, 4*l.Hidden*(1+l.Hidden)
	// The bias comes first, then the kernel.
	own := Reshape(Transpose(Reshape(Slice(row, AxisRange(0, split)), 4, 1+h, h), 0, 1), 1+h, 4*h)
	return Cell{
		Input:     Reshape(Transpose(Reshape(Slice(row, AxisRangeToEnd(split)), 4, l.Inputs, h), 0, 1), l.Inputs, 4*h),
		Recurrent: Slice(own, AxisRangeToEnd(1)),
		Bias:      Reshape(Slice(own, AxisElem(0)), 4*h),
		LSTM:      l,
	}
}

// Row is the inverse of [LSTM.View].
func (c Cell) Row() *Node {
	gateByGate := func(kernel *Node) *Node { // [n, 4 Hidden]
		return Reshape(Transpose(Reshape(kernel, -1, 4, c.LSTM.Hidden), 0, 1), -1)
	}
	own := Concatenate([]*Node{InsertAxes(c.Bias, 0), c.Recurrent}, 0)
	return Concatenate([]*Node{gateByGate(own), gateByGate(c.Input)}, 0)
}

// Memory is the state of a cell: c and h of the equations, [Hidden, B] each.
type Memory struct{ Cell, Output *Node }

// Start returns the state before a sequence: zeros.
func (c Cell) Start(batch int) Memory {
	zero := Zeros(c.Bias.Graph(), shapes.Make(dtypes.Float32, c.LSTM.Hidden, batch))
	return Memory{zero, zero}
}

// Step takes an input [Inputs, B] and returns the new state and f, g, i and o, [4 Hidden, B].
func (c Cell) Step(x *Node, m Memory) (next Memory, gates *Node) {
	z := addWeighted(addWeighted(InsertAxes(c.Bias, -1), c.Input, x), c.Recurrent, m.Output)
	gates = c.LSTM.activate(z)
	f, g, i, o := c.LSTM.split(gates)
	next.Cell = Add(Mul(f, m.Cell), Mul(i, g))
	next.Output = Mul(o, Tanh(next.Cell))
	return next, gates
}

// activate applies the functions of the gates to z, [4 Hidden, B], with a single tanh, as
// sigmoid(z) = (1 + tanh(z/2)) / 2.
func (l LSTM) activate(z *Node) *Node {
	scale, offset := make([]float32, 4*l.Hidden), make([]float32, 4*l.Hidden)
	for i := range scale {
		scale[i], offset[i] = 0.5, 0.5
		if lstmGates[i/l.Hidden] == 'g' {
			scale[i], offset[i] = 1, 0
		}
	}
	s := InsertAxes(Const(z.Graph(), scale), -1)
	return Add(Mul(Tanh(Mul(z, s)), s), InsertAxes(Const(z.Graph(), offset), -1))
}

// split cuts an array of four gates, [4 Hidden, B].
func (l LSTM) split(gates *Node) (f, g, i, o *Node) {
	part := func(k int) *Node { return Slice(gates, AxisRange(k*l.Hidden, (k+1)*l.Hidden)) }
	return part(0), part(1), part(2), part(3)
}

// addWeighted returns sum + kernel^T x for a kernel [K, J] and x [K, B], as two partial sums that
// processors can add in parallel. sum is [J, B] or [J, 1].
func addWeighted(sum, kernel, x *Node) *Node {
	var other *Node
	for k := range kernel.Shape().Dimensions[0] {
		term := Mul(Reshape(Slice(kernel, AxisElem(k)), -1, 1), Slice(x, AxisRange(k, k+1)))
		switch {
		case k%2 == 0:
			sum = Add(sum, term)
		case other == nil:
			other = term
		default:
			other = Add(other, term)
		}
	}
	if other == nil {
		return sum
	}
	return Add(sum, other)
}

// trace records the forward pass of a cell over L steps: a pytree.
type trace struct {
	Gates   *Node // [L, 4 Hidden, B]
	Cells   *Node // [L+1, Hidden, B], starting with the state before the first step
	Outputs *Node // [L+1, Hidden, B]
}

// run takes the inputs x[first], ..., x[first+steps-1] of x [n, Inputs, B]. It keeps a trace if
// traced is set.
func (c Cell) run(x *Node, first, steps int, m Memory, traced bool) (Memory, trace) {
	if accelerated(x) {
		return c.runUnrolled(x, first, steps, m)
	}
	type state struct {
		Cell   Cell
		X      *Node
		Memory Memory
		Trace  trace
	}
	s := state{Cell: c, X: x, Memory: m}
	if traced {
		batch := x.Shape().Dimensions[2]
		zeros := func(n, units int) *Node {
			return Zeros(x.Graph(), shapes.Make(dtypes.Float32, n, units, batch))
		}
		begin := func(m *Node) *Node {
			return Concatenate([]*Node{InsertAxes(m, 0), zeros(steps, c.LSTM.Hidden)}, 0)
		}
		s.Trace = trace{zeros(steps, 4*c.LSTM.Hidden), begin(m.Cell), begin(m.Output)}
	}
	s = xla.For(x.Graph(), steps, s, func(t *Node, s state) state {
		var gates *Node
		s.Memory, gates = s.Cell.Step(xla.Row(s.X, AddScalar(t, int32(first))), s.Memory)
		if traced {
			next := AddScalar(t, int32(1))
			s.Trace = trace{xla.SetRow(s.Trace.Gates, t, gates),
				xla.SetRow(s.Trace.Cells, next, s.Memory.Cell),
				xla.SetRow(s.Trace.Outputs, next, s.Memory.Output)}
		}
		return s
	})
	return s.Memory, s.Trace
}

// reading are the derivatives of a loss with respect to the outputs of a cell that it reads directly, at each
// step Scale kernel^T off: a pytree.
type reading struct {
	Kernel *Node // [F, Hidden]
	Off    *Node // [L, F, B]
	Scale  float64
}

// back backpropagates through time. It takes the derivatives of a loss with respect to the state
// after the last step and to the outputs that it reads directly; nil: none. It returns the
// derivatives with respect to the pre-activations z of the gates, [L, 4 Hidden, B], and to the state
// before the first step.
func (c Cell) back(done trace, last Memory, read *reading) (byZ *Node, first Memory) {
	if accelerated(c.Bias) {
		return c.backUnrolled(done, last, read)
	}
	type state struct {
		Recurrent *Node // [4 Hidden, Hidden]
		Trace     trace
		Last      Memory // with respect to c and, except through z, to h
		Z         *Node  // [4 (L+1), Hidden, B]; zero after the last step
		Read      *reading
	}
	dims := done.Gates.Shape().Dimensions
	steps, batch, lstm := dims[0], dims[2], c.LSTM
	byOutput := func(s state, step *Node) *Node { // of the step before
		z := Reshape(xla.Rows(s.Z, MulScalar(step, int32(4)), 4), 4*lstm.Hidden, batch)
		return addWeighted(s.Last.Output, s.Recurrent, z)
	}
	none := Zeros(c.Bias.Graph(), shapes.Make(dtypes.Float32, 4*(steps+1), lstm.Hidden, batch))
	s := state{Transpose(c.Recurrent, 0, 1), done, last, none, read}
	s = xla.For(c.Bias.Graph(), steps, s, func(i *Node, s state) state {
		step := Sub(ConstAs(i, int32(steps-1)), i)
		next := AddScalar(step, int32(1))
		f, g, i, o := lstm.split(xla.Row(s.Trace.Gates, step))
		dh := byOutput(s, next)
		if s.Read != nil {
			none := ScalarZero(step.Graph(), dtypes.Float32)
			dh = Add(dh, MulScalar(addWeighted(none, s.Read.Kernel, xla.Row(s.Read.Off, step)), s.Read.Scale))
		}
		dh = xla.Materialize(dh)[0]
		squashed := Tanh(xla.Row(s.Trace.Cells, next))
		dc := Add(s.Last.Cell, Mul(Mul(dh, o), OneMinus(Square(squashed))))
		for k, z := range gateGradients(dc, dh, xla.Row(s.Trace.Cells, step), squashed, f, g, i, o) {
			s.Z = xla.SetRow(s.Z, AddScalar(MulScalar(step, int32(4)), int32(k)), z)
		}
		s.Last = Memory{Mul(dc, f), ZerosLike(dh)}
		return s
	})
	first = Memory{s.Last.Cell, byOutput(s, ScalarZero(s.Z.Graph(), dtypes.Int32))}
	return Reshape(Slice(s.Z, AxisRange(0, 4*steps)), dims...), first
}

// gateGradients returns the derivatives with respect to z of f, g, i and o, from those with respect to the
// new cell state and output, the cell state before, and tanh of the new one.
func gateGradients(dc, dh, before, squashed, f, g, i, o *Node) [4]*Node {
	return [4]*Node{
		Mul(Mul(dc, before), Mul(f, OneMinus(f))),
		Mul(Mul(dc, i), OneMinus(Square(g))),
		Mul(Mul(dc, g), Mul(i, OneMinus(i))),
		Mul(Mul(dh, squashed), Mul(o, OneMinus(o))),
	}
}

// gradient turns the derivatives with respect to z, [L, 4 Hidden, B], into those with respect to
// the parameters, for the inputs x[first], ...
func (c Cell) gradient(x *Node, first int, done trace, byZ *Node) Cell {
	if accelerated(x) {
		return c.gradientOfSteps(x, first, done, byZ)
	}
	type state struct {
		X, Outputs, Z          *Node
		Input, Recurrent, Bias *Node // derivatives, with an axis for the lanes of the batch
	}
	steps, width := byZ.Shape().Dimensions[0], lanes(byZ)
	zeros := func(dims ...int) *Node {
		return Zeros(x.Graph(), shapes.Make(dtypes.Float32, append(dims, width)...))
	}
	in, h := c.LSTM.Inputs, c.LSTM.Hidden
	s := state{x, done.Outputs, byZ, zeros(in, 4*h), zeros(h, 4*h), zeros(4 * h)}
	s = xla.For(x.Graph(), steps, s, func(t *Node, s state) state {
		z := xla.Row(s.Z, t)
		s.Input = addOuter(s.Input, xla.Row(s.X, AddScalar(t, int32(first))), z)
		s.Recurrent = addOuter(s.Recurrent, xla.Row(s.Outputs, t), z)
		s.Bias = addLanes(s.Bias, z)
		return s
	})
	return Cell{ReduceSum(s.Input, 2), ReduceSum(s.Recurrent, 2), ReduceSum(s.Bias, 1), c.LSTM}
}

// lanes returns how many numbers of a batch, the last axis of x, are summed in parallel so that
// sums vectorize: a divisor of the batch size.
func lanes(x *Node) int {
	n, batch := 1, x.Shape().Dimensions[x.Rank()-1]
	for n < 16 && batch%(2*n) == 0 {
		n *= 2
	}
	return n
}

// addOuter adds the outer products of x [K, B] and y [J, B], summed over the batch, to sum [K, J,
// lanes].
func addOuter(sum, x, y *Node) *Node {
	width := lanes(x)
	for from := 0; from < x.Shape().Dimensions[1]; from += width {
		part := func(x *Node) *Node { return Slice(x, AxisRange(), AxisRange(from, from+width)) }
		sum = Add(sum, Mul(InsertAxes(part(x), 1), InsertAxes(part(y), 0)))
	}
	return sum
}

// addLanes adds y [J, B], summed over the batch, to sum [J, lanes].
func addLanes(sum, y *Node) *Node {
	width := lanes(y)
	for from := 0; from < y.Shape().Dimensions[1]; from += width {
		sum = Add(sum, Slice(y, AxisRange(), AxisRange(from, from+width)))
	}
	return sum
}
