package catalog

// gymnasium returns the tasks of Gymnasium's MuJoCo robots, version 5, each with one or more descriptors,
// which the ends of names such as Ant-v5-position say: without one they are the contacts of the feet; the
// swimmer, which has none, has its final position.
// Episodes have at most 1000 steps. Offset is at least 1.4 times the lowest reward of 20 000 steps of Gymnasium
// under random actions: -3.9 for the ant, then -3.4, -1.9, -2.3, -5.1 and -1.7 for the swimmer.
func gymnasium() (list []Task) {
	for _, t := range []struct {
		name                  string
		observations, actions int
		offset                float64
		feet                  []string
		torso                 float32 // the range of its angles, rad
		reach                 float64 // of the final position, m; 0: a robot in a plane
	}{
		{"Ant-v5", 105, 8, 10, []string{"front left foot", "front right foot", "back left foot", "back right foot"}, 0.8, 30},
		{"HalfCheetah-v5", 17, 6, 5, []string{"front foot", "back foot"}, 0.8, 0},
		{"Hopper-v5", 11, 3, 3, []string{"the foot"}, 0.2, 0},
		{"Walker2d-v5", 17, 6, 5, []string{"right foot", "left foot"}, 1, 0},
		{"Humanoid-v5", 348, 17, 15, []string{"left foot", "right foot"}, 0.8, 30},
		{"Swimmer-v5", 8, 2, 3, nil, 0, 15},
	} {
		add := func(suffix string, d Descriptor) {
			list = append(list, Task{Spec: Spec{Name: t.name + suffix, Observations: t.observations, Actions: t.actions,
				Length: 1000, Offset: t.offset, Descriptor: d}})
		}
		square := position(meters, Rect{-t.reach, -t.reach, t.reach, t.reach})
		if t.feet == nil {
			add("", square)
			continue
		}
		add("", contacts(t.feet...))
		torso := Descriptor{Kind: Mean, Components: []string{"pitch of the torso (rad)"}, Lower: []float32{-t.torso},
			Upper: []float32{t.torso}}
		if t.reach > 0 {
			add("-position", square)
			torso.Components = append([]string{"roll of the torso (rad)"}, torso.Components...)
			torso.Lower, torso.Upper = append(torso.Lower, torso.Lower...), append(torso.Upper, torso.Upper...)
		}
		add("-torso", torso)
	}
	return list
}
