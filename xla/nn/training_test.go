package nn_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/stat"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// ae.* of 09_aurora_seq2seq.npz: a training on an archive with empty slots, which hold NaN, in the
// stored orders. The published code indexes twice: it indexes the drawn sequences by the draw.
func TestGoldenAutoencoderTraining(t *testing.T) {
	data, autoencoder := goldenAutoencoder(t)
	const batch = 8 // fixed by the page that describes the file
	training := nn.AutoencoderTraining{Batch: batch, LearningRate: data.Number("const.learning_rate")}
	epochs, slots := data.Shape("ae.epoch_valid")[0], data.Shape("ae.epoch_valid")[1]
	filled := make([]bool, slots)
	for i, fitness := range data.Float64s("ae.fitnesses") {
		filled[i] = !math.IsInf(fitness, -1)
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			normaliser := nn.NewNormaliser(in[1], in[2])
			normalised := normaliser.Apply(in[1])
			row, _ := nn.TrainEpochs(training, autoencoder, in[0], normalised, Const(in[0].Graph(), int32(epochs)),
				in[3], func(epoch, orders *Node) *Node {
					valid := Reshape(xla.Rows(orders, epoch, 1), slots)
					return Gather(valid, InsertAxes(valid, -1))
				})
			return []*Node{normaliser.Mean, normaliser.Deviation, row, autoencoder.Encode(row, normalised)}
		}, xlatest.Tensor(data.Float32s("params.flat"), autoencoder.Params()), xlatest.Stored(data, "ae.observations"),
			xlatest.Tensor(filled, slots), xlatest.Tensor(data.Int32s("ae.epoch_valid"), epochs, slots))
		xlatest.Matches(t, data, out, 1e-5, "ae.mean", "ae.std", "ae.params.flat")
		got, want := xlatest.Flat[float32](t, out[3]), data.Float32s("ae.descriptors")
		for slot := range slots {
			of := func(x []float32) []float32 { return x[slot*autoencoder.Hidden : (slot+1)*autoencoder.Hidden] }
			if !filled[slot] {
				if !math.IsNaN(float64(of(got)[0])) {
					t.Errorf("slot %d is NaN, its descriptor %v", slot, of(got))
				}
				continue
			}
			xlatest.Close(t, fmt.Sprintf("descriptor of slot %d", slot), of(got), of(want), 1e-5)
		}
	})
}

// Mean and deviation are those of the filled slots, even far from 0; a constant feature becomes 0.
// Without a filled slot they are 0 and 1, and training leaves the row as it is.
func TestNormaliser(t *testing.T) {
	const slots, length, features = 40, 7, 4
	x, filled := numbers(slots*length*features, 1), make([]bool, slots)
	var wantMean, wantDeviation [features]float64
	for slot := range filled {
		filled[slot] = slot%3 == 1
	}
	for i := range x {
		switch i % features {
		case 1:
			x[i] = 5000 + 2*x[i]
		case 2:
			x[i] = 0.3 // not a float32
		case 3:
			x[i] = 1e-3 * x[i]
		}
		x[i] = float64(float32(x[i]))
	}
	for f := range features {
		var column []float64
		for i := f; i < len(x); i += features {
			if filled[i/(length*features)] {
				column = append(column, x[i])
			}
		}
		wantMean[f], wantDeviation[f] = stat.PopMeanStdDev(column, nil)
	}
	wantDeviation[2] = math.Inf(1)
	data := float32s(x)
	for i := range data {
		if !filled[i/(length*features)] {
			data[i] = float32(math.NaN())
		}
	}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			n := nn.NewNormaliser(in[0], in[1])
			autoencoder := nn.Autoencoder{Features: features, Hidden: 2, Steps: length}
			row := autoencoder.Init(random.NewKey(in[0].Graph(), 1))
			none := nn.AutoencoderTraining{Batch: 8, LearningRate: 0.1}.Train(autoencoder, row, in[0],
				ZerosLike(in[1]), Const(in[0].Graph(), int32(2)), random.NewKey(in[0].Graph(), 2))
			return []*Node{n.Mean, n.Deviation, n.Apply(in[0]),
				nn.NoNormaliser(in[0].Graph(), features).Apply(in[0]), none.Normaliser.Mean,
				none.Normaliser.Deviation, Sub(none.Row, row)}
		}, xlatest.Tensor(data, slots, length, features), xlatest.Tensor(filled, slots))
		mean, deviation := xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1])
		normalised, same := xlatest.Flat[float32](t, out[2]), xlatest.Flat[float32](t, out[3])
		xlatest.Close(t, "mean", mean, float32s(wantMean[:]), 1e-6)
		for i, want := range []float32{0, 1, 0} {
			for _, x := range xlatest.Flat[float32](t, out[4+i]) {
				if x != want {
					t.Fatalf("without a filled slot output %d is %g, want %g", i, x, want)
				}
			}
		}
		for f, want := range wantDeviation {
			if got := float64(deviation[f]); got != want && !(math.Abs(got/want-1) < 2e-6) {
				t.Errorf("the deviation of feature %d is %g, want %g", f, got, want)
			}
		}
		want := make([]float32, len(x))
		for i := range x {
			want[i] = float32((x[i] - wantMean[i%features]) / wantDeviation[i%features])
			if !filled[i/(length*features)] {
				want[i], normalised[i] = 0, 0 // NaN
			}
			if data[i] != same[i] && data[i] == data[i] {
				t.Fatalf("without a normaliser %g becomes %g", data[i], same[i])
			}
		}
		// The mean of the second feature is a float32 of 5000.
		xlatest.Close(t, "normalised", normalised, want, 2e-4)
	})
}

