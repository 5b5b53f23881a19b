package evolution

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// 14_cma_mae_strategy.npz: five updates of pyribs 0.12's sep-CMA-ES with stored samples
// (tools/peer/cma_mae.py), in 5 and in 200 dimensions.
func TestGoldenSepCMAES(t *testing.T) {
	data := golden.Read(t, "14_cma_mae_strategy.npz")
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, name := range []string{"short", "long"} {
			stored := func(part string, step int) []float32 {
				return data.Float32s(fmt.Sprintf("strategy.%s.%s_%d", name, part, step))
			}
			n, batch := len(stored("mean", 0)), len(stored("value", 0))
			s := SepCMAES{StrategySettings{Emitters: 1, Sigma0: float64(data.Number("strategy." + name +
				".sigma0"))}, batch}
			state := []string{"mean", "sigma", "variance", "anisotropic_path", "step_path"}
			for step := 0; data.Has(fmt.Sprintf("strategy.%s.noise_%d", name, step)); step++ {
				row := func(part string) []float32 { return stored(part, step) }
				out := xlatest.Run(t, p, func(in []*Node) []*Node {
					before := strategies{in[0], in[1], in[2], in[3], in[4],
						ConstAs(in[1], []float32{float32(step)})}
					rates := s.rates(n)
					samples := before.scale(in[5])
					rank := Reshape(ranks(in[6]), batch)
					weights := Const(in[0].Graph(), append(rates.weights,
						make([]float32, batch-len(rates.weights))...))
					weight := InsertAxes(Gather(weights, InsertAxes(rank, -1)), -1)
					sum := func(x *Node) *Node { return InsertAxes(ReduceSum(Mul(x, weight), 0), 0) }
					return xla.Flatten(before.adapt(rates, sum(samples), sum(Square(samples))))
				}, xlatest.Tensor(row("mean"), 1, n), xlatest.Tensor(row("sigma"), 1),
					xlatest.Tensor(row("variance"), 1, n), xlatest.Tensor(row("anisotropic_path"), 1, n),
					xlatest.Tensor(row("step_path"), 1, n), xlatest.Tensor(row("noise"), batch, n),
					xlatest.Tensor(row("value"), 1, batch))
				for i, part := range state {
					xlatest.Close(t, fmt.Sprint(name, " ", step, ": ", part), xlatest.Flat[float32](t, out[i]),
						stored(part, step+1), 2e-5)
				}
			}
		}
	})
}

// adapted runs a generation of three strategies over four parameters: it returns the offspring, and
// the fields after they adapted to the improvements.
func adapted(t *testing.T, p *xla.Platform, s SepCMAES, improvement []float32) (children []float32,
	after map[string][]float32) {
	t.Helper()
	const n, cells = 4, 2
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		g, key := in[0].Graph(), xla.KeyOf(in[0])
		state := s.at(IotaFull(g, shapes.Make(dtypes.Float32, s.Emitters, n)))
		state.Variance = AddScalar(state.Mean, 1)
		fitness := Const(g, []float32{0, float32(math.Inf(-1))})
		elites := NewParents(AddScalar(Zeros(g, shapes.Make(dtypes.Float32, cells, n)), -7),
			cellsOf(Grid{}, []*Node{fitness, Zeros(g, shapes.Make(dtypes.Float32, cells, 1))}))
		parents := Parents{State: xla.Flatten(state),
			Individuals: Iota(g, shapes.Make(dtypes.Int32, s.Batch), 0)}
		made := s.Offspring(parents, ChildKeys(key, parents.Individuals))
		return append(s.Adapt(Adaptation{parents, key, in[1], elites}), made)
	}, xlatest.Tensor(xla.SeedWords(3), 2), xlatest.Tensor(improvement, len(improvement)))
	after = map[string][]float32{}
	for i, name := range s.Fields() {
		after[name] = xlatest.Flat[float32](t, out[i])
	}
	return xlatest.Flat[float32](t, out[len(out)-1]), after
}

