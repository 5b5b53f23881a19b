package physics

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/names"
)

// State holds the coordinates of B copies of a system: for each level of bodies, the components that can
// change, [limbs, B] each, of positions, rotations (quaternions w, x, y, z), velocities and angular
// velocities. Read it with [System.Frame] and [System.JointAngles].
type State = algebra.State

// MaxState bounds the numbers of a valid state, in m, m/s and rad/s: a body beyond it is not simulated
// but exploding. In episodes of Brax, no number after a control step exceeds 350.
const MaxState = 1e5

// bodies holds the coordinates of bodies, one row per body.
type bodies struct {
	pos algebra.Vector
	rot algebra.Quaternion
	vel algebra.Vector
	ang algebra.Vector
}

// limbs holds the coordinates of all moving bodies, level by level; see [System].
type limbs []bodies

func (b *bodies) components() [13]*algebra.Num {
	return [13]*algebra.Num{
		&b.pos.X, &b.pos.Y, &b.pos.Z, &b.rot.W, &b.rot.X, &b.rot.Y, &b.rot.Z,
		&b.vel.X, &b.vel.Y, &b.vel.Z, &b.ang.X, &b.ang.Y, &b.ang.Z,
	}
}

// bodiesOf returns the bodies whose i-th component is of(i).
func bodiesOf(of func(i int) algebra.Num) (b bodies) {
	for i, c := range b.components() {
		*c = of(i)
	}
	return b
}

// component returns a component of all bodies, by level.
func (all limbs) component(i int) (levels []algebra.Num) {
	for l := range all {
		levels = append(levels, *all[l].components()[i])
	}
	return levels
}

func (b bodies) each(f func(algebra.Num) algebra.Num) bodies {
	return bodies{b.pos.Each(f), b.rot.Each(f), b.vel.Each(f), b.ang.Each(f)}
}

func (b bodies) materialize() bodies { return b.each(algebra.Num.Materialize) }

func (all limbs) materialize() limbs {
	return all.update(func(_ int, b bodies) bodies { return b.materialize() })
}

func (all limbs) graph() *Graph { return all[0].rot.W.Graph() }

// batch is the number of copies, if the rows are not split.
func (all limbs) batch() int { return all[0].rot.W.Node.Shape().Size() / all[0].rot.W.Rows }

func (b bodies) take(rows ...int) bodies {
	return b.each(func(c algebra.Num) algebra.Num { return c.Take(rows...) })
}

// limbs returns all coordinates of a state, including the components that cannot change.
func (s *System) limbs(state State) limbs {
	if s.splits(state.Graph()) {
		return s.splitLimbs(state)
	}
	// Loops should carry the parts in this layout: XLA:CPU reads tensors of other shapes number by number.
	var flat []*Node // [limbs * B] each
	for _, part := range state.Parts {
		flat = append(flat, Reshape(part, part.Shape().Size()))
	}
	return s.complete(flat)
}

// complete adds the components that cannot change to flat parts.
func (s *System) complete(parts []*Node) limbs { return s.carried(parts, false) }

// varyingParts returns the flat parts that can change.
func (s *System) varyingParts(g *Graph, batch int, all limbs) (parts []*Node) {
	s.eachVarying(all, func(_ level, c algebra.Num) { parts = append(parts, c.Spread(g, batch)) })
	return parts
}

// eachVarying calls f for each component that can change.
func (s *System) eachVarying(all limbs, f func(l level, c algebra.Num)) {
	for l, level := range s.levels {
		for i, c := range all[l].components() {
			if s.varies[i] {
				f(level, *c)
			}
		}
	}
}

// state builds a state from flat parts.
func (s *System) state(parts []*Node, batch int) (state State) {
	for _, part := range parts {
		state.Parts = append(state.Parts, Reshape(part, part.Shape().Size()/batch, batch))
	}
	return state
}

// Frame returns the frame of a body. It panics if the model has no body of that name.
func (s *System) Frame(state State, body string) algebra.Frame {
	var b bodies
	if at, ok := s.place[body]; ok {
		b = s.limbs(state)[at.level].take(at.row)
	} else if i := s.model.Body(body); i >= 0 {
		b = s.fixed[i].bodies()
	} else {
		panic(names.Unknown("body", body, s.model.BodyNames()))
	}
	var flat [13]*Node
	for i, component := range b.components() {
		flat[i] = component.Spread(state.Graph(), state.Batch())
	}
	return algebra.Frame{Position: [3]*Node(flat[:3]), Rotation: [4]*Node(flat[3:7]), Velocity: [3]*Node(flat[7:10]),
		AngularVelocity: [3]*Node(flat[10:])}
}

