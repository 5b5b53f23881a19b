package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

const (
	// rowsAtOnce is the number of rows of a kernel per iteration of [productByRows]. With 16, rollouts
	// take up to twice the time.
	rowsAtOnce = 8
	// maxByRows is the size of the largest kernels that are read by rows. Larger ones are for the
	// products of XLA:CPU, which use all cores.
	maxByRows = 1 << 20
	// narrow is the number of columns of a kernel that XLA:CPU's own product is slow for: with eight,
	// a last layer took a seventh of a rollout's time.
	narrow = 16
)

// product returns the products of each network's inputs with its kernel, which may be packed.
func product(x, kernel *Node) *Node {
	if kernel.DType() == dtypes.Uint32 || x.Rank() == 2 && xla.KindOf(x.Graph()) == xla.CPU &&
		kernel.Shape().Dimensions[2] <= narrow && kernel.Shape().Size() <= maxByRows &&
		kernel.Shape().Dimensions[1]%rowsAtOnce == 0 {
		return productByRows(x, kernel)
	}
	return DotGeneral(x, []int{x.Rank() - 1}, []int{0}, kernel, []int{1}, []int{0})
}

// productByRows returns the products of inputs [P, in] with kernels [P, in, out], which may be
// packed: [P, out]. It loops over the rows, which XLA:CPU compiles into vector instructions that
// read the kernels once. The sums are in the order of XLA:CPU's product.
func productByRows(x, kernel *Node) *Node {
	type running struct{ Sum, X, Kernel *Node }
	g, p, out := x.Graph(), kernel.Shape().Dimensions[0], kernel.Shape().Dimensions[2]
	rows, row := rowsAtOnce, func(rows *Node, k int) *Node {
		return Squeeze(Slice(rows, AxisRange(), AxisElem(k)), 1)
	}
	if kernel.DType() == dtypes.Uint32 {
		rows, row = rowsAtOnce/2, packedRow
		if more := 2*kernel.Shape().Dimensions[1] - x.Shape().Dimensions[1]; more > 0 {
			x = Concatenate([]*Node{x, Zeros(g, shapes.Make(dtypes.Float32, p, more))}, 1)
		}
	}
	start := running{Zeros(g, shapes.Make(dtypes.Float32, p, out)), x, kernel}
	return xla.For(g, x.Shape().Dimensions[1]/rowsAtOnce, start, func(i *Node, r running) running {
		zero := ZerosLike(i)
		x := DynamicSlice(r.X, []*Node{zero, MulScalar(i, rowsAtOnce)}, []int{p, rowsAtOnce})
		kernel := DynamicSlice(r.Kernel, []*Node{zero, MulScalar(i, rows), zero}, []int{p, rows, out})
		for k := range rowsAtOnce {
			input := BroadcastToDims(Slice(x, AxisRange(), AxisElem(k)), p, out)
			r.Sum = Add(r.Sum, Mul(row(kernel, k), input))
		}
		return r
	}).Sum
}
