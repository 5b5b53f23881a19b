package scoring

import (
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/must"
)

func TestMeans(t *testing.T) {
	names := []string{"a", "b"}
	m := Means{Sums: make([]float64, 2)}
	if values := m.Values(); !math.IsNaN(values[0]) {
		t.Errorf("without iterations the means are %v", values)
	}
	for _, metrics := range [][]float64{{1, 2}, {3, 6}} {
		must.Do(m.Add(names, metrics))
	}
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		if err := m.Add(names, []float64{1, bad}); err == nil || err.Error()[:5] != "b is " {
			t.Errorf("%g: %v", bad, err)
		}
	}
	if values := m.Values(); !slices.Equal(values, []float64{2, 4}) {
		t.Errorf("the means are %v", values)
	}
	if m.Reset(); m.Count != 0 || m.Sums[1] != 0 {
		t.Errorf("after Reset: %+v", m)
	}
}