// Only filled slots are drawn, all equally often.
func TestDrawFilled(t *testing.T) {
	const slots = 3000
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		program, err := xlatest.Compile(p, "draw", []shapes.Shape{shapes.Make(dtypes.Bool, slots)},
			func(in []*Node) []*Node { return []*Node{nn.DrawFilled(random.NewKey(in[0].Graph(), 9), in[0])} })
		must.Do(err)
		defer program.Free()
		for _, filled := range [][]int{{0}, {slots - 1}, {0, 7, 8, 1500, slots - 1}} {
			mask := make([]bool, slots)
			for _, slot := range filled {
				mask[slot] = true
			}
			out := must.Get(program.Run(xla.Sharded{xlatest.Tensor(mask, slots)}))
			counts := map[int]int{}
			for _, slot := range xlatest.Flat[int32](t, out[0][0]) {
				counts[int(slot)]++
			}
			expected := slots / float64(len(filled))
			for _, slot := range filled {
				if off := math.Abs(float64(counts[slot]) - expected); off > 5*math.Sqrt(expected) {
					t.Errorf("slot %d was drawn %d times, expected are %g", slot, counts[slot], expected)
				}
				delete(counts, slot)
			}
			if len(counts) > 0 {
				t.Errorf("empty slots were drawn: %v", counts)
			}
		}
	})
}

// archive makes slots of different waves. Every third slot is empty and holds junk.
func archive(autoencoder nn.Autoencoder, slots int, junk float32) (x []float32, filled []bool) {
	phases := numbers(2*slots, 3)
	for slot := range slots {
		filled = append(filled, slot%3 != 0)
		for t := range autoencoder.Steps {
			for f := range autoencoder.Features {
				value := float32(10 + 4*math.Sin(phases[2*slot]+0.7*float64(t))*(phases[2*slot+1]+float64(f)))
				if !filled[slot] {
					value = junk
				}
				x = append(x, value)
			}
		}
	}
	return x, filled
}

