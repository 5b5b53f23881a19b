package nn

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
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

// WithoutGradients returns the networks in a form for rollouts, which gradients may not cross. On
// XLA:CPU, [Net.Apply] multiplies inputs [P, in] with their kernels by rows: XLA's own product has
// vectors of 256 bits at most on some CPUs, and is slow for the few columns of a last layer.
func (n Net) WithoutGradients() Net {
	n.byRows = true
	kernels := n.Kernel
	n.Kernel = nil
	for _, kernel := range kernels {
		if more := -kernel.Shape().Dimensions[2] & (columnsAtOnce - 1); more > 0 && readByRows(kernel) {
			dims := slices.Clone(kernel.Shape().Dimensions)
			dims[2] = more
			kernel = Concatenate([]*Node{kernel,
				Zeros(kernel.Graph(), shapes.Make(kernel.DType(), dims...))}, 2)
		}
		n.Kernel = append(n.Kernel, kernel)
	}
	return n
}

// readByRows reports whether rollouts read a kernel by rows.
func readByRows(kernel *Node) bool {
	return kernel.Shape().Size() <= maxByRows && xla.KindOf(kernel.Graph()) == xla.CPU
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
			kernel := DynamicSlice(r.Kernel, append(start(rowsAtOnce), ZerosLike(i)),
				[]int{p, rowsAtOnce, out})
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
