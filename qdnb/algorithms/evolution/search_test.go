package evolution

import (
	"fmt"
	"math"
	"os"
	"reflect"
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
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// A search equals, bit for bit, a plain Go insertion of the same offspring, without those that have
// NaN, which are counted. In particular, the stored genotypes, which are emitted a second time, are
// those that were evaluated. The cases cover all relations of batch, slice and cells.
func TestGenerationsEqualTheOracle(t *testing.T) {
	inf := math.Inf(1)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for i, c := range []struct {
			env     scripted
			of      settings
			invalid [2]int // limits of their number in four generations
		}{
			// the workers do not divide the slices, nor the slice size the batch
			{scripted{0.1, 0.5}, settings{Batch: 7, Slice: 3, Centroids: line(30), Seed: 1}, [2]int{1, 27}},
			{unlimited, settings{Batch: 40, Slice: 8, Centroids: line(12)}, [2]int{}},          // more offspring than cells
			{unlimited, settings{Batch: 2, Slice: 100, Centroids: line(5), Seed: 2}, [2]int{}}, // a batch smaller than a slice
			{unlimited, settings{Batch: 9, Slice: 2, Centroids: line(1), Seed: -3}, [2]int{}},  // one cell
			{unlimited, settings{Batch: 1, Slice: 0, Centroids: line(3), Seed: 4}, [2]int{}},
			// all are invalid: the second generation samples an empty repertoire
			{scripted{-inf, inf}, settings{Batch: 10, Slice: 4, Centroids: line(4)}, [2]int{40, 40}},
			{scripted{inf, -inf}, settings{Batch: 10, Slice: 4, Centroids: line(4)}, [2]int{40, 40}},
		} {
			if i > 0 && p.Kind != backend.Go {
				break // XLA takes seconds to compile each
			}
			task := c.env.task()
			s := startSearch(t, p, task, noisy, c.of)
			want := must.Get(s.Arrays())
			total := 0
			for generation := range int32(4) {
				offspring := children(t, p, task, noisy, want, c.of, generation)
				invalid := insert(t, want, floats(t, want, "centroids"), offspring, task.Policy.Params(), c.env.evaluate)
				total += invalid
				outcome := steps(t, s, 1)[0]
				got := must.Get(s.Arrays())
				for _, name := range []string{"fitnesses", "descriptors", "genotypes"} {
					if !slices.Equal(floats(t, got, name), floats(t, want, name)) {
						t.Errorf("case %d, generation %d: %s are\n%v, want\n%v", i, generation, name, got[name].Data, want[name].Data)
					}
				}
				if outcome.Generation != int64(generation) || s.generation != outcome.Generation || outcome.Invalid != invalid ||
					!slices.Equal(outcome.Fitnesses, floats(t, want, "fitnesses")) {
					t.Errorf("case %d: outcome %+v, want %d invalid", i, outcome, invalid)
				}
			}
			if total < c.invalid[0] || total > c.invalid[1] {
				t.Errorf("case %d: %d of all were invalid, which tells nothing", i, total)
			}
		}
	})
}

// mazeTask is a small version of the paper's task.
func mazeTask() scoring.Task { return scoring.NewTask(envs.Pointmaze{}, []int{8, 8}, 20) }

func mazeSettings(seed int64) settings {
	var centroids []float32
	for i := range 36 {
		centroids = append(centroids, -1+(float32(i%6)+0.5)/3, -1+(float32(i/6)+0.5)/3)
	}
	return settings{Batch: 30, Slice: 4, Seed: seed, Centroids: npz.Of(centroids, 36, 2)}
}

var isoline = IsoLineEmitter{IsoSigma: 0.05, LineSigma: 0.1}

