package evolution

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// smallPPGA are settings for networks of a few units.
func smallPPGA() *PPGA {
	a := defaultPPGA(aims().Env.Spec())
	a.Hidden, a.ValueHidden, a.NumEnvs, a.UnrollLength, a.NumMinibatches = []int{8}, []int{8}, 64, 4, 2
	a.LearningRate, a.Iterations = 0.01, 4
	return a
}

// The estimated gradients have a length of 1 and raise the fitness, or the component of the descriptor
// that they are of. Walking along them, PPGA reaches fitter policies and fills cells. Its control steps
// count.
func TestPPGAFollowsItsGradients(t *testing.T) {
	const batch, generations = 24, 15
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		s := searchOf(t, p, aims(), smallPPGA().own(), settings{Batch: batch, Slice: 8, Centroids: line(10), Seed: 3})
		raised := make([]float32, 2)
		var best []float32
		cells := 0
		for range generations {
			outcome := steps(t, s, 1)[0]
			best, cells = append(best, slices.Max(outcome.Fitnesses)), 0
			for _, f := range outcome.Fitnesses {
				if !math.IsInf(float64(f), -1) {
					cells++
				}
			}
			if want := (outcome.Generation + 1) * (2*batch + 3*4*64*4); outcome.EnvSteps != want {
				t.Errorf("generation %d ends at step %d, want %d", outcome.Generation, outcome.EnvSteps, want)
			}
			arrays := stateOf(t, s)
			policy, gradients := arrays["Emitters.0.Emitter.Policy"], arrays["Emitters.0.Emitter.Gradients"]
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				walker := s.main.contents.Tree.Emitters[0].Emitter.(ppga).walker
				after := Add(in[0], MulScalar(in[1], 0.1))
				action := func(rows *Node) *Node {
					one := Ones(rows.Graph(), shapes.Make(dtypes.Float32, rows.Shape().Dimensions[0], 1, 1))
					return aims().Policy.View(walker.Genotypes(rows)).Apply(one)
				}
				same := walker.WithScales(walker.Genotypes(in[0]), in[0])
				return []*Node{Sub(action(after), action(in[0])), Sqrt(ReduceSum(Square(in[1]), 1)), Sub(same, in[0])}
			}, xlatest.Tensor(floats(t, arrays, "Emitters.0.Emitter.Policy"), policy.Shape...),
				xlatest.Tensor(floats(t, arrays, "Emitters.0.Emitter.Gradients"), gradients.Shape...))
			change := xlatest.Flat[float32](t, out[0]) // [2, actions]
			for k := range raised {
				if raised[k] += change[3*k]; change[3*k] < -0.03 {
					t.Errorf("gradient %d lowers what it is of by %g", k, -change[3*k])
				}
			}
			xlatest.Close(t, "length", xlatest.Flat[float32](t, out[1]), []float32{1, 1}, 1e-5)
			for _, x := range xlatest.Flat[float32](t, out[2]) {
				if x != 0 {
					t.Fatal("a genotype with its scales is another policy")
				}
			}
		}
		if gained := best[generations-1] - best[0]; !(slices.Min(raised) > 0.1 && gained > 0.5) || cells < 4 {
			t.Errorf("gradients raise what they are of by %g, the best fitness rises by %g, %d cells are filled",
				raised, gained, cells)
		}
	})
}

// legs is a task whose descriptor has several components: the means of all actions but the first, which
// is rewarded. Its starts differ, and a part of its episodes ends early.
type legs int

func (e legs) Spec() envs.Spec {
	lower := slices.Repeat([]float32{-1}, int(e))
	return envs.Spec{Name: "legs", Observations: 1, Actions: 1 + int(e), Length: 6, Descriptor: envs.Descriptor{
		Kind: envs.Mean, Lower: lower, Upper: slices.Repeat([]float32{1}, int(e)), Components: make([]string, e)}}
}

func (e legs) Reset(keys random.Key) envs.State {
	u := keys.Uniform(-1, 1, keys.Hi.Shape().Size(), 1)
	zero := ZerosLike(Reshape(u, -1))
	return envs.State{PhysicsState: []*Node{Transpose(u, 0, 1)}, Observation: u, Reward: zero, Done: zero,
		Descriptor: BroadcastToDims(ZerosLike(u), u.Shape().Dimensions[0], int(e))}
}

