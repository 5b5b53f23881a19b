package physics

import (
	"fmt"
	"maps"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
)

// Pose makes a state from joint angles, rad, and joint velocities, rad/s, [Angles, B] each; [1, B],
// which it ignores, if the system has no joints. Bodies without a parent are at the model's pose;
// without one they are lifted, with all their descendants, until the lowest collider touches z = 0
// (brax/physics/system.py, default_qp). As in the source, the linear velocities of the bodies are 0.
func (s *System) Pose(angles, velocities *Node) State {
	batch := angles.Shape().Dimensions[1]
	rows := max(1, s.dofs)
	flat := func(x *Node) algebra.Num { return algebra.Num{Rows: rows, Node: Reshape(x, rows*batch)} }
	all := s.pose(flat(angles), flat(velocities))
	return s.state(s.varyingParts(angles.Graph(), batch, all), batch)
}

// DefaultAngles returns the default joint angles, rad: the model's, or midway between the limits.
func (s *System) DefaultAngles() []float64 { return s.defaultAngles()[:s.dofs] }

// pose computes the bodies level by level. Each level is materialized; otherwise the levels below
// would recompute it for every component.
func (s *System) pose(angles, velocities algebra.Num) limbs {
	angles, velocities = angles.Materialize(), velocities.Materialize()
	all, roots := make(limbs, len(s.levels)), s.roots()
	for l, level := range s.levels {
		var parts [13][]algebra.Term
		add := func(b bodies, rows []int) {
			for i, c := range b.components() {
				parts[i] = append(parts[i], algebra.Term{Value: *c, To: algebra.Each(rows)})
			}
		}
		for row, i := range level.body {
			if roots[l][row] == i {
				position := s.model.Pose[s.model.Bodies[i].Name].rounded()
				add(pose{position, euler(s.model.Turn[s.model.Bodies[i].Name])}.bodies(), []int{row})
			}
		}
		for k := range s.jointGroups {
			if h := &s.jointGroups[k]; h.children == l {
				add(h.attach(all[l-1].take(h.parentRow...), angles, velocities), h.childRow)
			}
		}
		all[l] = bodiesOf(func(i int) algebra.Num { return algebra.SegmentSum(len(level.body), parts[i]...) }).materialize()
	}
	lowest := s.lowest(all, roots)
	hanging := slices.Sorted(maps.Keys(lowest))
	for _, root := range hanging {
		lowest[root] = lowest[root].Materialize()
	}
	for l := range all {
		var lifts []algebra.Term
		for _, root := range hanging {
			to := make([][]int, 1)
			for row := range roots[l] {
				if roots[l][row] == root {
					to[0] = append(to[0], row)
				}
			}
			lifts = append(lifts, algebra.Term{Value: lowest[root], To: to})
		}
		all[l].pos.Z = all[l].pos.Z.Minus(algebra.SegmentSum(len(roots[l]), lifts...))
	}
	return all
}

// roots returns the root body of each row's limb, for each level, as an index in the model.
func (s *System) roots() [][]int {
	roots := [][]int{s.levels[0].body}
	for l := range s.levels[1:] {
		next := make([]int, len(s.levels[l+1].body))
		for i := range s.jointGroups {
			if h := &s.jointGroups[i]; h.parents == l {
				for unit, row := range h.childRow {
					next[row] = roots[l][h.parentRow[unit]]
				}
			}
		}
		roots = append(roots, next)
	}
	return roots
}

// attach returns the children of joints, given their parents.
func (h *jointGroup) attach(parents bodies, angles, velocities algebra.Num) bodies {
	reference := func(i int) algebra.Num {
		return algebra.ColumnOf(h.reference, func(q quat) float64 { return algebra.Snap(q[i]) })
	}
	turn := algebra.Quaternion{W: reference(0), X: reference(1), Y: reference(2), Z: reference(3)}
	children := pose{}.bodies().take(make([]int, len(h.angle))...)
	spin := children.ang // 0
	for axis := range h.axes {
		fixed := h.childAxis[axis]
		at := make([]int, len(h.angle))
		for unit, first := range h.angle {
			at[unit] = first + axis
		}
		spin = spin.Plus(fixed.By(velocities.Take(at...)))
		// Intrinsic rotations: later axes rotate with the earlier ones.
		turn = algebra.FromAxisAngle(turn.Rotation().Of(fixed), angles.Take(at...)).Times(turn).Materialize()
	}
	parentTurn := parents.rot.Rotation()
	arm := h.parentOffset.Minus(turn.Rotation().Of(h.childOffset))
	children.pos = parents.pos.Plus(parentTurn.Of(arm))
	children.rot = parents.rot.Times(turn)
	children.ang = parentTurn.Of(spin)
	return children
}

