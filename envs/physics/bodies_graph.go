package physics

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"
)

// State are the coordinates of B copies of a system: a tree that loops can carry. Read it with [System.Frame] and
// [System.JointAngles].
type State struct {
	// Parts are the components that can change, [bodies that move, B] each: of the positions, the rotations as quaternions
	// w, x, y, z, the velocities, and the angular velocities.
	Parts []*Node
}

// bodies are the coordinates of all bodies that move, a row each.
type bodies struct {
	pos vector
	rot quaternion
	vel vector
	ang vector
}

func (b *bodies) components() [13]*num {
	return [13]*num{
		&b.pos.x, &b.pos.y, &b.pos.z, &b.rot.w, &b.rot.x, &b.rot.y, &b.rot.z,
		&b.vel.x, &b.vel.y, &b.vel.z, &b.ang.x, &b.ang.y, &b.ang.z,
	}
}

func (b bodies) take(rows ...int) bodies {
	return bodies{b.pos.take(rows...), b.rot.take(rows...), b.vel.take(rows...), b.ang.take(rows...)}
}

// bodies completes the parts of a state by what cannot change.
func (s *System) bodies(state State) bodies {
	b := s.rest
	next := 0
	for i, component := range b.components() {
		if s.live[i] {
			part := state.Parts[next]
			*component = num{rows: len(s.moving), node: Reshape(part, part.Shape().Size())}
			next++
		}
	}
	return b
}

// state keeps the parts that can change.
func (s *System) state(g *Graph, batch int, b bodies) State {
	var state State
	for i, component := range b.components() {
		if s.live[i] {
			state.Parts = append(state.Parts, Reshape(component.spread(g, batch), len(s.moving), batch))
		}
	}
	return state
}

func (state State) batch() int    { return state.Parts[0].Shape().Dimensions[1] }
func (state State) graph() *Graph { return state.Parts[0].Graph() }

// Frame is where a body is and how it moves, [B] each.
type Frame struct {
	Position        [3]*Node
	Rotation        [4]*Node // w, x, y, z
	Velocity        [3]*Node
	AngularVelocity [3]*Node
}

// Frame reads a body of a state. It panics if the model has no body of that name.
func (s *System) Frame(state State, body string) Frame {
	g, batch := state.graph(), state.batch()
	var b bodies
	if row, ok := s.row[body]; ok {
		b = s.bodies(state).take(row)
	} else if i := s.model.body(body); i >= 0 {
		b = s.still[i].bodies()
	} else {
		panic(errors.Errorf("there is no body %q", body))
	}
	var flat [13]*Node
	for i, component := range b.components() {
		flat[i] = component.spread(g, batch)
	}
	return Frame{[3]*Node(flat[:3]), [4]*Node(flat[3:7]), [3]*Node(flat[7:10]), [3]*Node(flat[10:])}
}

// bodies is a row for a body that does not move.
func (p pose) bodies() bodies {
	zero := vectors(Vec{})
	return bodies{vectors(p.position), quaternion{known(p.rotation[0]), known(p.rotation[1]), known(p.rotation[2]), known(p.rotation[3])}, zero, zero}
}

// Import makes a state from the coordinates of all bodies in the order of the model, [B, bodies, 3], rotations
// [B, bodies, 4]: what Brax calls a QP. Bodies that do not move stay where the model has them, and so do coordinates that
// cannot change.
func (s *System) Import(position, rotation, velocity, angular *Node) State {
	batch := position.Shape().Dimensions[0]
	var b bodies
	all := [][]*Node{split(position), split(rotation), split(velocity), split(angular)}
	next := 0
	components := b.components()
	for _, array := range all {
		for _, node := range array {
			*components[next] = num{rows: len(s.model.Bodies), node: node}.take(s.moving...)
			next++
		}
	}
	return s.state(position.Graph(), batch, b)
}

// split cuts [B, bodies, k] into k times [bodies * B].
func split(x *Node) []*Node {
	dims := x.Shape().Dimensions
	x = TransposeAllAxes(x, 2, 1, 0)
	parts := make([]*Node, dims[2])
	for i := range parts {
		parts[i] = Reshape(Slice(x, AxisElem(i)), dims[0]*dims[1])
	}
	return parts
}

// Export is the other way round of [System.Import].
func (s *System) Export(state State) (position, rotation, velocity, angular *Node) {
	return s.export(state.graph(), state.batch(), s.bodies(state))
}

func (s *System) export(g *Graph, batch int, moving bodies) (position, rotation, velocity, angular *Node) {
	count := len(s.model.Bodies)
	fixed := make([]bodies, 0, count)
	var at []int
	for i, b := range s.model.Bodies {
		if b.Fixed {
			fixed, at = append(fixed, s.still[i].bodies()), append(at, i)
		}
	}
	from := moving.components()
	var stacked [13]*Node
	for i, component := range from {
		parts := []addend{{*component, s.moving}}
		for k := range fixed {
			parts = append(parts, addend{*fixed[k].components()[i], []int{at[k]}})
		}
		stacked[i] = Reshape(sum(count, parts...).spread(g, batch), count, batch)
	}
	return table(stacked[:3]), table(stacked[3:7]), table(stacked[7:10]), table(stacked[10:])
}
