package mujoco

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// impedance is the d of a constraint that is violated by r.
func (l law) impedance(r algebra.Num) algebra.Num {
	one := algebra.Constant(r.Rows, 1)
	if l.low.Minus(l.high).Is(0) {
		return l.low
	}
	x := r.Abs().Over(l.width).Min(one)
	if l.power.Is(1) {
		return l.low.Plus(x.Times(l.high.Minus(l.low)))
	}
	// x^p / mid^(p-1) below the midpoint, and the same from the other end above it
	curve := func(x, mid algebra.Num) algebra.Num {
		scale := algebra.Num{Rows: mid.Rows, Known: make([]float64, mid.Rows)}
		for i := range scale.Known {
			scale.Known[i] = 1 / math.Pow(mid.Known[i], l.power.Known[i]-1)
		}
		return power(x, l.power).Times(scale)
	}
	rest := one.Minus(l.midpoint)
	y := l.midpoint.Less(x).Choose(one.Minus(curve(one.Minus(x), rest)), curve(x, l.midpoint))
	return l.low.Plus(y.Times(l.high.Minus(l.low)))
}

// power is x to a known power of at least 1.
func power(x, p algebra.Num) algebra.Num {
	if p.Is(2) {
		return x.Square()
	}
	if x.Node == nil {
		out := algebra.Num{Rows: x.Rows, Known: make([]float64, x.Rows)}
		for i := range out.Known {
			out.Known[i] = math.Pow(x.Known[i], p.Known[i])
		}
		return out
	}
	x = x.Max(algebra.Constant(x.Rows, 1e-30))
	return algebra.Num{Rows: x.Rows, Node: Exp(p.Times(algebra.Num{Rows: x.Rows, Node: Log(x.Node)}).Node)}
}
