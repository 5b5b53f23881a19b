package mujoco

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/names"
)

// A robot's state has qpos, qvel, and the last change of qvel by a physics step, which bounds a state by
// the same limits as velocities do; with [Options].Late also qpos and qvel where that change was computed; and the
// activations, if there are any.

// Of makes a robot's state of one as MuJoCo orders and measures it; [System.State] is its inverse. Without Act, the
// activations are those of the default pose.
func (s *System) Of(state State) algebra.State {
	parts := []*Node{state.QPos, state.QVel, MulScalar(state.QAcc, s.model.Opt.TimeStep)}
	switch {
	case !s.options.Late:
	case state.LateQPos == nil: // no step led to it
		parts = append(parts, state.QPos, state.QVel)
	default:
		parts = append(parts, state.LateQPos, state.LateQVel)
	}
	if s.model.Sizes.NA > 0 {
		if state.Act == nil {
			copies := state.QPos.Shape().Dimensions[1]
			state.Act = Reshape(Const(state.QPos.Graph(), s.StartActivations(copies)), s.model.Sizes.NA, copies)
		}
		parts = append(parts, state.Act)
	}
	return algebra.State{Parts: parts}
}

// actOf returns the activations of a robot's state, or nil.
func (s *System) actOf(state algebra.State) *Node {
	if s.model.Sizes.NA == 0 {
		return nil
	}
	return state.Parts[len(state.Parts)-1]
}

// StartActivations returns the activations of the default pose, [na * copies], those of all copies in a row.
func (s *System) StartActivations(copies int) (act []float32) {
	for _, x := range s.startAct {
		act = append(act, slices.Repeat([]float32{float32(x)}, copies)...)
	}
	return act
}

// State returns a robot's state as MuJoCo orders and measures it.
func (s *System) State(of algebra.State) State {
	state := State{QPos: of.Parts[0], QVel: of.Parts[1], QAcc: DivScalar(of.Parts[2], s.model.Opt.TimeStep)}
	if s.options.Late {
		state.LateQPos, state.LateQVel = of.Parts[3], of.Parts[4]
	}
	state.Act = s.actOf(of)
	return state
}

// Late returns the state in which the last acceleration was computed: that before the last physics step, or
// the last stage of Runge and Kutta's method. MuJoCo's own derived quantities, such as xpos, are of it after
// mj_step. It panics without [Options].Late.
func (s *System) Late(of algebra.State) algebra.State {
	if !s.options.Late {
		panic(errors.New("a late state needs Options.Late"))
	}
	return algebra.State{Parts: []*Node{of.Parts[3], of.Parts[4], of.Parts[2], of.Parts[3], of.Parts[4]}}
}

// Pose makes a state from the angles of hinges and slides and their velocities, [angles, B] each, rad and
// rad/s, or m and m/s. What free and ball joints place is as in the default pose.
func (s *System) Pose(angles, velocities *Node) algebra.State {
	g, batch := angles.Graph(), angles.Shape().Dimensions[1]
	start := func(rows []float64, joints func(id int) int, given *Node) *Node {
		parts := make([]*Node, len(rows))
		for i, x := range rows {
			parts[i] = BroadcastToDims(Const(g, [][]float32{{float32(x)}}), 1, batch)
		}
		for i, id := range s.angles {
			parts[joints(id)] = Slice(given, AxisRange(i, i+1))
		}
		return Concatenate(parts, 0)
	}
	m := s.model
	return s.Of(State{
		QPos: start(s.start, func(id int) int { return m.JntQPosAdr[id] }, angles),
		QVel: start(s.startVelocity, func(id int) int { return m.JntDofAdr[id] }, velocities),
		QAcc: Zeros(g, shapes.Make(dtypes.Float32, m.Sizes.NV, batch)),
	})
}