// Training is deterministic for a key and differs for another key. The contents of empty slots do
// not matter. The loss falls.
func TestAutoencoderTraining(t *testing.T) {
	autoencoder := nn.Autoencoder{Features: 2, Hidden: 3, Steps: 6}
	const slots = 21 // two batches and a rest
	training := nn.AutoencoderTraining{Batch: 8, LearningRate: 1e-2}
	x, filled := archive(autoencoder, slots, 0)
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		program := must.Get(xlatest.Compile(p, "training", []shapes.Shape{shapes.Make(dtypes.Uint32, 2),
			shapes.Make(dtypes.Float32, slots, autoencoder.Steps, autoencoder.Features), shapes.Make(dtypes.Bool, slots),
			shapes.Make(dtypes.Int32)}, func(in []*Node) []*Node {
			key := random.KeyOf(in[0])
			row := autoencoder.Init(key.FoldIn(0))
			after := training.Train(autoencoder, row, in[1], in[2], in[3], key.FoldIn(1))
			return []*Node{row, after.Row, after.Normaliser.Mean, after.Normaliser.Deviation, after.Loss}
		}))
		defer program.Free()
		type trained struct{ before, row, mean, deviation, loss []float32 }
		train := func(seed int64, x []float32, epochs int32) trained {
			out := must.Get(program.Run(xla.Sharded{tensors.FromValue(random.SeedWords(seed))},
				xla.Sharded{xlatest.Tensor(x, slots, autoencoder.Steps, autoencoder.Features)},
				xla.Sharded{xlatest.Tensor(filled, slots)}, xla.Sharded{tensors.FromScalar(epochs)}))
			flat := func(i int) []float32 { return xlatest.Flat[float32](t, out[i][0]) }
			return trained{flat(0), flat(1), flat(2), flat(3), flat(4)}
		}
		one := train(1, x, 40)
		for _, junk := range []float32{float32(math.NaN()), 1e30} {
			spoiled, _ := archive(autoencoder, slots, junk)
			errtest.Equal(t, fmt.Sprintf("with %g in the empty slots", junk), fmt.Sprint(train(1, spoiled, 40)), fmt.Sprint(one))
		}
		other := train(2, x, 40)
		if slices.Equal(other.before, one.before) || slices.Equal(other.row, one.row) {
			t.Error("another key, the same training")
		}
		first := train(1, x, 1)
		if !(one.loss[0] < 0.5*first.loss[0]) || !slices.Equal(first.before, one.before) {
			t.Errorf("the loss is %v in the first epoch and %v in the last", first.loss, one.loss)
		}
		if none := train(1, x, 0); !slices.Equal(none.row, none.before) || none.loss[0] == none.loss[0] {
			t.Errorf("no epoch changes the row, or has a loss: %v", none.loss)
		}
	})
}

// 19_xcon.npz: a training on an archive with empty slots, which hold NaN, and a constant feature, with
// the stored triplets; it ends before its last epoch (ae_utils/model_train.py of the published code).
// tools/golden_xcon.py made it.
func TestGoldenContrast(t *testing.T) {
	data := golden.Read(t, "19_xcon.npz")
	dims, order := data.Shape("observations"), data.Shape("triplets")
	autoencoder := nn.Autoencoder{Features: dims[2], Hidden: int(data.Number("const.hidden")), Steps: dims[1]}
	c := nn.Contrast{Batch: int(data.Number("const.batch")), LearningRate: data.Number("const.learning_rate"),
		Epochs: int(data.Number("const.epochs")), MinDelta: data.Number("const.min_delta")}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			margin := Const(in[0].Graph(), float32(float64(autoencoder.Hidden)*data.Number("const.d_min")))
			filled := GreaterThan(in[2], ConstAs(in[2], math.Inf(-1)))
			return xla.Flatten(nn.TrainContrast(c, autoencoder, in[0], in[1], filled, margin, in[3],
				func(epoch, orders *Node) *Node { return xla.Row(orders, epoch) }))
		}, xlatest.Tensor(data.Float32s("params"), autoencoder.Params()), xlatest.Tensor(data.Float32s("observations"), dims...),
			xlatest.Tensor(data.Float32s("fitnesses"), dims[0]), xlatest.Tensor(data.Int32s("triplets"), order...))
		losses := data.Float32s("losses")
		for i, want := range [][]float32{data.Float32s("trained"), data.Float32s("mean"), data.Float32s("std"),
			losses[len(losses)-1:]} {
			xlatest.Close(t, []string{"trained", "mean", "std", "loss"}[i], xlatest.Flat[float32](t, out[i]), want, 1e-5)
		}
	})
}

// Reconstruct ends after more than ten epochs without progress: then its row is that of as many epochs of
// AURORA's training. Without a filled slot the row stays the same.
func TestReconstructEndsEarly(t *testing.T) {
	form := nn.Autoencoder{Features: 2, Hidden: 3, Steps: 6}
	const slots, first = 21, 12 // the first epoch is progress
	x, filled := archive(form, slots, 0)
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g := in[0].Graph()
			key := random.NewKey(g, 1)
			row := form.Init(key)
			early := nn.Contrast{Batch: 8, LearningRate: 1e-2, Epochs: 40, MinDelta: 1e6}
			late := early
			late.MinDelta = -1e6 // all is progress
			aurora := func(epochs int32) *Node {
				return nn.AutoencoderTraining{Batch: 8, LearningRate: 1e-2}.Train(form, row, in[0], in[1], Const(g, epochs), key).Row
			}
			return []*Node{early.Reconstruct(form, row, in[0], in[1], key).Row, aurora(first),
				late.Reconstruct(form, row, in[0], in[1], key).Row, aurora(40),
				early.Reconstruct(form, row, in[0], ZerosLike(in[1]), key).Row, row}
		}, xlatest.Tensor(x, slots, form.Steps, form.Features), xlatest.Tensor(filled, slots))
		for i, what := range []string{"ended early", "all epochs", "no slot is filled"} {
			xlatest.Close(t, what, xlatest.Flat[float32](t, out[2*i]), xlatest.Flat[float32](t, out[2*i+1]), 1e-5)
		}
	})
}

