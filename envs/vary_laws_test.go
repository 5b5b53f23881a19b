package envs_test

import (
	"math"
	"os"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla/random"
)

// bodies are three bodies of MuJoCo's engine in an episode of 0.3 s: "one" rests, "four" slides at 2 m/s, and
// "eight" flies upward at 3 m/s.
func bodies(t *testing.T, vary ...envs.Variation) *envs.Rigid {
	file := must.Get(os.Open("mujoco/testdata/sliding_law.json"))
	defer file.Close()
	system := must.Get(mujoco.NewSystem(must.Get(mujoco.ReadModel(file)), mujoco.Options{}))
	m := system.Model()
	qpos, qvel := slices.Clone(m.QPos0), make([]float64, m.Sizes.NV)
	qpos[11] += 1
	qvel[2], qvel[10] = 2, 3
	env := &envs.Rigid{System: system, Vary: vary, Drive: func(action *Node) *Node { return action },
		Settings: envs.Spec{Name: "bodies", Actions: 1, Length: 15, Descriptor: envs.Descriptor{Kind: envs.None}},
		Senses:   []string{"local velocity/four", "local velocity/eight", "position/eight", "contact force/one"},
		Start: func(keys random.Key) algebra.State {
			column := func(x []float64) *Node {
				var rows [][]float32
				for _, x := range x {
					rows = append(rows, []float32{float32(x)})
				}
				return BroadcastToDims(Const(keys.Hi.Graph(), rows), len(x), keys.Hi.Shape().Size())
			}
			return system.Of(mujoco.State{QPos: column(qpos), QVel: column(qvel), QAcc: ZerosLike(column(qvel))})
		},
		Reward: func(_, after envs.StepView, _ *Node) *Node { return after.Frame("four").Position[0] }}
	must.Do(envs.Validate(env))
	return env
}

// Bodies move as their formulas say under what each copy draws: gravity, friction, mass and pushes.
func TestVariationsObeyTheirLaws(t *testing.T) {
	const copies, steps, g, dt = 6, 15, 9.81, 0.02
	push := envs.Vary(envs.PushSpeed, 0.7, 0.7, "eight")
	push.Every = [2]float64{0.04, 0.08}
	env := bodies(t, envs.Vary(envs.GravityMultiplier, 0.5, 1), envs.Vary(envs.FrictionMultiplier, 0.5, 1.2, "four"),
		envs.Vary(envs.MassMultiplier, 0.5, 2, "one"), push)
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*Node) []*Node {
		s := envs.Reset(env, random.KeyOf(in[0]).Split(copies))
		drawn := s.PhysicsState[len(s.PhysicsState)-1]
		out := []*Node{drawn}
		for range steps {
			s = envs.Step(env, s, ZerosLike(InsertAxes(s.Reward, -1)))
			out = append(out, s.Observation)
		}
		return out
	}, xlatest.Tensor(random.SeedWords(5), 2))
	flat := func(i int) []float32 { return xlatest.Flat[float32](t, out[i]) }
	drawn := flat(0)
	apart := map[float32]bool{}
	var first []int // pushes
	for i := range copies {
		gravity, friction, mass := float64(drawn[i]), float64(drawn[copies+i]), float64(drawn[2*copies+i])
		apart[drawn[i]] = true
		at := func(step, k int) float64 { return float64(flat(1 + step)[12*i+k]) }
		now, time := steps-1, steps*dt
		if lost, want := 2-at(now, 0), 0.5*friction*gravity*g*time; math.Abs(lost-want) > 0.08*want {
			t.Errorf("copy %d: friction takes %.3f m/s, want %.3f", i, lost, want)
		}
		rise, want := at(now, 8)-1.05, 3*time-0.5*gravity*g*(time*time+0.002*time)
		if math.Abs(rise-want) > 1e-4 {
			t.Errorf("copy %d: a thrown body rises by %.5f m, want %.5f", i, rise, want)
		}
		if force, want := at(now, 11), mass*gravity*g; math.Abs(force-want) > 0.01*want {
			t.Errorf("copy %d: the floor carries %.3f N, want %.3f", i, force, want)
		}
		// Each push changes the horizontal velocity by 0.7 m/s, which nothing else does.
		x, y, pushes := 0.0, 0.0, 0
		for step := range steps {
			jump := math.Hypot(at(step, 3)-x, at(step, 4)-y)
			x, y = at(step, 3), at(step, 4)
			if jump > 1e-4 {
				if pushes++; pushes == 1 {
					first = append(first, step)
				}
				if math.Abs(jump-0.7) > 1e-4 {
					t.Errorf("copy %d: a push of %.4f m/s", i, jump)
				}
			}
		}
		if pushes < 3 || pushes > 8 {
			t.Errorf("copy %d was pushed %d times in 0.3 s", i, pushes)
		}
	}
	if len(apart) < copies || slices.Min(first) == slices.Max(first) {
		t.Errorf("copies share what they draw: %v, pushes at %v", apart, first)
	}
}

// What cannot vary is one line that says why.
func TestVariationsThatCannotBe(t *testing.T) {
	free := bodies(t)
	for want, v := range map[string]envs.Variation{
		`unknown body to vary mass "for"; did you mean "four"?`: envs.Vary(envs.MassMultiplier, 1, 2, "for"),
		`unknown geom or body to vary friction "flor"; did you`: envs.Vary(envs.FrictionMultiplier, 1, 2, "flor"),
		`unknown joint to vary damping "hip"`:                   envs.Vary(envs.DampingMultiplier, 1, 2, "hip"),
		"set a Terrain in mujoco.Options":                       envs.Vary(envs.TerrainMultiplier, 0, 1),
		"nothing can be pushed":                                 envs.Vary(envs.PushSpeed, 0, 1, "one"),
		"has no target to move":                                 envs.Vary(envs.TargetPosition, 0, 1),
		"is Apart, but names none": {Quantity: envs.MassMultiplier,
			Lower: []float64{1}, Upper: []float64{2}, Apart: true},
	} {
		r := *free
		r.Vary = []envs.Variation{v}
		errtest.Want(t, envs.Validate(&r), want)
	}
}
