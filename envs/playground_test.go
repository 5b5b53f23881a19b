package envs_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla/random"
)

// Following commands is rewarded as by MuJoCo Playground's own code in the same states (tools/golden_playground.py).
func TestRewardsOfPlayground(t *testing.T) {
	file := golden.Read(t, "playground_go1.npz")
	env := must.Get(envs.RobotTask{Name: "go1", Task: envs.Velocity}.Environment(robots.Go1()))
	system := env.System.(*mujoco.System)
	steps := file.Shape("rewards")[1]
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		qpos, qvel, actions, commands := in[0], in[1], in[2], in[3]
		at := func(x *Node, step int) *Node { return Squeeze(Slice(x, AxisRange(), AxisElem(step)), 1) }
		state := func(step int) algebra.State {
			velocity := Transpose(at(qvel, step), 0, 1)
			return system.Of(mujoco.State{QPos: Transpose(at(qpos, step), 0, 1), QVel: velocity, QAcc: ZerosLike(velocity)})
		}
		env.Memory[0].Start = func(envs.StepView) *Node { return Transpose(commands, 0, 1) }
		env.Memory[0].Next = nil // no new command
		keys := random.KeyOf(in[4]).Split(qpos.Shape().Dimensions[0])
		s, rewards := env.Begin(keys, state(0)), []*Node{}
		for step := range steps {
			moved := env.Moved(func(algebra.State, *Node) algebra.State { return state(step + 1) })
			s = moved.Step(s, at(actions, step))
			rewards = append(rewards, s.Reward)
		}
		return []*Node{Stack(rewards, 1)}
	}, xlatest.Stored(file, "qpos"), xlatest.Stored(file, "qvel"), xlatest.Stored(file, "actions"),
		xlatest.Stored(file, "commands"), xlatest.Tensor(random.SeedWords(0), 2))
	got, above, worst := xlatest.Flat[float32](t, out[0]), 0, 0.0
	for i, want := range file.Float32s("rewards") {
		if want > 0 {
			above++
		}
		e := math.Abs(float64(got[i] - want))
		if worst = max(worst, e); e > 1e-6 {
			t.Errorf("step %d of episode %d: reward %g, not %g", i%steps+1, i/steps, got[i], want)
		}
	}
	t.Logf("%d rewards above 0 of %d, off by at most %.1e", above, len(got), worst)
}