// The positive of a triplet is nearer in fitness than the negative, and no other slot is preferred.
func TestTriplets(t *testing.T) {
	fitness := []float32{4, 0, 1, 1, 3, 7, float32(math.Inf(-1)), 5}
	drawn := slices.Repeat([]int32{0, 1, 2, 3, 4, 5, 7, 7}, 40)
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			return []*Node{nn.Triplets(in[0], in[1], random.NewKey(in[0].Graph(), 3)),
				nn.Triplets(in[0], ZerosLike(in[1]), random.NewKey(in[0].Graph(), 3))}
		}, xlatest.Tensor(fitness, len(fitness)), xlatest.Tensor(drawn, len(drawn)))
		seen := map[int32]int{}
		for i, triplet := range slices.Collect(slices.Chunk(xlatest.Flat[int32](t, out[0]), 3)) {
			apart := func(k int) float64 { return math.Abs(float64(fitness[triplet[k]] - fitness[triplet[0]])) }
			if triplet[0] != drawn[i] || !(0 < apart(1) && apart(1) <= apart(2)) {
				t.Errorf("triplet %v", triplet)
			}
			seen[triplet[1]]++
			seen[triplet[2]]++
		}
		for slot, count := range seen { // of 40 draws of each of 6 slots, and 80 of slot 7
			if expected := 2 * len(drawn) / 8; slot != 7 && (count < expected/2 || count > 3*expected/2) || slot == 6 {
				t.Errorf("slot %d is in %d pairs", slot, count)
			}
		}
		for _, slot := range xlatest.Flat[int32](t, out[1]) {
			if slot != 0 {
				t.Fatalf("with one slot only, slot %d is in a triplet", slot)
			}
		}
	})
}

// goldenAutoencoder reads the sizes of the stored auto-encoder from the shapes of the arrays.
func goldenAutoencoder(t *testing.T) (golden.File, nn.Autoencoder) {
	data := golden.Read(t, "09_aurora_seq2seq.npz")
	shape := data.Shape("batch")
	return data, nn.Autoencoder{Features: shape[2], Hidden: data.Shape("encoder_c")[1], Steps: shape[1]}
}

// 09_aurora_seq2seq.npz: descriptors, the decoder's inputs and outputs, loss and gradient, and the
// state of the encoder's cell after a sequence.
func TestGoldenAutoencoder(t *testing.T) {
	data, autoencoder := goldenAutoencoder(t)
	flat := data.Float32s("params.flat")
	if autoencoder.Params() != len(flat) {
		t.Fatalf("%v has %d parameters, stored are %d", autoencoder, autoencoder.Params(), len(flat))
	}
	lstm := nn.LSTM{Inputs: autoencoder.Features, Hidden: autoencoder.Hidden}
	encoder := len(flat) - lstm.Params()
	compare := func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			cell := lstm.View(Slice(Reshape(in[0], -1), AxisRangeToEnd(encoder)))
			memory := cell.Start(data.Shape("batch")[0])
			for step := range autoencoder.Steps {
				memory, _ = cell.Step(Transpose(Squeeze(Slice(in[1], AxisRange(), AxisElem(step)), 1), 0, 1), memory)
			}
			loss, gradient := autoencoder.LossGradient(in[0], in[1])
			inputs := Slice(autoencoder.DecoderInputs(in[1]), AxisRange(0, autoencoder.Steps))
			return []*Node{autoencoder.Encode(in[0], in[1]), autoencoder.Reconstruct(in[0], in[1]),
				loss, gradient, TransposeAllAxes(inputs, 2, 0, 1), Transpose(memory.Cell, 0, 1), Transpose(memory.Output, 0, 1),
				cell.Row()}
		}, xlatest.Tensor(flat, 1, autoencoder.Params()), xlatest.Stored(data, "batch"))
		xlatest.Matches(t, data, out, 1e-6, "encoder_c", "outputs", "loss", "grad.flat", "decoder_inputs",
			"encoder_c", "encoder_h")
		errtest.Equal(t, "the row of a view", xlatest.Flat[float32](t, out[7]), flat[encoder:])
		errtest.Equal(t, "shape of the gradient by a row [1, N]", out[3].Shape().Dimensions, []int{1, autoencoder.Params()})
	}
	xlatest.Each(t, compare)
	t.Run("graphs of CUDA", func(t *testing.T) { compare(t, xlatest.As(xlatest.Quick(t), backend.CUDA)) })
}