// With fixed starts, individual i starts in state i modulo Starts in every generation.
func TestFixedStarts(t *testing.T) {
	const individuals, starts = 10, 4
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			root := random.KeyOf(in[0])
			which := Iota(in[0].Graph(), shapes.Make(dtypes.Int32, individuals), 0)
			from := source{Key: root.FoldIn(1)}
			fresh := generation{}.resets(from, which)
			from.Start = root.FoldIn(streamStart)
			same, fixed := generation{}.resets(from, which), generation{starts: starts}.resets(from, which)
			from.Key = root.FoldIn(2)
			return []*Node{fresh.Lo, same.Lo, fixed.Lo, generation{starts: starts}.resets(from, which).Lo}
		}, tensors.FromValue(random.SeedWords(5)))
		for k, want := range []int{individuals, 1, starts, starts} {
			keys := xlatest.Flat[uint32](t, out[k])
			distinct := map[uint32]bool{}
			for i, key := range keys {
				distinct[key] = true
				if i >= starts && k > 0 && key != keys[i-starts] {
					t.Errorf("case %d: individual %d does not start as %d does", k, i, i-starts)
				}
			}
			errtest.Equal(t, fmt.Sprintf("case %d: initial states", k), len(distinct), want)
		}
		if !slices.Equal(xlatest.Flat[uint32](t, out[2]), xlatest.Flat[uint32](t, out[3])) {
			t.Error("the fixed initial states differ between generations")
		}
	})
}

// scripted is a task that plain Go can compute exactly: the observation is 1, the reward of a step is the first action
// component and the descriptor after it the second. Rewards and descriptors are NaN for actions beyond a limit.
type scripted struct{ RewardLimit, DescriptorLimit float64 }

var unlimited = scripted{math.Inf(1), math.Inf(1)}

func (scripted) Spec() envs.Spec {
	return envs.Spec{Name: "scripted", Observations: 1, Actions: 2, Length: 2,
		Descriptor: envs.Descriptor{Kind: envs.Final, Lower: []float32{-1}, Upper: []float32{1},
			Components: []string{"second action"}}}
}

func (scripted) Reset(keys random.Key) envs.State {
	g, n := keys.Hi.Graph(), keys.Hi.Shape().Dimensions[0]
	zero := Zeros(g, shapes.Make(dtypes.Float32, n))
	return envs.State{Observation: Ones(g, shapes.Make(dtypes.Float32, n, 1)), Reward: zero,
		Done: zero, Descriptor: InsertAxes(zero, -1)}
}

func (e scripted) Step(s envs.State, action *Node) envs.State {
	limited := func(x *Node, limit float64) *Node {
		return Where(GreaterThan(x, ConstAs(x, limit)), ConstAs(x, math.NaN()), x)
	}
	s.Reward = limited(Reshape(Slice(action, AxisRange(), AxisElem(0)), -1), e.RewardLimit)
	s.Descriptor = limited(Slice(action, AxisRange(), AxisElem(1)), e.DescriptorLimit)
	return s
}

// task returns the scripted task of two steps: the fitness is twice the first action component, the
// descriptor is the second. Its policy is linear: action k is row[k] + row[2+k].
func (e scripted) task() scoring.Task {
	return scoring.Task{Env: e, Policy: nn.MLP{Sizes: []int{1, 2}}, Length: 2}
}

// evaluate is a rollout of the task in plain Go.
func (e scripted) evaluate(genotype []float32) (fitness, descriptor float32) {
	reward := genotype[0] + genotype[2]
	fitness, descriptor = reward+reward, genotype[1]+genotype[3]
	if reward > float32(e.RewardLimit) {
		fitness = float32(math.NaN())
	}
	if descriptor > float32(e.DescriptorLimit) {
		descriptor = float32(math.NaN())
	}
	return fitness, descriptor
}

// line returns n centroids between -1 and 1.
func line(n int) npz.Array {
	centroids := make([]float32, n)
	for i := range centroids {
		centroids[i] = 2*(float32(i)+0.5)/float32(n) - 1
	}
	return npz.Of(centroids, n, 1)
}