// JointAngles returns the angles of hinges and slides, and their velocities, [angles, B] each, rad and
// rad/s, or m and m/s, in the order of the model.
func (s *System) JointAngles(state algebra.State) (angles, velocities *Node) {
	pick := func(from *Node, row func(id int) int) *Node {
		parts := []*Node{Slice(from, AxisRange(0, 0))}
		for _, id := range s.angles {
			parts = append(parts, Slice(from, AxisRange(row(id), row(id)+1)))
		}
		return Concatenate(parts, 0)
	}
	return pick(state.Parts[0], func(id int) int { return s.model.JntQPosAdr[id] }),
		pick(state.Parts[1], func(id int) int { return s.model.JntDofAdr[id] })
}

// Drive maps actions between -1 and 1 to the control ranges of the actuators, [nu, B] both. Controls
// without a range are the actions.
func (s *System) Drive(action *Node) *Node {
	m := s.model
	middle, half := make([]float32, m.Sizes.NU), make([]float32, m.Sizes.NU)
	for i := range half {
		half[i] = 1
		if m.ActuatorCtrlLimited[i] {
			low, high := m.ActuatorCtrlRange[i][0], m.ActuatorCtrlRange[i][1]
			middle[i], half[i] = float32((low+high)/2), float32((high-low)/2)
		}
	}
	column := func(x []float32) *Node {
		return BroadcastToShape(InsertAxes(Const(action.Graph(), x), 1), action.Shape())
	}
	return Add(Mul(action, column(half)), column(middle))
}

// StepUnder advances a state by a control step under controls [nu, B], which are held, and under its conditions.
func (s *System) StepUnder(state algebra.State, control *Node) (algebra.State, algebra.Contact) {
	if s.model.Sizes.NU == 0 {
		control = nil
	}
	next := s.Of(s.step(s.State(state), control, s.steps, state.Under))
	next.Under = state.Under
	return next, algebra.Contact{}
}

// Contact returns nothing: see [System.Touching].
func (s *System) Contact(algebra.State) algebra.Contact { return algebra.Contact{} }

// view is where the links of a state are and how they move.
type view struct {
	of         []*Node // qpos, qvel and what the state is under
	kinematics kinematics
	positions  []algebra.Num
	velocity   []spatial
	touching   map[*contactSet]algebra.Num // 1 for each contact of a set, or 0
	felt       *felt                       // see [System.feel]
	external   *Node                       // see [System.ExternalForces]
}

// view returns the view of a state. A task looks at a state several times, so the last four views, which are of
// the states before and after a step and their late ones, are kept: else each look would build its graph again.
func (s *System) view(state algebra.State) *view {
	s.lock.Lock()
	defer s.lock.Unlock()
	of := append(slices.Clone(state.Parts[:2]), state.Under.Nodes()...)
	for _, v := range s.views {
		if v != nil && slices.Equal(v.of, of) {
			return v
		}
	}
	v := &view{of: of, positions: split(state.Parts[0], s.places), touching: map[*contactSet]algebra.Num{}}
	v.kinematics = s.kinematics(v.positions, s.under(state.Under))
	v.velocity = s.forward(v.kinematics, s.toWorld(v.kinematics, split(state.Parts[1], s.dofs)))
	s.views = [4]*view{v, s.views[0], s.views[1], s.views[2]}
	return v
}

// Frame returns the frame of a body or a site: of the body's own frame, not of its centre of mass. It panics if
// there is neither of this name.
func (s *System) Frame(state algebra.State, name string) algebra.Frame {
	body, own := s.find(name)
	return s.frame(state, body, own)
}

// SiteNames returns the names of the sites. Those without a name are called by number.
func (s *System) SiteNames() (all []string) {
	for i, name := range s.model.Names.Site {
		all = append(all, nameOr(name, "site", i))
	}
	return all
}

// find returns the body of a frame by name, and the pose of the frame in its link, or in the world.
func (s *System) find(name string) (body int, own pose) {
	bodies, sites := s.BodyNames(), s.SiteNames()
	if body = slices.Index(bodies, name); body >= 0 {
		return body, s.poses[body]
	}
	i := slices.Index(sites, name)
	if i < 0 {
		panic(names.Unknown("body or site", name, slices.Concat(bodies, sites)))
	}
	return s.site(i)
}