func (e legs) Step(s envs.State, action *Node) envs.State {
	u := AddScalar(Transpose(s.PhysicsState[0], 0, 1), 0.1)
	first := Slice(action, AxisRange(), AxisRange(0, 1))
	s.PhysicsState[0], s.Observation = Transpose(u, 0, 1), u
	s.Reward, s.Descriptor = Reshape(Add(first, u), -1), Slice(action, AxisRange(), AxisRange(1))
	s.Done = ConvertDType(GreaterThan(s.Reward, OnesLike(s.Reward)), dtypes.Float32)
	return s
}

func (e legs) task() scoring.Task { return scoring.NewTask(e, []int{8}, 6) }

// With descriptors of one and of four components, and episodes that end early, the gradients have a
// length of 1 and the fitness rises. The coefficients are adapted once the branches depend on them.
func TestPPGADescriptors(t *testing.T) {
	p := xlatest.Pure(t)
	for _, d := range []int{1, 4} {
		s := searchOf(t, p, legs(d).task(), smallPPGA().own(),
			settings{Batch: 12, Slice: 4, Centroids: npz.Of(make([]float32, 2*d), 2, d), Seed: 3})
		var unit, best []float32
		for i := range (1 + d) * (1 + d) {
			unit = append(unit, map[bool]float32{true: 0.5}[i%(2+d) == 0])
		}
		for generation := range 6 {
			best = append(best, slices.Max(steps(t, s, 1)[0].Fitnesses))
			arrays := stateOf(t, s)
			root := floats(t, arrays, "Emitters.0.Emitter.Coefficients.Root")
			if slices.Equal(root, unit) != (generation == 0) {
				t.Errorf("generation %d: A is %g", generation, root)
			}
			gradients := floats(t, arrays, "Emitters.0.Emitter.Gradients")
			for k, row := range slices.Collect(slices.Chunk(gradients, len(gradients)/(1+d))) {
				sum := 0.0
				for _, x := range row {
					sum += float64(x) * float64(x)
				}
				if !(math.Abs(sum-1) < 1e-4) {
					t.Errorf("generation %d: gradient %d has a length of %g", generation, k, math.Sqrt(sum))
				}
			}
		}
		if !(best[5] > best[0]) {
			t.Errorf("%d components: the best fitness is %g", d, best)
		}
	}
}

// The strategy equals plain Go, with an exponential by its series.
func TestXNES(t *testing.T) {
	const n, size = 3, 12
	rng := rand.New(rand.NewPCG(1, 2))
	noise, ranks := make([]float32, size*n), make([]int32, size)
	for i, rank := range rng.Perm(size) {
		ranks[i] = int32(rank)
	}
	for i := range noise {
		noise[i] = float32(rng.NormFloat64())
	}
	utilities, sum := make([]float64, size), 0.0
	for i := range utilities {
		utilities[i] = max(0, math.Log(size/2+1)-math.Log(float64(i+1)))
		sum += utilities[i]
	}
	type matrix [n][n]float64
	times := func(a, b matrix) (c matrix) {
		for i := range n {
			for j := range n {
				for k := range n {
					c[i][j] += a[i][k] * b[k][j]
				}
			}
		}
		return c
	}
	var step [n]float64
	var spread, exponential matrix
	for i, rank := range ranks {
		u := utilities[rank]/sum - 1./size
		for j := range n {
			step[j] += u * float64(noise[i*n+j])
			for k := range n {
				spread[j][k] += u * float64(noise[i*n+j]*noise[i*n+k]) * 0.3 * (3 + math.Log(n)) / (n * math.Sqrt(n))
			}
		}
	}
	term := matrix{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	for k := range 30 {
		for i := range n {
			for j := range n {
				exponential[i][j] += term[i][j]
			}
		}
		term = times(term, spread)
		for i := range n {
			for j := range n {
				term[i][j] /= float64(k + 1)
			}
		}
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			before := xNES{size: size, sigma0: 0.5}.start(n, random.NewKey(in[0].Graph(), 1))
			after := before.update(in[0], in[1])
			return []*Node{before.Mean, after.Mean, after.Root, before.sample(in[0])}
		}, xlatest.Tensor(noise, size, n), xlatest.Tensor(ranks, size))
		before, mean, root := xlatest.Flat[float32](t, out[0]), make([]float32, n), []float32{}
		for i := range n {
			mean[i] = before[i] + float32(0.5*step[i])
			for j := range n {
				root = append(root, float32(0.5*exponential[i][j]))
			}
		}
		xlatest.Close(t, "mean", xlatest.Flat[float32](t, out[1]), mean, 1e-6)
		xlatest.Close(t, "root", xlatest.Flat[float32](t, out[2]), root, 1e-5)
		if before[0] < 0 || slices.Max(before) > 2 || slices.Min(before) < -2 {
			t.Errorf("the first mean is %g", before)
		}
	})
}
