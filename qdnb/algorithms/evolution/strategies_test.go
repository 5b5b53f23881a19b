package evolution

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Updates of pyribs 0.12's CMA-ES over 40 parameters, young and old, with stored samples
// (tools/peer/cma_mae.py): the strategy gets the noise that would have made them.
func TestGoldenDenseStrategy(t *testing.T) {
	data := golden.Read(t, "22_cma_es.npz")
	fields := []string{"mean", "sigma", "covariance", "path", "step_path"}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for step := 0; step <= 40; step += 10 {
			stored := func(part string, step int) []float32 { return data.Float32s(fmt.Sprintf("dense.%s_%d", part, step)) }
			n, batch := len(stored("mean", 0)), len(stored("value", 0))
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				mean, sigma, covariance, solutions, values := in[0], in[1], in[2], in[5], in[6]
				eigenvalues, basis := eigen(covariance, diagonal(OnesLike(mean)), 8*n)
				s := strategiesOf(cmaESName, 1, 0.3)
				d := s.distributions(batch).(denseCMAES)
				d.State = cmaES{batch, 0.3, mean, sigma, covariance, basis, Sqrt(eigenvalues), in[3], in[4], in[7]}
				white := times(BroadcastToDims(TransposeAllAxes(basis, 0, 2, 1), batch, n, n), Sub(solutions, mean))
				noise := Div(white, Mul(d.State.Scales, perRow(sigma)))
				rank := Reshape(xla.Ranks(values), batch)
				first, second := summed(d, noise, rank)
				after, _ := d.update(first, second)
				state := after.(denseCMAES).State
				return []*Node{state.Mean, state.Sigma, state.Covariance, state.Path, state.StepPath,
					Add(mean, d.steps(perRow(ZerosLike(rank)), noise))}
			}, xlatest.Tensor(stored("mean", step), 1, n), xlatest.Tensor(stored("sigma", step), 1),
				xlatest.Tensor(stored("covariance", step), 1, n, n), xlatest.Tensor(stored("path", step), 1, n),
				xlatest.Tensor(stored("step_path", step), 1, n), xlatest.Tensor(stored("solutions", step), batch, n),
				xlatest.Tensor(stored("value", step), 1, batch), xlatest.Tensor([]float32{float32(step)}, 1))
			for i, field := range fields {
				xlatest.Close(t, fmt.Sprint(step, ": ", field), xlatest.Flat[float32](t, out[i]), stored(field, step+1), 3e-5)
			}
			xlatest.Close(t, fmt.Sprint(step, ": solutions"), xlatest.Flat[float32](t, out[5]), stored("solutions", step), 1e-5)
		}
	})
}

// summed returns the sums that a distribution updates from, of noise [batch, n] with the weights of its ranks.
func summed(d distributions, noise, rank *Node) (first, second *Node) {
	weights := make([]float32, rank.Shape().Size())
	copy(weights, d.weights())
	weighted := Mul(noise, perRow(Gather(Const(rank.Graph(), weights), perRow(rank))))
	sum := func(x *Node) *Node { return InsertAxes(ReduceSum(x, 0), 0) }
	return sum(weighted), sum(d.second(weighted, noise))
}

// A third of a sweep in each generation follows a covariance matrix over 100 parameters that changes: the basis
// stays orthonormal, and the matrix is what it and the scales say.
func TestDecompositionFollowsTheCovariance(t *testing.T) {
	const n, size, generations = 100, 36, 301
	p := xlatest.Best(t)
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		s := strategiesOf(cmaESName, 1, 0.3)
		start := s.distributions(size).start(Zeros(in[0].Graph(), shapes.Make(dtypes.Float32, 1, n))).(denseCMAES)
		type state struct {
			State cmaES
			Key   random.Key
		}
		var curvature []float32
		for i := range n {
			curvature = append(curvature, float32(math.Pow(1000, float64(i)/(n-1))))
		}
		end := xla.For(in[0].Graph(), generations, state{start.State, random.KeyOf(in[0])}, func(turn *Node, c state) state {
			strategies := perRow(Zeros(turn.Graph(), shapes.Make(dtypes.Int32, size)))
			x := c.State.sample(strategies, c.Key.FoldInEach(turn).Normal(size, n))
			loss := ReduceSum(Mul(Square(x), Const(turn.Graph(), [][]float32{curvature})), 1)
			c.State, _ = c.State.update(InsertAxes(x, 0), xla.Ranks(InsertAxes(Neg(loss), 0)))
			return c
		}).State
		transposed := TransposeAllAxes(end.Basis, 0, 2, 1)
		made := matrices(Mul(end.Basis, InsertAxes(Square(end.Scales), 1)), transposed)
		worst := func(x *Node) *Node { return ReduceAllMax(Abs(x)) }
		return []*Node{worst(Sub(matrices(transposed, end.Basis), diagonal(OnesLike(end.Scales)))),
			Div(worst(Sub(made, end.Covariance)), worst(end.Covariance)), ReduceAllMax(end.Scales), ReduceAllMin(end.Scales)}
	}, xlatest.Tensor([]uint32{1, 2}, 2))
	found := make([]float32, len(out))
	for i, x := range out {
		found[i] = xlatest.Flat[float32](t, x)[0]
	}
	if found[0] > 1e-5 || found[1] > 5e-3 || found[2] < 1.1*found[3] {
		t.Errorf("the basis is off by %g, the matrix by %g; scales from %g to %g", found[0], found[1], found[3], found[2])
	}
}

