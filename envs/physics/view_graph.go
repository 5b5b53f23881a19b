package physics

import . "github.com/gomlx/gomlx/core/graph"

// Substep advances a state by the smallest step of its dynamics, under actions [Actions, B]: one
// substep of spring dynamics, two of position based dynamics. It returns the intermediate stages by
// their names in Brax's golden files, in the order of the model: [B, bodies, 3], rotations [B,
// bodies, 4]. It serves to compare the engine with the source.
func (s *System) Substep(state State, action *Node) map[string]*Node {
	record := &stageRecorder{s, state.graph(), state.batch(), map[string]*Node{}}
	step, _ := s.recordedBy(record).smallestStep()
	step(s.limbs(state), drive{torques: s.actuatorTorques(action)})
	return record.stages
}

// recordedBy returns a copy of the system with another recorder of its steps, nil for none.
func (s System) recordedBy(record *stageRecorder) *System {
	s.record = record
	return &s
}

// stageRecorder records the stages of a substep. A nil stageRecorder records nothing.
type stageRecorder struct {
	system *System
	g      *Graph
	batch  int
	stages map[string]*Node
}

func (v *stageRecorder) bodies(stage string, all limbs) {
	if v == nil {
		return
	}
	position, rotation, velocity, angular := v.system.export(v.g, v.batch, all)
	for name, node := range map[string]*Node{"pos": position, "rot": rotation, "vel": velocity,
		"ang": angular} {
		v.stages[stage+"_"+name] = node
	}
}

// springs records the accelerations by joints and by actuators.
func (v *stageRecorder) springs(joints []jointState, torques [][]num) {
	if v == nil {
		return
	}
	springs, actuators := v.system.newLoads(), v.system.newLoads()
	for i, j := range joints {
		var limits, drives []num
		for axis := range j.axes {
			limits, drives = append(limits, j.limitTorque(axis)),
				append(drives, j.actuatorTorque(axis, torques[i][axis]))
		}
		force, torque := j.springForce()
		springs.pull(j, force, torque.plus(j.sumOverAxes(limits)))
		actuators.pull(j, force.scale(0), j.sumOverAxes(drives))
	}
	v.pushes("dpj", springs.accelerations())
	v.pushes("dpa", actuators.accelerations())
}

func (v *stageRecorder) pushes(stage string, p pushes) {
	v.touch(stage, touch{moving: p, fixed: noPush(len(v.system.touched))})
}

func (v *stageRecorder) touch(stage string, t touch) {
	if v == nil {
		return
	}
	c := v.system.contact(v.g, v.batch, t)
	v.stages[stage+"_vel"] = table(c.Velocity[:])
	v.stages[stage+"_ang"] = table(c.AngularVelocity[:])
}

// shift records a change of positions and quaternions.
func (v *stageRecorder) shift(stage string, d touch, all limbs) {
	if v == nil {
		return
	}
	s := v.system
	turned := func(turn vector, rot quaternion) []num {
		q := pure(turn).times(rot).scale(0.5)
		return []num{q.w, q.x, q.y, q.z}
	}
	parts := make([][]addend, 7)
	put := func(to [][]int, components ...num) {
		for i, c := range components {
			parts[i] = append(parts[i], addend{c, to})
		}
	}
	for l, b := range all {
		p := d.moving[l]
		put(s.levels[l].toModel(), append([]num{p.vel.x, p.vel.y, p.vel.z}, turned(p.ang, b.rot)...)...)
	}
	rows := len(s.touched)
	upright := quaternion{constant(rows, 1), constant(rows, 0), constant(rows, 0), constant(rows, 0)}
	put(each(s.touched), append([]num{d.fixed.vel.x, d.fixed.vel.y, d.fixed.vel.z},
		turned(d.fixed.ang, upright)...)...)
	nodes := make([]*Node, len(parts))
	for i := range parts {
		nodes[i] = s.table(v.g, v.batch, parts[i]...)
	}
	v.stages[stage+"_pos"], v.stages[stage+"_rot"] = table(nodes[:3]), table(nodes[3:])
}

// multipliers records a number per body, [B, bodies].
func (v *stageRecorder) multipliers(stage string, values []num) {
	if v == nil {
		return
	}
	var parts []addend
	for l, level := range v.system.levels {
		parts = append(parts, addend{values[l], level.toModel()})
	}
	v.stages[stage] = Transpose(v.system.table(v.g, v.batch, parts...), 0, 1)
}
