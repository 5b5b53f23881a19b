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
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// smallPPGA are settings for networks of a few units.
func smallPPGA() *MapElites {
	a := defaultPPGA(aims().Env.Spec())
	a.Hidden = []int{8}
	parts.Change(a, func(s *PPGASettings) {
		s.ValueHidden, s.NumEnvs, s.UnrollLength, s.NumMinibatches = []int{8}, 64, 4, 2
		s.LearningRate, s.Iterations = 0.01, 4
	})
	return a
}

// The estimated gradients have a length of 1 and raise the fitness, or the component of the descriptor that they are
// of. Walking along them, PPGA reaches fitter policies and fills cells. Its control steps count.
func TestPPGAFollowsItsGradients(t *testing.T) {
	const batch, generations = 24, 15
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := searchOf(t, p, aims(), partsOf(smallPPGA(), aims()), settings{Batch: batch, Slice: 8, Centroids: line(10), Seed: 3})
		raised := make([]float32, 2)
		var best []float32
		cells := 0
		for range generations {
			outcome := steps(t, s, 1)[0]
			best, cells = append(best, slices.Max(outcome.Fitnesses)), filled(outcome.Fitnesses)
			errtest.Equal(t, "environment steps", outcome.EnvSteps, (outcome.Generation+1)*(2*batch+3*4*64*4))
			arrays := must.Get(s.Arrays())
			policy, gradients := arrays["Emitters.0.Emitter.Policy"], arrays["Emitters.0.Emitter.Gradients"]
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				improver := s.contents.Tree.Emitters[0].Emitter.(ppga).improver
				after := Add(in[0], MulScalar(in[1], 0.1))
				action := func(rows *Node) *Node {
					one := Ones(rows.Graph(), shapes.Make(dtypes.Float32, rows.Shape().Dimensions[0], 1, 1))
					return aims().MLP().View(improver.Genotypes(rows)).Apply(one)
				}
				same := improver.WithScales(improver.Genotypes(in[0]), in[0])
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
		s := searchOf(t, p, legs(d).task(), partsOf(smallPPGA(), aims()),
			settings{Batch: 12, Slice: 4, Centroids: npz.Of(make([]float32, 2*d), 2, d), Seed: 3})
		var unit, best []float32
		for i := range (1 + d) * (1 + d) {
			unit = append(unit, map[bool]float32{true: 0.5}[i%(2+d) == 0])
		}
		for generation := range 6 {
			best = append(best, slices.Max(steps(t, s, 1)[0].Fitnesses))
			arrays := must.Get(s.Arrays())
			root := floats(t, arrays, "Emitters.0.Emitter.Coefficients.Root")
			errtest.Equal(t, fmt.Sprint("A is the unit in generation ", generation), slices.Equal(root, unit), generation == 0)
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

// The defaults are those that the authors have for each robot.
func TestPublishedSettingsOfPPGA(t *testing.T) {
	for env, want := range map[string][3]float64{"walker-uni": {1e-3, 1, 0.5}, "halfcheetah-uni": {1e-3, 1, 0.5},
		"ant-uni": {1e-3, 3, 0.1}, "ant-omni": {1e-3, 3, 0.1}, "humanoid-uni": {3e-4, 0.5, 0.1}} {
		p := defaultPPGA(must.Get(envs.Make(env)).Spec())
		s, archive := partOf[PPGASettings](p), partOf[repertoire.Annealed](p)
		errtest.Equal(t, env+": learning rate, sigma0 and archive learning rate",
			[3]float64{s.LearningRate, s.Sigma0, archive.LearningRate}, want)
		errtest.Equal(t, "Adam's epsilon", s.ppo(p.Hidden).AdamEpsilon, 1e-5)
	}
}

// 21_ppga.npz: generations of the published emitter for descriptors of one and of four components. In the
// last of them nothing improves, and it restarts. tools/golden_ppga.py made it.
func TestGoldenPPGA(t *testing.T) {
	f := golden.Read(t, "21_ppga.npz")
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, of := range []string{"1.0.", "1.1.", "1.2.", "4.0.", "4.1.", "4.2."} {
			tensor := func(name string, more ...int) *tensors.Tensor {
				return xlatest.Tensor(f.Float32s(of+name), append(more, f.Shape(of+name)...)...)
			}
			n := f.Shape(of + "mean")[0]
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				x := xNES{size: f.Shape(of + "noise")[0], Mean: in[0], Root: in[1]}
				s := ppga{Policy: in[3], Gradients: unit(in[4])}
				coefficients := x.sample(in[2])
				after := x.update(in[2], Squeeze(xla.Ranks(in[5]), 0))
				fresh := xNES{sigma0: 0.7}.start(n, random.NewKey(in[0].Graph(), 1))
				return []*Node{s.Gradients, coefficients, s.branches(coefficients), after.Mean, after.Root,
					ConvertDType(LogicalNot(Generation{}.continues(in[5], "no_improvement")), dtypes.Float32), fresh.Mean, fresh.Root}
			}, tensor("mean", 1), tensor("root", 1), tensor("noise"), tensor("theta", 1), tensor("jacobian"),
				tensor("improvement", 1))
			for i, name := range []string{"gradients", "coefficients", "branches", "after.mean", "after.root", "restarts"} {
				if f.Has(of + name) {
					xlatest.Close(t, of+name, xlatest.Flat[float32](t, out[i]), f.Float32s(of+name), 1e-5)
				}
			}
			mean := xlatest.Flat[float32](t, out[6])
			if mean[0] < 0 || slices.Max(mean) > 2 || slices.Min(mean) < -2 {
				t.Errorf("%sthe first mean is %g", of, mean)
			}
			if of[2] == '0' {
				xlatest.Close(t, of+"root", xlatest.Flat[float32](t, out[7]), f.Float32s(of+"root"), 0)
			}
		}
	})
}

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
		xlatest.Close(t, "product of the basis", xlatest.Flat[float32](t, out[1]), xlatest.Flat[float32](t, out[2]), 1e-5)
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
		for _, x := range floats(t, must.Get(s.Arrays()), "Emitters.0.Emitter."+name) {
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

// The threshold depends on how many individuals more than the target there are; the target is the capacity by default.
func TestAuroraTarget(t *testing.T) {
	p := xlatest.Pure(t)
	var lengths, errors []float32
	for _, target := range []int{0, 40, 4} {
		settings := auroraSettings()
		settings.Target, settings.Threshold = target, 0
		s := archiveSearch(t, p, settings)
		steps(t, s, 9)
		state := must.Get(s.Arrays())
		lengths = append(lengths, floats(t, state, "Archive.Distance.Length")[0])
		errors = append(errors, floats(t, state, "Archive.Distance.Error")[0])
	}
	if lengths[0] != lengths[1] || lengths[2] <= lengths[1] || errors[0] != errors[1] || errors[2] != errors[1]+36 {
		t.Errorf("for targets of 0, 40 and 4 l is %g and the error %g", lengths, errors)
	}
}

func auroraSettings() repertoire.Aurora {
	settings := defaultAuroraArchive(envs.Pointmaze{}.Spec())
	settings.Capacity, settings.Sampling, settings.Every, settings.Epochs, settings.TrainingBatch,
		settings.Threshold = 40, 5, 2, 4, 16, 0.02
	return settings
}

func archiveSearch(t *testing.T, p *xla.Platform, a repertoire.Archive) *search {
	t.Helper()
	return searchOf(t, p, mazeTask(), Parts{Mix: Mix{{isoline, 1}}, Archive: a}, mazeSettings(2))
}

// In a search with AURORA's archive, individuals keep their distance, their descriptors are the encodings of their
// sequences, the passive repertoire is filled from them, and all of them share one initial state. Since its descriptors
// are not the task's, it has no coverage of the task's cells.
func TestAuroraSearch(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := archiveSearch(t, p, auroraSettings())
		errtest.Equal(t, "columns", s.Columns(), []string{"archive_size", "archive_max_fitness", "evaluation_steps"})
		seen := map[string]bool{} // genotypes that were in the archive
		name := func(row []float32) string { return fmt.Sprint(row) }
		for generation := range 9 {
			outcome := steps(t, s, 1)[0]
			arrays := must.Get(s.Arrays())
			fitnesses, descriptors := floats(t, arrays, "fitnesses"), floats(t, arrays, "descriptors")
			genotypes, sequences := floats(t, arrays, "genotypes"), floats(t, arrays, "Archive.Encoded.Sequences")
			params, latent := arrays["genotypes"].Shape[1], arrays["descriptors"].Shape[1]
			elements := len(sequences) / len(fitnesses)
			var filled []int
			for slot, f := range fitnesses {
				if !math.IsInf(float64(f), -1) {
					filled = append(filled, slot)
					seen[name(genotypes[slot*params:(slot+1)*params])] = true
				}
			}
			if len(filled) < 3 || outcome.Extra[0] != float64(len(filled)) || outcome.Extra[1] != float64(
				slices.Max(fitnesses)) {
				t.Fatalf("generation %d: %d individuals, but the outcome reports %v", generation, len(filled), outcome.Extra)
			}
			first := sequences[filled[0]*elements:][:2]
			for _, slot := range filled {
				errtest.Equal(t, fmt.Sprintf("generation %d: start of an individual", generation), sequences[slot*elements:][:2], first)
			}
			if due := s.parts.Archive.(repertoire.Maintainer).Due(int64(generation)); due != "" && generation > 0 {
				length := floats(t, arrays, "Archive.Distance.Length")[0]
				for _, a := range filled {
					for _, b := range filled {
						sum := 0.0
						for k := range latent {
							x := float64(descriptors[a*latent+k] - descriptors[b*latent+k])
							sum += x * x
						}
						if fitnesses[a] != fitnesses[b] && math.Sqrt(sum) < 0.999*float64(length) {
							t.Errorf("generation %d: individuals %d and %d are %g apart, want at least %g", generation, a,
								b, math.Sqrt(sum), length)
						}
					}
				}
			}
			if generation > 3 { // before, some descriptors come from an untrained encoder
				checkEncoded(t, p, arrays, generation)
			}
			if generation > 0 && generation%2 == 0 {
				passive, fitness := floats(t, arrays, "passive_genotypes"),
					floats(t, arrays, "passive_fitnesses")
				if !slices.Equal(fitness, outcome.Fitnesses) {
					t.Errorf("generation %d: the passive repertoire is not the measured one", generation)
				}
				for cell, f := range fitness {
					if !math.IsInf(float64(f), -1) && !seen[name(passive[cell*params:(cell+1)*params])] {
						t.Errorf("generation %d: cell %d of the passive repertoire was never in the archive", generation, cell)
					}
				}
			}
		}
	})
}

