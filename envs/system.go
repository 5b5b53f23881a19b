package envs

import (
	"context"
	"fmt"
	"path/filepath"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/names"
)

// System is a robot with the engine that moves B copies of it: a [physics.System] moves as in Brax v0.0.12,
// a [mujoco.System] as in MuJoCo.
type System interface {
	BodyNames() []string
	// JointAxes returns the name of the joint of each angle; a joint of several axes repeats its name.
	JointAxes() []string
	// Actuated returns the names of the joints that have an actuator.
	Actuated() []string
	// Actions is the number of actions.
	Actions() int
	// ActionsOf returns the indices of the actions that drive joints.
	ActionsOf(joints ...string) []int
	// ControlStep is the duration of a control step, s.
	ControlStep() float64
	// Drive returns what actions between -1 and 1 tell the actuators, [Actions, B] both.
	Drive(action *Node) *Node

	// DefaultAngles returns the joint angles of the default pose, rad; m for joints that slide.
	DefaultAngles() []float64
	// JointLimits returns the least and the greatest of each joint angle, rad or m, which may be infinite.
	JointLimits() [][2]float64
	// Places returns where the bodies are at joint angles; without angles, at the default ones. Another
	// number of angles is an error.
	Places(angles ...float64) ([]algebra.Place, error)
	// Pose makes a state from joint angles and their velocities, [angles, B] each, rad and rad/s.
	Pose(angles, velocities *Node) algebra.State
	// StepUnder advances a state by a control step under what the actuators are told, [Actions, B], and under the
	// conditions of the state.
	StepUnder(state algebra.State, input *Node) (algebra.State, algebra.Contact)

	// Push returns a state with the velocity v, m/s, added to a body that is free to move, and to what hangs on it;
	// Brax's engine adds it to all that moves. "": the first such body.
	Push(state algebra.State, body string, v [3]*Node) algebra.State

	// Contact returns the contacts of a state that no step led to.
	Contact(state algebra.State) algebra.Contact
	// Touching returns 1 where a body touches something in a state, else 0, [B]. It panics if there is no such
	// body.
	Touching(state algebra.State, contact algebra.Contact, body string) *Node
	// Frame returns the frame of a body. It panics if there is no such body.
	Frame(state algebra.State, body string) algebra.Frame
	// JointAngles returns the joint angles and velocities, [angles, B] each, rad and rad/s.
	JointAngles(state algebra.State) (angles, velocities *Node)
	// CenterOfMass returns the x, y, z of the centre of mass of what moves, [B] each.
	CenterOfMass(state algebra.State) [3]*Node
	// Export returns positions [B, bodies, 3], rotations [B, bodies, 4], velocities and angular velocities
	// [B, bodies, 3] of all bodies.
	Export(state algebra.State) (position, rotation, velocity, angular *Node)
}

// ReadSystem reads a robot from a file: MuJoCo's XML, a URDF or a compiled model, whose name ends in .xml,
// .urdf or .json ([robots.ReadMJCF]), for MuJoCo's engine; a configuration of Brax v1 ([robots.ReadBrax])
// for Brax's, which has no options. Others are tried in their order if the engine does not model it with the first. Notes
// say what moves otherwise than in the source.
func ReadSystem(ctx context.Context, path string, options mujoco.Options, others ...mujoco.Options) (system System,
	notes []string, err error) {
	switch filepath.Ext(path) {
	default:
		return nil, nil, names.Wrongf("%s: want a robot that ends in .xml, .urdf, .json or .txt", path)
	case ".txt":
	case ".xml", ".urdf", ".json":
		model, err := robots.ReadMJCF(ctx, path)
		if err != nil {
			return nil, nil, err
		}
		for _, o := range append([]mujoco.Options{options}, others...) {
			var robot *mujoco.System
			if robot, err = mujoco.NewSystem(model, o); err == nil {
				return robot, robot.Notes(), nil
			}
		}
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	model, notes, err := robots.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	system, err = physics.NewSystem(model)
	return system, notes, err
}
