package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/random"
)

// Activation is an elementwise function. Nil is the identity.
type Activation func(*Node) *Node

// ReLU is max(x, 0), and NaN where x is NaN; its slope at 0 is 0. It uses Where: the gradient of a
// maximum would multiply by signs, and XLA:CPU's maximum may turn NaN into 0.
func ReLU(x *Node) *Node {
	zero := ZerosLike(x)
	return Where(LessOrEqual(x, zero), zero, x)
}

// MLP describes a multilayer perceptron. The paper's policies are MLP{[]int{obs, 256, 256, act},
// ReLU, Tanh}.
type MLP struct {
	Sizes  []int      // of the input, the hidden layers and the output
	Hidden Activation // after all layers but the last
	Output Activation // after the last layer
	// Initial is the range of the initial biases; the zero value stands for biases of 0.
	Initial [2]float64
	// Normalises makes networks normalise their inputs, see [Normalised]. A row ends in the means and
	// the deviations for it.
	Normalises bool
}

// NewMLP returns a network with ReLU hidden layers and a linear output.
func NewMLP(inputs int, hidden []int, outputs int) MLP {
	return MLP{Sizes: slices.Concat([]int{inputs}, hidden, []int{outputs}), Hidden: ReLU}
}

// NewPolicy returns the deterministic policy of the quality-diversity algorithms: a [NewMLP] with a
// tanh output.
func NewPolicy(obs int, hidden []int, act int) MLP {
	m := NewMLP(obs, hidden, act)
	m.Output = Tanh
	return m
}

// Constant returns a network without inputs, whose n outputs are its parameters. [MLP.Init] draws
// them uniformly from a range.
func Constant(n int, initial [2]float64) MLP {
	return MLP{Sizes: []int{0, n}, Initial: initial}
}

// Leaf is one array of a flat row.
type Leaf struct {
	Layer  int
	Kernel bool  // false: a bias
	Shape  []int // [out] of a bias, [in, out] of a kernel
	Offset int   // in the row
}

// Layout lists the leaves of a row in their order.
func (m MLP) Layout() []Leaf {
	var leaves []Leaf
	offset := 0
	for layer := range len(m.Sizes) - 1 {
		in, out := m.Sizes[layer], m.Sizes[layer+1]
		leaves = append(leaves, Leaf{layer, false, []int{out}, offset})
		if in > 0 {
			leaves = append(leaves, Leaf{layer, true, []int{in, out}, offset + out})
		}
		offset += out + in*out
	}
	return leaves
}

// Params returns the number N of parameters.
func (m MLP) Params() int {
	n := 2 * m.normalised()
	for layer := range len(m.Sizes) - 1 {
		n += (m.Sizes[layer] + 1) * m.Sizes[layer+1]
	}
	return n
}

// normalised is the number of inputs that are normalised.
func (m MLP) normalised() int {
	if m.Normalises {
		return m.Sizes[0]
	}
	return 0
}

// Init draws rows [P, N] for P keys: biases 0 or from their range, kernels uniform in +-sqrt(3/in),
// which have variance 1/in (LeCun's).
func (m MLP) Init(keys random.Key) *Node {
	g, rows := keys.Hi.Graph(), keys.Hi.Shape().Dimensions[0]
	var parts []*Node
	for _, leaf := range m.Layout() {
		size := leaf.Shape[0]
		if !leaf.Kernel && m.Initial != [2]float64{} {
			parts = append(parts, keys.Uniform(m.Initial[0], m.Initial[1], rows, size))
			continue
		}
		if !leaf.Kernel {
			parts = append(parts, Zeros(g, shapes.Make(dtypes.Float32, rows, size)))
			continue
		}
		limit := math.Sqrt(3 / float64(leaf.Shape[0]))
		parts = append(parts, keys.FoldIn(leaf.Layer).Uniform(-limit, limit, rows, size*leaf.Shape[1]))
	}
	if n := m.normalised(); n > 0 {
		zeros := Zeros(g, shapes.Make(dtypes.Float32, rows, n))
		parts = append(parts, zeros, OnesLike(zeros))
	}
	return Concatenate(parts, 1)
}

// Net is a population of networks cut out of its rows: a pytree that loops can carry.
type Net struct {
	Bias   []*Node // [P, out] a layer
	Kernel []*Node // [P, in, out] a layer; see [Net.BFloat16] for packed ones
	// Mean and Deviation, [P, in], normalise the inputs; nil if MLP does not.
	Mean, Deviation *Node
	MLP             MLP

	byRows bool  // see WithoutGradients
	zero   []int // inputs that are left out; see WithoutGradients
}

