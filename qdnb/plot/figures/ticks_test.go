package figures

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/plot"

	"example.com/qdnb/internal/errtest"
)

func labels(ticks []plot.Tick) []string {
	var out []string
	for _, t := range ticks {
		if !t.IsMinor() {
			out = append(out, t.Label)
		}
	}
	return out
}

func TestTickLabels(t *testing.T) {
	for _, c := range []struct {
		ticker    plot.Ticker
		low, high float64
		want      []string
	}{
		{linearTicks{4}, -1, 1, []string{"−1.0", "−0.5", "0", "0.5", "1.0"}},
		{linearTicks{2}, -8, 8, []string{"−5", "0", "5"}}, // a single 0 would not tell the scale
		{linearTicks{4}, -512, -20, []string{"−400", "−200"}},
		{linearTicks{4}, 0, 4.2e5, []string{"0", "200k", "400k"}},
		{linearTicks{4}, 0, 1.5e8, []string{"0", "50M", "100M", "150M"}},
		{linearTicks{4}, 0, 9000, []string{"0", "2500", "5000", "7500"}},
		{linearTicks{4}, 1e6, 1.01e6, []string{"1.0000M", "1.0025M", "1.0050M", "1.0075M", "1.0100M"}},
		{linearTicks{4}, 0, 0.03, []string{"0", "0.01", "0.02", "0.03"}},
		{linearTicks{4}, 0, 2e-5, []string{"0", "5e−06", "1e−05", "1.5e−05", "2e−05"}},
		{linearTicks{4}, 1, 1, nil},
		{linearTicks{4}, -math.MaxFloat64, math.MaxFloat64, []string{"−1e+308", "0", "1e+308"}},
		{linearTicks{4}, 0, math.Inf(1), nil},
		{linearTicks{4}, 1e17, 1e17 + 16, nil},
		{linearTicks{6}, 3.3333333333333335e299, 3.3333333333333343e299, nil},
		{logTicks{4}, 1, 1e4, []string{"1", "10", "100", "1000", "10k"}},
		{logTicks{3}, 1, 1e9, []string{"1", "1000", "1M", "1G"}},
		{logTicks{4}, 3, 60, []string{"5", "10", "20", "50"}},
		{logTicks{4}, 0.01, 1, []string{"0.01", "0.1", "1"}},
		{logTicks{4}, 2.1, 2.9, []string{"2.2", "2.4", "2.6", "2.8"}},
		{logTicks{4}, 0.012, 0.013, []string{"0.01200", "0.01225", "0.01250", "0.01275", "0.01300"}},
		{logTicks{4}, 3e-6, 4e-6, []string{"3e−06", "3.25e−06", "3.5e−06", "3.75e−06", "4e−06"}},
		{logTicks{4}, 3e-320, 3e-320 + 2e-323, nil},
		{linearTicks{4}, 5e-4, 5.0004e-4, []string{"0.0005", "0.00050001", "0.00050002", "0.00050003", "0.00050004"}},
		{logTicks{4}, -1, 10, nil},
		{logTicks{4}, 1e-315, 3e15, []string{"1e−243", "1e−162", "1e−81", "1"}},
		{logTicks{4}, 1e-220, 1e220, []string{"1e−220", "1e−110", "1", "1e+110", "1e+220"}},
		{logTicks{4}, math.SmallestNonzeroFloat64, math.MaxFloat64,
			[]string{"1e−155", "1", "1e+155"}},
		{symlogTicks{20, 4}, -15000, -20, []string{"−10k", "−1000", "−100"}},
		{symlogTicks{1, 4}, -1000, 1000, []string{"−1000", "−10", "0", "10", "1000"}},
		{symlogTicks{5, 4}, -6, 3, []string{"−5.0", "−2.5", "0", "2.5"}}, // no power of ten
	} {
		got := c.ticker.Ticks(c.low, c.high)
		errtest.Equal(t, fmt.Sprintf("%#v from %g to %g", c.ticker, c.low, c.high), labels(got), c.want)
		if len(got) > 100 {
			t.Errorf("%#v from %g to %g: %d ticks", c.ticker, c.low, c.high, len(got))
		}
		for _, tick := range got {
			if tick.Value < c.low || tick.Value > c.high {
				t.Errorf("%#v from %g to %g: tick at %g", c.ticker, c.low, c.high, tick.Value)
			}
		}
	}
}

// One tick labels a range that cannot be divided.
func TestTicks(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []string
	}{{-117, 909, []string{"0", "200", "400", "600", "800"}}, {5, 5, []string{"5"}},
		{3.3333333333333335e299, 3.3333333333333343e299, []string{"3.33e+299"}}} {
		errtest.Equal(t, fmt.Sprintf("from %g to %g", c.low, c.high), labels(Ticks(c.low, c.high, 6)), c.want)
	}
}

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
