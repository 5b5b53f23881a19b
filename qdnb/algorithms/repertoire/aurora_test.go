package repertoire

import (
	"fmt"
	"maps"
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
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// The aurora_ arrays of 11_scoring.npz: the sequences that QDax records for each observation
// option, and the descriptors that it computes from them.
func TestGoldenAuroraSequences(t *testing.T) {
	data := golden.Read(t, "11_scoring.npz")
	n, steps, observations := data.Shape("obs")[0], data.Shape("obs")[1], data.Shape("obs")[2]
	d := data.Shape("xy")[2]
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for name, option := range map[string]string{"aurora_full": fullState,
			"aurora_no_sd": noDescriptor, "aurora_only_sd": onlyDescriptor} {
			params, want := data.Float32s(name+".params.flat"), data.Float32s(name+".observations")
			dims := data.Shape(name + ".observations")
			archive := Aurora{EncoderSettings: EncoderSettings{
				Observation: option, Sampling: int(data.Number("const.traj_sampling_freq")),
				MaxObservation: int(data.Number("const.max_observation_size")),
				Latent:         data.Shape(name + ".descriptors")[1],
			}}
			archive.Encoded.Architecture = nn.Autoencoder{Features: dims[2], Hidden: archive.Latent, Steps: dims[1]}
			task := scoring.Task{Env: envs.Pointmaze{}}
			recorder := archive.Record(task)
			errtest.Equal(t, fmt.Sprintf("%s: rows of %d steps", name, steps), recorder.Rows(steps), dims[1])
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				var rows []*Node
				for step := 0; step < steps; step += recorder.Every {
					at := func(x *Node) *Node { return Squeeze(Slice(x, AxisRange(), AxisElem(step)), 1) }
					rows = append(rows, InsertAxes(recorder.Row(envs.State{Observation: at(in[0]),
						Descriptor: at(in[1])}, nil, envs.State{}), 1))
				}
				sequences := Concatenate(rows, 1)
				archive.Encoded.Autoencoder, archive.Encoded.Mean, archive.Encoded.Deviation = in[2], in[3], in[4]
				return []*Node{sequences, archive.Encoded.encode(sequences)}
			}, xlatest.Tensor(data.Float32s("obs"), n, steps, observations), xlatest.Tensor(data.Float32s("xy"), n, steps, d),
				xlatest.Tensor(params, 1, len(params)), xlatest.Tensor(data.Float32s(name+".mean"), dims[2]),
				xlatest.Tensor(data.Float32s(name+".std"), dims[2]))
			xlatest.Close(t, name+": sequences", xlatest.Flat[float32](t, out[0]), want, 0)
			xlatest.Close(t, name+": descriptors", xlatest.Flat[float32](t, out[1]), data.Float32s(name+".descriptors"), 1e-5)
		}
	})
}

// The schedules of the sources, train_aurora.py for loops of ten generations, and aurora_trainer.py of
// AURORA-XCon, whose extinctions are one generation later here.
func TestAuroraSchedule(t *testing.T) {
	type schedule = map[string][]int64
	together := XCon{Every: 3, ExtinctionEvery: 2}
	for _, c := range []struct {
		archive Maintainer
		want    schedule
	}{
		{Aurora{Every: 10}, schedule{trainFirst: {0},
			trainAgain:     {20, 50, 90, 140, 200, 270},
			adaptThreshold: {40, 60, 80, 100, 120, 160, 180, 220, 240, 260, 280}}},
		{XCon{Every: 10, ExtinctionEvery: 50}, schedule{
			trainEncoder: {0, 10, 30, 60, 100, 150, 210, 280}, extinction: {51, 101, 151, 201, 251}}},
		{XCon{Every: 10}, schedule{trainEncoder: {0, 10, 30, 60, 100, 150, 210, 280}}},
		{together, schedule{trainEncoder: {0, 18, 30}, trainBefore: {3, 9},
			extinction: {5, 7, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29}}},
	} {
		want := map[int64]string{}
		for due, generations := range c.want {
			for _, generation := range generations {
				want[generation] = due
			}
		}
		last := slices.Max(slices.Collect(maps.Keys(want)))
		for generation := range last + 1 {
			errtest.Equal(t, fmt.Sprintf("%T after generation %d", c.archive, generation),
				c.archive.Due(generation), want[generation])
		}
	}
}