// View cuts rows [P, N] into networks.
func (m MLP) View(rows *Node) Net {
	if rows.Rank() != 2 || rows.Shape().Dimensions[1] != m.Params() {
		panic(fmt.Errorf("networks %v have %d parameters each, rows of shape %s do not fit", m.Sizes, m.Params(), rows.Shape()))
	}
	net := Net{MLP: m}
	p := rows.Shape().Dimensions[0]
	for _, leaf := range m.Layout() {
		size := leaf.Shape[0]
		if leaf.Kernel {
			size *= leaf.Shape[1]
		}
		part := Slice(rows, AxisRange(), AxisRange(leaf.Offset, leaf.Offset+size))
		if leaf.Kernel {
			net.Kernel = append(net.Kernel, Reshape(part, p, leaf.Shape[0], leaf.Shape[1]))
		} else {
			net.Bias = append(net.Bias, part)
		}
	}
	if n := m.normalised(); n > 0 {
		first := m.Params() - 2*n
		net.Mean = Slice(rows, AxisRange(), AxisRange(first, first+n))
		net.Deviation = Slice(rows, AxisRange(), AxisRange(first+n))
	}
	return net
}

// Apply gives each network its own inputs: x is [P, in] or [P, T, in], the result [P, out] or [P,
// T, out].
//
// A network without inputs has no kernel: it ignores x and returns its biases.
func (n Net) Apply(x *Node) *Node {
	if len(n.Kernel) == 0 {
		return n.Bias[0]
	}
	if n.Mean != nil {
		mean, deviation := n.Mean, n.Deviation
		if x.Rank() == 3 {
			mean, deviation = InsertAxes(mean, 1), InsertAxes(deviation, 1)
		}
		x = Normalised(x, mean, deviation, NormalisedLimit)
	}
	x = n.withoutZeros(x)
	for layer, kernel := range n.Kernel {
		bias := n.Bias[layer]
		x = n.product(x, kernel)
		if out := bias.Shape().Dimensions[1]; out < kernel.Shape().Dimensions[2] {
			x = Slice(x, AxisRange().Spacer(), AxisRange(0, out))
		}
		if x.Rank() == 3 {
			bias = InsertAxes(bias, 1)
		}
		x = n.MLP.activate(layer, Add(x, bias))
	}
	return x
}

// activate applies the activation function of a layer.
func (m MLP) activate(layer int, x *Node) *Node {
	activation := m.Hidden
	if layer == len(m.Sizes)-2 {
		activation = m.Output
	}
	if activation == nil {
		return x
	}
	return activation(x)
}

// WithLastInputs specialises one network to values of its last inputs, [P, k]. It returns P
// networks without these inputs: what the values contribute to the first layer becomes part of its
// bias.
func (n Net) WithLastInputs(x *Node) Net {
	p, k := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	mlp := n.MLP
	mlp.Sizes = slices.Clone(mlp.Sizes)
	mlp.Sizes[0] -= k
	result := Net{MLP: mlp}
	for layer, kernel := range n.Kernel {
		bias := BroadcastToDims(n.Bias[layer], p, mlp.Sizes[layer+1])
		if layer == 0 {
			for i := range k { // the same sums for any number of networks
				row := Reshape(Slice(kernel, AxisRange(), AxisElem(mlp.Sizes[0]+i)), 1, -1)
				bias = Add(bias, Mul(Slice(x, AxisRange(), AxisRange(i, i+1)), row))
			}
			kernel = Slice(kernel, AxisRange(), AxisRange(0, mlp.Sizes[0]))
		}
		result.Bias = append(result.Bias, bias)
		result.Kernel = append(result.Kernel, BroadcastToDims(kernel, p, mlp.Sizes[layer], mlp.Sizes[layer+1]))
	}
	return result
}

// Join joins the networks into rows, [P, N]: the inverse of [MLP.View].
func (n Net) Join() *Node {
	p := n.Bias[0].Shape().Dimensions[0]
	var parts []*Node
	for _, leaf := range n.MLP.Layout() { // the architecture defines the layout of a row
		array := n.Bias[leaf.Layer]
		if leaf.Kernel {
			array = n.Kernel[leaf.Layer]
		}
		parts = append(parts, Reshape(array, p, -1))
	}
	if n.Mean != nil {
		parts = append(parts, n.Mean, n.Deviation)
	}
	return Concatenate(parts, 1)
}

// XLA:CPU uses fast variants of minimum and maximum: of NaN and a number they may return the
// number. Values in which a run must notice NaN go through these two functions.

// Bounded clamps x between two limits, and is NaN where x is NaN: like [ReLU] it uses Where.
func Bounded(x *Node, low, high float64) *Node {
	bottom, top := ConstAs(x, low), ConstAs(x, high)
	x = Where(LessThan(x, bottom), bottom, x)
	return Where(GreaterThan(x, top), top, x)
}

// PropagateNaN returns a loss, a scalar, or NaN if any of the arrays trained with it holds a NaN.
// The loss itself need not be NaN then: it belongs to the networks before an update, and a minimum
// on the way may drop a NaN.
func PropagateNaN(loss *Node, learnt ...*Node) *Node {
	for _, array := range learnt {
		bad := ReduceAllSum(ConvertDType(NotEqual(array, array), dtypes.Int32))
		loss = Where(GreaterThan(bad, ZerosLike(bad)), ConstAs(loss, math.NaN()), loss)
	}
	return loss
}
