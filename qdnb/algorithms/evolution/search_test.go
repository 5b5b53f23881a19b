package evolution

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// A search equals, bit for bit, a plain Go insertion of the same offspring. In particular, the
// stored genotypes, which are emitted a second time, are those that were evaluated. The cases cover
// all relations of batch, slice and cells.
func TestGenerationsEqualTheOracle(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		cases := []settings{
			// the workers do not divide the slices, nor the slice size the batch
			{Batch: 7, Slice: 3, Centroids: line(30), Seed: 1},
			{Batch: 40, Slice: 8, Centroids: line(12)},          // more offspring than cells
			{Batch: 2, Slice: 100, Centroids: line(5), Seed: 2}, // a batch smaller than a slice
			{Batch: 9, Slice: 2, Centroids: line(1), Seed: -3},  // one cell
			{Batch: 1, Slice: 0, Centroids: line(3), Seed: 4},
		}
		if p.Kind != backend.Go {
			cases = cases[:1] // XLA takes seconds to compile each
		}
		for _, settings := range cases {
			task := unlimited.task()
			params := task.Policy.Params()
			s := startSearch(t, p, task, noisy, settings)
			want := stateOf(t, s)
			for generation := range int32(4) {
				offspring := children(t, p, task, noisy, want, settings, generation)
				insert(t, want, floats(t, want, "centroids"), offspring, params, evaluateScripted)
				outcome := steps(t, s, 1)[0]
				got := stateOf(t, s)
				for _, name := range []string{"fitnesses", "descriptors", "genotypes"} {
					if !slices.Equal(floats(t, got, name), floats(t, want, name)) {
						t.Errorf("batch %d, slice %d, %d cells, generation %d: %s are\n%v, want\n%v", settings.Batch,
							settings.Slice,
							settings.Centroids.Shape[0], generation, name, got[name].Data, want[name].Data)
					}
				}
				if outcome.Generation != int64(generation) || s.generation != int64(
					generation) || outcome.Invalid != 0 ||
					!slices.Equal(outcome.Fitnesses, floats(t, want, "fitnesses")) {
					t.Errorf("outcome %+v", outcome)
				}
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

// The same with hidden layers, tanh and a full episode: another program evaluates the stored
// genotypes again and gets the stored results.
func TestReplayGivesWhatIsStored(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		// The maze draws random initial states; a fixed start makes episodes repeatable.
		task := mazeTask()
		task.Env = fixedStart{envs.Pointmaze{}}
		s := startSearch(t, p, task, isoline, mazeSettings(1))
		steps(t, s, 6)
		arrays := stateOf(t, s)
		genotypes, fitnesses, descriptors := floats(t, arrays, "genotypes"),
			floats(t, arrays, "fitnesses"), floats(t, arrays, "descriptors")
		var rows []float32
		var cells []int
		params := task.Policy.Params()
		for cell, fitness := range fitnesses {
			if !math.IsInf(float64(fitness), -1) {
				cells, rows = append(cells, cell), append(rows, genotypes[cell*params:(cell+1)*params]...)
			}
		}
		if len(cells) < 5 {
			t.Fatalf("only %d cells are filled", len(cells))
		}
		evaluator := must.Get(scoring.NewEvaluator(p, task, scoring.Plan{Policies: len(cells)}))
		defer evaluator.Free()
		found, err := evaluator.Evaluate(p.Replicated(func() *tensors.Tensor {
			return tensors.FromFlatDataAndDimensions(slices.Clone(rows), len(cells), params)
		}), 99, nil)
		if err != nil {
			t.Fatal(err)
		}
		again, reached := found.Fitnesses, found.Descriptors
		for i, cell := range cells {
			xlatest.Close(t, fmt.Sprintf("cell %d: fitness", cell), again[i:i+1],
				fitnesses[cell:cell+1], 2e-6)
			xlatest.Close(t, fmt.Sprintf("cell %d: descriptor", cell), reached[2*i:2*i+2],
				descriptors[2*cell:2*cell+2], 2e-6)
		}
	})
}

// fixedStart is a maze with a fixed initial state.
type fixedStart struct{ envs.Pointmaze }

func (e fixedStart) Reset(keys random.Key) envs.State {
	n := keys.Hi.Shape().Dimensions[0]
	zero := Zeros(keys.Hi.Graph(), shapes.Make(dtypes.Float32, n))
	return e.At(zero, AddScalar(zero, -0.8))
}

// The slice size decides which code XLA generates for the matrix products, and so their last bits.
// Random numbers do not depend on it: where arithmetic is exact, so is the repertoire.
func TestSliceSizeDoesNotChangeResults(t *testing.T) {
	var states []map[string]npz.Array
	for _, slice := range []int{2, 7, 1, 64} {
		s := startSearch(t, xlatest.Pure(t), unlimited.task(), noisy,
			settings{Batch: 64, Slice: slice, Seed: 5, Centroids: line(64)})
		steps(t, s, 3)
		states = append(states, stateOf(t, s))
		if !reflect.DeepEqual(states[0], states[len(states)-1]) {
			t.Errorf("slices of 2 and %d end with different repertoires", slice)
		}
	}
}

// counting is a grid that counts, in int32, how often each cell was offered to.
type counting struct {
	repertoire.Grid
	Offers *Node
}

// many is a count that a float32 cannot hold.
const many = 1<<24 + 1

func (c counting) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	c.Grid = c.Grid.Empty(task, key).(repertoire.Grid)
	c.Offers = BroadcastToDims(Const(key.Hi.Graph(), int32(many)), task.Centroids.Shape[0])
	return c
}

