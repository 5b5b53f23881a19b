package envs_test

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla/random"
)

// The objectives of an episode sum to its fitness, with and without automatic resets and conditions
// in the state, and nobody who does not ask gets them. A reward is the only objective of other
// tasks.
func TestObjectivesSumToTheFitness(t *testing.T) {
	const n, steps = 3, 4
	for _, name := range []string{"walker-uni", "halfcheetah-uni", "ant-uni", "ant-maze", "pointmaze",
		"hopper-uni"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := environment(t, name)
			tasks := []envs.Env{env, envs.AutoReset(env, 3)}
			if live, err := envs.Adjust(env); err == nil {
				tasks = append(tasks, live)
			}
			spec := env.Spec()
			out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
				keys := random.KeyOf(in[0]).FoldInEach(Iota(in[0].Graph(), shapes.Make(dtypes.Int32, n), 0))
				var all []*Node
				for _, task := range tasks {
					policy := constant{keys.FoldIn(1).Uniform(-1, 1, n, spec.Actions)}
					start := envs.Reset(task, keys)
					score, _ := envs.Record(task, policy, start.WithObjectives(spec), steps)
					plain, _ := envs.Record(task, policy, start, steps)
					if plain.Objectives != nil {
						t.Error("objectives that nobody asked for")
					}
					all = append(all, score.Objectives, score.Return)
					if direct := task.Step(start.WithObjectives(spec), policy.Action); direct.Objectives != nil {
						all = append(all, direct.Objectives, direct.Reward)
					}
				}
				return all
			}, xlatest.Tensor(random.SeedWords(2), 2))
			for i := range len(out) / 2 {
				parts, want := xlatest.Flat[float32](t, out[2*i]), xlatest.Flat[float32](t, out[2*i+1])
				k := len(parts) / n
				if k != spec.Rewards() {
					t.Fatalf("%d objectives, not %d", k, spec.Rewards())
				}
				for c := range n {
					var sum float32
					for _, x := range parts[c*k : (c+1)*k] {
						sum += x
					}
					if off := math.Abs(float64(sum - want[c])); off > 1e-4 || k > 1 && parts[c*k+1] >= 0 {
						t.Errorf("pair %d: objectives %v of the fitness %g", i, parts[c*k:(c+1)*k], want[c])
					}
				}
			}
		})
	}
}

// A step that forgets the objectives, which the Spec promises, panics with the method's location.
func TestForgottenObjectives(t *testing.T) {
	task := envs.Sphere(4)
	task.Facts.Objectives = []envs.Objective{{Name: "a"}, {Name: "b"}}
	_, err := xlatest.Compile(xlatest.Pure(t), "forgotten", []shapes.Shape{shapes.Make(
		dtypes.Uint32, 2)}, func(in []*Node) []*Node {
		keys := random.KeyOf(in[0]).FoldInEach(Iota(in[0].Graph(), shapes.Make(dtypes.Int32, 3), 0))
		start := envs.Reset(task, keys).WithObjectives(task.Facts)
		return []*Node{envs.Step(task, start, start.PhysicsState[0]).Objectives}
	})
	if err == nil {
		t.Error("a task with two objectives returned one fitness")
	}
}

// generous returns the objectives of every step.
type generous struct{ envs.Env }

func (g generous) Step(s envs.State, action *Node) envs.State {
	return g.Env.Step(s.WithObjectives(g.Spec()), action)
}

// Objectives that were not asked for are dropped: the states of a loop keep their structure.
func TestObjectivesNotAskedFor(t *testing.T) {
	xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		env := generous{envs.RastriginMulti(4)}
		start := envs.Reset(env, random.KeyOf(in[0]).FoldInEach(Iota(in[0].Graph(),
			shapes.Make(dtypes.Int32, 4), 0)))
		after := envs.Step(env, start, Transpose(start.PhysicsState[0], 0, 1))
		if after.Objectives != nil {
			t.Error("a step has objectives, but the state before it has none")
		}
		return []*Node{after.Reward}
	}, xlatest.Tensor(random.SeedWords(2), 2))
}

// rastrigin-multi in plain Go, also outside of its range.
func TestRastriginMulti(t *testing.T) {
	x := []float32{-3, 0.25, 2, 5, 0, 2.2, 1, -1}
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		objectives, descriptor := envs.RastriginMulti(4).Evaluate(in[0])
		return []*Node{objectives, descriptor}
	}, xlatest.Tensor(x, 2, 4))
	var want []float32
	for solution := range 2 {
		for _, lag := range []float64{0, 2.2} {
			sum := 0.0
			for _, c := range x[4*solution : 4*solution+4] {
				d := min(max(float64(c), -2), 4) - lag
				sum -= d*d - 10*math.Cos(2*math.Pi*d) + 10
			}
			want = append(want, float32(sum))
		}
	}
	xlatest.Close(t, "objectives", xlatest.Flat[float32](t, out[0]), want, 1e-5)
	xlatest.Close(t, "descriptors", xlatest.Flat[float32](t, out[1]), []float32{-2, 0.25, 0, 2.2}, 0)
}