// site returns the body of a site, and its pose in the frame of the link.
func (s *System) site(i int) (body int, own pose) {
	body = s.model.SiteBodyID[i]
	return body, s.poses[body].then(pose{algebra.Vectors(s.model.SitePos[i]), algebra.KnownQuaternion(s.model.SiteQuat[i])})
}

func (s *System) frame(state algebra.State, body int, own pose) (f algebra.Frame) {
	v := s.view(state)
	position, turn, motion := s.place(v, body, own)
	all := []algebra.Num{position.X, position.Y, position.Z, turn.W, turn.X, turn.Y, turn.Z, motion.Lin.X, motion.Lin.Y,
		motion.Lin.Z, motion.Ang.X, motion.Ang.Y, motion.Ang.Z}
	g, batch := state.Graph(), state.Batch()
	flat := make([]*Node, len(all))
	for i, x := range all {
		flat[i] = x.Spread(g, batch)
	}
	return algebra.Frame{Position: [3]*Node(flat[:3]), Rotation: [4]*Node(flat[3:7]), Velocity: [3]*Node(flat[7:10]),
		AngularVelocity: [3]*Node(flat[10:])}
}

// place returns where a frame of a body is and how it moves, given its pose in the body's link.
func (s *System) place(v *view, body int, own pose) (position algebra.Vector, turn algebra.Quaternion, motion spatial) {
	position, turn, motion = own.position, own.rotation, noMotion(1)
	if i, row := s.link(body); i != static {
		k := v.kinematics
		up := takeRotation(k.Rotation[i], []int{row})
		arm := k.Position[i].Take(row).Plus(up.Of(own.position))
		if v.velocity != nil {
			motion = v.velocity[i].take([]int{row})
			motion.Lin = motion.at(arm.Minus(s.reference(k, i).Take(row)))
		}
		position = k.Origin[i].Take(row).Plus(arm)
		turn = s.quaternion(v.positions, i, row).Times(own.rotation)
	}
	return position, turn, motion
}

// Places computes on the host where the bodies are, for the angles of [System.JointAngles]; without angles,
// for [System.DefaultAngles].
func (s *System) Places(angles ...float64) ([]algebra.Place, error) {
	if len(angles) == 0 {
		angles = s.DefaultAngles()
	}
	if len(angles) != len(s.angles) {
		return nil, fmt.Errorf("the robot has %d joint angles, not %d", len(s.angles), len(angles))
	}
	qpos := slices.Clone(s.start)
	for i, id := range s.angles {
		qpos[s.model.JntQPosAdr[id]] = angles[i]
	}
	v := &view{}
	for _, e := range s.places {
		v.positions = append(v.positions, algebra.ColumnOf(e.index, func(row int) float64 { return qpos[row] }))
	}
	v.kinematics = s.kinematics(v.positions, conditions{})
	places := make([]algebra.Place, s.model.Sizes.NBody)
	for body := range places {
		at, turn, _ := s.place(v, body, s.poses[body])
		places[body] = algebra.Place{Position: host(at), Rotation: [4]float64{turn.W.Known[0], turn.X.Known[0], turn.Y.Known[0],
			turn.Z.Known[0]}}
	}
	return places, nil
}

// link returns the group and the row of the link of a body, or static.
func (s *System) link(body int) (group, row int) {
	link := s.model.link(body)
	if group = s.groupOf(link); group != static {
		row = slices.Index(s.groups[group].body, link)
	}
	return group, row
}

