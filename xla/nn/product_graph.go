package nn

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

const (
	// rowsAtOnce is the number of rows of a kernel, or of words with two rows each, per iteration of
	// [productByRows]. Three, five, six or eight are no faster; with 16, rollouts take twice as long.
	rowsAtOnce = 4
	// maxByRows is the size of the largest kernels that are read by rows. Larger ones are for the
	// products of XLA:CPU, which use all cores.
	maxByRows = 1 << 20
	// columnsAtOnce divides the columns of kernels that are read by rows. LLVM reads and writes other
	// numbers of columns under masks, which takes longer.
	columnsAtOnce = 8
)

// WithoutGradients returns the networks for rollouts, which gradients may not cross. On
// XLA:CPU, [Net.Apply] multiplies inputs [P, in] with their kernels by rows: XLA's own product has
// vectors of 256 bits at most on some CPUs, and is slow for the few columns of a last layer.
// Components of the inputs that are always 0, in ascending order, are left out there, with their
// weights.
func (n Net) WithoutGradients(zero ...int) Net {
	n.byRows = true
	kernels := n.Kernel
	n.Kernel = nil
	for layer, kernel := range kernels {
		if in := kernel.Shape().Dimensions[1]; layer == 0 && 0 < len(zero) && len(zero) < in && readByRows(kernel) {
			n.zero = zero
			kernel = Concatenate(without(zero, kernel, 1), 1)
		}
		if more := -kernel.Shape().Dimensions[2] & (columnsAtOnce - 1); more > 0 && readByRows(kernel) {
			dims := slices.Clone(kernel.Shape().Dimensions)
			dims[2] = more
			kernel = Concatenate([]*Node{kernel, Zeros(kernel.Graph(), shapes.Make(kernel.DType(), dims...))}, 2)
		}
		n.Kernel = append(n.Kernel, kernel)
	}
	return n
}

// readByRows reports whether rollouts read a kernel by rows.
func readByRows(kernel *Node) bool {
	return kernel.Shape().Size() <= maxByRows && xla.KindOf(kernel.Graph()) == backend.CPU
}

// without cuts components out of an axis. Several of equal size and distance take one slice.
func without(components []int, x *Node, axis int) (parts []*Node) {
	type gap struct{ start, end int }
	var gaps []gap
	for _, i := range components {
		if last := len(gaps) - 1; last >= 0 && gaps[last].end == i {
			gaps[last].end++
		} else {
			gaps = append(gaps, gap{i, i + 1})
		}
	}
	from := 0
	keep := func(to int) {
		if to > from {
			parts = append(parts, SliceAxis(x, axis, AxisRange(from, to)))
		}
	}
	for len(gaps) > 0 {
		first, size, distance, n := gaps[0], gaps[0].end-gaps[0].start, 0, 1
		if len(gaps) > 1 {
			distance = gaps[1].start - first.start
		}
		for n < len(gaps) && gaps[n] == (gap{first.start + n*distance, first.end + n*distance}) {
			n++
		}
		if start := first.end - distance; n > 1 && start >= from {
			keep(start)
			from = start + n*distance
			dims := slices.Clone(x.Shape().Dimensions)
			split := slices.Replace(slices.Clone(dims), axis, axis+1, n, distance)
			periods := Reshape(SliceAxis(x, axis, AxisRange(start, from)), split...)
			dims[axis] = n * (distance - size)
			parts = append(parts, Reshape(SliceAxis(periods, axis+1, AxisRange(0, distance-size)), dims...))
		} else {
			n = 1
			keep(first.start)
			from = first.end
		}
		gaps = gaps[n:]
	}
	keep(x.Shape().Dimensions[axis])
	return parts
}

// withoutZeros leaves out the components of inputs that are always 0.
func (n Net) withoutZeros(x *Node) *Node {
	last := x.Rank() - 1
	switch {
	case len(n.zero) == 0:
		return x
	case last == 1: // rollouts compute their observations with the batch on the last axis
		return Transpose(xla.Join(without(n.zero, Transpose(x, 0, 1), 0)), 0, 1)
	}
	return Concatenate(without(n.zero, x, last), last)
}

// product returns the products of each network's inputs with a kernel, which may be packed.
func (n Net) product(x, kernel *Node) *Node {
	if kernel.DType() == dtypes.Uint32 || n.byRows && x.Rank() == 2 && readByRows(kernel) {
		return productByRows(x, kernel)
	}
	return DotGeneral(x, []int{x.Rank() - 1}, []int{0}, kernel, []int{1}, []int{0})
}

// productByRows returns the products of inputs [P, in] with kernels [P, in, out], which may be
// packed: [P, out]. It loops over the rows, which XLA:CPU compiles into vector instructions that
// read the kernels once. The sums are in the order of the rows.
func productByRows(x, kernel *Node) *Node {
	type running struct{ Sum, X, Kernel *Node }
	g, p, out := x.Graph(), kernel.Shape().Dimensions[0], kernel.Shape().Dimensions[2]
	inputs, row := rowsAtOnce, func(rows *Node, k int) *Node {
		return Squeeze(Slice(rows, AxisRange(), AxisElem(k)), 1)
	}
	if kernel.DType() == dtypes.Uint32 {
		inputs, row = 2*rowsAtOnce, packedRow
		if more := 2*kernel.Shape().Dimensions[1] - x.Shape().Dimensions[1]; more > 0 {
			x = Concatenate([]*Node{x, Zeros(g, shapes.Make(dtypes.Float32, p, more))}, 1)
		}
	}
	add := func(sum, x, kernel *Node) *Node {
		for k := range x.Shape().Dimensions[1] {
			input := BroadcastToDims(Slice(x, AxisRange(), AxisElem(k)), p, out)
			sum = Add(sum, Mul(row(kernel, k), input))
		}
		return sum
	}
	in, sum := x.Shape().Dimensions[1], Zeros(g, shapes.Make(dtypes.Float32, p, out))
	rest := in % inputs // 0 for packed kernels
	if in > rest {
		sum = xla.For(g, in/inputs, running{sum, x, kernel}, func(i *Node, r running) running {
			start := func(n int) []*Node { return []*Node{ZerosLike(i), MulScalar(i, n)} }
			x := DynamicSlice(r.X, start(inputs), []int{p, inputs})
			kernel := DynamicSlice(r.Kernel, append(start(rowsAtOnce), ZerosLike(i)), []int{p, rowsAtOnce, out})
			r.Sum = add(r.Sum, x, kernel)
			return r
		}).Sum
	}
	if rest > 0 {
		last := AxisRange(in - rest)
		sum = add(sum, Slice(x, AxisRange(), last), Slice(kernel, AxisRange(), last))
	}
	return sum
}