// lowest returns the height of the lowest collider point of each root and its descendants, by the
// root's index in the model. Roots with a pose in the model are left out.
func (s *System) lowest(all limbs, roots [][]int) map[int]algebra.Num {
	lowest := map[int]algebra.Num{}
	for l, level := range s.levels {
		points := make([][]point, len(level.body))
		most := 0
		for row, i := range level.body {
			points[row] = s.model.Bodies[i].points()
			most = max(most, len(points[row]))
		}
		up := all[l].rot.Rotation()
		var low algebra.Num // of each row
		for k := range most {
			at, radius := make([]Vec, len(points)), make([]float64, len(points))
			for row, of := range points {
				if len(of) > 0 { // bodies with fewer points repeat their last one
					last := of[min(k, len(of)-1)]
					at[row], radius[row] = last.at, -last.radius
				}
			}
			z := all[l].pos.Z.Plus(up.Of(algebra.Vectors(at...)).Z).Plus(algebra.Known(radius...))
			if k == 0 {
				low = z
			} else {
				low = low.Min(z)
			}
		}
		for row, root := range roots[l] {
			if _, posed := s.model.Pose[s.model.Bodies[root].Name]; posed || len(points[row]) == 0 {
				continue
			}
			z := low.Take(row)
			if least, ok := lowest[root]; ok {
				z = least.Min(z)
			}
			lowest[root] = z
		}
	}
	return lowest
}

// point is the centre of a sphere in a body's frame, m.
type point struct {
	at     Vec
	radius float64
}

// points returns the end spheres and corners of a body's colliders.
func (b Body) points() (points []point) {
	for _, c := range b.Colliders {
		points = append(points, c.points()...)
	}
	return points
}

// points returns the end spheres of a capsule or the corners of a box.
func (c Collider) points() (points []point) {
	if c.Shape != Box {
		for _, end := range []float64{-1, 1} {
			points = append(points, point{c.Position.rounded().plus(c.half().scaled(end)), f32(c.Radius)})
		}
		return points
	}
	for i := range 8 {
		corner := c.HalfSize.rounded()
		for axis := range corner {
			if i>>axis&1 == 0 {
				corner[axis] *= -1
			}
		}
		points = append(points, point{c.Position.rounded().plus(euler(c.Rotation).rotate(corner)), 0})
	}
	return points
}

// JointLimits returns the limits of each joint angle, rad.
func (s *System) JointLimits() (limits [][2]float64) {
	for _, j := range s.model.Joints {
		for _, l := range j.Limits {
			limits = append(limits, [2]float64{l[0] * degree, l[1] * degree})
		}
	}
	return limits
}

// Places computes forward kinematics on the host: the places of all bodies, in the order of the
// model, for joint angles, rad, in the order of [System.Pose]. Without angles it uses
// [System.DefaultAngles]. Any other number of angles than [System.Angles] is an error.
func (s *System) Places(angles ...float64) ([]algebra.Place, error) {
	all := s.rest
	if len(angles) > 0 {
		if len(angles) != s.dofs {
			return nil, fmt.Errorf("the system has %d joint angles, not %d", s.dofs, len(angles))
		}
		all = s.pose(algebra.Known(angles...), algebra.Constant(s.dofs, 0))
	}
	places := make([]algebra.Place, len(s.model.Bodies))
	for i, p := range s.fixed {
		if s.model.Bodies[i].Fixed {
			places[i] = algebra.Place{Position: p.position, Rotation: p.rotation}
		}
	}
	for l, level := range s.levels {
		c := all[l].components()
		for row, i := range level.body {
			if level.first[row] && !s.model.Bodies[i].Fixed {
				at := func(k int) float64 { return c[k].Known[row] }
				places[i] = algebra.Place{Position: [3]float64{at(0), at(1), at(2)}, Rotation: [4]float64{at(3), at(4), at(5), at(6)}}
			}
		}
	}
	return places, nil
}
