package watch

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/qdnb/plot/scene"
)

// Visible is an environment that defines what a film of it shows. Environments of package envs and
// any [envs.Rigid] can be filmed without it.
type Visible interface {
	envs.Env
	// Bodies returns the visible bodies. The pose of a moving body is its default pose. At least one
	// body moves.
	Bodies() []scene.Body
	// Poses returns the poses of the moving bodies in order, [B, 7 * bodies]: position, then
	// rotation as a quaternion w, x, y, z.
	Poses(s envs.State) *Node
}

type stage struct {
	scene.Film // one frame, the default pose
	poses      func(s envs.State) *Node
	moving     []int                      // of a robot: the bodies that move, in the order of its system
	terrain    *mujoco.System             // whose terrain is shown; nil: there is none
	under      func(s envs.State) []*Node // see [addTerrain], [B] each; nil: what is not drawn
}

// first records the poses of the bodies at the beginning of an episode, and what it draws of a terrain.
func (s *stage) first(steps int) envs.Recorder {
	width := 7 * len(s.Frames[0])
	if s.under != nil {
		width += 3
	}
	return envs.Recorder{Every: steps, Width: width, Row: func(before envs.State, _ *Node, _ envs.State) *Node {
		row := s.poses(before)
		if s.under != nil {
			row = Concatenate([]*Node{row, Stack(s.under(before), 1)}, 1)
		}
		return row
	}}
}

// terrainUnder returns what the episodes of a task draw of its terrain.
func terrainUnder(r *envs.Rigid) func(s envs.State) []*Node {
	return func(s envs.State) []*Node {
		under := r.View(s).State.Under
		all := []*Node{under.Terrain, under.TerrainOffset[0], under.TerrainOffset[1]}
		for i, x := range all {
			if x == nil {
				all[i] = MulScalar(OnesLike(s.Reward), float64(1-min(i, 1)))
			}
		}
		return all
	}
}

// steps records [stage.look] after each step.
func (s *stage) steps(int) envs.Recorder {
	return envs.Recorder{Every: 1, Width: s.width(),
		Row: func(_ envs.State, _ *Node, after envs.State) *Node { return s.look(after) }}
}

// path records the state descriptor before each step, and whether the episode ended with the step.
func path(env envs.Env) func(int) envs.Recorder {
	return func(int) envs.Recorder {
		return envs.Recorder{Every: 1, Width: len(env.Spec().Descriptor.Lower) + 1,
			Row: func(before envs.State, _ *Node, after envs.State) *Node {
				done := InsertAxes(after.Done, -1)
				if len(env.Spec().Descriptor.Lower) == 0 {
					return done
				}
				return Concatenate([]*Node{before.Descriptor, done}, 1)
			}}
	}
}

// positions splits rows that [path] recorded, up to the end of the first episode.
func positions(rows []float32, d int) (path [][]float32) {
	for ; len(rows) > d; rows = rows[d+1:] {
		path = append(path, rows[:d:d])
		if rows[d] > 0 {
			break
		}
	}
	return path
}

// look returns the visible part of a state, [B, width]: the poses of the bodies, the reward of the
// step that led to the state, and whether the episode ended.
func (s *stage) look(after envs.State) *Node {
	return Concatenate([]*Node{s.poses(after), InsertAxes(after.Reward, -1), InsertAxes(after.Done, -1)}, 1)
}

func (s *stage) width() int { return 7*len(s.Frames[0]) + 2 }

// rigidPoses returns the poses of bodies of a system, given by their indices in the model.
func rigidPoses(system envs.System, moving []int) func(envs.State) *Node {
	return func(s envs.State) *Node {
		position, rotation, _, _ := system.Export(algebra.State{Parts: s.PhysicsState})
		all := Concatenate([]*Node{position, rotation}, 2) // [B, bodies, 7]
		var parts []*Node
		for _, i := range moving {
			parts = append(parts, Reshape(Slice(all, AxisRange(), AxisElem(i)), -1, 7))
		}
		return Concatenate(parts, 1)
	}
}

// pointPoses returns the poses of pointmaze's point, a ball that lies on the ground.
func pointPoses(s envs.State) *Node {
	xy := s.Observation
	column := func(axis int) *Node { return Slice(xy, AxisRange(), AxisElem(axis)) }
	zero := ZerosLike(column(0))
	return Concatenate([]*Node{xy, AddScalar(zero, pointRadius), OnesLike(zero), zero, zero, zero}, 1)
}

// ends records whether each step ends the episode.
func ends(int) envs.Recorder {
	return envs.Recorder{Every: 1, Width: 1, Row: func(_ envs.State, _ *Node, after envs.State) *Node {
		return InsertAxes(after.Done, -1)
	}}
}