// CenterOfMass is the mean position of the moving bodies, weighted by mass, [B] each.
func (s *System) CenterOfMass(state State) [3]*Node {
	total, shares := 0.0, make([][]float64, len(s.levels))
	for l, level := range s.levels {
		shares[l] = make([]float64, len(level.body))
		for row := range level.body {
			if level.counts(row) {
				shares[l][row] = level.mass.Known[row]
				total += shares[l][row]
			}
		}
	}
	var parts [3][]algebra.Term
	for l, b := range s.limbs(state) {
		share := algebra.Known(shares[l]...).Apply(func(mass float64) float64 { return mass / total }, nil)
		for i, c := range []algebra.Num{b.pos.X, b.pos.Y, b.pos.Z} {
			parts[i] = append(parts[i], algebra.Term{Value: c.Times(share), To: algebra.Each(make([]int, c.Rows))}) // to row 0
		}
	}
	var center [3]*Node
	for i := range center {
		center[i] = algebra.SegmentSum(1, parts[i]...).Spread(state.Graph(), state.Batch())
	}
	return center
}

// bodies is one row for a fixed body.
func (p pose) bodies() bodies {
	zero := algebra.Vectors(Vec{})
	return bodies{algebra.Vectors(p.position), algebra.KnownQuaternion(p.rotation), zero, zero}
}

// Import makes a state from the coordinates of all bodies (Brax's QP): [B, bodies, 3], rotations
// [B, bodies, 4], in the order of the model. Fixed bodies and coordinates that cannot change keep
// the values of the model.
func (s *System) Import(position, rotation, velocity, angular *Node) State {
	var components []*Node
	for _, array := range []*Node{position, rotation, velocity, angular} {
		components = append(components, unstack(array)...)
	}
	every := bodiesOf(func(i int) algebra.Num { return algebra.Num{Rows: len(s.model.Bodies), Node: components[i]} })
	var all limbs
	for _, level := range s.levels {
		all = append(all, every.take(level.body...))
	}
	batch := position.Shape().Dimensions[0]
	return s.state(s.varyingParts(position.Graph(), batch, all), batch)
}

// unstack cuts [B, bodies, k] into k times [bodies * B].
func unstack(x *Node) []*Node {
	dims := x.Shape().Dimensions
	x = TransposeAllAxes(x, 2, 1, 0)
	parts := make([]*Node, dims[2])
	for i := range parts {
		parts[i] = Reshape(Slice(x, AxisElem(i)), dims[0]*dims[1])
	}
	return parts
}

// Export is the inverse of [System.Import].
func (s *System) Export(state State) (position, rotation, velocity, angular *Node) {
	var stacked [13]*Node
	for i := range stacked {
		var fixed []algebra.Term
		for k, b := range s.model.Bodies {
			if b.Fixed {
				pose := s.fixed[k].bodies()
				fixed = append(fixed, algebra.Term{Value: *pose.components()[i], To: [][]int{{k}}})
			}
		}
		stacked[i] = s.table(state.Graph(), state.Batch(), s.limbs(state).component(i), fixed...)
	}
	return table(stacked[:3]), table(stacked[3:7]), table(stacked[7:10]), table(stacked[10:])
}

// toModel maps the rows of a level to the moving bodies of the model. Copies map to nothing.
func (l level) toModel() [][]int {
	to := make([][]int, len(l.body))
	for row, body := range l.body {
		if l.counts(row) {
			to[row] = []int{body}
		}
	}
	return to
}

// copies lists the rows of a body.
func (l level) copies(body int) (rows []int) {
	for row, other := range l.body {
		if other == body {
			rows = append(rows, row)
		}
	}
	return rows
}

// counts reports whether a row is the first one of a moving body.
func (l level) counts(row int) bool { return l.first[row] && l.mobile.Known[row] == 1 }

// table returns a quantity of the moving bodies, by level, and of fixed ones as one row per body of the
// model, [bodies, B].
func (s *System) table(g *Graph, batch int, moving []algebra.Num, fixed ...algebra.Term) *Node {
	var parts []algebra.Term
	for l, level := range s.levels {
		parts = append(parts, algebra.Term{Value: moving[l], To: level.toModel()})
	}
	rows, parts := len(s.model.Bodies), append(parts, fixed...)
	return Reshape(algebra.SegmentSum(rows, parts...).Spread(g, batch), rows, batch)
}

// table stacks components [bodies, B] into an array [B, bodies, components].
func table(parts []*Node) *Node { return TransposeAllAxes(Stack(parts, 0), 2, 1, 0) }
