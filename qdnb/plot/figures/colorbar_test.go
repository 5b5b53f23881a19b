package figures

import (
	"math"
	"testing"
)

// Far outliers do not take the colours of the other cells: they have the colour of the bar's end, which is
// a triangle then. Values that are merely spread out all count.
func TestFarOutliersDoNotTakeTheColours(t *testing.T) {
	fitness := []float64{math.Inf(-1), -700, -650}
	for i := range 40 {
		fitness = append(fitness, 100+float64(i))
	}
	b := &ColorBar{values: [][]float64{fitness}}
	low, high := b.limits()
	if low != 100 || high != 139 || b.beyond(low, high) != [2]bool{true, false} {
		t.Errorf("the range is from %g to %g, with values beyond: %v", low, high, b.beyond(low, high))
	}
	if colors := b.colors(fitness); colors[1] != b.color(0) || colors[2] != colors[1] || colors[0] != emptyFill {
		t.Errorf("outliers are %v", colors[:3])
	}
	b = &ColorBar{values: [][]float64{fitness[3:], {60, 180}}}
	if low, high := b.limits(); low != 60 || high != 180 || b.beyond(low, high) != [2]bool{} {
		t.Errorf("the range of values that are spread out is from %g to %g", low, high)
	}
	b = &ColorBar{Min: 110, Max: 120, values: [][]float64{fitness}}
	if b.beyond(b.limits()) != [2]bool{true, true} {
		t.Error("values beyond chosen limits are not marked")
	}
}
