package evolution

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// The aurora_ arrays of 11_scoring.npz: the sequences that QDax records for each observation
// option, and the descriptors that it computes from them.
func TestGoldenAuroraSequences(t *testing.T) {
	data := golden.Read(t, "11_scoring.npz")
	n, steps, observations := data.Shape("obs")[0], data.Shape("obs")[1], data.Shape("obs")[2]
	d := data.Shape("xy")[2]
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for name, option := range map[string]string{"aurora_full": FullState,
			"aurora_no_sd": NoDescriptor, "aurora_only_sd": OnlyDescriptor} {
			params, want := data.Float32s(name+".params.flat"), data.Float32s(name+".observations")
			dims := data.Shape(name + ".observations")
			archive := AuroraArchive{AuroraSettings: AuroraSettings{
				Observation: option, Sampling: int(data.Number("const.traj_sampling_freq")),
				MaxObservation: int(data.Number("const.max_observation_size")),
				Latent:         data.Shape(name + ".descriptors")[1],
			}}
			task := scoring.Task{Env: envs.Pointmaze{}}
			recorder, _ := archive.Sequence(task)
			if rows := recorder.Rows(steps); rows != dims[1] {
				t.Errorf("%s: %d rows of %d steps, want %d", name, rows, steps, dims[1])
			}
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				var rows []*Node
				for step := 0; step < steps; step += recorder.Every {
					at := func(x *Node) *Node { return Squeeze(Slice(x, AxisRange(), AxisElem(step)), 1) }
					rows = append(rows, InsertAxes(recorder.Row(envs.State{Observation: at(in[0]),
						Descriptor: at(in[1])}, nil, envs.State{}), 1))
				}
				sequences := Concatenate(rows, 1)
				s := slots{Autoencoder: in[2], Mean: in[3], Deviation: in[4]}
				return []*Node{sequences, archive.encode(s, sequences)}
			}, xlatest.Tensor(data.Float32s("obs"), n, steps, observations),
				xlatest.Tensor(data.Float32s("xy"), n, steps, d),
				xlatest.Tensor(params, 1, len(params)), xlatest.Tensor(data.Float32s(name+".mean"), dims[2]),
				xlatest.Tensor(data.Float32s(name+".std"), dims[2]))
			xlatest.Close(t, name+": sequences", xlatest.Flat[float32](t, out[0]), want, 0)
			xlatest.Close(t, name+": descriptors", xlatest.Flat[float32](t, out[1]),
				data.Float32s(name+".descriptors"), 1e-5)
		}
	})
}

// The schedule of the source, train_aurora.py, for loops of ten generations.
func TestAuroraUpkeep(t *testing.T) {
	archive := AuroraArchive{AuroraSettings: DefaultAuroraSettings(envs.Pointmaze{}.Spec())}
	want := map[int64]string{0: trainFirst}
	for _, generation := range []int64{20, 50, 90, 140, 200, 270} {
		want[generation] = trainAgain
	}
	for _, generation := range []int64{40, 60, 80, 100, 120, 160, 180, 220, 240, 260, 280} {
		want[generation] = adaptThreshold
	}
	for generation := range int64(291) {
		if got := archive.Maintenance(generation); got != want[generation] {
			t.Errorf("after generation %d: %q, want %q", generation, got, want[generation])
		}
	}
}

// The threshold depends on how many members more than the target there are; the target is the
// capacity by default.
func TestAuroraTarget(t *testing.T) {
	p := xlatest.Pure(t)
	var lengths, errors []float32
	for _, target := range []int{0, 40, 4} {
		settings := auroraSettings()
		settings.Target, settings.Threshold = target, 0
		s, err := New(p, mazeTask(), Method{Emitter: isoline,
			Archive: AuroraArchive{AuroraSettings: settings}}, mazeSettings(2))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		steps(t, s, 9)
		state := stateOf(t, s)
		lengths = append(lengths, floats(t, state, "threshold")[0])
		errors = append(errors, floats(t, state, "threshold_error")[0])
	}
	if lengths[0] != lengths[1] || lengths[2] <= lengths[1] || errors[0] != errors[1] ||
		errors[2] != errors[1]+36 {
		t.Errorf("for targets of 0, 40 and 4 l is %g and the error %g", lengths, errors)
	}
	for _, wrong := range []int{-1, 41} {
		settings := DefaultAurora(envs.Pointmaze{}.Spec())
		settings.Capacity, settings.Target = 40, wrong
		if err := settings.Check(); err == nil || !strings.Contains(err.Error(),
			"target must be between 0 and 40") {
			t.Errorf("target %d: %v", wrong, err)
		}
	}
}

func auroraSettings() AuroraSettings {
	settings := DefaultAuroraSettings(envs.Pointmaze{}.Spec())
	settings.Capacity, settings.Sampling, settings.Every, settings.Epochs, settings.TrainingBatch,
		settings.Threshold = 40, 5, 2, 4, 16, 0.02
	return settings
}