// noisy adds noise to a parent. Its sums do not depend on how they are compiled, because nothing is multiplied.
var noisy = Stateless(func(parents Parents, keys random.Key) *Node {
	x := parents.Sample(keys.FoldIn(0))
	return Add(x, keys.FoldIn(1).Uniform(-0.3, 0.3, x.Shape().Dimensions...))
})

func startSearch(t *testing.T, p *xla.Platform, task scoring.Task, emitter Emitter, settings settings) *search {
	t.Helper()
	return searchOf(t, p, task, Parts{Mix: Mix{{emitter, 1}}}, settings)
}

func searchOf(t *testing.T, p *xla.Platform, task scoring.Task, parts Parts, settings settings) *search {
	t.Helper()
	s := must.Get(newSearch(p, task, parts, settings))
	t.Cleanup(s.Close)
	return s
}

// partsOf returns the parts of an algorithm in a task.
func partsOf(m *MapElites, task scoring.Task) Parts {
	resolved := *m
	resolved.Resolve(task.Env.Spec())
	return resolved.Parts
}

// partOf returns the part of an algorithm that has a type or embeds it.
func partOf[T any](m *MapElites) (part T) {
	parts.Change(m, func(p *T) { part = *p })
	return part
}

func steps(t *testing.T, s *search, n int) (outcomes []scoring.Outcome) {
	t.Helper()
	for range n {
		outcomes = append(outcomes, must.Get(s.Step()))
	}
	return outcomes
}

func floats(t *testing.T, arrays map[string]npz.Array, name string) []float32 {
	return must.Get(arrays[name].Float32s())
}

// children emits a generation outside a search, from the state before it.
func children(t *testing.T, p *xla.Platform, task scoring.Task, emitter Emitter,
	before map[string]npz.Array, settings settings, number int32) []float32 {
	t.Helper()
	cells, params := settings.Centroids.Shape[0], task.Policy.Params()
	if number == 0 {
		emitter = Stateless(func(_ Parents, keys random.Key) *Node { return task.Policy.Init(keys) })
	}
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		parents := newParents(in[0], repertoire.Cells{Fitness: in[1], Descriptors: in[2], Centroids: in[2]})
		keys := random.KeyOf(in[3]).FoldInEach(in[4]).FoldInEach(Iota(in[0].Graph(),
			shapes.Make(dtypes.Int32, settings.Batch), 0))
		return []*Node{emitter.Offspring(parents, nil, keys.FoldIn(streamEmit))}
	}, xlatest.Tensor(floats(t, before, "genotypes"), cells, params), xlatest.Tensor(floats(t, before, "fitnesses"), cells),
		xlatest.Tensor(floats(t, before, "descriptors"), cells, 1),
		tensors.FromValue(random.SeedWords(settings.Seed)), tensors.FromScalar(number))
	return xlatest.Flat[float32](t, out[0])
}

// insert is a generation's insertion in plain Go. It returns the number of children that have NaN.
func insert(t *testing.T, into map[string]npz.Array, centroids, children []float32, params int,
	evaluate func([]float32) (fitness, descriptor float32)) (invalid int) {
	t.Helper()
	genotypes, fitnesses, descriptors := floats(t, into, "genotypes"), floats(t, into, "fitnesses"),
		floats(t, into, "descriptors")
	for at := 0; at < len(children); at += params {
		child := children[at : at+params]
		fitness, descriptor := evaluate(child)
		if fitness != fitness || descriptor != descriptor {
			invalid++
			continue
		}
		cell, nearest := 0, float32(math.Inf(1))
		for i, c := range centroids {
			if d := (c - descriptor) * (c - descriptor); d < nearest {
				cell, nearest = i, d
			}
		}
		if fitness > fitnesses[cell] {
			fitnesses[cell], descriptors[cell] = fitness, descriptor
			copy(genotypes[cell*params:], child)
		}
	}
	return invalid
}

// filled returns the number of cells that have a solution.
func filled(fitnesses []float32) (n int) {
	for _, f := range fitnesses {
		if !math.IsInf(float64(f), -1) {
			n++
		}
	}
	return n
}