// train.* of 09_aurora_seq2seq.npz: three steps of Adam on one batch, which are three epochs of one
// batch. Each loss is the one before the step.
func TestGoldenAutoencoderSteps(t *testing.T) {
	data, autoencoder := goldenAutoencoder(t)
	n := data.Shape("batch")[0]
	training := nn.AutoencoderTraining{Batch: n, LearningRate: data.Number("const.learning_rate")}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g := in[0].Graph()
			order := func(epoch *Node, _ struct{}) *Node { return Iota(epoch.Graph(), shapes.Make(dtypes.Int32, n), 0) }
			var rows, losses []*Node
			for step := range data.Shape("train.loss")[0] {
				row, loss := nn.TrainEpochs(training, autoencoder, in[0], in[1], Const(g, int32(step+1)), struct{}{}, order)
				rows, losses = append(rows, row), append(losses, loss)
			}
			return []*Node{Stack(losses, 0), Stack(rows, 0)}
		}, xlatest.Stored(data, "params.flat"), xlatest.Stored(data, "batch"))
		xlatest.Matches(t, data, out, 1e-6, "train.loss")
		xlatest.Matches(t, data, out[1:], 2e-6, "train.params")
	})
}

// A NaN anywhere in a sequence makes its descriptor and the loss NaN, but no other sequence's descriptor.
func TestAutoencoderShowsNaN(t *testing.T) {
	autoencoder := nn.Autoencoder{Features: 2, Hidden: 3, Steps: 4}
	const n, bad = 5, 2
	row, x := float32s(numbers(autoencoder.Params(), 0.8)), float32s(numbers(n*autoencoder.Steps*autoencoder.Features, 2))
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		program, err := xlatest.Compile(p, "nan", []shapes.Shape{shapes.Make(dtypes.Float32, len(row)),
			shapes.Make(dtypes.Float32, n, autoencoder.Steps, autoencoder.Features)}, func(in []*Node) []*Node {
			loss, gradient := autoencoder.LossGradient(in[0], in[1])
			return []*Node{loss, autoencoder.Encode(in[0], in[1]), gradient}
		})
		must.Do(err)
		defer program.Free()
		for at := range autoencoder.Steps * autoencoder.Features {
			spoiled := slices.Clone(x)
			spoiled[bad*autoencoder.Steps*autoencoder.Features+at] = float32(math.NaN())
			out := must.Get(program.Run(xla.Sharded{xlatest.Tensor(row, len(row))},
				xla.Sharded{xlatest.Tensor(spoiled, n, autoencoder.Steps, autoencoder.Features)}))
			isNaN := func(x float32) bool { return x != x }
			if loss := xlatest.Flat[float32](t, out[0][0]); !isNaN(loss[0]) {
				t.Errorf("NaN at %d: the loss is %v", at, loss[0])
			}
			for i, d := range xlatest.Flat[float32](t, out[1][0]) {
				if isNaN(d) != (i/autoencoder.Hidden == bad) {
					t.Errorf("NaN at %d of sequence %d: the descriptor of sequence %d has a %v", at, bad, i/autoencoder.Hidden, d)
				}
			}
			if !slices.ContainsFunc(xlatest.Flat[float32](t, out[2][0]), isNaN) {
				t.Errorf("NaN at %d: none in the gradient", at)
			}
		}
	})
}

// expect compares a moment of drawn numbers with theory, within five standard errors.
func expect(t *testing.T, what string, got, want, standard float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 5*standard+1e-7) {
		t.Errorf("the %s is %g, in theory %g +- %.2g", what, got, want, standard)
	}
}

