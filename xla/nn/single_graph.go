package nn

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Network is one network cut out of its row, for batches that all go through the same network: a
// pytree.
type Network struct {
	Bias   []*Node // [1, out] a layer
	Kernel []*Node // [in, out] a layer
	MLP    MLP
}

// Network returns the network of row i of rows [P, N].
func (m MLP) Network(rows *Node, i int) Network {
	view := m.View(Slice(rows, AxisRange(i, i+1)))
	n := Network{Bias: view.Bias, MLP: m}
	for _, kernel := range view.Kernel {
		n.Kernel = append(n.Kernel, Reshape(kernel, kernel.Shape().Dimensions[1:]...))
	}
	return n
}

// Networks returns the networks of all rows [P, N].
func (m MLP) Networks(rows *Node) []Network {
	nets := make([]Network, rows.Shape().Dimensions[0])
	for i := range nets {
		nets[i] = m.Network(rows, i)
	}
	return nets
}

// JoinNetworks joins networks into rows, [P, N].
func JoinNetworks(nets []Network) *Node {
	rows := make([]*Node, len(nets))
	for i, n := range nets {
		one := Net{MLP: n.MLP, Bias: n.Bias}
		for _, kernel := range n.Kernel {
			one.Kernel = append(one.Kernel, InsertAxes(kernel, 0))
		}
		rows[i] = one.Join()
	}
	return Concatenate(rows, 0)
}

// Join joins a network into a row, [1, N].
func (n Network) Join() *Node { return JoinNetworks([]Network{n}) }

// Apply returns the output [B, out] for inputs [B, in], given as one or several parts along the
// last axis.
func (n Network) Apply(inputs ...*Node) *Node {
	x := inputs[0]
	if len(inputs) > 1 {
		x = Concatenate(inputs, 1)
	}
	return n.after(0, x)
}

// after returns the output for x, the input of the given layer.
func (n Network) after(layer int, x *Node) *Node {
	for ; layer < len(n.Kernel); layer++ {
		x = n.MLP.activate(layer, Add(Dot(x, n.Kernel[layer]).Product(), n.Bias[layer]))
	}
	return x
}

// FixedInputs is a network whose first inputs are fixed, such as a critic's observations while
// actions are optimised: a pytree. Their contribution to the first layer is computed once, and no
// gradient flows back to them.
type FixedInputs struct {
	Fixed *Node // [B, out] of the first layer, bias included
	Free  *Node // [rest, out], the rows of its kernel for the other inputs
	Net   Network
}

// WithFixedInputs fixes the first inputs, [B, k].
func (n Network) WithFixedInputs(x *Node) FixedInputs {
	first, width := n.Kernel[0], x.Shape().Dimensions[1]
	fixed := Add(Dot(x, Slice(first, AxisRange(0, width))).Product(), n.Bias[0])
	return FixedInputs{fixed, Slice(first, AxisRange(width)), n}
}

// Apply returns the output [P * B, out] for the other inputs [P, B, rest], P of them for each of
// the fixed ones.
func (c FixedInputs) Apply(x *Node) *Node {
	p, batch := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	free := Dot(Reshape(x, p*batch, -1), c.Free).Product()
	sums := Reshape(Add(InsertAxes(c.Fixed, 0), Reshape(free, p, batch, -1)), p*batch, -1)
	return c.Net.after(1, c.Net.MLP.activate(0, sums))
}

// UpdateTree takes a step of [Adam.Update] for every array of networks; gradient is in the order of
// the networks' leaves. In a loop it is cheaper than cutting and joining rows at every iteration.
func UpdateTree[T any](a Adam, nets T, gradient []*Node, m MomentsOf[T]) (T, MomentsOf[T]) {
	params, first, second := xla.Flatten(nets), xla.Flatten(m.First), xla.Flatten(m.Second)
	next := m
	for i := range params {
		one := Moments{First: first[i], Second: second[i], Weight1: m.Weight1, Weight2: m.Weight2}
		params[i], one = a.Update(params[i], gradient[i], one)
		first[i], second[i], next.Weight1, next.Weight2 = one.First, one.Second, one.Weight1, one.Weight2
	}
	next.First, next.Second = xla.Unflatten(m.First, first), xla.Unflatten(m.Second, second)
	return xla.Unflatten(nets, params), next
}