// strategiesOf returns settings of a strategy.
func strategiesOf(strategy string, emitters int, sigma0 float64) evolutionStrategies {
	return evolutionStrategies{StrategySettings: StrategySettings{Strategy: strategy, Emitters: emitters,
		Sigma0: sigma0, RestartRule: "basic", AdamLearningRate: 0.02, AdamL2Coeff: 0.05}}
}

// The defaults on tasks of 100 parameters are published ones; angles of arm are shares of a turn.
func TestPublishedSettingsOfStrategies(t *testing.T) {
	const turn = 2 * math.Pi // rad
	for env, want := range map[string]struct{ mae, dms, mega, rate float64 }{
		"sphere": {0.5, 0.5, 10, 0.1}, "rastrigin": {0.5, 0.5, 10, 0.1},
		"arm": {0.1 / turn, 0.2 / turn, 0.05 / turn, 0.001},
	} {
		spec := must.Get(envs.Make(env)).Spec()
		mae, dms, mega, maega := defaultCMAMAE(spec), defaultDMS(spec), defaultCMAMEGA(spec), defaultCMAMAEGA(spec)
		strategies, discounted := partOf[StrategySettings](mae), partOf[StrategySettings](dms)
		for _, sigma := range [][2]float64{{strategies.Sigma0, want.mae}, {discounted.Sigma0, want.dms},
			{partOf[ArborescenceSettings](mega).Sigma0, want.mega}, {partOf[ArborescenceSettings](maega).Sigma0, want.mega}} {
			if math.Abs(sigma[0]/sigma[1]-1) > 0.01 {
				t.Errorf("%s: sigma0 is %g, published %g", env, sigma[0], sigma[1])
			}
		}
		if strategies.Strategy != cmaESName || discounted.Strategy != cmaESName || mae.Batch != 540 ||
			strategies.Emitters != 15 || partOf[repertoire.Annealed](mae).LearningRate != 0.01 ||
			partOf[repertoire.Discounted](dms).Rate != want.rate {
			t.Errorf("%s: %+v and %+v", env, mae, dms)
		}
	}
}

