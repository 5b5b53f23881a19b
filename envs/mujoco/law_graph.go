package mujoco

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// impedance is the d of a constraint, and 1 - d if its law has that of the highest d.
type impedance struct{ d, rest algebra.Num }

// impedance is that of a constraint that is violated by r.
func (l law) impedance(r algebra.Num) (i impedance) {
	one := algebra.Constant(r.Rows, 1)
	if l.low.Minus(l.high).Is(0) {
		return impedance{l.low, l.rest}
	}
	x := r.Abs().Over(l.width).Min(one)
	y, beyond := x, func() algebra.Num { return one.Minus(x) }
	if !l.power.Is(1) {
		// x^p / mid^(p-1) below the midpoint, and the same from the other end above it
		curve := func(x, mid algebra.Num) algebra.Num {
			return power(x, l.power).Times(one.Over(power(mid, l.power.Add(-1))))
		}
		rest, above := one.Minus(l.midpoint), l.midpoint.Less(x)
		far := curve(one.Minus(x), rest)
		nearer, near := one.Minus(far), curve(x, l.midpoint)
		y, beyond = above.Choose(nearer, near), func() algebra.Num { return above.Choose(far, one.Minus(near)) }
	}
	if i.d = l.low.Plus(y.Times(l.high.Minus(l.low))); l.rest.Rows > 0 {
		i.rest = l.rest.Plus(beyond().Times(l.high.Minus(l.low)))
	}
	return i
}

// power is x from 0 to 1 to a power of at least 0.
func power(x, p algebra.Num) algebra.Num {
	if p.Is(2) {
		return x.Square()
	}
	if x.Node == nil && p.Node == nil {
		out := algebra.Num{Rows: x.Rows, Known: make([]float64, x.Rows)}
		for i := range out.Known {
			out.Known[i] = math.Pow(x.Known[i], p.Known[i])
		}
		return out
	}
	logarithm := x.Max(algebra.Constant(x.Rows, 1e-30)).Apply(math.Log, Log)
	return p.Times(logarithm).Apply(math.Exp, Exp)
}
