package envs_test

import (
	"fmt"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/envtest"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// track is the task of following a commanded velocity with Unitree's Go1. Actions take effect late, and each episode
// draws the mass of the trunk, the friction of the feet, and pushes.
func track() *envs.Rigid {
	var feet [][2]string
	for _, foot := range []string{"FR", "FL", "RR", "RL"} {
		feet = append(feet, [2]string{"floor", foot})
	}
	system := must.Get(mujoco.NewSystem(robots.Go1(), mujoco.Options{Contacts: feet}))
	return &envs.Rigid{
		System: system, Settings: envs.Spec{Name: "track", Length: 500, Offset: 1, Descriptor: envs.Descriptor{Kind: envs.None}},
		Noise: 0.05, Grounded: true, Drive: envs.AroundPose(system, 0.5),
		Memory:  []envs.Variable{envs.Command("command", []float64{0, -0.3}, []float64{1, 0.3}, 4), envs.LastAction("last", 12)},
		Latency: [2]int{1, 3}, // control steps
		Vary: []envs.Variation{envs.Vary(envs.FrictionMultiplier, 0.5, 1.2), envs.Vary(envs.MassMultiplier, 0.8, 1.3, "trunk"),
			envs.Vary(envs.PushSpeed, 0.1, 1)},
		Senses: []string{"gyro/imu", "projected gravity/imu", "joint offsets", "joint velocities", "previous action", "command"},
		Reward: func(before, after envs.StepView, action *Node) *Node {
			speed := Slice(after.Sense("local velocity/trunk"), AxisRange(0, 2))
			off := ReduceSum(Square(Sub(speed, before.Recall("command"))), 0)
			jerk := ReduceSum(Square(Sub(action, before.Recall("last"))), 0)
			return Sub(Exp(MulScalar(off, -4)), MulScalar(jerk, 0.01))
		},
		Done: func(m envs.StepView) *Node {
			height := m.Frame("trunk").Position[2]
			return LessThan(height, ConstAs(height, 0.15))
		},
	}
}

// A task of a robot with memory, latency and randomisation: track, above.
func ExampleRigid() {
	env := track()
	fmt.Println(envs.Validate(env), env.Spec().Observations, env.Spec().ObservationComponents[2].Name)
	env.Senses = append(env.Senses, "giro/imu")
	message, _, _ := strings.Cut(envs.Validate(env).Error(), " known:")
	fmt.Println(message)
	// Output:
	// <nil> 44 gyro of imu, z
	// track: its Senses: unknown quantity "giro"; did you mean "gyro"?
}

func TestTrackKeepsItsPromises(t *testing.T) {
	envtest.Suite{Platforms: []*xla.Platform{xlatest.Quick(t)}, Steps: 4}.Run(t, track())
}
