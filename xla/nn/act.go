package nn

import "math"

// Act applies a [Policy] with layers of the given sizes, inputs and outputs included, to an input on
// the host. row has its parameters in the order of [MLP.Layout]: for each layer the bias, then the
// kernel [in, out].
func Act(sizes []int, row, x []float32) []float32 {
	for layer, out := range sizes[1:] {
		y := append([]float32(nil), row[:out]...)
		row = row[out:]
		for _, from := range x {
			for k := range y {
				y[k] += from * row[k]
			}
			row = row[out:]
		}
		for k, sum := range y {
			if layer == len(sizes)-2 {
				y[k] = float32(math.Tanh(float64(sum)))
			} else if sum < 0 { // NaN stays
				y[k] = 0
			}
		}
		x = y
	}
	return x
}
