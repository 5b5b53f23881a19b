package catalog

import "strings"

// gymnasium returns a task of Gymnasium's MuJoCo robots, version 5. The end of a name such as Ant-v5-position says
// which descriptor it has: without one they are the contacts of the feet; the swimmer, which has none, has its final
// position.
// Episodes have at most 1000 steps. Offset is at least 1.4 times the lowest reward of 20 000 steps of Gymnasium
// under random actions: -3.9 for the ant, then -3.4, -1.9, -2.3, -5.1 and -1.7 for the swimmer.
func gymnasium(name string) (Task, bool) {
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
		end, ok := strings.CutPrefix(name, t.name)
		if !ok {
			continue
		}
		var d Descriptor
		switch {
		case end == "" && t.feet != nil:
			d = contacts(t.feet...)
		case end == "" || end == "-position" && t.feet != nil && t.reach > 0:
			d = position(meters, Rect{-t.reach, -t.reach, t.reach, t.reach})
		case end == "-torso" && t.torso > 0:
			d = Descriptor{Kind: Mean, Components: []string{"pitch of the torso (rad)"}, Lower: []float32{-t.torso},
				Upper: []float32{t.torso}}
			if t.reach > 0 {
				d.Components = append([]string{"roll of the torso (rad)"}, d.Components...)
				d.Lower, d.Upper = append(d.Lower, d.Lower...), append(d.Upper, d.Upper...)
			}
		default:
			return Task{}, false
		}
		return Task{Spec: Spec{Name: name, Observations: t.observations, Actions: t.actions, Length: 1000,
			Offset: t.offset, Descriptor: d}}, true
	}
	return Task{}, false
}
