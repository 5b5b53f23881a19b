package physics

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/names"
)

// State holds the coordinates of B copies of a system. It is a pytree, so loops can carry it. Read
// it with [System.Frame] and [System.JointAngles].
type State struct {
	// Parts holds, for each level of bodies, the components that can change, [limbs, B] each: of
	// positions, rotations (quaternions w, x, y, z), velocities and angular velocities.
	Parts []*Node
}

// MaxState bounds the numbers of a valid state, in m, m/s and rad/s: a body beyond it is not simulated
// but exploding. In episodes of Brax, no number after a control step exceeds 350.
const MaxState = 1e5

// bodies holds the coordinates of bodies, one row per body.
type bodies struct {
	pos vector
	rot quaternion
	vel vector
	ang vector
}

// limbs holds the coordinates of all moving bodies, level by level; see [System].
type limbs []bodies

func (b *bodies) components() [13]*num {
	return [13]*num{
		&b.pos.x, &b.pos.y, &b.pos.z, &b.rot.w, &b.rot.x, &b.rot.y, &b.rot.z,
		&b.vel.x, &b.vel.y, &b.vel.z, &b.ang.x, &b.ang.y, &b.ang.z,
	}
}

// bodiesOf returns the bodies whose i-th component is of(i).
func bodiesOf(of func(i int) num) (b bodies) {
	for i, c := range b.components() {
		*c = of(i)
	}
	return b
}

// component returns a component of all bodies, by level.
func (all limbs) component(i int) (levels []num) {
	for l := range all {
		levels = append(levels, *all[l].components()[i])
	}
	return levels
}

func (b bodies) each(f func(num) num) bodies {
	return bodies{b.pos.each(f), b.rot.each(f), b.vel.each(f), b.ang.each(f)}
}

func (b bodies) materialize() bodies { return b.each(num.materialize) }

func (all limbs) materialize() limbs {
	return all.update(func(_ int, b bodies) bodies { return b.materialize() })
}

func (all limbs) graph() *Graph { return all[0].rot.w.graph() }

// batch is the number of copies, if the rows are not split.
func (all limbs) batch() int { return all[0].rot.w.node.Shape().Size() / all[0].rot.w.rows }

func (b bodies) take(rows ...int) bodies {
	return b.each(func(c num) num { return c.take(rows...) })
}

// limbs returns all coordinates of a state, including the components that cannot change.
func (s *System) limbs(state State) limbs {
	if s.splits(state.graph()) {
		return s.splitLimbs(state)
	}
	return s.complete(state.flat())
}

// flat returns the parts of a state in the engine's layout, [limbs * B]. Loops should carry them
// in this layout: XLA:CPU reads tensors of other shapes number by number.
func (state State) flat() []*Node {
	var parts []*Node
	for _, part := range state.Parts {
		parts = append(parts, Reshape(part, part.Shape().Size()))
	}
	return parts
}

// complete adds the components that cannot change to flat parts.
func (s *System) complete(parts []*Node) limbs { return s.carried(parts, false) }

// varyingParts returns the flat parts that can change.
func (s *System) varyingParts(g *Graph, batch int, all limbs) (parts []*Node) {
	s.eachVarying(all, func(_ level, c num) { parts = append(parts, c.spread(g, batch)) })
	return parts
}

// eachVarying calls f for each component that can change.
func (s *System) eachVarying(all limbs, f func(l level, c num)) {
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

func (state State) batch() int    { return state.Parts[0].Shape().Dimensions[1] }
func (state State) graph() *Graph { return state.Parts[0].Graph() }

// Frame is the position, rotation and velocity of a body, [B] each.
type Frame struct {
	Position        [3]*Node
	Rotation        [4]*Node // w, x, y, z
	Velocity        [3]*Node
	AngularVelocity [3]*Node
}

// Frame returns the frame of a body. It panics if the model has no body of that name.
func (s *System) Frame(state State, body string) Frame {
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
		flat[i] = component.spread(state.graph(), state.batch())
	}
	return Frame{[3]*Node(flat[:3]), [4]*Node(flat[3:7]), [3]*Node(flat[7:10]), [3]*Node(flat[10:])}
}

// CenterOfMass is the mean position of the moving bodies, weighted by mass, [B] each.
func (s *System) CenterOfMass(state State) [3]*Node {
	total, shares := 0.0, make([][]float64, len(s.levels))
	for l, level := range s.levels {
		shares[l] = make([]float64, len(level.body))
		for row := range level.body {
			if level.counts(row) {
				shares[l][row] = level.mass.known[row]
				total += shares[l][row]
			}
		}
	}
	var parts [3][]term
	for l, b := range s.limbs(state) {
		share := known(shares[l]...).apply(func(mass float64) float64 { return mass / total }, nil)
		for i, c := range []num{b.pos.x, b.pos.y, b.pos.z} {
			parts[i] = append(parts[i], term{c.times(share), each(make([]int, c.rows))}) // to row 0
		}
	}
	var center [3]*Node
	for i := range center {
		center[i] = segmentSum(1, parts[i]...).spread(state.graph(), state.batch())
	}
	return center
}

// bodies is one row for a fixed body.
func (p pose) bodies() bodies {
	zero := vectors(Vec{})
	return bodies{vectors(p.position), quaternion{known(p.rotation[0]), known(p.rotation[1]),
		known(p.rotation[2]), known(p.rotation[3])}, zero, zero}
}

// Import makes a state from the coordinates of all bodies (Brax's QP): [B, bodies, 3], rotations
// [B, bodies, 4], in the order of the model. Fixed bodies and coordinates that cannot change keep
// the values of the model.
func (s *System) Import(position, rotation, velocity, angular *Node) State {
	var components []*Node
	for _, array := range []*Node{position, rotation, velocity, angular} {
		components = append(components, unstack(array)...)
	}
	every := bodiesOf(func(i int) num { return num{rows: len(s.model.Bodies), node: components[i]} })
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
		var fixed []term
		for k, b := range s.model.Bodies {
			if b.Fixed {
				pose := s.fixed[k].bodies()
				fixed = append(fixed, term{*pose.components()[i], [][]int{{k}}})
			}
		}
		stacked[i] = s.table(state.graph(), state.batch(), s.limbs(state).component(i), fixed...)
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
func (l level) counts(row int) bool { return l.first[row] && l.mobile.known[row] == 1 }

// table returns a quantity of the moving bodies, by level, and of fixed ones as one row per body of the
// model, [bodies, B].
func (s *System) table(g *Graph, batch int, moving []num, fixed ...term) *Node {
	var parts []term
	for l, level := range s.levels {
		parts = append(parts, term{moving[l], level.toModel()})
	}
	rows, parts := len(s.model.Bodies), append(parts, fixed...)
	return Reshape(segmentSum(rows, parts...).spread(g, batch), rows, batch)
}

// table stacks components [bodies, B] into an array [B, bodies, components].
func table(parts []*Node) *Node { return TransposeAllAxes(Stack(parts, 0), 2, 1, 0) }