func (c counting) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	grid, in := c.Grid.Add(found)
	c.Grid = grid.(repertoire.Grid)
	c.Offers = Add(c.Offers, ConvertDType(in.Accepted, dtypes.Int32))
	return c, in
}

func (counting) Due(generation int64) string {
	return map[bool]string{true: "add two"}[generation%2 == 1]
}

func (c counting) Maintain(string, *Node, random.Key) repertoire.Archive {
	c.Offers = AddScalar(c.Offers, 2)
	return c
}

// The state of an archive may have any type: integers are not rounded on their way through a
// checkpoint or from one worker to the others.
func TestStatesOfAnyTypeSurviveACheckpoint(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		settings := settings{Batch: 8, Slice: 2, Centroids: line(6)}
		start := func() *search {
			s, err := newSearch(p, unlimited.task(), Parts{Mix: Mix{{noisy, 1}},
				Archive: counting{}}, settings)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			return s
		}
		whole, first, second := start(), start(), start()
		steps(t, whole, 5)
		steps(t, first, 3)
		must.Do(second.Restore(first.generation, stateOf(t, first)))
		steps(t, second, 2)
		want, got := stateOf(t, whole), stateOf(t, second)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("restored: %v, want %v", got, want)
		}
		offers, ok := want["Archive.Offers"].Data.([]int32)
		// two rounds of maintenance, at most five entries
		if !ok || offers[0] < many+4 || offers[0] > many+9 {
			t.Errorf("offers %T %v", want["Archive.Offers"].Data, offers)
		}
		wrong := stateOf(t, first)
		wrong["Archive.Offers"] = npz.Of(make([]float32, 6))
		if err := second.Restore(2, wrong); err == nil || !strings.Contains(err.Error(),
			"Archive.Offers has type float32, but this run needs int32") {
			t.Errorf("%v", err)
		}
	})
}

func TestNaNNeverEntersAndIsCounted(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for what, env := range map[string]scripted{
			"fitness":    {RewardLimit: math.Inf(-1), DescriptorLimit: math.Inf(1)},
			"descriptor": {RewardLimit: math.Inf(1), DescriptorLimit: math.Inf(-1)},
		} {
			s := startSearch(t, xlatest.Pure(t), env.task(), noisy,
				settings{Batch: 10, Slice: 4, Centroids: line(4)})
			for _, outcome := range steps(t, s, 2) { // the second generation samples an empty repertoire
				if outcome.Invalid != 10 || slices.Max(outcome.Fitnesses) != float32(math.Inf(-1)) {
					t.Errorf("all individuals have a NaN %s: %+v", what, outcome)
				}
			}
		}
		// Some individuals have NaN; the others enter as if those were absent.
		env := scripted{RewardLimit: 0.1, DescriptorLimit: 0.5}
		settings := settings{Batch: 50, Slice: 8, Centroids: line(20), Seed: 9}
		s := startSearch(t, p, env.task(), noisy, settings)
		want := stateOf(t, s)
		total := 0
		for generation := range int32(3) {
			invalid := 0
			insert(t, want, floats(t, want, "centroids"),
				children(t, p, env.task(), noisy, want, settings, generation), 4,
				func(genotype []float32) (fitness, descriptor float32) {
					fitness, descriptor = evaluateScripted(genotype)
					if fitness > 2*float32(env.RewardLimit) {
						fitness = float32(math.NaN())
					}
					if descriptor > float32(env.DescriptorLimit) {
						descriptor = float32(math.NaN())
					}
					if fitness != fitness || descriptor != descriptor {
						invalid++
					}
					return fitness, descriptor
				})
			outcome := steps(t, s, 1)[0]
			if outcome.Invalid != invalid || !slices.Equal(outcome.Fitnesses, floats(t, want, "fitnesses")) {
				t.Errorf("generation %d: %d invalid, want %d; fitnesses %v, want %v", generation,
					outcome.Invalid, invalid, outcome.Fitnesses, want["fitnesses"].Data)
			}
			total += invalid
		}
		if total == 0 || total == 150 {
			t.Errorf("%d of 150 were invalid: the test is inconclusive", total)
		}
	})
}

func TestSeedsNameTheRandomNumbers(t *testing.T) {
	first := func(seed int64) map[string]npz.Array {
		s := startSearch(t, xlatest.Pure(t), mazeTask(), isoline, mazeSettings(seed))
		steps(t, s, 1)
		return stateOf(t, s)
	}
	a, again, b, negative := first(1), first(1), first(2), first(-1)
	if !reflect.DeepEqual(a, again) {
		t.Error("the same seed gives a different initial population")
	}
	for _, other := range []map[string]npz.Array{b, negative} {
		if slices.Equal(floats(t, a, "genotypes"), floats(t, other, "genotypes")) {
			t.Error("another seed gives the same initial population")
		}
	}
}

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
			if len(distinct) != want {
				t.Errorf("case %d: %d initial states, want %d", k, len(distinct), want)
			}
		}
		if !slices.Equal(xlatest.Flat[uint32](t, out[2]), xlatest.Flat[uint32](t, out[3])) {
			t.Error("the fixed initial states differ between generations")
		}
	})
}
