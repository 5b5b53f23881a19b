package qdnb

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/qdnb/plot/scene"
)

// Visible is an environment that says itself what there is to see of it. Those of package envs need
// not, nor does any [envs.Rigid].
type Visible interface {
	envs.Env
	// Bodies are what is to be seen; the pose of one that moves is where it rests. At least one of
	// them moves.
	Bodies() []scene.Body
	// Poses are where the bodies are that move, one after the other: position, and rotation as a
	// quaternion w, x, y, z, [B, 7 * bodies].
	Poses(s envs.State) *Node
}

// stage is an environment as it is filmed.
type stage struct {
	scene.Film // a frame: the default pose
	poses      func(s envs.State) *Node
}

// first records where the bodies are at the beginning of an episode.
func (s *stage) first(steps int) envs.Recorder {
	return envs.Recorder{Every: steps, Width: 7 * len(s.Frames[0]),
		Row: func(before envs.State, _ *Node, _ envs.State) *Node {
			return s.poses(before)
		}}
}

// steps records what each step led to.
func (s *stage) steps(int) envs.Recorder {
	return envs.Recorder{Every: 1, Width: s.width(),
		Row: func(_ envs.State, _ *Node, after envs.State) *Node { return s.look(after) }}
}

// look is what there is to see of a state [B, width]: where the bodies are, the reward of the step
// that led there, and whether the episode ended.
func (s *stage) look(after envs.State) *Node {
	return Concatenate([]*Node{s.poses(after), InsertAxes(after.Reward, -1),
		InsertAxes(after.Done, -1)}, 1)
}

// width is the number of values of a look.
func (s *stage) width() int { return 7*len(s.Frames[0]) + 2 }

// rigidPoses are those of bodies of a system, by their indices in the model.
func rigidPoses(system *physics.System, moving []int) func(envs.State) *Node {
	return func(s envs.State) *Node {
		position, rotation, _, _ := system.Export(physics.State{Parts: s.PhysicsState})
		all := Concatenate([]*Node{position, rotation}, 2) // [B, bodies, 7]
		var parts []*Node
		for _, i := range moving {
			parts = append(parts, Reshape(Slice(all, AxisRange(), AxisElem(i)), -1, 7))
		}
		return Concatenate(parts, 1)
	}
}

// pointPoses are those of the point of pointmaze, a ball that lies on the ground.
func pointPoses(s envs.State) *Node {
	xy := s.Observation
	column := func(axis int) *Node { return Slice(xy, AxisRange(), AxisElem(axis)) }
	zero := ZerosLike(column(0))
	return Concatenate([]*Node{xy, AddScalar(zero, pointRadius), OnesLike(zero), zero, zero, zero}, 1)
}
