package evolution

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// 18_cma_mega.npz: five steps of pyribs 0.12's GradientArborescenceEmitter on sphere in 6 dimensions,
// with gradient ascent and with Adam (tools/peer/cma_mega.py).
func TestGoldenArborescence(t *testing.T) {
	const dims, size, n = 6, 10, 3
	data := golden.Read(t, "18_cma_mega.npz")
	task := scoring.NewTask(envs.Sphere(dims), nil, 1)
	shapes := map[string][]int{"point": {1, dims}, "first": {1, dims}, "second": {1, dims}, "sigma": {1},
		"mean": {1, n}, "path": {1, n}, "step_path": {1, n}, "covariance": {1, n, n},
		"coefficients": {size, n}, "value": {1, size}, "solutions": {size, dims},
		"gradients": {1, n, dims}}
	state := []string{"point", "mean", "sigma", "covariance", "path", "step_path"}
	for name, rate := range map[string]float64{gradientAscent: 0.7, adamName: 0.05} {
		fields, prefix := slices.Clone(state), "ascent."
		if name == adamName {
			fields, prefix = append(fields, "first", "second"), "adam."
		}
		xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
			for step := range 5 {
				stored := func(part string, step int) []float32 {
					return data.Float32s(fmt.Sprint(prefix, part, "_", step))
				}
				var in []*tensors.Tensor
				for _, field := range append([]string{"coefficients", "value"}, fields...) {
					in = append(in, xlatest.Tensor(stored(field, step), shapes[field]...))
				}
				for _, x := range []float64{float64(step), 1 - math.Pow(0.9, float64(step)), 1 - math.Pow(0.999, float64(step))} {
					in = append(in, xlatest.Tensor([]float32{float32(x)}, 1)) // age and weights of Adam
				}
				out := xlatest.Run(t, p, func(in []*Node) []*Node {
					x, value, age, in := in[0], in[1], in[len(in)-3:], in[2:]
					s := gradientArborescence{Points: in[0], ArborescenceSettings: ArborescenceSettings{
						Emitters: 1, GradOpt: name, LearningRate: rate}}
					values, basis := eigen(in[3], diagonal(OnesLike(in[1])), roundsOf(in[1].Shape().Dimensions[1]))
					s.Coefficients = cmaES{size, 2, in[1], in[2], in[3], basis, Sqrt(values), in[4], in[5], age[0]}
					if name == adamName {
						s.Moments = nn.Moments{First: in[6], Second: in[7], Weight1: perRow(age[1]), Weight2: perRow(age[2])}
					}
					s.Gradients = taskGradients(task, s.Points)
					zeros := s.emitters(ZerosLike(xla.Ranks(value)))
					made := s.branches(Reshape(zeros, -1, 1), x)
					direction := s.Gradients
					s.Coefficients, _ = s.Coefficients.update(InsertAxes(x, 0), xla.Ranks(value))
					s = s.step()
					c := s.Coefficients
					all := []*Node{s.Points, c.Mean, c.Sigma, c.Covariance, c.Path, c.StepPath}
					if name == adamName {
						all = append(all, s.Moments.First, s.Moments.Second)
					}
					return append(all, made, direction)
				}, in...)
				for i, field := range append(slices.Clone(fields), "solutions", "gradients") {
					at := step + 1
					if i >= len(fields) {
						at = step
					}
					xlatest.Close(t, fmt.Sprint(prefix, field, " of step ", step),
						xlatest.Flat[float32](t, out[i]), stored(field, at), 2e-5)
				}
			}
		})
	}
}