// checkEncoded compares the descriptors of an archive with the encodings of its sequences outside the search.
func checkEncoded(t *testing.T, p *xla.Platform, arrays map[string]npz.Array, generation int) {
	t.Helper()
	var in []*tensors.Tensor
	for _, name := range []string{"Sequences", "Autoencoder", "Mean", "Deviation"} {
		name = "Archive.Encoded." + name
		in = append(in, xlatest.Tensor(floats(t, arrays, name), arrays[name].Shape...))
	}
	dims, latent := in[0].Shape().Dimensions, arrays["descriptors"].Shape[1]
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		encoder := nn.Autoencoder{Features: dims[2], Hidden: latent, Steps: dims[1]}
		normal := nn.Normaliser{Mean: in[2], Deviation: in[3]}
		return []*Node{encoder.Encode(in[1], normal.Apply(in[0]))}
	}, in...)
	encoded, descriptors := xlatest.Flat[float32](t, out[0]), floats(t, arrays, "descriptors")
	for slot, f := range floats(t, arrays, "fitnesses") {
		if !math.IsInf(float64(f), -1) {
			xlatest.Close(t, fmt.Sprintf("generation %d: descriptor of slot %d", generation, slot),
				descriptors[slot*latent:(slot+1)*latent], encoded[slot*latent:(slot+1)*latent], 1e-5)
		}
	}
}