// Arrays returns the state of a search, as a checkpoint holds it.
func (s *search) Arrays() (map[string]npz.Array, error) { return s.State().Arrays() }

// Restore restores the state that Arrays returned.
func (s *search) Restore(_ int64, arrays map[string]npz.Array) error {
	return s.State().Restore(arrays)
}

// Every policy is rolled out once and keeps its position, for all slice sizes and numbers of
// workers. A NaN policy has fitness -Inf.
func TestEvaluator(t *testing.T) {
	const batch = 7
	genotypes := make([]float32, 4*batch)
	for i := range genotypes {
		genotypes[i] = float32(i%9) / 8
	}
	genotypes[4*5] = float32(math.NaN())
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for _, slice := range []int{1, 3, 7, 20} {
			e := must.Get(unlimited.task().Evaluator(p, scoring.Plan{Policies: batch, Slice: slice}))
			value := p.Replicated(func() *tensors.Tensor {
				return tensors.FromFlatDataAndDimensions(genotypes, batch, 4)
			})
			found, err := e.Evaluate(value, 0, nil)
			fitness, descriptors := found.Fitnesses, found.Descriptors
			if err != nil {
				t.Fatal(err)
			}
			if len(fitness) != batch || len(descriptors) != batch {
				t.Fatalf("%d fitnesses and %d descriptors of %d policies", len(fitness), len(descriptors), batch)
			}
			for i := range batch {
				want, _ := unlimited.evaluate(genotypes[4*i : 4*i+4])
				if i == 5 {
					want = float32(math.Inf(-1))
				}
				// The descriptor is that of the state before the last step: the second component of the first action.
				if descriptor := genotypes[4*i+1] + genotypes[4*i+3]; fitness[i] != want || i != 5 && descriptors[i] != descriptor {
					t.Errorf("slices of %d: policy %d has fitness %g and descriptor %g, want %g and %g", slice, i,
						fitness[i], descriptors[i], want, descriptor)
				}
			}
			value.Free()
			e.Free()
		}
		for _, bad := range [][2]int{{0, 1}, {3, -1}, {-1, 0}} {
			errtest.Want(t, errtest.Of(unlimited.task().Evaluator(p, scoring.Plan{Policies: bad[0], Slice: bad[1]})))
		}
	})
}

// 02_isoline.npz: parents, noise and children of QDax's operator.
func TestGoldenIsoline(t *testing.T) {
	data := golden.Read(t, "02_isoline.npz")
	n, params := data.Shape("x1")[0], data.Shape("x1")[1]
	iso, line := data.Number("const.iso_sigma"), data.Number("const.line_sigma")
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			return []*Node{IsoLineDD(in[0], in[1], in[2], in[3], iso, line)}
		}, xlatest.Tensor(data.Float32s("x1"), n, params), xlatest.Tensor(data.Float32s("x2"), n, params),
			xlatest.Tensor(data.Float32s("eps_iso"), n, params), xlatest.Tensor(data.Float32s("eps_line"), n))
		xlatest.Close(t, "child", xlatest.Flat[float32](t, out[0]), data.Float32s("child"), 1e-6)
	})
}

