package nn_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// dense returns x W + b of a layer in a row, and the rest of the row.
func dense(row []float32, x []float64, out int) (y []float64, rest []float32) {
	for k := range out {
		sum := float64(row[k])
		for i, v := range x {
			sum += v * float64(row[out+i*out+k])
		}
		y = append(y, sum)
	}
	return y, row[out+len(x)*out:]
}

// A GRU computes PyTorch's equations over a sequence, with and without hidden layers, and whether or not
// inputs that are always 0 are left out.
func TestGRU(t *testing.T) {
	const p, steps, in, units, out = 3, 4, 5, 6, 2
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	for _, hidden := range [][]int{nil, {7}} {
		gru := nn.GRU{MLP: nn.NewPolicy(in, hidden, out), Units: units}
		xlatest.Logic(t, func(t *testing.T, platform *xla.Platform) {
			got := xlatest.Run(t, platform, func(inputs []*Node) []*Node {
				keys := random.NewKey(inputs[0].Graph(), 5).Split(p)
				rows := Add(gru.Init(keys), MulScalar(keys.FoldIn(9).Normal(p, gru.Params()), 0.1))
				policy := gru.Policies(rows, 3)
				var actions []*Node
				memory := policy.Memory()
				for step := range steps {
					var action *Node
					memory, action = policy.Act(memory, Reshape(Slice(inputs[0], AxisElem(step)), p, in))
					actions = append(actions, action)
				}
				return append(actions, rows)
			}, tensors.FromValue(observations(steps, p, in)))
			rows, x := got[steps].Value().([][]float32), observations(steps, p, in)
			for k, row := range rows {
				h := make([]float64, units)
				for step := range steps {
					y, row := []float64{}, row
					for _, v := range x[step][k] {
						y = append(y, float64(v))
					}
					for _, n := range hidden {
						y, row = dense(row, y, n)
						for i := range y {
							y[i] = max(y[i], 0)
						}
					}
					input, row := dense(row, y, 3*units)
					own, row := dense(row, h, 3*units)
					for i := range h {
						reset, keep := sigmoid(input[i]+own[i]), sigmoid(input[units+i]+own[units+i])
						fresh := math.Tanh(input[2*units+i] + reset*own[2*units+i])
						h[i] = (1-keep)*fresh + keep*h[i]
					}
					action, rest := dense(row, h, out)
					if len(rest) > 0 {
						t.Fatalf("%d parameters too many", len(rest))
					}
					for i, a := range action {
						action := got[step].Value().([][]float32)[k][i]
						if math.Abs(float64(action)-math.Tanh(a)) > 2e-6 {
							t.Errorf("policy %d, step %d: action %g, want %g", k, step, action, math.Tanh(a))
						}
					}
				}
			}
		})
	}
}

// observations are deterministic, [steps][p][in]; component 3 is always 0.
func observations(steps, p, in int) [][][]float32 {
	all := make([][][]float32, steps)
	for s := range all {
		all[s] = make([][]float32, p)
		for k := range all[s] {
			for i := range in {
				x := math.Sin(float64(31*s + 7*k + 3*i))
				if i == 3 {
					x = 0
				}
				all[s][k] = append(all[s][k], float32(x))
			}
		}
	}
	return all
}