// smallXCon are settings with trainings after generations 2 and 6 and an extinction after 8.
func smallXCon() repertoire.XCon {
	a := defaultAuroraXCon(envs.Pointmaze{}.Spec()).Archive.(repertoire.XCon)
	a.Capacity, a.Sampling, a.Every, a.Epochs, a.TrainingBatch, a.ExtinctionEvery, a.Remaining = 40, 5, 2, 20, 10, 7, 0.2
	return a
}

// AURORA-XCon's individuals have the encodings of their sequences. The encoder learns once the archive is
// full. An extinction leaves the fittest and a few others, and the passive repertoire as it is.
func TestXConSearch(t *testing.T) { testXCon(t, smallXCon(), 2, 8) }

// AURORA in this archive learns from the first training on, and no individual dies out.
func TestAuroraInTheArchiveOfXCon(t *testing.T) {
	a := smallXCon()
	a.Loss, a.ExtinctionEvery = "mse", 0
	testXCon(t, a, 0, 40)
}

// testXCon checks a search whose encoder learns from a generation on, and which has a number of individuals after
// generation 8.
func testXCon(t *testing.T, a repertoire.XCon, first int, remaining float64) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := archiveSearch(t, p, a)
		var encoder []float32
		best, measured := math.Inf(-1), 0
		for generation, want := range []struct {
			size   float64
			learns bool
		}{{30, first == 0}, {40, false}, {40, true}, {40, false}, {40, false}, {40, false}, {40, true}, {40, false},
			{remaining, false}, {min(40, remaining+30), false}} {
			outcome := steps(t, s, 1)[0]
			arrays := must.Get(s.Arrays())
			now := floats(t, arrays, "Archive.Encoded.Autoencoder")
			if outcome.Extra[0] != want.size || encoder != nil && slices.Equal(now, encoder) == want.learns {
				t.Errorf("generation %d: %g individuals, want %g; the encoder learns: %v", generation, outcome.Extra[0],
					want.size, !want.learns)
			}
			checkEncoded(t, p, arrays, generation)
			cells := filled(outcome.Fitnesses)
			if outcome.Extra[1] < best || cells < measured {
				t.Errorf("generation %d: the best fitness is %g after %g, %d cells are filled after %d", generation,
					outcome.Extra[1], best, cells, measured)
			}
			encoder, best, measured = now, outcome.Extra[1], cells
		}
	})
}