// FuzzRestore restores a search from arbitrary arrays. The search has every kind of state: a learned archive, a passive
// repertoire and a learner. It continues from arrays that it accepts; arrays that it rejects leave it unchanged.
func FuzzRestore(f *testing.F) {
	archive := defaultAuroraArchive(envs.Pointmaze{}.Spec())
	archive.Capacity, archive.Sampling, archive.Every, archive.Epochs, archive.TrainingBatch = 12, 5,
		2, 1, 8
	learner := honest
	learner.Rows = 2000
	s, err := newSearch(xlatest.Pure(f), mazeTask(),
		Parts{Mix: Mix{{learner, 0.25}, {isoline, 0.75}}, Archive: archive}, mazeSettings(2))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(s.Close)
	for range 2 {
		if _, err := s.Step(); err != nil {
			f.Fatal(err)
		}
	}
	xlatest.FuzzRestore(f, s, 1, "", "-genotypes <f4 1,", "genotypes <f8 12,114 1e300",
		"fitnesses <f4 12, nan -inf inf\ngenotypes <f4 12,114 nan",
		"Archive.Encoded.Autoencoder <f4 1,332 nan\nArchive.Distance.Length <f4 , -1", "passive_centroids <f4 36,2 nan inf",
		"Archive.Distance.Length <f4 1, 1", "proposing_0.Emitter.First |b1 1,114 1",
		"genotypes <f4 114,12 1", "Archive.Encoded.Sequences <f4 12,4,2 1e30\nArchive.Encoded.Deviation <f4 2, 0",
		"descriptors <f4 4611686018427387904,0", "Archive.Encoded.Mean <U1 2, 1", "proposing_0.Emitter.Count |u1 , 3",
	)
}

// Emitters that cannot share a batch, and parts that cannot work together, are one line before the first generation.
func TestPartsThatDoNotFitTogether(t *testing.T) {
	small := honest
	small.Rows = 7
	for want, mix := range map[string]Mix{
		"a replay buffer of 7 transitions is too small for the 8 of a generation": {{small, 1}},
		"share 2 of the emitters needs an emitter and a number from 0 to 1, or Rest once, not evolution.Stateless and 2": {
			{honest, -1}, {noisy, 2}},
		"share 2 of the emitters needs an emitter":              {{noisy, 1}, {nil, 0}},
		"the shares of the emitters must add up to 1, not 0.75": {{honest, 0.5}, {noisy, 0.25}},
		"the shares of the emitters must add up to 1, not 0":    nil,
		"share 2 of the emitters, 0.2 of a batch of 4, is less than one individual: at least 0.25, or 0 to leave it out": {
			{noisy, 0.8}, {StrategySettings{Emitters: 1, Sigma0: 1}.Emitter(), 0.2}},
		"share 3 of the emitters, 1e-09 of a batch": {{noisy, 0.5}, {isoline, 0.5 - 1e-9}, {noisy, 1e-9}},
		"so no other emitter can learn from them":   {{watcher{honest}, 0.5}, {honest, 0.5}},
	} {
		_, err := newSearch(xlatest.Pure(t), unlimited.task(), Parts{Mix: mix}, settings{Batch: 4, Centroids: line(3)})
		errtest.Want(t, err, want)
	}

	maze, sphere := mazeTask(), scoring.NewTask(envs.Sphere(6), nil, 1)
	cma, mome, dcrl := defaultCMAMAE(maze.Env.Spec()), defaultMOME(maze.Env.Spec()), defaultDCRLMapElites(maze.Env.Spec())
	cma.Mix = Mix{{cma.Mix[0].Emitter, 1. / 3}, {isoline, 2. / 3}}
	parts.Change(cma, func(s *StrategySettings) { s.Emitters = 3 })
	parts.Change(dcrl, func(c *td3.Config) {
		c.NumCriticTrainingSteps, c.NumPGTrainingSteps = 1, 1
		c.CriticHidden, c.ReplayBufferSize, c.TransitionsBatchSize = []int{4}, 8000, 4
	})
	mome.Mix = Mix{{dcrl.Mix[0].Emitter, 0.5}, {isoline, 0.5}}
	parts.Change(mome, func(f *repertoire.Fronts) { f.FrontSize = 3 })
	lm := defaultCMAMAE(sphere.Env.Spec())
	parts.Change(lm, func(s *StrategySettings) { s.Strategy, s.Emitters = lmMAESName, 1 })
	few := mazeSettings(0)
	few.Batch, few.Centroids = 8, npz.Of([]float32{0, 0}, 1, 2)
	for want, c := range map[string]struct {
		of       *MapElites
		task     scoring.Task
		settings settings
	}{
		"a share of it, must be a multiple of emitters": {cma, maze, mazeSettings(0)},
		"needs an archive with one solution per cell":   {mome, maze, mazeSettings(0)},
		"not 8 for 6: lower batch":                      {lm, sphere, few},
	} {
		c.of.Batch = c.settings.Batch
		c.of.Resolve(c.task.Env.Spec())
		err := c.of.Check()
		if err == nil {
			_, err = newSearch(xlatest.Pure(t), c.task, c.of.Parts, c.settings)
		}
		errtest.Want(t, err, want)
	}
	s := newLearningSearch(t, xlatest.Pure(t), honest, settings{Batch: 4, Centroids: line(3)})
	arrays := must.Get(s.Arrays())
	arrays["proposing_0.Emitter.Count"] = npz.Of([]float32{1, 2}, 2)
	errtest.Want(t, s.Restore(0, arrays), "the checkpoint's proposing_0.Emitter.Count has shape [2]")
	for _, wrong := range []int{-1, 41} {
		aurora := defaultAurora(maze.Env.Spec())
		parts.Change(aurora, func(a *repertoire.Aurora) { a.Capacity, a.Target = 40, wrong })
		errtest.Want(t, aurora.Check(), "target must be between 0 and 40")
	}
}