// The samples that a strategy adapts to are the individuals that were evaluated: its mean becomes
// the weighted mean of the better half of its own.
func TestStrategiesAdaptToTheirOwnOffspring(t *testing.T) {
	s := SepCMAES{StrategySettings{Emitters: 3, Sigma0: 0.3, RestartRule: "basic"}, 12}
	improvement := []float32{4, -1, 3, 0, -5, -6, -7, -5, 1, 2, 3, 4}
	best := [][2]int{{0, 2}, {4, 7}, {11, 10}} // equals in order
	weights := s.rates(4).weights
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		children, after := adapted(t, p, s, improvement)
		var want []float32
		for _, pair := range best {
			for k := range 4 {
				want = append(want, weights[0]*children[4*pair[0]+k]+weights[1]*children[4*pair[1]+k])
			}
		}
		xlatest.Close(t, "mean", after["mean"], want, 1e-5)
		xlatest.Close(t, "age", after["age"], []float32{1, 1, 1}, 0)
		if sum := weights[0] + weights[1]; math.Abs(float64(sum)-1) > 1e-6 || len(weights) != 2 {
			t.Errorf("weights %v", weights)
		}
	})
}

// A strategy restarts at an elite when its ranking is flat or not a number, and by the rule
// no_improvement also when it improved nothing.
func TestStrategiesRestart(t *testing.T) {
	inf := float32(math.Inf(-1))
	improvement := []float32{-3, -2, -1, -4, 5, 5, 5, 5, inf, inf, inf, inf}
	for rule, restarted := range map[string][]bool{"basic": {false, true, true},
		"no_improvement": {true, true, true}} {
		s := SepCMAES{StrategySettings{Emitters: 3, Sigma0: 0.3, RestartRule: rule}, 12}
		_, after := adapted(t, xlatest.Pure(t), s, improvement)
		for e, want := range restarted {
			fresh := after["age"][e] == 0 && after["sigma"][e] == 0.3 &&
				slices.Equal(after["mean"][4*e:4*e+4], []float32{-7, -7, -7, -7}) &&
				slices.Equal(after["variance"][4*e:4*e+4], []float32{1, 1, 1, 1})
			if fresh != want {
				t.Errorf("%s: strategy %d restarted: %v, want %v (%v)", rule, e, fresh, want, after)
			}
		}
	}
}

// cmamae returns a search of CMA-MAE on sphere.
func cmamae(t *testing.T, p *xla.Platform, dims, emitters, batch, slice int) *Search {
	t.Helper()
	task := scoring.NewTask(envs.Sphere(dims), nil, 1)
	h := DefaultCMAMAE(task.Env.Spec())
	h.Emitters, h.Batch, h.Slice = emitters, batch, slice
	limit := task.Env.Spec().Descriptor.Upper[0]
	var centroids []float32
	for i := range 64 {
		centroids = append(centroids, limit*(float32(i%8)/3.5-1), limit*(float32(i/8)/3.5-1))
	}
	all := npz.Of(centroids, 64, 2)
	s, err := New(p, task, h.Method(all),
		Settings{Batch: batch, Slice: slice, Seed: 5, Centroids: all})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// The number of workers changes nothing, and a search restored from its arrays continues to the
// same bytes.
func TestCMAMAEIsReproducible(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		var states []map[string]npz.Array
		for _, workers := range []int{p.Workers, 1} {
			few := *p
			few.Workers = workers
			s := cmamae(t, &few, 20, 3, 30, 4)
			steps(t, s, 6)
			states = append(states, stateOf(t, s))
		}
		if !reflect.DeepEqual(states[0], states[1]) {
			t.Errorf("%d workers and one end differently", p.Workers)
		}
		s := cmamae(t, p, 20, 3, 30, 4)
		steps(t, s, 3)
		halfway, err := s.Arrays()
		if err != nil {
			t.Fatal(err)
		}
		resumed := cmamae(t, p, 20, 3, 30, 4)
		if err := resumed.Restore(s.Generation(), halfway); err != nil {
			t.Fatal(err)
		}
		steps(t, resumed, 3)
		if !reflect.DeepEqual(stateOf(t, resumed), states[0]) {
			t.Error("the restored search ends differently")
		}
	})
}

// CMA-MAE finds the optimum of sphere, which is 100, and spreads from its single initial cell.
func TestCMAMAELearns(t *testing.T) {
	p := xlatest.Best(t)
	s := cmamae(t, p, 20, 5, 100, 10)
	last := steps(t, s, 150)[149]
	filled := 0
	for _, f := range last.Fitnesses {
		if f > 0 {
			filled++
		}
	}
	best := slices.Max(last.Fitnesses)
	if best < 99.9 || filled < 8 {
		t.Errorf("the best fitness is %g, and %d of 64 cells are filled", best, filled)
	}
}
