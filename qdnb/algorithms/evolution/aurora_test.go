package evolution

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// The threshold depends on how many individuals more than the target there are; the target is the
// capacity by default.
func TestAuroraTarget(t *testing.T) {
	p := xlatest.Pure(t)
	var lengths, errors []float32
	for _, target := range []int{0, 40, 4} {
		settings := auroraSettings()
		settings.Target, settings.Threshold = target, 0
		s := archiveSearch(t, p, settings)
		steps(t, s, 9)
		state := stateOf(t, s)
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

// In a search with AURORA's archive, individuals keep their distance, their descriptors are the
// encodings of their sequences, the passive repertoire is filled from them, and all of them share
// one initial state. Since its descriptors are not the task's, it has no coverage of the task's
// cells.
func TestAuroraSearch(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := archiveSearch(t, p, auroraSettings())
		errtest.Equal(t, "columns", s.Columns(), []string{"archive_size", "archive_max_fitness", "evaluation_steps"})
		seen := map[string]bool{} // genotypes that were in the archive
		name := func(row []float32) string { return fmt.Sprint(row) }
		for generation := range 9 {
			outcome := steps(t, s, 1)[0]
			arrays := stateOf(t, s)
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
				t.Fatalf("generation %d: %d individuals, but the outcome reports %v", generation,
					len(filled), outcome.Extra)
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
						t.Errorf("generation %d: cell %d of the passive repertoire was never in the archive",
							generation, cell)
					}
				}
			}
		}
	})
}

// checkEncoded compares the descriptors of an archive with the encodings of its sequences outside
// the search.
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
			arrays := stateOf(t, s)
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
	arrays := stateOf(t, s)
	fitnesses, genotypes, sequences := floats(t, arrays, "fitnesses"), floats(t, arrays, "genotypes"),
		floats(t, arrays, "Archive.Encoded.Sequences")
	params, elements := arrays["genotypes"].Shape[1], len(sequences)/len(fitnesses)
	slot := slices.IndexFunc(fitnesses, func(f float32) bool { return !math.IsInf(float64(f), -1) })
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		start := random.NewKey(in[0].Graph(), 2).FoldIn(streamStart)
		keys := random.Key{Hi: BroadcastToDims(start.Hi, 1), Lo: BroadcastToDims(start.Lo, 1)}
		positions := envs.Recorder{Every: 5, Width: 2,
			Row: func(before envs.State, _ *Node, _ envs.State) *Node { return before.Descriptor }}
		_, records := envs.Record(s.task.Env, s.task.MLP().View(in[0]), s.task.Env.Reset(keys),
			s.task.Length, positions)
		return records
	}, xlatest.Tensor(genotypes[slot*params:(slot+1)*params], 1, params))
	xlatest.Close(t, "sequence", sequences[slot*elements:(slot+1)*elements], xlatest.Flat[float32](t, out[0]), 1e-6)
}