// An archive with fewer slots than a slice has policies works on every backend, and only its slots limit a slice.
func TestArchiveSmallerThanASlice(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		novelty := func(capacity int) repertoire.Archive {
			return repertoire.DominatedNovelty{Capacity: capacity, K: 1}
		}
		for capacity, want := range map[int]int{30: 12, 7: 7} { // the passive grid has 3 cells
			s := searchOf(t, p, unlimited.task(), Parts{Mix: Mix{{noisy, 1}}, Archive: novelty(capacity)},
				settings{Batch: 12, Slice: 12, Centroids: line(3)})
			steps(t, s, 2)
			cells := floats(t, must.Get(s.Arrays()), "passive_fitnesses")
			if s.settings.Slice != want || slices.Max(cells) == float32(math.Inf(-1)) {
				t.Errorf("capacity %d: slices of %d, want %d; cells %v", capacity, s.settings.Slice, want, cells)
			}
		}
		fronts := repertoire.Fronts{FrontSize: 5}
		if s := searchOf(t, p, unlimited.task(), Parts{Mix: Mix{{noisy, 1}}, Archive: fronts},
			settings{Batch: 12, Slice: 12, Centroids: line(3)}); s.settings.Slice != 12 {
			t.Errorf("fronts with 15 slots: slices of %d, want 12", s.settings.Slice)
		}
		small := repertoire.DominatedNovelty{Capacity: 2, K: 1}
		s := searchOf(t, p, unlimited.task(), Parts{Mix: Mix{{noisy, 1}}, Archive: small},
			settings{Batch: 12, Slice: 5, Centroids: line(20)})
		steps(t, s, 2)
		population, cells := floats(t, must.Get(s.Arrays()), "fitnesses"), floats(t, must.Get(s.Arrays()), "passive_fitnesses")
		empty := float32(math.Inf(-1))
		if len(population) != 2 || slices.Min(population) == empty || slices.Max(cells) == empty {
			t.Errorf("population %v, cells %v", population, cells)
		}
	})
}

// sampled is a population that is measured in every n-th generation.
type sampled struct {
	repertoire.DominatedNovelty
	Every int64
}

func (s sampled) MeasureEvery() int64 { return s.Every }

func (s sampled) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	s.DominatedNovelty = s.DominatedNovelty.Empty(task, key).(repertoire.DominatedNovelty)
	return s
}

func (s sampled) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	after, in := s.DominatedNovelty.Add(found)
	s.DominatedNovelty = after.(repertoire.DominatedNovelty)
	return s, in
}