// Biases begin at 0, recurrent kernels are uniform over the orthogonal matrices, and input kernels are normal numbers
// truncated at two deviations, as are the stored ones (init.* of 09_aurora_seq2seq.npz, of at least 30 cells).
func TestGoldenAutoencoderInit(t *testing.T) {
	data, _ := goldenAutoencoder(t)
	const features, h, draws = 25, 5, 100
	autoencoder := nn.Autoencoder{Features: features, Hidden: h, Steps: 25}
	program := must.Get(xlatest.Compile(xlatest.Pure(t), "init", []shapes.Shape{shapes.Make(dtypes.Uint32, 2)},
		func(in []*Node) []*Node { return autoencoder.Arrays(autoencoder.Init(random.KeyOf(in[0]))) }))
	defer program.Free()
	var drawn [4][]float64
	for seed := range draws {
		out := must.Get(program.Run(xla.Sharded{tensors.FromValue(random.SeedWords(int64(seed)))}))
		for i := range drawn {
			for _, x := range xlatest.Flat[float32](t, out[i][0]) {
				drawn[i] = append(drawn[i], float64(x))
			}
		}
	}
	if slices.Max(drawn[0]) != 0 || slices.Min(drawn[0]) != 0 || drawn[2][0] == drawn[2][2*features*4*h] {
		t.Errorf("biases begin with up to %g, and two seeds with %g", slices.Max(drawn[0]), drawn[2][0])
	}
	var trace, squares, first float64
	for q := range slices.Chunk(drawn[1], h*h) {
		sum := 0.0
		for i := range h {
			for j := range h {
				var rows, columns float64
				for k := range h {
					rows, columns = rows+q[i*h+k]*q[j*h+k], columns+q[k*h+i]*q[k*h+j]
				}
				if want := map[bool]float64{true: 1}[i == j]; math.Abs(rows-want) > 1e-5 || math.Abs(columns-want) > 1e-5 {
					t.Fatalf("a recurrent kernel is not orthogonal: %v", q)
				}
			}
			sum += q[i*h+i]
		}
		trace, squares, first = trace+sum, squares+sum*sum, first+q[0]
	}
	// Under Haar's measure the trace of an orthogonal matrix of 5 rows has the moments of a normal
	// number: 0, 1, 0, 3; an element has mean 0 and variance 1/5. The diagonal of a QR
	// decomposition without the sign correction that makes it uniform has a nonzero mean.
	matrices := float64(draws * 8)
	expect(t, "mean trace", trace/matrices, 0, 1/math.Sqrt(matrices))
	expect(t, "mean square of the trace", squares/matrices, 1, math.Sqrt(2/matrices))
	expect(t, "mean of the first element", first/matrices, 0, math.Sqrt(1./h/matrices))
	check := func(whose string, n float64, inputs int, mean, deviation, largest float64) {
		// of a normal distribution truncated at +-2: standard deviation, kurtosis, density of the magnitude at the limit
		const cut, kurtosis, end = 0.87962566103423978, 2.3656, 0.1131
		sigma := 1 / math.Sqrt(float64(inputs))
		expect(t, whose+" mean", mean, 0, sigma/math.Sqrt(n))
		expect(t, whose+" standard deviation", deviation, sigma, sigma*math.Sqrt((kurtosis-1)/n)/2)
		// the distance is exponential: the chance of exceeding this is 3e-7
		expect(t, whose+" largest magnitude", largest, 2*sigma/cut, 3/(n*end)*sigma/cut)
	}
	for inputs, x := range map[int][]float64{features: drawn[2], h: drawn[3]} {
		mean, deviation := stat.PopMeanStdDev(x, nil)
		check(fmt.Sprint(inputs, " inputs:"), float64(len(x)), inputs, mean, deviation, max(slices.Max(x), -slices.Min(x)))
	}
	stored := data.Float64s("init.input_kernel_moments")
	check("stored", 30*4*features*h, features, stored[0], stored[1], stored[2])
}

// numbers returns n numbers between -scale and scale, the same at each call.
func numbers(n int, scale float64) []float64 {
	out, word := make([]float64, n), uint64(n)
	for i := range out {
		word = word*6364136223846793005 + 1442695040888963407
		out[i] = scale * (2*float64(word>>11)/(1<<53) - 1)
	}
	return out
}

func float32s(x []float64) []float32 {
	out := make([]float32, len(x))
	for i := range x {
		out[i] = float32(x[i])
	}
	return out
}
