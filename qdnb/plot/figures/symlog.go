package figures

import (
	"math"
	"slices"

	"gonum.org/v1/plot"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/stats"
)

// symlogScale is logarithmic on both sides of 0, and linear about it, up to the size that it is.
type symlogScale float64

// symlogOf returns the scale of values of which some are not positive, by the lower quartile of their sizes; 0 if all
// are positive.
func symlogOf(values [][]float64) symlogScale {
	all := lists.Where(slices.Concat(values...), finite)
	if len(all) == 0 || slices.Min(all) > 0 {
		return 0
	}
	sizes := lists.Map(all, math.Abs)
	quartile, _ := stats.Quartiles(slices.DeleteFunc(sizes, func(size float64) bool { return size == 0 }))
	if !(quartile > 0) { // all are 0
		return 1
	}
	return symlogScale(quartile)
}

func (s symlogScale) of(x float64) float64 { return math.Asinh(x / float64(s)) }

// Normalize implements plot.Normalizer.
func (s symlogScale) Normalize(low, high, x float64) float64 {
	return linearScale{}.Normalize(s.of(low), s.of(high), s.of(x))
}

// widened returns a range with a margin, a fraction of its length on the axis.
func (s symlogScale) widened(low, high, margin float64) (float64, float64) {
	pad := margin * (s.of(high) - s.of(low))
	return float64(s) * math.Sinh(s.of(low)-pad), float64(s) * math.Sinh(s.of(high)+pad)
}

// symlogTicks labels 0 and powers of ten on both sides, thinned to about the given number of intervals.
type symlogTicks struct {
	scale     symlogScale
	intervals int
}

func (t symlogTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	first, last := math.Ceil(math.Log10(float64(t.scale))), math.Floor(math.Log10(max(math.Abs(low), math.Abs(high))))
	sides := 1.0
	if low < 0 && high > 0 {
		sides = 2
	}
	every := max(1, math.Ceil(sides*(last-first+1)/float64(max(t.intervals, 1))))
	values := []float64{0}
	for decade := last; decade >= first; decade -= every {
		values = append(values, math.Pow(10, decade), -math.Pow(10, decade))
	}
	slices.Sort(values)
	for _, v := range values {
		if v >= low && v <= high {
			ticks = append(ticks, plot.Tick{Value: v, Label: formatTick(v, math.Abs(v), math.Abs(v))})
		}
	}
	if len(ticks) < 2 {
		return linearTicks{t.intervals}.Ticks(low, high)
	}
	return ticks
}

// flattened reports whether some values are so much larger than the others that a linear axis would show these as one.
func flattened(lines []Series) bool {
	var all []float64
	for _, line := range lines {
		all = append(all, line.Y...)
	}
	sizes := lists.Map(lists.Where(all, finite), math.Abs)
	median := stats.Median(sizes)
	return median > 0 && slices.Max(sizes) >= 100*median
}
