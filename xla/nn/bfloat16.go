package nn

import (
	"math"
	"slices"
)

// RoundBFloat16 returns a row [N] whose kernels are rounded as by [Net.BFloat16].
func (m MLP) RoundBFloat16(row []float32) []float32 {
	row = slices.Clone(row)
	for _, leaf := range m.Layout() {
		if !leaf.Kernel {
			continue
		}
		for i := range row[leaf.Offset : leaf.Offset+leaf.Shape[0]*leaf.Shape[1]] {
			x := &row[leaf.Offset+i]
			if bits := math.Float32bits(*x); *x == *x {
				*x = math.Float32frombits((bits + 0x7fff + bits>>16&1) & upper)
			}
		}
	}
	return row
}