func auroraSearch(t *testing.T, p *xla.Platform) *Search {
	t.Helper()
	s, err := New(p, mazeTask(), Method{Emitter: isoline,
		Archive: AuroraArchive{AuroraSettings: auroraSettings()}}, mazeSettings(2))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// In a search with AURORA's archive, members keep their distance, their descriptors are the
// encodings of their sequences, the passive repertoire is filled from them, and all of them share
// one initial state.
func TestAuroraSearch(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		s := auroraSearch(t, p)
		if got := s.Columns(); !slices.Equal(got, []string{"archive_size", "archive_max_fitness"}) {
			t.Errorf("columns %v", got)
		}
		known := map[string]bool{} // genotypes that were members
		name := func(row []float32) string { return fmt.Sprint(row) }
		for generation := range 9 {
			outcome := steps(t, s, 1)[0]
			arrays := stateOf(t, s)
			fitnesses, descriptors := floats(t, arrays, "fitnesses"), floats(t, arrays, "descriptors")
			genotypes, sequences := floats(t, arrays, "genotypes"), floats(t, arrays, "sequences")
			params, latent := arrays["genotypes"].Shape[1], arrays["descriptors"].Shape[1]
			elements := len(sequences) / len(fitnesses)
			var members []int
			for slot, f := range fitnesses {
				if !math.IsInf(float64(f), -1) {
					members = append(members, slot)
					known[name(genotypes[slot*params:(slot+1)*params])] = true
				}
			}
			if len(members) < 3 || outcome.Extra[0] != float64(len(members)) || outcome.Extra[1] != float64(
				slices.Max(fitnesses)) {
				t.Fatalf("generation %d: %d members, but the outcome reports %v", generation,
					len(members), outcome.Extra)
			}
			first := sequences[members[0]*elements:][:2]
			for _, slot := range members {
				if start := sequences[slot*elements:][:2]; !slices.Equal(start, first) {
					t.Errorf("generation %d: members start at %v and %v", generation, first, start)
				}
			}
			if upkeep := s.method.Archive.Maintenance(int64(generation)); upkeep == trainAgain || upkeep ==
				adaptThreshold {
				length := floats(t, arrays, "threshold")[0]
				for _, a := range members {
					for _, b := range members {
						sum := 0.0
						for k := range latent {
							x := float64(descriptors[a*latent+k] - descriptors[b*latent+k])
							sum += x * x
						}
						if fitnesses[a] != fitnesses[b] && math.Sqrt(sum) < 0.999*float64(length) {
							t.Errorf("generation %d: members %d and %d are %g apart, want at least %g", generation, a,
								b, math.Sqrt(sum), length)
						}
					}
				}
			}
			if generation == 0 {
				continue // the first training does not re-encode
			}
			encoded := encodedBy(t, p, s, arrays)
			for _, slot := range members {
				xlatest.Close(t, fmt.Sprintf("generation %d: descriptor of slot %d", generation, slot),
					descriptors[slot*latent:(slot+1)*latent], encoded[slot*latent:(slot+1)*latent],
					encodedTolerance(generation))
			}
			if generation%2 == 0 {
				passive, fitness := floats(t, arrays, "passive_genotypes"),
					floats(t, arrays, "passive_fitnesses")
				if !slices.Equal(fitness, outcome.Fitnesses) {
					t.Errorf("generation %d: the passive repertoire is not the measured one", generation)
				}
				for cell, f := range fitness {
					if !math.IsInf(float64(f), -1) && !known[name(passive[cell*params:(cell+1)*params])] {
						t.Errorf("generation %d: cell %d of the passive repertoire was never a member",
							generation, cell)
					}
				}
			}
		}
	})
}

// encodedTolerance is infinite while some members date from before the first retraining, because
// their descriptors come from an untrained encoder.
func encodedTolerance(generation int) float64 {
	if generation < 4 {
		return math.Inf(1)
	}
	return 1e-5
}

// encodedBy encodes the sequences of an archive outside a search.
func encodedBy(t *testing.T, p *xla.Platform, s *Search, arrays map[string]npz.Array) []float32 {
	t.Helper()
	archive := s.method.Archive.(AuroraArchive)
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		return []*Node{archive.encode(slots{Autoencoder: in[1], Mean: in[2], Deviation: in[3]}, in[0])}
	}, xlatest.Tensor(floats(t, arrays, "sequences"), arrays["sequences"].Shape...),
		xlatest.Tensor(floats(t, arrays, "autoencoder"), arrays["autoencoder"].Shape...),
		xlatest.Tensor(floats(t, arrays, "mean"), arrays["mean"].Shape...),
		xlatest.Tensor(floats(t, arrays, "deviation"), arrays["deviation"].Shape...))
	return xlatest.Flat[float32](t, out[0])
}

// The sequences in the archive are what the policies observed.
func TestAuroraSequencesAreThePolicies(t *testing.T) {
	p := xlatest.Pure(t)
	s := auroraSearch(t, p)
	steps(t, s, 3)
	arrays := stateOf(t, s)
	fitnesses, genotypes, sequences := floats(t, arrays, "fitnesses"), floats(t, arrays, "genotypes"),
		floats(t, arrays, "sequences")
	params, elements := arrays["genotypes"].Shape[1], len(sequences)/len(fitnesses)
	slot := slices.IndexFunc(fitnesses, func(f float32) bool { return !math.IsInf(float64(f), -1) })
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		start := xla.NewKey(in[0].Graph(), 2).FoldIn(streamStart)
		keys := xla.Key{Hi: BroadcastToDims(start.Hi, 1), Lo: BroadcastToDims(start.Lo, 1)}
		places := envs.Recorder{Every: 5, Width: 2,
			Row: func(before envs.State, _ *Node, _ envs.State) *Node { return before.Descriptor }}
		_, records := envs.Record(s.task.Env, s.task.Policy.View(in[0]), s.task.Env.Reset(keys),
			s.task.Length, places)
		return records
	}, xlatest.Tensor(genotypes[slot*params:(slot+1)*params], 1, params))
	xlatest.Close(t, "sequence", sequences[slot*elements:(slot+1)*elements],
		xlatest.Flat[float32](t, out[0]), 1e-6)
}