// The measurement of the end of a budget is that of a run in which it is due, also of a run that
// starts from genotypes, which take several generations.
func TestConcludeMeasuresTheGeneration(t *testing.T) {
	for _, given := range []int{0, 45} {
		task := mazeTask()
		after := func(measureEvery int64) []float32 {
			parts := Parts{Mix: Mix{{isoline, 1}}, Archive: sampled{repertoire.DominatedNovelty{Capacity: 24, K: 3},
				measureEvery}, Initial: make([][]float32, given)}
			for i := range parts.Initial {
				parts.Initial[i] = slices.Repeat([]float32{float32(i) / 100}, task.Policy.Params())
			}
			s := searchOf(t, xlatest.Pure(t), task, parts, mazeSettings(1))
			last := steps(t, s, 3)[2]
			if measureEvery > 2 {
				last = must.Get(s.Conclude())
			}
			return last.Fitnesses
		}
		if got, want := after(100), after(2); !slices.Equal(got, want) {
			t.Errorf("after %d given genotypes the end is measured as %v, want %v", given, got, want)
		}
	}
}

// The population is also reported on the task's cells, and evaluations of the passive
// repertoire are counted: one of each slot in every second generation.
func TestPopulationOnTheCells(t *testing.T) {
	task := mazeTask()
	parts := Parts{Mix: Mix{{isoline, 1}}, Archive: sampled{repertoire.DominatedNovelty{Capacity: 24, K: 3}, 2}}
	s := searchOf(t, xlatest.Pure(t), task, parts, mazeSettings(1))
	outcomes := steps(t, s, 4)
	arrays := must.Get(s.Arrays())
	fitnesses, at := floats(t, arrays, "fitnesses"), floats(t, arrays, "descriptors")
	centroids := must.Get(s.settings.Centroids.Float32s())
	best := map[int]float32{}
	for i, f := range fitnesses {
		cell, nearest := 0, math.Inf(1)
		for c := range len(centroids) / 2 {
			x, y := at[2*i]-centroids[2*c], at[2*i+1]-centroids[2*c+1]
			if d := float64(x*x + y*y); d < nearest {
				cell, nearest = c, d
			}
		}
		if known, ok := best[cell]; !math.IsInf(float64(f), -1) && (!ok || f > known) {
			best[cell] = f
		}
	}
	coverage, score := 100*float64(len(best))/float64(len(centroids)/2), 0.0
	for _, f := range best {
		score += float64(f) + task.QDOffset()
	}
	extra := outcomes[3].Extra
	if extra[3] != coverage || math.Abs(extra[4]-score) > 1e-6*math.Abs(score) {
		t.Errorf("%v are %v, want a coverage of %g and a QD score of %g", s.Columns(), extra, coverage, score)
	}
	for i, passes := range []int{1, 1, 2, 2} {
		if got, want := outcomes[i].Extra[2], float64(passes*24*task.Length); got != want {
			t.Errorf("generation %d: %g steps of evaluations, want %g", i, got, want)
		}
	}
}

// A share of 0 leaves any emitter out, and the first one that makes offspring makes the rest.
func TestSharesOfZero(t *testing.T) {
	run := func(mix Mix) (fitnesses []float32) {
		s := searchOf(t, xlatest.Pure(t), unlimited.task(), Parts{Mix: mix}, settings{Batch: 10, Slice: 4, Centroids: line(8)})
		for _, o := range steps(t, s, 3) {
			fitnesses = append(fitnesses, o.Fitnesses...)
		}
		return fitnesses
	}
	want := run(Mix{{noisy, 0.55}, {isoline, 0.45}})
	for _, idle := range []Emitter{StrategySettings{Emitters: 5, Sigma0: 1}.Emitter(), isoline, noisy} {
		errtest.Equal(t, fmt.Sprintf("with a share of 0 of %T", idle), run(Mix{{noisy, 0.55}, {isoline, 0.45}, {idle, 0}}), want)
	}
	for _, mix := range []Mix{{{noisy, 0}, {isoline, 0.35}, {noisy, 0.65}}, {{isoline, 0.35}, {noisy, 0.65}}} {
		all := must.Get(mix.assign(10))
		errtest.Equal(t, "counts and the first of each", fmt.Sprint(len(all), all[0].count, all[1].count, all[1].first),
			"2 4 6 4")
	}
}

