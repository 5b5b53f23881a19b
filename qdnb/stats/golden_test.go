package stats_test

import (
	"fmt"
	"math"
	"testing"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/qdnb/stats"
)

// The iqm.* arrays of 12_stats.npz: scipy.stats.trim_mean(x, 0.25) of samples of several sizes.
// Packages runs, xla/nn and replay test its other arrays: metrics, running statistics and rings.
func TestGoldenIQM(t *testing.T) {
	data := golden.Read(t, "12_stats.npz")
	samples := 0
	for n := range 1001 {
		name := fmt.Sprintf("iqm.x_%d", n)
		if !data.Has(name) {
			continue
		}
		samples++
		x, want := data.Float64s(name), data.Number(fmt.Sprintf("iqm.value_%d", n))
		if got := stats.IQM(x); math.Abs(got-want) > 1e-6*max(1, math.Abs(want)) {
			t.Errorf("the IQM of %v is %v, want %v", x, got, want)
		}
	}
	if samples == 0 {
		t.Fatal("12_stats.npz has no sample iqm.x_N")
	}
}