// The sequences in the archive are what the policies observed.
func TestAuroraSequencesAreThePolicies(t *testing.T) {
	p := xlatest.Pure(t)
	s := archiveSearch(t, p, auroraSettings())
	steps(t, s, 3)
	arrays := must.Get(s.Arrays())
	fitnesses, genotypes, sequences := floats(t, arrays, "fitnesses"), floats(t, arrays, "genotypes"),
		floats(t, arrays, "Archive.Encoded.Sequences")
	params, elements := arrays["genotypes"].Shape[1], len(sequences)/len(fitnesses)
	slot := slices.IndexFunc(fitnesses, func(f float32) bool { return !math.IsInf(float64(f), -1) })
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		start := random.NewKey(in[0].Graph(), 2).FoldIn(streamStart)
		keys := random.Key{Hi: BroadcastToDims(start.Hi, 1), Lo: BroadcastToDims(start.Lo, 1)}
		positions := envs.Recorder{Every: 5, Width: 2,
			Row: func(before envs.State, _ *Node, _ envs.State) *Node { return before.Descriptor }}
		_, records := envs.Record(s.task.Env, s.task.MLP().View(in[0]), s.task.Env.Reset(keys), s.task.Length, positions)
		return records
	}, xlatest.Tensor(genotypes[slot*params:(slot+1)*params], 1, params))
	xlatest.Close(t, "sequence", sequences[slot*elements:(slot+1)*elements], xlatest.Flat[float32](t, out[0]), 1e-6)
}