// Five updates of pyribs 0.12's strategies with stored samples (tools/peer/cma_mae.py): 14_cma_mae_strategy.npz has
// those of sep-CMA-ES in 5 and in 200 dimensions, 17_cma_mae_strategies.npz those of LM-MA-ES, with fewer and more
// vectors than generations, and of OpenAI-ES.
func TestGoldenStrategies(t *testing.T) {
	sep := []string{"mean", "sigma", "variance", "anisotropic_path", "step_path", "age"}
	lm := []string{"mean", "sigma", "step_path", "vectors", "age"}
	adam := []string{"mean", "first", "second", "weight1", "weight2"}
	for _, c := range []struct {
		file, name, strategy string
		vectors              int
		fields               []string
	}{
		{"14_cma_mae_strategy.npz", "short", sepCMAESName, 0, sep},
		{"14_cma_mae_strategy.npz", "long", sepCMAESName, 0, sep},
		{"17_cma_mae_strategies.npz", "few", lmMAESName, 3, lm},
		{"17_cma_mae_strategies.npz", "many", lmMAESName, 0, lm},
		{"17_cma_mae_strategies.npz", "openai", openAIESName, 0, adam},
	} {
		data := golden.Read(t, c.file)
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			stored := func(part string, step int) []float32 {
				switch step := float64(step); part { // what pyribs computes from the number of updates
				case "age":
					return []float32{float32(step)}
				case "weight1":
					return []float32{float32(1 - math.Pow(0.9, step))}
				case "weight2":
					return []float32{float32(1 - math.Pow(0.999, step))}
				}
				return data.Float32s(fmt.Sprintf("strategy.%s.%s_%d", c.name, part, step))
			}
			n, batch := len(stored("mean", 0)), len(stored("value", 0))
			sigma0 := 0.3
			if data.Has("strategy." + c.name + ".sigma0") {
				sigma0 = float64(data.Number("strategy." + c.name + ".sigma0"))
			}
			s := strategiesOf(c.strategy, 1, sigma0)
			s.Vectors = c.vectors
			shapes := map[string][]int{"sigma": {1}, "age": {1}, "weight1": {1, 1}, "weight2": {1, 1},
				"vectors": {1, len(data.Float32s("strategy."+c.name+".mean_0")) / n, n}}
			if c.strategy == lmMAESName {
				es := strategy{StrategySettings: s.StrategySettings, size: batch}
				shapes["vectors"][1] = lmMAES{strategy: es}.count()
			}
			for step := range 5 {
				in := []*tensors.Tensor{xlatest.Tensor(stored("noise", step), batch, n),
					xlatest.Tensor(stored("value", step), 1, batch)}
				for _, field := range c.fields {
					dims, ok := shapes[field]
					if !ok {
						dims = []int{1, n}
					}
					in = append(in, xlatest.Tensor(stored(field, step), dims...))
				}
				out := xlatest.Run(t, p, func(in []*Node) []*Node {
					noise, rank := in[0], Reshape(xla.Ranks(in[1]), batch)
					d := xla.Unflatten(s.distributions(batch).start(in[2]), in[2:])
					first, second := summed(d, noise, rank)
					after, _ := d.update(first, second)
					return append(xla.Flatten(after), Add(in[2], d.steps(perRow(ZerosLike(rank)), noise)))
				}, in...)
				for i, field := range c.fields {
					xlatest.Close(t, fmt.Sprint(c.name, " ", step, ": ", field),
						xlatest.Flat[float32](t, out[i]), stored(field, step+1), 2e-5)
				}
				if made := out[len(out)-1]; data.Has("strategy." + c.name + ".solutions_0") {
					xlatest.Close(t, fmt.Sprint(c.name, " ", step, ": solutions"),
						xlatest.Flat[float32](t, made), stored("solutions", step), 2e-6)
				}
			}
		})
	}
}

// adapted runs a generation of three strategies over twelve parameters, from a state that is older than one generation:
// it returns the offspring, and the state before and after they adapted to the improvements.
func adapted(t *testing.T, p *xla.Platform, s evolutionStrategies, improvement []float32) (
	children []float32, before, after map[string][]float32) {
	t.Helper()
	const n, cells = 12, 2
	var names []string
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		g, key := in[0].Graph(), random.KeyOf(in[0])
		s := s
		s.State = s.distributions(4).start(IotaFull(g, shapes.Make(dtypes.Float32, s.Emitters, n)))
		names = xla.Names(s.State)
		fitness := Const(g, []float32{0, float32(math.Inf(-1))})
		elites := newParents(AddScalar(Zeros(g, shapes.Make(dtypes.Float32, cells, n)), -7), repertoire.Cells{Fitness: fitness})
		elites.Batch, elites.Count = 12, 12
		adapt := func(improvement *Node) []*Node {
			of := Generation{Parents: elites, Insertion: repertoire.Insertion{Improvement: improvement}}
			after, _ := s.Update(of, elites.Key.FoldIn(streamLearn))
			return xla.Flatten(after)
		}
		for generation := range 3 {
			elites.Key = key.FoldIn(generation)
			if generation < 2 {
				s = xla.Unflatten(s, adapt(IotaFull(g, shapes.Make(dtypes.Float32, 12))))
			}
		}
		made := s.Offspring(elites, Iota(g, shapes.Make(dtypes.Int32, 12), 0), random.Key{})
		return append(append([]*Node{made}, xla.Flatten(s)...), adapt(in[1])...)
	}, xlatest.Tensor(random.SeedWords(3), 2), xlatest.Tensor(improvement, len(improvement)))
	before, after = map[string][]float32{}, map[string][]float32{}
	for i, name := range names {
		before[name] = xlatest.Flat[float32](t, out[1+i])
		after[name] = xlatest.Flat[float32](t, out[1+len(names)+i])
	}
	return xlatest.Flat[float32](t, out[0]), before, after
}

