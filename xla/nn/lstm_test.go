package nn_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

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

// steps runs a cell step by step over inputs [L, in, B]. It returns c, h and the cell's row.
func steps(lstm nn.LSTM) func(in []*Node) []*Node {
	return func(in []*Node) []*Node {
		cell := lstm.View(in[0])
		memory := cell.Start(in[1].Shape().Dimensions[2])
		for t := range in[1].Shape().Dimensions[0] {
			memory, _ = cell.Step(Squeeze(Slice(in[1], AxisElem(t)), 0), memory)
		}
		return []*Node{memory.Cell, memory.Output, cell.Row()}
	}
}

// 09_aurora_seq2seq.npz: the encoder of a QDax auto-encoder and its state after a sequence.
func TestGoldenLSTM(t *testing.T) {
	data := golden.Read(t, "09_aurora_seq2seq.npz")
	shape := data.Shape("batch")
	n, length, features := shape[0], shape[1], shape[2]
	lstm := nn.LSTM{Inputs: features, Hidden: data.Shape("encoder_c")[1]}
	all := data.Float32s("params.flat")
	row, batch := all[len(all)-lstm.Params():], data.Float32s("batch")
	for _, leaf := range lstm.Layout() {
		name := "params.encoder.encoder_lstm.LSTMCell_0." + leaf.Name
		stored := data.Float32s(name)
		if !slices.Equal(leaf.Shape,
			data.Shape(name)) || !slices.Equal(row[leaf.Offset:leaf.Offset+len(stored)], stored) {
			t.Errorf("%s is not at %d, or not of shape %v", leaf.Name, leaf.Offset, leaf.Shape)
		}
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			state := steps(lstm)([]*Node{in[0], TransposeAllAxes(in[1], 1, 2, 0)})
			return []*Node{Transpose(state[0], 0, 1), Transpose(state[1], 0, 1), state[2]}
		}, xlatest.Tensor(row, len(row)), xlatest.Tensor(batch, n, length, features))
		xlatest.Close(t, "c", xlatest.Flat[float32](t, out[0]), data.Float32s("encoder_c"), 1e-6)
		xlatest.Close(t, "h", xlatest.Flat[float32](t, out[1]), data.Float32s("encoder_h"), 1e-6)
		if !slices.Equal(xlatest.Flat[float32](t, out[2]), row) {
			t.Error("the row of a view is not the row that was viewed")
		}
	})
}

// The distributions of the initial parameters, see also TestGoldenAutoencoderInit.
func TestLSTMInit(t *testing.T) {
	lstm := nn.LSTM{Inputs: 2, Hidden: 5}
	const draws = 500
	type state struct {
		Key  random.Key
		Rows *Node
	}
	out := xlatest.Flat[float32](t, xlatest.Run(t, xlatest.Best(t), func(in []*Node) []*Node {
		start := state{random.KeyOf(in[0]), Zeros(in[0].Graph(),
			shapes.Make(dtypes.Float32, draws, lstm.Params()))}
		return []*Node{xla.For(in[0].Graph(), draws, start, func(i *Node, s state) state {
			s.Rows = xla.SetRows(s.Rows, i, InsertAxes(lstm.Init(s.Key.FoldInEach(i)), 0))
			return s
		}).Rows}
	}, tensors.FromValue(random.SeedWords(3)))[0])

	const h = 5
	var matrices, trace, squares, first float64
	for draw := range draws {
		row := out[draw*lstm.Params() : (draw+1)*lstm.Params()]
		for _, leaf := range lstm.Layout() {
			if !strings.HasPrefix(leaf.Name, "h") {
				continue
			}
			if strings.HasSuffix(leaf.Name, "bias") {
				if slices.ContainsFunc(row[leaf.Offset:leaf.Offset+h], func(x float32) bool { return x != 0 }) {
					t.Errorf("%s begins with %v", leaf.Name, row[leaf.Offset:leaf.Offset+h])
				}
				continue
			}
			q := row[leaf.Offset : leaf.Offset+h*h]
			for i := range h {
				for j := range h {
					var rows, columns float64
					for k := range h {
						rows += float64(q[i*h+k]) * float64(q[j*h+k])
						columns += float64(q[k*h+i]) * float64(q[k*h+j])
					}
					want := 0.0
					if i == j {
						want = 1
					}
					if math.Abs(rows-want) > 1e-5 || math.Abs(columns-want) > 1e-5 {
						t.Fatalf("%s is not orthogonal: %v", leaf.Name, q)
					}
				}
			}
			sum := 0.0
			for i := range h {
				sum += float64(q[i*h+i])
			}
			matrices, trace, squares, first = matrices+1, trace+sum, squares+sum*sum, first+float64(q[0])
		}
	}
	// Under Haar's measure the trace of an orthogonal matrix of 5 rows has the moments of a normal
	// number: 0, 1, 0, 3; an element has mean 0 and variance 1/5. The diagonal of a QR decomposition
	// without the sign correction that makes it uniform has a nonzero mean.
	root := math.Sqrt(matrices)
	for _, moment := range []struct {
		name      string
		got, want float64
		deviation float64
	}{
		{"mean trace", trace / matrices, 0, 1},
		{"mean square of the trace", squares / matrices, 1, math.Sqrt2},
		{"mean of the first element", first / matrices, 0, math.Sqrt(1. / h)},
	} {
		if off := math.Abs(moment.got - moment.want); off > 5*moment.deviation/root {
			t.Errorf("the %s is %g, in theory %g +- %.2g", moment.name, moment.got, moment.want,
				moment.deviation/root)
		}
	}
}
