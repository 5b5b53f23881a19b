package evolution

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// scripted is a task that plain Go can compute exactly: the observation is 1, the reward of a step
// is the first action component and the descriptor after it the second. Rewards and descriptors are
// NaN for actions beyond a limit.
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

func evaluateScripted(genotype []float32) (fitness, descriptor float32) {
	reward := genotype[0] + genotype[2]
	return reward + reward, genotype[1] + genotype[3]
}

// line returns n centroids between -1 and 1.
func line(n int) npz.Array {
	centroids := make([]float32, n)
	for i := range centroids {
		centroids[i] = 2*(float32(i)+0.5)/float32(n) - 1
	}
	return npz.Of(centroids, n, 1)
}

// noisy adds noise to a parent. Its sums do not depend on how they are compiled, because nothing is
// multiplied.
var noisy = Stateless(func(parents Parents, keys random.Key) *Node {
	x := parents.Sample(keys.FoldIn(0))
	return Add(x, keys.FoldIn(1).Uniform(-0.3, 0.3, x.Shape().Dimensions...))
})

func startSearch(t *testing.T, p *xla.Platform, task scoring.Task, emitter Emitter,
	settings settings) *search {
	t.Helper()
	return searchOf(t, p, task, Parts{Mix: Mix{{emitter, 1}}}, settings)
}

func searchOf(t *testing.T, p *xla.Platform, task scoring.Task, parts Parts,
	settings settings) *search {
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
		outcome := must.Get(s.Step())
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

func stateOf(t *testing.T, s *search) map[string]npz.Array {
	return must.Get(s.Arrays())
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
		parents := newParents(in[0], repertoire.Cells{Fitness: in[1], Descriptors: in[2],
			Centroids: in[2]})
		keys := random.KeyOf(in[3]).FoldInEach(in[4]).FoldInEach(Iota(in[0].Graph(),
			shapes.Make(dtypes.Int32, settings.Batch), 0))
		return []*Node{emitter.Offspring(parents, nil, keys.FoldIn(streamEmit))}
	}, xlatest.Tensor(floats(t, before, "genotypes"), cells, params),
		xlatest.Tensor(floats(t, before, "fitnesses"), cells),
		xlatest.Tensor(floats(t, before, "descriptors"), cells, 1),
		tensors.FromValue(random.SeedWords(settings.Seed)), tensors.FromScalar(number))
	return xlatest.Flat[float32](t, out[0])
}

// insert is a generation's insertion in plain Go.
func insert(t *testing.T, into map[string]npz.Array, centroids, children []float32, params int,
	evaluate func([]float32) (fitness, descriptor float32)) {
	t.Helper()
	genotypes, fitnesses, descriptors := floats(t, into, "genotypes"), floats(t, into, "fitnesses"),
		floats(t, into, "descriptors")
	for at := 0; at < len(children); at += params {
		child := children[at : at+params]
		fitness, descriptor := evaluate(child)
		if fitness != fitness || descriptor != descriptor {
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
}

// Arrays returns the state of a search, as a checkpoint holds it.
func (s *search) Arrays() (map[string]npz.Array, error) { return s.State().Arrays() }

// Restore restores the state that Arrays returned.
func (s *search) Restore(_ int64, arrays map[string]npz.Array) error {
	return s.State().Restore(arrays)
}
