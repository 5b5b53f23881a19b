package nn

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// BFloat16 returns the networks with kernels rounded to bfloat16, to the nearest and ties to even.
// Biases are not rounded; inputs, products and sums are float32.
//
// On XLA:CPU, two rows of a kernel are packed into words, uint32 [P, rows/2, out], which take half
// of the cache. [Net.Apply] then takes inputs [P, in] only, and gradients do not cross it.
func (n Net) BFloat16() Net {
	kernels := n.Kernel
	n.Kernel = nil
	for _, kernel := range kernels {
		bits := roundBFloat16(kernel)
		if xla.KindOf(bits.Graph()) == backend.CPU && bits.Shape().Size() <= maxByRows {
			n.Kernel = append(n.Kernel, pack(bits))
		} else {
			n.Kernel = append(n.Kernel, Bitcast(bits, dtypes.Float32))
		}
	}
	return n
}

// upper are the bits of a float32 that bfloat16 keeps.
const upper = uint32(0xffff0000)

// roundBFloat16 returns the bits of x rounded to bfloat16, as float32. It computes with integers,
// because XLA may drop a conversion to bfloat16 and back.
func roundBFloat16(x *Node) *Node {
	bits := Bitcast(x, dtypes.Uint32)
	odd := BitwiseAnd(BitwiseShiftRightLogicalScalar(bits, uint32(16)), ConstAs(bits, uint32(1)))
	rounded := Add(bits, AddScalar(odd, uint32(0x7fff)))
	rounded = Where(NotEqual(x, x), ConstAs(bits, uint32(0x7fc00000)), rounded)
	return BitwiseAnd(rounded, ConstAs(bits, upper))
}

// pack packs rows 2k and 2k+1 of kernels [P, in, out] into the lower and upper halves of words.
// Zeros fill up a multiple of rowsAtOnce words.
func pack(bits *Node) *Node {
	dims := bits.Shape().Dimensions
	p, in, out := dims[0], dims[1], dims[2]
	if more := -in & (2*rowsAtOnce - 1); more > 0 {
		bits = Concatenate([]*Node{bits, Zeros(bits.Graph(), shapes.Make(dtypes.Uint32, p, more, out))}, 1)
	}
	pairs := Reshape(bits, p, -1, 2, out)
	row := func(i int) *Node {
		return Squeeze(Slice(pairs, AxisRange(), AxisRange(), AxisElem(i)), 2)
	}
	return BitwiseOr(BitwiseShiftRightLogicalScalar(row(0), uint32(16)), row(1))
}

// packedRow returns row k of packed kernels, [P, out].
func packedRow(words *Node, k int) *Node {
	row := Squeeze(Slice(words, AxisRange(), AxisElem(k/2)), 1)
	if k%2 == 0 {
		row = BitwiseShiftLeftScalar(row, uint32(16))
	} else {
		row = BitwiseAnd(row, ConstAs(row, upper))
	}
	return Bitcast(row, dtypes.Float32)
}

// RoundBFloat16 returns a row [N] whose kernels are rounded as by [Net.BFloat16].
func (m MLP) RoundBFloat16(row []float32) []float32 {
	row = slices.Clone(row)
	for _, leaf := range m.Layout() {
		if !leaf.Kernel {
			continue
		}
		for i := range row[leaf.Offset : leaf.Offset+leaf.Shape[0]*leaf.Shape[1]] {
			x := &row[leaf.Offset+i]
			if bits := math.Float32bits(*x); *x == *x {
				*x = math.Float32frombits((bits + 0x7fff + bits>>16&1) & upper)
			}
		}
	}
	return row
}