// The samples that a strategy adapts to are the individuals that were evaluated: its mean becomes
// the weighted mean of the better half of its own.
func TestStrategiesAdaptToTheirOwnOffspring(t *testing.T) {
	improvement := []float32{4, -1, 3, 0, -5, -6, -7, -5, 1, 2, 3, 4}
	best := [][2]int{{0, 2}, {4, 7}, {11, 10}} // equals in order
	for _, strategy := range []string{sepCMAESName, lmMAESName} {
		s := strategiesOf(strategy, 3, 0.3)
		weights := s.distributions(4).weights()
		xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
			children, _, after := adapted(t, p, s, improvement)
			var want []float32
			for _, pair := range best {
				for k := range 12 {
					want = append(want, weights[0]*children[12*pair[0]+k]+weights[1]*children[12*pair[1]+k])
				}
			}
			xlatest.Close(t, strategy+": mean", after["Mean"], want, 1e-5)
			xlatest.Close(t, strategy+": age", after["Age"], []float32{3, 3, 3}, 0)
			if sum := weights[0] + weights[1]; math.Abs(float64(sum)-1) > 1e-6 || len(weights) != 2 {
				t.Errorf("weights %v", weights)
			}
		})
	}
}

// OpenAI-ES samples in pairs that are symmetric to the mean, and its gradient is that of the ranks
// of the individuals that were evaluated.
func TestAntitheticSampling(t *testing.T) {
	s := strategiesOf(openAIESName, 3, 0.3)
	s.AdamL2Coeff = 0
	improvement := []float32{4, -1, 3, 0, -5, -6, -7, -5, 1, 2, 3, 4}
	rank := []float32{0, 3, 1, 2, 0, 2, 3, 1, 3, 2, 1, 0}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		children, before, after := adapted(t, p, s, improvement)
		var mirrored, want, got []float32
		for i, mean := range before["Mean"] {
			e, k := i/12, i%12
			child := func(j int) float32 { return children[12*(4*e+j)+k] - mean }
			var gradient float32
			for j := range 4 {
				gradient += child(j) / 0.3 * (0.5 - rank[4*e+j]/3) / (2 * 0.3)
			}
			mirrored = append(mirrored, child(0)+child(1), child(2)+child(3))
			want = append(want, -gradient)
			got = append(got, (after["Moments.First"][i]-0.9*before["Moments.First"][i])/0.1)
		}
		xlatest.Close(t, "sums of pairs", mirrored, make([]float32, len(mirrored)), 1e-5)
		xlatest.Close(t, "gradient", got, want, 1e-4)
		if slices.Equal(after["Mean"], before["Mean"]) || slices.Max(children[:12]) == 0 {
			t.Error("nothing moves: the test proves nothing")
		}
	})
}

// A strategy restarts at an elite when its ranking is flat or not a number, and by the rule
// no_improvement also when it improved nothing.
func TestStrategiesRestart(t *testing.T) {
	inf := float32(math.Inf(-1))
	improvement := []float32{-3, -2, -1, -4, 5, 5, 5, 5, inf, inf, inf, inf}
	for _, strategy := range strategyNames {
		for rule, restarted := range map[string][]bool{"basic": {false, true, true}, "no_improvement": {true, true, true}} {
			s := strategiesOf(strategy, 3, 0.3)
			s.RestartRule = rule
			_, _, after := adapted(t, xlatest.Pure(t), s, improvement)
			var names []string
			fresh := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
				start := s.distributions(4).start(in[0])
				names = xla.Names(start)
				return xla.Flatten(start)
			}, xlatest.Tensor(slices.Repeat([]float32{-7}, 3*12), 3, 12))
			for e, want := range restarted {
				same := true
				for i, name := range names {
					start, row := xlatest.Flat[float32](t, fresh[i]), len(after[name])/3
					same = same && slices.Equal(after[name][e*row:(e+1)*row], start[e*row:(e+1)*row])
				}
				errtest.Equal(t, fmt.Sprintf("%s, %s: strategy %d restarted", strategy, rule, e), same, want)
			}
		}
	}
}