// quaternion returns the rotation of a link, given the positions of the joints. (A rotation matrix, which
// the engine computes with, does not tell small components of a quaternion.)
func (s *System) quaternion(q []algebra.Num, group, row int) algebra.Quaternion {
	g := s.groups[group]
	at := func(x algebra.Num) algebra.Num { return x.Take(row) }
	turn := g.turn.Each(at)
	if g.parent >= 0 {
		turn = s.quaternion(q, g.parent, g.parentRow[row]).Times(turn)
	}
	for _, j := range g.joints {
		switch j.kind {
		case Free:
			turn = quaternionAt(q[j.place+3:]).Each(at).Normalized()
		case Ball:
			turn = turn.Times(quaternionAt(q[j.place:]).Each(at).Normalized())
		case Hinge:
			sin, cos := algebra.SinCos(at(q[j.place].Minus(s.rest(j))).Scale(0.5))
			axis := j.axis.Each(at).By(sin)
			turn = turn.Times(algebra.Quaternion{W: cos, X: axis.X, Y: axis.Y, Z: axis.Z})
		}
	}
	return turn.Materialize()
}

// Touching returns 1 where a geom of a body touches something in a state, where MuJoCo would have a
// contact, else 0, [B]. It panics if there is no such body.
func (s *System) Touching(state algebra.State, _ algebra.Contact, body string) *Node {
	i := slices.Index(s.BodyNames(), body)
	if i < 0 {
		panic(names.Unknown("body", body, s.BodyNames()))
	}
	v, touches := s.view(state), algebra.Constant(1, 0)
	for _, set := range s.contacts {
		var rows []int
		for point := range set.points {
			for pair, geoms := range set.geoms {
				if s.model.GeomBodyID[geoms[0]] == i || s.model.GeomBodyID[geoms[1]] == i {
					rows = append(rows, point*len(set.geoms)+pair)
				}
			}
		}
		if len(rows) == 0 {
			continue
		}
		bits, ok := v.touching[set]
		if !ok {
			near := s.collide(v.kinematics, set).Distance.Less(set.margin)
			bits = near.Number().Materialize()
			v.touching[set] = bits
		}
		for _, row := range rows {
			touches = touches.Max(bits.Take(row))
		}
	}
	return touches.Spread(state.Graph(), state.Batch())
}

// CenterOfMass returns the centre of mass of the bodies that move, [B] each, m.
func (s *System) CenterOfMass(state algebra.State) [3]*Node {
	k := s.view(state).kinematics
	sum := s.center(k, func(g int) algebra.Vector { return k.Origin[g].Plus(k.Position[g]) })
	n, batch := state.Graph(), state.Batch()
	return [3]*Node{sum.X.Spread(n, batch), sum.Y.Spread(n, batch), sum.Z.Spread(n, batch)}
}

// center returns the centre of mass of what moves, given the positions of the links of each group.
func (s *System) center(k kinematics, position func(group int) algebra.Vector) algebra.Vector {
	total, sum := algebra.Constant(1, 0), zeroVector(1)
	for i := range s.groups {
		total = total.Plus(k.Under.of(s.groups, i).mass.Sum())
	}
	for i := range s.groups { // masses of links, of all bodies that are welded to them
		g := k.Under.of(s.groups, i)
		at := position(i).Plus(k.Rotation[i].Of(g.center)).By(g.mass.Over(spread(total, g.rows()))).Materialize()
		sum = sum.Plus(at.Each(algebra.Num.Sum))
	}
	return sum
}

// Export returns the frames of all bodies: positions [B, bodies, 3], rotations [B, bodies, 4], velocities
// and angular velocities [B, bodies, 3].
func (s *System) Export(state algebra.State) (position, rotation, velocity, angular *Node) {
	var of [4][]*Node
	for body := range s.model.Sizes.NBody {
		f := s.frame(state, body, s.poses[body])
		for i, components := range [][]*Node{f.Position[:], f.Rotation[:], f.Velocity[:], f.AngularVelocity[:]} {
			of[i] = append(of[i], Stack(components, 1))
		}
	}
	return Stack(of[0], 1), Stack(of[1], 1), Stack(of[2], 1), Stack(of[3], 1)
}
