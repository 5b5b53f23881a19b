package mujoco

import (
	"slices"

	"example.com/qdnb/envs/algebra"
)

// share is the part that a slide or hinge has in a length: a fixed tendon's, or that of a joint itself.
type share struct {
	place, column, row int // of the joint: its position, its dof, and the link in its group
	by                 float64
}

// shares lists the parts of a length that is a sum of positions of joints times factors.
func (s *System) shares(joints []int, by []float64) (list []share) {
	for i, id := range joints {
		for _, g := range s.groups {
			for _, j := range g.joints {
				if row := slices.Index(j.id, id); row >= 0 {
					list = append(list, share{j.place, j.column, row, by[i]})
				}
			}
		}
	}
	return list
}

func (s *System) tendon(i int) []share {
	t := s.model.Tendons[i]
	return s.shares(t.Joints, t.Coefs)
}

// lengthOf returns a length of positions q, one row.
func lengthOf(list []share, q []algebra.Num) algebra.Num {
	sum := algebra.Constant(1, 0)
	for _, s := range list {
		sum = sum.Plus(q[s.place].Take(s.row).Scale(s.by))
	}
	return sum
}

// rateOf returns the rate of change of a length by motions of the dofs, one row.
func rateOf(list []share, motion []algebra.Num) algebra.Num {
	sum := algebra.Constant(1, 0)
	for _, s := range list {
		sum = sum.Plus(motion[s.column].Take(s.row).Scale(s.by))
	}
	return sum
}

// push adds the force on a dof by one along the length.
func (s share) push(dofs []algebra.Num, along algebra.Num) {
	dof := &dofs[s.column]
	*dof = dof.Plus(sumRows(dof.Rows, along.Scale(s.by), []int{s.row}))
}

// push adds forces along what an equality measures to those on the dofs.
func (e equality) push(dofs []algebra.Num, force, ratio algebra.Num) {
	for _, share := range e.first {
		share.push(dofs, force)
	}
	for _, share := range e.second {
		share.push(dofs, force.Times(ratio).Neg())
	}
}

// equality holds the change of a length from the reference pose to a polynomial of that of a second one.
type equality struct {
	first, second []share
	rest          [2]float64 // the lengths in the reference pose
	polynomial    [5]float64
	law           law
	weight        algebra.Num
}

// prepareEqualities lists the equalities of joints and tendons.
func (s *System) prepareEqualities() {
	m := s.model
	for _, i := range m.active() {
		e := equality{polynomial: [5]float64(m.EqData[i][:5]),
			law: lawOf(s, []int{i}, func(i int) [2]float64 { return m.EqSolRef[i] },
				func(i int) [5]float64 { return m.EqSolImp[i] })}
		weight := 0.0
		for k, id := range []int{m.EqObj1ID[i], m.EqObj2ID[i]} {
			var list []share
			switch {
			case id < 0:
				e.polynomial = [5]float64{e.polynomial[0]}
			case m.EqType[i] == EqualTendons:
				list, e.rest[k] = s.tendon(id), m.Tendons[id].Length0
				weight += m.Tendons[id].Invweight0
			default:
				list, e.rest[k] = s.shares([]int{id}, []float64{1}), m.QPos0[m.JntQPosAdr[id]]
				weight += m.DofInvweight0[m.JntDofAdr[id]]
			}
			*[]*[]share{&e.first, &e.second}[k] = list
		}
		e.weight = algebra.Known(weight)
		s.equal = append(s.equal, e)
	}
}

// violation returns by how much an equality does not hold, and the slope of its polynomial.
func (e equality) violation(q []algebra.Num) (violation, ratio algebra.Num) {
	x := lengthOf(e.second, q).Add(-e.rest[1]).Materialize()
	value := x.Zero()
	ratio = value
	for n := len(e.polynomial) - 1; n >= 0; n-- { // Horner's scheme
		ratio = ratio.Times(x).Plus(value)
		value = value.Times(x).Add(e.polynomial[n])
	}
	return lengthOf(e.first, q).Add(-e.rest[0]).Minus(value).Materialize(), ratio.Materialize()
}