// cmamae returns a search of CMA-MAE on sphere.
func cmamae(t *testing.T, p *xla.Platform, strategy string, dims, emitters, batch, slice int) *search {
	t.Helper()
	task := scoring.NewTask(envs.Sphere(dims), nil, 1)
	h := defaultCMAMAE(task.Env.Spec())
	parts.Change(h, func(s *StrategySettings) {
		if s.Strategy, s.Emitters = strategy, emitters; strategy == openAIESName {
			s.AdamLearningRate = 0.1 // sphere is wider than the weights of a network
		}
	})
	limit := task.Env.Spec().Descriptor.Upper[0]
	var centroids []float32
	for i := range 64 {
		centroids = append(centroids, limit*(float32(i%8)/3.5-1), limit*(float32(i/8)/3.5-1))
	}
	all := npz.Of(centroids, 64, 2)
	return searchOf(t, p, task, partsOf(h, task), settings{Batch: batch, Slice: slice, Seed: 5, Centroids: all})
}

// CMA-ES on the grid of MAP-Elites, which is CMA-ME, adapts its step size to sphere: it finds better
// solutions in more cells than Iso+LineDD with the paper's step sizes and as many evaluations.
func TestCMAESOnAGridLearns(t *testing.T) {
	of := cmamae(t, xlatest.Pure(t), sepCMAESName, 100, 5, 100, 10)
	sum := func(emitter Emitter) (sum, best float32) {
		s := searchOf(t, of.programs.Platform, of.task, Parts{Mix: Mix{{emitter, 1}}}, of.settings)
		for _, f := range steps(t, s, 80)[79].Fitnesses {
			sum, best = sum+max(f, 0), max(best, f)
		}
		return sum, best
	}
	strategies := StrategySettings{Emitters: 5, Sigma0: 0.5, RestartRule: "no_improvement"}
	score, best := sum(strategies.Emitter())
	lineScore, lineBest := sum(IsoLineEmitter{0.005, 0.05})
	t.Logf("QD scores %g and %g, best fitnesses %g and %g", score, lineScore, best, lineBest)
	if score < 1.5*lineScore || best < lineBest+5 {
		t.Errorf("QD scores %g and %g, best fitnesses %g and %g", score, lineScore, best, lineBest)
	}
}

type ownAnnealed struct{ repertoire.Annealed }

// An archive that embeds another one gets the threshold of an environment, and stays what it is.
func TestOwnArchivesGetTheirThreshold(t *testing.T) {
	spec := mazeTask().Env.Spec()
	preset, m := defaultCMAMAE(spec), defaultCMAMAE(spec)
	m.Archive = ownAnnealed{m.Archive.(repertoire.Annealed)}
	preset.Resolve(spec)
	m.Resolve(spec)
	want := preset.Archive.(repertoire.Annealed).ThresholdMin
	if a, ok := m.Archive.(ownAnnealed); !ok || a.ThresholdMin != want {
		t.Errorf("%T %+v", m.Archive, m.Archive)
	}
}

// manySums is sphere whose descriptor is 16 sums of 2 components each.
func manySums() *envs.BlackBox {
	const d = 16
	box := envs.Sphere(2 * d)
	base := box.Evaluate
	of := &box.Facts.Descriptor
	of.Lower, of.Upper, of.Components = slices.Repeat([]float32{-10.24}, d),
		slices.Repeat([]float32{10.24}, d), slices.Repeat([]string{"sum of two"}, d)
	box.Evaluate = func(x *Node) (fitness, descriptor *Node) {
		fitness, _ = base(x)
		return fitness, ReduceSum(Reshape(ClipScalar(x, -5.12, 5.12), -1, d, 2), 2)
	}
	return box
}

// With a descriptor of 16 components, Discount Model Search fills more cells than CMA-MAE, all of
// whose solutions share few thresholds.
func TestDMSExploresManyDimensions(t *testing.T) {
	p, box := xlatest.Quick(t), manySums()
	task := scoring.NewTask(box, nil, 1)
	var centroids []float32
	for i := range 256 * 16 {
		centroids = append(centroids, float32(10.24*math.Sin(float64(i*i)))/2)
	}
	scores := map[string]float32{}
	dms, mae := defaultDMS(box.Facts), defaultCMAMAE(box.Facts)
	for name, h := range map[string]*MapElites{"dms": dms, "cma-mae": mae} {
		s := searchOf(t, p, task, partsOf(h, task), settings{Batch: 540, Seed: 5, Centroids: npz.Of(centroids, 256, 16)})
		for _, f := range steps(t, s, 15)[14].Fitnesses {
			scores[name] += max(f, 0)
		}
	}
	t.Logf("QD scores %v", scores)
	if scores["dms"] <= scores["cma-mae"] {
		t.Errorf("QD scores %v", scores)
	}
}
