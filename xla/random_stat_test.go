package xla_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

const million = 1_000_000

// Moments within five standard errors, and the distance of Kolmogorov and Smirnov below its 99.9 % quantile.
func TestNormalIsNormal(t *testing.T) {
	x := draw[float32](t, xlatest.Best(t), 3, func(k xla.Key) *Node { return k.Normal(million) })
	slices.Sort(x)
	var moments [5]float64
	distance := 0.0
	for i, v := range x {
		power := 1.0
		for k := range moments {
			moments[k] += power / million
			power *= float64(v)
		}
		below := math.Erfc(-float64(v)/math.Sqrt2) / 2
		distance = max(distance, math.Abs(below-float64(i)/million), math.Abs(below-float64(i+1)/million))
	}
	for k, want := range []struct{ moment, standard float64 }{{1, 1e-12}, {0, 1}, {1, math.Sqrt(2)}, {0, math.Sqrt(15)}, {3, math.Sqrt(96)}} {
		off := (moments[k] - want.moment) / (want.standard / math.Sqrt(million))
		t.Logf("moment %d: %.5f, off by %.2f standard errors", k, moments[k], off)
		if math.Abs(off) > 5 && k > 0 {
			t.Errorf("moment %d is %g, want %g", k, moments[k], want.moment)
		}
	}
	t.Logf("distance of Kolmogorov and Smirnov: %.5f; %g to %g", distance, x[0], x[million-1])
	if distance > 1.95/math.Sqrt(million) {
		t.Errorf("distance of Kolmogorov and Smirnov %g", distance)
	}
	if x[0] < -5.2 || x[million-1] > 5.2 || x[0] > -4.3 || x[million-1] < 4.3 {
		t.Errorf("the tails reach from %g to %g", x[0], x[million-1])
	}
}

// Each byte of the words takes each value equally often.
func TestBytesOfBitsAreUniform(t *testing.T) {
	words := draw[uint32](t, xlatest.Best(t), 4, func(k xla.Key) *Node { return k.Bits(million) })
	for place := range 4 {
		var counts [256]float64
		for _, w := range words {
			counts[byte(w>>(8*place))]++
		}
		statistic := 0.0
		for _, c := range counts {
			statistic += (c - million/256.0) * (c - million/256.0) / (million / 256.0)
		}
		off := (statistic - 255) / math.Sqrt(2*255)
		t.Logf("byte %d: chi-squared %.1f, %.2f standard deviations from 255", place, statistic, off)
		if math.Abs(off) > 5 {
			t.Errorf("byte %d: chi-squared with 255 degrees of freedom is %g", place, statistic)
		}
	}
}

// correlation is Pearson's of two samples of the same size, in standard errors.
func correlation(a, b []float32) float64 {
	n := float64(min(len(a), len(b)))
	var sa, sb, saa, sbb, sab float64
	for i := range int(n) {
		x, y := float64(a[i]), float64(b[i])
		sa, sb, saa, sbb, sab = sa+x, sb+y, saa+x*x, sbb+y*y, sab+x*y
	}
	return (sab/n - sa/n*sb/n) / math.Sqrt((saa/n-sa/n*sa/n)*(sbb/n-sb/n*sb/n)) * math.Sqrt(n)
}

// Numbers are uncorrelated along a stream, between neighbouring rows, between the streams below a key, and between
// neighbouring seeds, at 4.5 standard errors of each.
func TestStreamsAreUncorrelated(t *testing.T) {
	const columns = million / 10
	p := xlatest.Best(t)
	check := func(what string, a, b []float32) {
		t.Helper()
		if c := correlation(a, b); !(math.Abs(c) < 4.5) {
			t.Errorf("%s: correlated by %.1f standard errors", what, c)
		}
	}
	for name, f := range map[string]func(k xla.Key, dims ...int) *Node{
		"uniform": func(k xla.Key, dims ...int) *Node { return k.Uniform(0, 1, dims...) },
		"normal":  xla.Key.Normal,
	} {
		x := draw[float32](t, p, 5, func(k xla.Key) *Node { return f(k, million) })
		for _, lag := range []int{1, 2, 3, 4, 8, 16, 64, 256, 1024} {
			check(name+": words of a stream", x[lag:], x[:len(x)-lag])
		}
		rows := draw[float32](t, p, 5, func(k xla.Key) *Node { return f(rowKeys(k, 0, 10), 10, columns) })
		folded := draw[float32](t, p, 5, func(k xla.Key) *Node {
			return Stack([]*Node{f(k, columns), f(k.FoldInt(0), columns), f(k.FoldInt(1), columns), f(k.FoldInt(0).FoldInt(0), columns)}, 0)
		})
		for i := range 9 {
			check(name+": neighbouring rows", rows[i*columns:(i+1)*columns], rows[(i+1)*columns:(i+2)*columns])
		}
		for i := range 3 {
			check(name+": a key and those below it", folded[i*columns:(i+1)*columns], folded[(i+1)*columns:(i+2)*columns])
		}
		next := draw[float32](t, p, 6, func(k xla.Key) *Node { return f(k, million) })
		check(name+": neighbouring seeds", x, next)
		check(name+": neighbouring seeds, rows", rows, draw[float32](t, p, 6, func(k xla.Key) *Node { return f(rowKeys(k, 0, 10), 10, columns) }))
	}
}