// Matrices are what their eigenvalues and eigenvectors say, also if they have eigenvalues that are
// equal, or are diagonal.
func TestEigen(t *testing.T) {
	const e, n = 3, 17
	var flat []float32
	for m := range e {
		for i := range n {
			for j := range n {
				x := math.Cos(float64(i*j+m)) + math.Cos(float64(i+j))
				if m == 1 && i != j {
					x = 0
				} else if m == 2 {
					x = 1
				}
				flat = append(flat, float32(x))
			}
		}
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			values, v := eigen(in[0], diagonal(OnesLike(ReduceSum(in[0], 2))), 8*n)
			product := func(a, b *Node) *Node { return Einsum("eij,ekj->eik", a, b) }
			return []*Node{product(Mul(v, InsertAxes(values, 1)), v), product(v, v), diagonal(OnesLike(values))}
		}, xlatest.Tensor(flat, e, n, n))
		xlatest.Close(t, "matrix", xlatest.Flat[float32](t, out[0]), flat, 1e-5)
		xlatest.Close(t, "product of the basis", xlatest.Flat[float32](t, out[1]),
			xlatest.Flat[float32](t, out[2]), 1e-5)
	})
}

// searchOn returns a search of an algorithm on sphere in 20 dimensions, or on arm, with 64 cells.
func searchOn(t *testing.T, p *xla.Platform, h *MapElites, box *envs.BlackBox, slice int) *search {
	t.Helper()
	task := scoring.NewTask(box, nil, 1)
	d := task.Env.Spec().Descriptor
	var centroids []float32
	for i := range 64 {
		for k, at := range []int{i % 8, i / 8} {
			centroids = append(centroids, d.Lower[k]+(d.Upper[k]-d.Lower[k])*(float32(at)+0.5)/8)
		}
	}
	return searchOf(t, p, task, partsOf(h, task), settings{Batch: h.Batch, Slice: slice, Seed: 5,
		Centroids: npz.Of(centroids, 64, 2)})
}

func smallMEGA(spec envs.Spec) (mega, maega *MapElites) {
	mega, maega = defaultCMAMEGA(spec), defaultCMAMAEGA(spec)
	for _, m := range []*MapElites{mega, maega} {
		m.Batch = 48
		parts.Change(m, func(s *ArborescenceSettings) { s.Emitters = 4 })
	}
	return mega, maega
}

// Given genotypes, which no emitter made, move no search distribution: it restarts at an elite.
func TestEmittersRestartAtGivenGenotypes(t *testing.T) {
	p, box := xlatest.Pure(t), envs.Sphere(20)
	mega, maega := smallMEGA(box.Spec())
	mae := defaultCMAMAE(box.Spec())
	mae.Batch = 48
	parts.Change(mae, func(s *StrategySettings) { s.Emitters = 4 })
	var rows [][]float32
	for i := range 48 {
		rows = append(rows, slices.Repeat([]float32{float32(i)/8 - 3}, 20))
	}
	for name, h := range map[string]*MapElites{"Points": mega, "Coefficients.Age": maega, "State.State.Mean": mae} {
		h.Initial = rows
		s := searchOn(t, p, h, box, 48)
		steps(t, s, 1)
		for _, x := range floats(t, stateOf(t, s), "Emitters.0.Emitter."+name) {
			if x != 0 && !slices.ContainsFunc(rows, func(row []float32) bool { return row[0] == x }) {
				t.Fatalf("%s is %g", name, x)
			}
		}
	}
}

// Gradients lead to the optimum of sphere and to nearly all cells, and across the descriptors of arm,
// where the fitness has no gradient at the start.
func TestMEGALearns(t *testing.T) {
	p := xlatest.Pure(t)
	for _, box := range []*envs.BlackBox{envs.Sphere(20), envs.Arm(20)} {
		mega, maega := smallMEGA(box.Spec())
		best, cells := float32(99.5), 60
		if box.Facts.Name == "arm" {
			best, cells = -0.02, 40
		}
		for _, h := range []*MapElites{mega, maega} {
			if box.Facts.Name == "arm" {
				parts.Change(h, func(s *ArborescenceSettings) { s.Sigma0 = 0.5 })
			}
			last := steps(t, searchOn(t, p, h, box, 48), 100)[99]
			if got, found := slices.Max(last.Fitnesses), filled(last.Fitnesses); got < best || found < cells {
				t.Errorf("%s, %T: the best fitness is %g, and %d of 64 cells are filled", box.Facts.Name, h.Archive, got, found)
			}
		}
	}
}