// A search ends with the same bytes on all workers and on one. On a CPU its archive is in memory once, however many
// workers read it. Searches that are stopped and resumed are compared by package qdnb. Without QDNB_LONG only those run
// that share their work in different ways, since XLA takes seconds for each program.
func TestWorkersShareTheWork(t *testing.T) {
	p := xlatest.Best(t)
	if p.Workers == 1 {
		t.Skipf("SKIPPED: %s has one worker", p)
	}
	mega, maega := smallMEGA(envs.Sphere(20).Spec())
	parts.Change(mega, func(s *ArborescenceSettings) { s.GradOpt = adamName })
	gradients := func(h *MapElites) func(p *xla.Platform) *search {
		return func(p *xla.Platform) *search {
			return searchOn(t, p, h, envs.Sphere(20), map[bool]int{true: 5, false: 48}[p.Workers == 1])
		}
	}
	quick := []string{"map-elites", "learner", openAIESName, "one turn"}
	cases := map[string]func(p *xla.Platform) *search{
		"mega": gradients(mega), "maega": gradients(maega),
		"map-elites": func(p *xla.Platform) *search { return startSearch(t, p, mazeTask(), isoline, mazeSettings(4)) },
		"learner": func(p *xla.Platform) *search { // more rows than its buffer has
			return newLearningSearch(t, p, honest, settings{Batch: 12, Slice: 4, Centroids: line(9), Seed: 1})
		},
		"ascii-me": func(p *xla.Platform) *search { // the share of one of two workers is one individual
			return searchOf(t, p, mazeTask(), defaultASCIIME(mazeTask().Env.Spec()).Parts,
				settings{Batch: 4, Slice: 1, Centroids: mazeSettings(0).Centroids, Seed: 3})
		},
		"ppga": func(p *xla.Platform) *search {
			return searchOf(t, p, legs(2).task(), partsOf(smallPPGA(), aims()), mazeSettings(3))
		},
		"aurora-xcon": func(p *xla.Platform) *search { return archiveSearch(t, p, smallXCon()) },
		// If each worker has one slice, a single one runs a loop of several: XLA must not round its physics differently.
		"one turn": func(platform *xla.Platform) *search {
			centroids := npz.Of([]float32{0.1, 0.2, 0.5, 0.6, 0.4, 0.3}, 3, 2)
			return startSearch(t, platform, scoring.NewTask(must.Get(envs.Make("walker-uni")), []int{8, 8}, 20), isoline,
				settings{Batch: 2 * p.Workers, Slice: 2, Seed: 1, Centroids: centroids})
		},
	}
	for _, strategy := range strategyNames {
		cases[strategy] = func(p *xla.Platform) *search { return cmamae(t, p, strategy, 20, 3, 30, 4) }
	}
	for name, start := range cases {
		if os.Getenv("QDNB_LONG") == "" && !slices.Contains(quick, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			generations := map[string]int{"learner": 10, "one turn": 1}[name]
			if generations == 0 {
				generations = 6
			}
			all, one := start(p), start(xlatest.WithWorkers(p, 1))
			steps(t, all, generations)
			steps(t, one, generations)
			if !reflect.DeepEqual(must.Get(one.Arrays()), must.Get(all.Arrays())) {
				t.Error("one worker ends with another state")
			}
			if buffer, _ := all.Replay(); buffer != nil {
				_, got := replayOf(t, one)
				if _, want := replayOf(t, all); !slices.Equal(got, want) {
					t.Error("one worker ends with another replay buffer")
				}
			}
			for i, leaf := range all.contents.Leaves() {
				if n := len(leaf.Value()); n != 1 && p.Kind == backend.CPU {
					t.Errorf("tensor %d of the archive is in memory %d times", i, n)
				}
			}
		})
	}
}
