package watch

import (
	"math"
	"slices"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/qdnb/plot/scene"
)

// Robot returns a film of a robot: its default pose, then one joint after the other turns through its
// range, by forward kinematics.
func Robot(title string, system *physics.System) (*scene.Film, error) {
	s := &stage{Film: scene.Film{Title: title, Ground: true}}
	if err := s.rigid(system); err != nil {
		return nil, err
	}
	film := s.Film
	film.Step = 0.05
	model, rest := system.Model(), system.DefaultAngles()
	add := func(angles []float64) error {
		places, err := system.Places(angles...)
		if err != nil {
			return err
		}
		var frame []scene.Pose
		for i, p := range places {
			if !model.Bodies[i].Fixed {
				frame = append(frame, scene.Pose{Position: scene.Vec(p.Position), Rotation: scene.Quat(p.Rotation)})
			}
		}
		film.Frames = append(film.Frames, frame)
		return nil
	}
	if err := add(rest); err != nil {
		return nil, err
	}
	next := 0
	for _, j := range model.Joints {
		for _, limits := range j.Limits {
			low, high := limits[0]*math.Pi/180, limits[1]*math.Pi/180
			for k := range 24 {
				if low == high {
					break
				}
				angles, swing, to := slices.Clone(rest), math.Sin(2*math.Pi*float64(k)/24), high
				if swing < 0 {
					to = low
				}
				angles[next] += math.Abs(swing) * (to - rest[next])
				if err := add(angles); err != nil {
					return nil, err
				}
			}
			next++
		}
	}
	return &film, film.Check()
}

// boxOf is the box along a body's axes around a collider's box.
func boxOf(c physics.Collider) (low, high scene.Vec) {
	low, high = scene.Vec(c.Position), scene.Vec(c.Position)
	for _, corner := range c.Corners() {
		for axis := range corner {
			low[axis], high[axis] = min(low[axis], corner[axis]), max(high[axis], corner[axis])
		}
	}
	return low, high
}
