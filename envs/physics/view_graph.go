package physics

import (
	. "github.com/gomlx/gomlx/core/graph"
)

// Substep advances a system by the least that its dynamics do, from actions [Actions, B] as the bodies feel them: a substep of
// spring dynamics, two of position based ones. It returns the stages on the way by the names of Brax's golden files, in the
// order of the model: [B, bodies, 3], rotations [B, bodies, 4]. It is how the engine is compared with the source.
func (s *System) Substep(state State, action *Node) map[string]*Node {
	look := &viewer{s, state.graph(), state.batch(), map[string]*Node{}}
	substep := s.springSubstep
	if s.model.Dynamics == PositionBased {
		substep = s.positionIteration
	}
	substep(s.bodies(state), num{rows: s.actions, node: Reshape(action, action.Shape().Size())}, look)
	return look.stages
}

// viewer collects the stages of a substep. A nil one does not look.
type viewer struct {
	system *System
	g      *Graph
	batch  int
	stages map[string]*Node
}

func (v *viewer) bodies(stage string, b bodies) {
	if v == nil {
		return
	}
	position, rotation, velocity, angular := v.system.export(v.g, v.batch, b)
	for name, node := range map[string]*Node{"pos": position, "rot": rotation, "vel": velocity, "ang": angular} {
		v.stages[stage+"_"+name] = node
	}
}

func (v *viewer) push(stage string, p push) { v.touch(stage, touch{moving: p, still: v.still()}) }

func (v *viewer) still() push {
	if v == nil {
		return push{}
	}
	return v.system.untouched().still
}

func (v *viewer) touch(stage string, t touch) {
	if v == nil {
		return
	}
	c := v.system.contact(v.g, v.batch, t)
	v.stages[stage+"_vel"] = table(c.Velocity[:])
	v.stages[stage+"_ang"] = table(c.AngularVelocity[:])
}

// shift shows a change of positions and quaternions.
func (v *viewer) shift(stage string, d touch, b bodies) {
	if v == nil {
		return
	}
	s := v.system
	turns := func(rotation quaternion, turn vector) []num {
		dq := pure(turn).times(rotation).scale(0.5)
		return []num{dq.w, dq.x, dq.y, dq.z}
	}
	show := func(moving, still []num) *Node {
		parts := make([]*Node, len(moving))
		for i := range moving {
			parts[i] = s.modelRows(v.g, v.batch, moving[i], still[i])
		}
		return table(parts)
	}
	p, q := d.moving.vel, d.still.vel
	v.stages[stage+"_pos"] = show([]num{p.x, p.y, p.z}, []num{q.x, q.y, q.z})
	upright := quaternion{constant(len(s.touched), 1), constant(len(s.touched), 0), constant(len(s.touched), 0), constant(len(s.touched), 0)}
	v.stages[stage+"_rot"] = show(turns(b.rot, d.moving.ang), turns(upright, d.still.ang))
}

// rows shows a number per body, [B, bodies].
func (v *viewer) rows(stage string, value num) {
	if v == nil {
		return
	}
	v.stages[stage] = Transpose(v.system.modelRows(v.g, v.batch, value, constant(len(v.system.touched), 0)), 0, 1)
}

// table puts components [bodies, B] into an array [B, bodies, components].
func table(parts []*Node) *Node { return TransposeAllAxes(Stack(parts, 0), 2, 1, 0) }
