package compiler

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
)

// MuJoCo moves a robot that it makes of a compiled model as the engine moves it.
func TestPeerMovesAsTheEngine(t *testing.T) {
	needsMuJoCo(t)
	for _, name := range []string{"../../robots/go1.json", "../../robots/a1.json", "../../robots/gymnasium/humanoid.json",
		"accepted/own_ball_model.json", "accepted/own_servo_model.json", "accepted/own_spheres_model.json",
		"accepted/own_equalities_model.json", "accepted/own_tendons_model.json", "accepted/own_activations_model.json",
		"accepted/own_thrusters_model.json"} {
		m := must.Get(ReadFile(t.Context(), filepath.Join(testdata, name)))
		system := must.Get(mujoco.NewSystem(m, mujoco.Options{IgnorePairs: true}))
		const copies = 2
		rows := func(n int, of func(i int) float64) []float32 {
			var all []float32
			for i := range n {
				for k := range copies {
					all = append(all, float32(of(i)+0.01*float64(k*(i%3))))
				}
			}
			return all
		}
		qpos := rows(m.Sizes.NQ, func(i int) float64 { return m.QPos0[i] })
		if len(m.KeyQPos) > 0 {
			qpos = rows(m.Sizes.NQ, func(i int) float64 { return m.KeyQPos[0][i] })
		}
		qvel, control := rows(m.Sizes.NV, func(i int) float64 { return 0.1 * math.Sin(float64(i)) }),
			rows(m.Sizes.NU, func(i int) float64 { return 0.3 * math.Cos(float64(i)) })
		peer := must.Get(Start(t.Context(), m, copies, 3, nil))
		act := system.StartActivations(copies)
		must.Do(peer.Begin(qpos, qvel, act))
		got, speed, err := peer.Step(control)
		must.Do(err)
		peer.Close()
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*graph.Node) []*graph.Node {
			var u *graph.Node
			if m.Sizes.NU > 0 {
				u = graph.Slice(in[2], graph.AxisRange(0, m.Sizes.NU))
			}
			start := mujoco.State{QPos: in[0], QVel: in[1], QAcc: graph.ZerosLike(in[1])}
			next := system.Step(system.State(system.Of(start)), u, 3) // with activations
			return []*graph.Node{next.QPos, next.QVel}
		}, xlatest.Tensor(qpos, m.Sizes.NQ, copies), xlatest.Tensor(qvel, m.Sizes.NV, copies),
			xlatest.Tensor(append(control, make([]float32, copies)...), m.Sizes.NU+1, copies))
		xlatest.Close(t, name+": positions", got, xlatest.Flat[float32](t, out[0]), 1e-4)
		xlatest.Close(t, name+": velocities", speed, xlatest.Flat[float32](t, out[1]), 1e-2)
	}
}

// What goes wrong in MuJoCo's process is one line.
func TestPeerErrors(t *testing.T) {
	model := must.Get(ReadFile(t.Context(), "../../robots/go1.json"))
	fakePython(t, "echo 311 cpython-311 True 4.0.0", "echo Traceback >&2; echo SystemError: it broke >&2; exit 1")
	errtest.Want(t, errtest.Of(Start(t.Context(), model, 1, 1, nil)), "MuJoCo failed: SystemError: it broke")
	fakePython(t, "echo 311 cpython-311 True 4.0.0", "echo '{}'; read line; echo '{\"error\":\"there is no screen\"}'")
	peer := must.Get(Start(t.Context(), model, 1, 1, nil))
	defer peer.Close()
	errtest.Want(t, peer.Show(), "there is no screen")
}
