package nn

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/random"
)

// Policy acts in the episodes of a batch: a pytree, so that a rollout can carry its parameters.
type Policy interface {
	// Memory returns what the policies remember before the first step of an episode, [P, ...] each; nil
	// if they remember nothing.
	Memory() []*Node
	// Act maps the memory and the observations of a step, [P, observations], to the memory of the next
	// step, of the same shapes, and the actions, [P, actions].
	Act(memory []*Node, observation *Node) (next []*Node, action *Node)
}

// Architecture describes policies whose parameters are a row, the genotype of neuroevolution. [MLP]
// and [GRU] are architectures. Its methods build graphs, except Params.
type Architecture interface {
	Params() int // number N of parameters
	// Init draws a random row for each key, [P, N].
	Init(keys random.Key) *Node
	// Policies cuts rows [P, N] into policies for rollouts, which gradients may not cross. zero are the
	// components of the observations that are always 0: their weights may be left out.
	Policies(rows *Node, zero ...int) Policy
}

// Policies implements [Architecture].
func (m MLP) Policies(rows *Node, zero ...int) Policy { return m.View(rows).WithoutGradients(zero...) }

// String describes the architecture.
func (m MLP) String() string { return fmt.Sprintf("layers %v", m.Sizes) }

// Memory implements [Policy]: networks remember nothing.
func (n Net) Memory() []*Node { return nil }

// Act implements [Policy].
func (n Net) Act(memory []*Node, observation *Node) (next []*Node, action *Node) {
	return memory, n.Apply(observation)
}

// GRU describes policies that remember: a gated recurrent unit (Cho et al. 2014, "Learning phrase
// representations using RNN encoder-decoder") before the last layer of an MLP. The equations are
// PyTorch's, with two biases; x is the output of the hidden layers and h the memory, at first 0:
//
//	r = sigmoid(x Wr + br + h Ur + cr)    z = sigmoid(x Wz + bz + h Uz + cz)
//	n = tanh(x Wn + bn + r (h Un + cn))   h' = (1 - z) n + z h
//
// A row holds the hidden layers, b and W, c and U, and the last layer, each in the layout of an [MLP];
// the columns of b, W, c and U are those of r, z and n in this order.
type GRU struct {
	MLP   MLP // without Normalises
	Units int // numbers that a policy remembers
}

// String describes the architecture.
func (g GRU) String() string {
	return fmt.Sprintf("layers %v with a memory of %d units", g.MLP.Sizes, g.Units)
}

// layers returns the hidden layers, x to gates, h to gates, and the last layer.
func (g GRU) layers() [4]MLP {
	m := g.MLP
	last := len(m.Sizes) - 2
	return [4]MLP{
		{Sizes: m.Sizes[:last+1], Hidden: m.Hidden, Output: m.Hidden},
		{Sizes: []int{m.Sizes[last], 3 * g.Units}},
		{Sizes: []int{g.Units, 3 * g.Units}},
		{Sizes: []int{g.Units, m.Sizes[last+1]}, Output: m.Output},
	}
}

// Params implements [Architecture].
func (g GRU) Params() (n int) {
	for _, layer := range g.layers() {
		n += layer.Params()
	}
	return n
}

// Init implements [Architecture]: as [MLP.Init].
func (g GRU) Init(keys random.Key) *Node {
	var parts []*Node
	for i, layer := range g.layers() {
		if layer.Params() > 0 {
			parts = append(parts, layer.Init(keys.FoldIn(i)))
		}
	}
	return Concatenate(parts, 1)
}

// Policies implements [Architecture].
func (g GRU) Policies(rows *Node, zero ...int) Policy {
	if rows.Rank() != 2 || rows.Shape().Dimensions[1] != g.Params() {
		panic(fmt.Errorf("%v have %d parameters, rows of shape %s do not fit", g, g.Params(), rows.Shape()))
	}
	var nets [4]Net
	first := 0
	for i, layer := range g.layers() {
		end := first + layer.Params()
		if end > first {
			nets[i] = layer.View(Slice(rows, AxisRange(), AxisRange(first, end))).WithoutGradients(zero...)
			zero = nil // only the first layer sees observations
		}
		first = end
	}
	return recurrent{Hidden: nets[0], Gates: nets[1], Recurrent: nets[2], Output: nets[3], Units: g.Units}
}

// recurrent is the [Policy] of a [GRU].
type recurrent struct {
	Hidden, Gates, Recurrent, Output Net
	Units                            int
}

// Memory implements [Policy]: h, [P, units].
func (r recurrent) Memory() []*Node {
	bias := r.Recurrent.Bias[0]
	return []*Node{Zeros(bias.Graph(), shapes.Make(dtypes.Float32, bias.Shape().Dimensions[0], r.Units))}
}

// Act implements [Policy].
func (r recurrent) Act(memory []*Node, x *Node) (next []*Node, action *Node) {
	if len(r.Hidden.Bias) > 0 {
		x = r.Hidden.Apply(x)
	}
	h := memory[0]
	input, own := r.Gates.Apply(x), r.Recurrent.Apply(h)
	gate := func(from *Node, i int) *Node {
		return Slice(from, AxisRange(), AxisRange(i*r.Units, (i+1)*r.Units))
	}
	reset := Logistic(Add(gate(input, 0), gate(own, 0)))
	keep := Logistic(Add(gate(input, 1), gate(own, 1)))
	fresh := Tanh(Add(gate(input, 2), Mul(reset, gate(own, 2))))
	h = Add(Mul(OneMinus(keep), fresh), Mul(keep, h))
	return []*Node{h}, r.Output.Apply(h)
}
