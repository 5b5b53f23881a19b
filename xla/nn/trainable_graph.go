package nn

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Trainable is a pytree of parameters T, such as a [Network], with the state of its optimiser: a
// pytree.
type Trainable[T any] struct {
	Params  T
	Moments MomentsOf[T]
	Adam    Adam
}

// NewTrainable returns parameters before their first step.
func NewTrainable[T any](params T, learningRate float64) Trainable[T] {
	adam, zeros := NewAdam(learningRate), xla.Map(params, ZerosLike)
	weight := adam.Start(xla.Flatten(params)[0]).Weight1
	return Trainable[T]{params, MomentsOf[T]{zeros, zeros, weight, weight}, adam}
}

// Step takes a step of [Adam] against the gradient of a loss, a scalar.
func (t Trainable[T]) Step(loss *Node) Trainable[T] {
	t.Params, t.Moments = UpdateTree(t.Adam, t.Params, Gradient(loss, xla.Flatten(t.Params)...),
		t.Moments)
	return t
}

// New draws one network.
func (m MLP) New(key random.Key) Network {
	return m.Network(m.Init(key.FoldInEach(Const(key.Hi.Graph(), []int32{0}))), 0)
}
