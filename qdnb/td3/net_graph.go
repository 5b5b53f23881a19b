package td3

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// net is one network cut out of its row: a tree.
type net struct {
	Bias   []*Node // [1, out] a layer
	Kernel []*Node // [in, out] a layer
	Form   nn.MLP
}

// cut is the network of row i of rows [P, N].
func cut(form nn.MLP, rows *Node, i int) net {
	view := form.View(Slice(rows, AxisRange(i, i+1)))
	n := net{Bias: view.Bias, Form: form}
	for _, kernel := range view.Kernel {
		n.Kernel = append(n.Kernel, Reshape(kernel, kernel.Shape().Dimensions[1:]...))
	}
	return n
}

// cutAll are the networks of all rows [P, N].
func cutAll(form nn.MLP, rows *Node) []net {
	nets := make([]net, rows.Shape().Dimensions[0])
	for i := range nets {
		nets[i] = cut(form, rows, i)
	}
	return nets
}

// join puts networks together again, [P, N].
func join(nets ...net) *Node {
	rows := make([]*Node, len(nets))
	for i, n := range nets {
		one := nn.Net{Form: n.Form, Bias: n.Bias}
		for _, kernel := range n.Kernel {
			one.Kernel = append(one.Kernel, InsertAxes(kernel, 0))
		}
		rows[i] = joinView(one)
	}
	return Concatenate(rows, 0)
}

// joinView puts networks that were cut by [nn.MLP.View] together again, [P, N].
func joinView(n nn.Net) *Node {
	p := n.Bias[0].Shape().Dimensions[0]
	var parts []*Node
	for _, leaf := range n.Form.Layout() { // a row is laid out as the form says
		array := n.Bias[leaf.Layer]
		if leaf.Kernel {
			array = n.Kernel[leaf.Layer]
		}
		parts = append(parts, Reshape(array, p, -1))
	}
	return Concatenate(parts, 1)
}

// apply is the output [B, out] for inputs [B, in], given in one or several parts that lie side by side.
func (n net) apply(inputs ...*Node) *Node {
	x := inputs[0]
	if len(inputs) > 1 {
		x = Concatenate(inputs, 1)
	}
	return n.after(0, x)
}

// after is the output for x, the input of a layer.
func (n net) after(layer int, x *Node) *Node {
	for ; layer < len(n.Kernel); layer++ {
		x = n.activate(layer, Add(Dot(x, n.Kernel[layer]).Product(), n.Bias[layer]))
	}
	return x
}

// activate is what follows the sums of a layer.
func (n net) activate(layer int, x *Node) *Node {
	activation := n.Form.Hidden
	if layer == len(n.Kernel)-1 {
		activation = n.Form.Output
	}
	if activation == nil {
		return x
	}
	return activation(x)
}

// critic is a critic at given observations, of which nothing but the action is free: a tree. What the observations add to its first
// layer is computed once, and no gradient goes back to them.
type critic struct {
	FromObs  *Node // [B, out], bias included
	ByAction *Node // [actions, out], the rest of the first layer
	Net      net
}

// given is the critic at observations [B, observations].
func (n net) given(obs *Node) critic {
	first, width := n.Kernel[0], obs.Shape().Dimensions[1]
	fromObs := Add(Dot(obs, Slice(first, AxisRange(0, width))).Product(), n.Bias[0])
	return critic{fromObs, Slice(first, AxisRange(width)), n}
}

// values are those [P * B] of actions [P, B, actions], of P policies.
func (c critic) values(actions *Node) *Node {
	p, batch := actions.Shape().Dimensions[0], actions.Shape().Dimensions[1]
	byAction := Dot(Reshape(actions, p*batch, -1), c.ByAction).Product()
	sums := Reshape(Add(InsertAxes(c.FromObs, 0), Reshape(byAction, p, batch, -1)), p*batch, -1)
	return Reshape(c.Net.after(1, c.Net.activate(0, sums)), p*batch)
}

// moments is what Adam remembers of networks whose tree is T: a tree.
type moments[T any] struct {
	First, Second    T
	Weight1, Weight2 *Node
}

// adamStep takes a step of Adam against the gradient, whose arrays are in the order of the networks' leaves.
func adamStep[T any](adam nn.Adam, nets T, gradient []*Node, m moments[T]) (T, moments[T]) {
	params, first, second := xla.Leaves(nets), xla.Leaves(m.First), xla.Leaves(m.Second)
	next := m
	for i := range params {
		one := nn.Moments{First: first[i], Second: second[i], Weight1: m.Weight1, Weight2: m.Weight2}
		params[i], one = adam.Update(params[i], gradient[i], one)
		first[i], second[i], next.Weight1, next.Weight2 = one.First, one.Second, one.Weight1, one.Weight2
	}
	next.First, next.Second = xla.WithLeaves(m.First, first), xla.WithLeaves(m.Second, second)
	return xla.WithLeaves(nets, params), next
}

// cutMoments cuts what Adam remembers of rows as cut does the rows.
func cutMoments[T any](m nn.Moments, cut func(rows *Node) T) moments[T] {
	return moments[T]{cut(m.First), cut(m.Second), m.Weight1, m.Weight2}
}

func joinMoments(m moments[[]net]) nn.Moments {
	return nn.Moments{First: join(m.First...), Second: join(m.Second...), Weight1: m.Weight1, Weight2: m.Weight2}
}
