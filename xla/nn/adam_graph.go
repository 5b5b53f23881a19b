package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Adam is the optimiser of Kingma and Ba (ICLR 2015) for parameters in flat rows; GoMLX's Adam
// works on named variables. Each row is optimised independently.
type Adam struct {
	LearningRate float64
	Beta1, Beta2 float64 // decay of the averages of the gradient and of its square
	Epsilon      float64 // added to the root, after bias correction
}

// NewAdam returns Adam with the usual constants: 0.9, 0.999 and 1e-8.
func NewAdam(learningRate float64) Adam { return Adam{learningRate, 0.9, 0.999, 1e-8} }

// MomentsOf is the state of Adam for parameters that are a pytree T: a pytree.
type MomentsOf[T any] struct {
	// First and Second are the running averages of the gradient and of its square.
	First, Second T
	// Weight1 and Weight2 are the sums of the weights in the two averages so far, 1 - beta^t: scalars.
	// They are computed as running averages of ones, which keeps digits that a power of beta would
	// lose.
	Weight1, Weight2 *Node
}

// Moments is the state of Adam for one array.
type Moments = MomentsOf[*Node]

// MapMoments applies f to both averages, for example a function that cuts rows into networks.
func MapMoments[A, B any](m MomentsOf[A], f func(A) B) MomentsOf[B] {
	return MomentsOf[B]{f(m.First), f(m.Second), m.Weight1, m.Weight2}
}

// Start returns the state before the first step.
func (a Adam) Start(params *Node) Moments {
	none := Zeros(params.Graph(), shapes.Make(dtypes.Float32))
	return Moments{ZerosLike(params), ZerosLike(params), none, none}
}

// Update takes a step against the gradient:
//
//	first  = beta1 first + (1-beta1) gradient
//	second = beta2 second + (1-beta2) gradient^2
//	params = params - rate * (first / (1-beta1^t)) / (sqrt(second / (1-beta2^t)) + epsilon)
func (a Adam) Update(params, gradient *Node, m Moments) (*Node, Moments) {
	average := func(old, new *Node, beta float64) *Node {
		return Add(MulScalar(old, beta), MulScalar(new, 1-beta))
	}
	m.First, m.Second = average(m.First, gradient, a.Beta1),
		average(m.Second, Square(gradient), a.Beta2)
	m.Weight1, m.Weight2 = AddScalar(MulScalar(m.Weight1, a.Beta1), 1-a.Beta1),
		AddScalar(MulScalar(m.Weight2, a.Beta2), 1-a.Beta2)
	// The quotient is expanded by the root of the second weight: one division per element instead of
	// three.
	root := Sqrt(m.Weight2)
	rate := Div(MulScalar(root, a.LearningRate), m.Weight1)
	return Sub(params, Div(Mul(m.First, rate), Add(Sqrt(m.Second), MulScalar(root, a.Epsilon)))), m
}

// Polyak moves a pytree of target parameters towards their source: target + tau * (source -
// target), computed as (1-tau) target + tau source.
func Polyak[T any](target, source T, tau float64) T {
	return xla.Map2(target, source, func(t, s *Node) *Node {
		return Add(MulScalar(t, 1-tau), MulScalar(s, tau))
	})
}

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
	t.Params, t.Moments = UpdateTree(t.Adam, t.Params, Gradient(loss, xla.Flatten(t.Params)...), t.Moments)
	return t
}

// Targeted is a [Trainable] with target parameters that follow it: a pytree.
type Targeted[T any] struct {
	Trainable[T]
	Target T
	Tau    float64 // factor of [Polyak], per step
}

// NewTargeted returns parameters before their first step, and targets equal to them.
func NewTargeted[T any](params T, learningRate, tau float64) Targeted[T] {
	return Targeted[T]{NewTrainable(params, learningRate), params, tau}
}

// Step takes a step of [Trainable.Step], then moves the targets.
func (t Targeted[T]) Step(loss *Node) Targeted[T] {
	t.Trainable = t.Trainable.Step(loss)
	t.Target = Polyak(t.Target, t.Params, t.Tau)
	return t
}

// New draws one network.
func (m MLP) New(key random.Key) Network {
	return m.Network(m.Init(key.FoldInEach(Const(key.Hi.Graph(), []int32{0}))), 0)
}