// The l_rule arrays of 09_aurora_repertoire.npz: the threshold after each of a series of updates, here in a loop.
func TestGoldenThreshold(t *testing.T) {
	data := golden.Read(t, "09_aurora_repertoire.npz")
	sizes, want := data.Int32s("l_rule.num_indivs"), data.Float32s("l_rule.l_values")
	target, first := int(data.Number("const.n_target")), data.Number("const.l_rule_initial")
	if gain := data.Number("const.prop_gain"); math.Abs(gain-thresholdGain) > 1e-12 {
		t.Errorf("the gain is %g, want %g", thresholdGain, gain)
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			type state struct {
				Threshold       threshold
				Excess, Lengths *Node
			}
			g, zero := in[0].Graph(), Const(in[0].Graph(), int32(0))
			excess := ConvertDType(AddScalar(in[0], -target), dtypes.Float32)
			before := threshold{Const(g, float32(first)), xla.Row(excess, zero)}
			start := state{before, excess, Zeros(g, shapes.Make(dtypes.Float32, len(want)))}
			return []*Node{xla.For(g, len(want), start, func(i *Node, s state) state {
				s.Threshold = s.Threshold.adapted(xla.Row(s.Excess, AddScalar(i, 1)))
				s.Lengths = xla.SetRows(s.Lengths, i, Reshape(s.Threshold.Length, 1))
				return s
			}).Lengths}
		}, xlatest.Tensor(sizes, len(sizes)))
		xlatest.Close(t, "l", xlatest.Flat[float32](t, out[0]), want, 1e-6)
	})
}

// The stored schedule lists loop+1 for the loops that end with a training, after the first one.
func TestGoldenSchedule(t *testing.T) {
	var loops []int32
	want := golden.Read(t, "09_aurora_repertoire.npz").Int32s("schedule")
	for loop := range want[len(want)-1] {
		if retrains(int64(loop)) {
			loops = append(loops, loop+1)
		}
	}
	errtest.Equal(t, "loops before which the encoder is retrained", loops, want[slices.Index(want, 3):])
}

// 19_xcon.npz: batches that the published code (adaptive_archive.py) inserted one after the other, and the least score
// of the archive after each, which is the margin of the triplets. tools/golden_xcon.py made it. Of the last archive the
// fittest and five other solutions survive extinctions, all others equally often.
func TestGoldenXCon(t *testing.T) {
	const capacity, batches, extinctions, survivors = 20, 4, 200, 6
	data := golden.Read(t, "19_xcon.npz")
	size, d := data.Shape("in_descriptors_0")[0], data.Shape("in_descriptors_0")[1]
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		var inputs []*tensors.Tensor
		for b := range batches {
			inputs = append(inputs, xlatest.Tensor(data.Float32s(fmt.Sprint("in_fitnesses_", b)), size),
				xlatest.Tensor(data.Float32s(fmt.Sprint("in_descriptors_", b)), size, d))
		}
		out := xlatest.Run(t, p, func(in []*Node) (out []*Node) {
			g := in[0].Graph()
			a := XCon{Capacity: capacity, K: 3, Remaining: (survivors + 0.9) / capacity,
				Population: EmptySlots(g, capacity, d), MinNovelty: unfilled(g)}
			ids := ZerosLike(a.Population.Fitness)
			for b := range batches {
				var entering Insertion
				a, entering = a.insert(Batch{in[2*b], in[2*b+1]})
				ids = Where(entering.Accepted, AddScalar(ConvertDType(entering.Index, dtypes.Float32), float64(size*b)), ids)
				out = append(out, Where(a.Population.filled(), ids, lowest(ids)), a.MinNovelty)
			}
			type state struct {
				Archive XCon
				Left    *Node
			}
			left := Zeros(g, shapes.Make(dtypes.Float32, extinctions, capacity))
			return append(out, a.Population.Fitness, xla.For(g, extinctions, state{a, left}, func(i *Node, s state) state {
				after := s.Archive.extinguish(random.NewKey(i.Graph(), 1).FoldInEach(i))
				s.Left = xla.SetRow(s.Left, i, after.Population.Fitness)
				return s
			}).Left)
		}, inputs...)
		for b := range batches {
			ids := xlatest.Flat[float32](t, out[2*b])
			slices.Sort(ids)
			for len(ids) > 0 && math.IsInf(float64(ids[0]), -1) {
				ids = ids[1:]
			}
			errtest.Equal(t, fmt.Sprint("after batch ", b), ids, data.Float32s(fmt.Sprint("ids_", b)))
			xlatest.Close(t, "least", xlatest.Flat[float32](t, out[2*b+1]), data.Float32s(fmt.Sprint("d_min_", b)), 1e-6)
		}
		before, seen := xlatest.Flat[float32](t, out[2*batches]), map[float32]int{}
		for left := range slices.Chunk(xlatest.Flat[float32](t, out[2*batches+1]), capacity) {
			count := 0
			for slot, f := range left {
				if !math.IsInf(float64(f), -1) {
					count++
					seen[f]++
				}
				if f != before[slot] && !math.IsInf(float64(f), -1) {
					t.Fatalf("fitness %g became %g", before[slot], f)
				}
			}
			if count != survivors {
				t.Fatalf("%d survive", count)
			}
		}
		for f, count := range seen { // five of nineteen
			if f != slices.Max(before) && (count < 30 || count > 80) || f == slices.Max(before) && count != extinctions {
				t.Errorf("fitness %g survives %d times of %d", f, count, extinctions)
			}
		}
		errtest.Equal(t, "solutions that ever survive", len(seen), capacity)
	})
}
