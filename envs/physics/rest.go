package physics

import "fmt"

// Place is the position of a body, m, and its rotation as a quaternion w, x, y, z.
type Place struct {
	Position Vec
	Rotation [4]float64
}

// Places computes forward kinematics on the host: the places of all bodies, in the order of the
// model, for joint angles, rad, in the order of [System.Pose]. Without angles it uses
// [System.DefaultAngles]. Any other number of angles than [System.Angles] is an error.
func (s *System) Places(angles ...float64) ([]Place, error) {
	all := s.rest
	if len(angles) > 0 {
		if len(angles) != s.dofs {
			return nil, fmt.Errorf("the system has %d joint angles, not %d", s.dofs, len(angles))
		}
		all = s.pose(known(angles...), constant(s.dofs, 0))
	}
	places := make([]Place, len(s.model.Bodies))
	for i, p := range s.fixed {
		if s.model.Bodies[i].Fixed {
			places[i] = Place{p.position, p.rotation}
		}
	}
	for l, level := range s.levels {
		c := all[l].components()
		for row, i := range level.body {
			if level.first[row] && !s.model.Bodies[i].Fixed {
				at := func(k int) float64 { return c[k].known[row] }
				places[i] = Place{Vec{at(0), at(1), at(2)}, [4]float64{at(3), at(4), at(5), at(6)}}
			}
		}
	}
	return places, nil
}

// Segment is the axis of a capsule in the frame of its body, from the centre of its lower cap to
// the centre of its upper cap.
func (c Collider) Segment() (from, to Vec) {
	half := c.half()
	return c.Position.plus(half.scaled(-1)), c.Position.plus(half)
}
