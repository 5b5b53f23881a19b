package figures

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/stats"
)

// axisTicks are the ticks of an axis of a scale, about as many intervals apart.
type axisTicks struct {
	scale     plot.Normalizer
	intervals int
}

// Ticks implements plot.Ticker.
func (t axisTicks) Ticks(low, high float64) []plot.Tick {
	switch scale := t.scale.(type) {
	case plot.LogScale:
		return logTicks(low, high, t.intervals)
	case symlogScale:
		return symlogTicks(scale, low, high, t.intervals)
	}
	return linearTicks(low, high, t.intervals)
}

// linearTicks puts labelled ticks at multiples of 1, 2, 2.5 or 5 times a power of ten. It uses at
// most the given number of intervals, or the next larger number that gives two ticks, without which
// a reader cannot tell the scale.
func linearTicks(low, high float64, intervals int) []plot.Tick {
	if !(high > low) || !finite(low) || !finite(high) {
		return nil
	}
	var step, first, last float64
	for n := max(intervals, 1); n < intervals+16; n++ {
		step = niceStep(high/float64(n) - low/float64(n)) // the range itself may overflow
		// The tolerance keeps ticks that rounding pushes just outside.
		first, last = math.Ceil(low/step-1e-9), math.Floor(high/step+1e-9)
		if last > first {
			break
		}
	}
	// the span is below the rounding error of its ends
	if last-first > 100 || math.Abs(first) >= 1<<53 {
		return nil
	}
	largest := max(math.Abs(first*step), math.Abs(last*step))
	var ticks []plot.Tick
	for i := first; i <= last; i++ {
		v := min(max(i*step, low), high)
		ticks = append(ticks, plot.Tick{Value: v, Label: formatTick(i*step, step, largest)})
	}
	return ticks
}

// Ticks returns labelled ticks at round values for up to the given number of intervals, or one tick
// at low if there is no range to divide.
func Ticks(low, high float64, intervals int) []plot.Tick {
	if ticks := linearTicks(low, high, intervals); ticks != nil {
		return ticks
	}
	size := math.Abs(low)
	return []plot.Tick{{Value: low, Label: formatTick(low, size, size)}}
}

// niceStep returns the smallest of 1, 2, 2.5, 5 and 10 times a power of ten that is at least raw.
func niceStep(raw float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*unit >= raw*(1-1e-9) {
			return m * unit
		}
	}
	return 10 * unit
}

// formatTick formats v with the decimals that step needs. If largest, the largest value of the
// axis, is from 10 000 to 10¹⁵, all labels share a suffix (k, M, G). Negative values have a true
// minus sign.
func formatTick(v, step, largest float64) string {
	if v == 0 || math.Abs(v) < step*1e-6 {
		return "0"
	}
	suffix := ""
	if largest >= 1e4 && largest < 1e15 {
		for _, s := range []struct {
			unit float64
			name string
		}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
			if largest >= s.unit {
				v, step, suffix = v/s.unit, step/s.unit, s.name
				break
			}
		}
	}
	var label string
	if largest < 1e-3 || largest >= 1e15 {
		digits := max(3, 1+math.Ceil(math.Log10(largest/step)))
		label = strconv.FormatFloat(v, 'g', int(digits), 64)
	} else {
		decimals := 0
		for scaled := step; decimals < 9 && math.Abs(scaled-math.Round(scaled)) > 1e-6*scaled; scaled *= 10 {
			decimals++
		}
		label = strconv.FormatFloat(v, 'f', decimals, 64)
	}
	return strings.ReplaceAll(label, "-", "−") + suffix
}

// logTicks labels the powers of ten, thinned to about the given number of intervals. If less than
// two decades are shown, it also labels 2 and 5 times the powers. The other multiples are minor
// ticks, except on axes of many decades. An axis with fewer than two of these labels has linear ticks.
func logTicks(low, high float64, intervals int) []plot.Tick {
	if !(low > 0) || !(high > low) || math.IsInf(high, 0) {
		return nil
	}
	firstDecade, lastDecade := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	decades := math.Log10(high) - math.Log10(low)
	every := max(1, int(math.Ceil(decades/float64(max(intervals, 1)))))
	var ticks []plot.Tick
	labelled := 0
	for d := firstDecade; d <= lastDecade; d++ {
		for m := 1.0; m < 10; m++ {
			v := m * math.Pow(10, d)
			if v < low*(1-1e-9) || v/(1+1e-9) > high {
				continue
			}
			tick := plot.Tick{Value: min(max(v, low), high)}
			if m == 1 && int(d)%every == 0 || decades < 2 && (m == 1 || m == 2 || m == 5) {
				tick.Label = formatTick(v, v, v)
				labelled++
			}
			if tick.Label != "" || every <= 4 {
				ticks = append(ticks, tick)
			}
		}
	}
	if linear := linearTicks(low, high, intervals); labelled < 2 && linear != nil {
		return linear
	}
	return ticks
}

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
func symlogTicks(scale symlogScale, low, high float64, intervals int) (ticks []plot.Tick) {
	first, last := math.Ceil(math.Log10(float64(scale))), math.Floor(math.Log10(max(math.Abs(low), math.Abs(high))))
	sides := 1.0
	if low < 0 && high > 0 {
		sides = 2
	}
	every := max(1, math.Ceil(sides*(last-first+1)/float64(max(intervals, 1))))
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
		return linearTicks(low, high, intervals)
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
