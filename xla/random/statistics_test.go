package random_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla/random"
)

const million = 1_000_000

// Moments are within five standard errors, and the Kolmogorov-Smirnov distance is below its 99.9 %
// quantile.
func TestNormalIsNormal(t *testing.T) {
	x := draw[float32](t, xlatest.Best(t), 3, func(k random.Key) *Node { return k.Normal(million) })
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
	for k, want := range []struct{ moment, standard float64 }{{1, 1e-12}, {0, 1}, {1, math.Sqrt(2)},
		{0, math.Sqrt(15)}, {3, math.Sqrt(96)}} {
		off := (moments[k] - want.moment) / (want.standard / math.Sqrt(million))
		t.Logf("moment %d: %.5f, off by %.2f standard errors", k, moments[k], off)
		if math.Abs(off) > 5 && k > 0 {
			t.Errorf("moment %d is %g, want %g", k, moments[k], want.moment)
		}
	}
	t.Logf("Kolmogorov-Smirnov distance: %.5f; %g to %g", distance, x[0], x[million-1])
	if distance > 1.95/math.Sqrt(million) {
		t.Errorf("Kolmogorov-Smirnov distance %g", distance)
	}
	if x[0] < -6.3 || x[million-1] > 6.3 || x[0] > -4.3 || x[million-1] < 4.3 {
		t.Errorf("the tails reach from %g to %g", x[0], x[million-1])
	}
}

// steps are difficult counter steps (even ones are made odd): the smallest, those with few bits,
// and those near simple fractions of 2^32.
var steps = []uint32{0, 2, 0x10000, 0x80000000, 0x55555555, 0xffffffff}

// The words of a stream, and of neighbouring rows at one position, are uniform byte by byte and in
// pairs of neighbours, and no bit of a word predicts a bit of the next, all at five standard
// deviations.
func TestWordsAreUniform(t *testing.T) {
	chiSquared := func(t *testing.T, what string, counts []float64, n float64) {
		expected, statistic := n/float64(len(counts)), 0.0
		for _, c := range counts {
			statistic += (c - expected) * (c - expected) / expected
		}
		freedom := float64(len(counts) - 1)
		if off := (statistic - freedom) / math.Sqrt(2*freedom); math.Abs(off) > 5 {
			t.Errorf("%s: chi-squared with %g degrees of freedom is %g, %.1f standard deviations off", what,
				freedom, statistic, off)
		}
	}
	check := func(t *testing.T, what string, words []uint32) {
		n := float64(len(words) - 1)
		pairs := make([]float64, 1<<16)
		var bytes [4][256]float64
		var equal [32][32]float64 // bit i of a word and bit j of the next
		for i, word := range words[1:] {
			before := words[i]
			pairs[before>>24<<8|word>>24]++
			for i := range 4 {
				bytes[i][byte(word>>(8*i))]++
			}
			for bit := range 32 {
				same := word ^ -(before >> bit & 1) // the word, or its complement
				for j := range 32 {
					equal[bit][j] += float64(same >> j & 1)
				}
			}
		}
		chiSquared(t, what+": pairs of neighbours' high bytes", pairs, n)
		for i := range 4 {
			chiSquared(t, fmt.Sprintf("%s: byte %d", what, i), bytes[i][:], n)
		}
		for i := range equal {
			for j, c := range equal[i] {
				if off := (c - n/2) / (math.Sqrt(n) / 2); math.Abs(off) > 5 {
					t.Errorf("%s: bit %d and bit %d of the next word are equal %.1f standard deviations too often",
						what, i, j, off)
				}
			}
		}
	}
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			check(t, "a stream", draw[uint32](t, xlatest.Best(t), 4,
				func(k random.Key) *Node { return hash.graph(k, 1<<19) }))
			rows := draw[uint32](t, xlatest.Best(t), 4,
				func(k random.Key) *Node { return Transpose(hash.graph(rowKeys(k, 0, 1<<18), 1<<18, 4), 0, 1) })
			check(t, "first words of neighbouring rows", rows[:1<<18])
			check(t, "fourth words of neighbouring rows", rows[3<<18:])
			for _, lo := range steps {
				words := make([]uint32, 1<<18)
				for i := range words {
					words[i] = hash.plain(0x243f6a88, lo, uint32(i))
				}
				check(t, fmt.Sprintf("steps of %#x", lo), words)
			}
		})
	}
}

// correlation returns Pearson's correlation of two samples of the same size, in standard errors.
func correlation(a, b []float32) float64 {
	n := float64(min(len(a), len(b)))
	var sa, sb, saa, sbb, sab float64
	for i := range int(n) {
		x, y := float64(a[i]), float64(b[i])
		sa, sb, saa, sbb, sab = sa+x, sb+y, saa+x*x, sbb+y*y, sab+x*y
	}
	return (sab/n - sa/n*sb/n) / math.Sqrt((saa/n-sa/n*sa/n)*(sbb/n-sb/n*sb/n)) * math.Sqrt(n)
}

// Numbers, and the magnitudes of normal ones, are uncorrelated along a stream, between neighbouring
// rows, between the streams derived from a key, and between neighbouring seeds, each at 4.5
// standard errors.
func TestStreamsAreUncorrelated(t *testing.T) {
	const columns = million / 10
	p := xlatest.Best(t)
	check := func(what string, a, b []float32) {
		t.Helper()
		if c := correlation(a, b); !(math.Abs(c) < 4.5) {
			t.Errorf("%s: correlated by %.1f standard errors", what, c)
		}
	}
	for name, f := range map[string]func(k random.Key, dims ...int) *Node{
		"uniform":       func(k random.Key, dims ...int) *Node { return k.Uniform(0, 1, dims...) },
		"normal":        random.Key.Normal,
		"normal's size": func(k random.Key, dims ...int) *Node { return Abs(k.Normal(dims...)) },
	} {
		x := draw[float32](t, p, 5, func(k random.Key) *Node { return f(k, million) })
		for _, lag := range []int{1, 2, 3, 4, 8, 16, 64, 256, 1024} {
			check(name+": words of a stream", x[lag:], x[:len(x)-lag])
		}
		rows := draw[float32](t, p, 5, func(k random.Key) *Node { return f(rowKeys(k, 0, 10), 10, columns) })
		folded := draw[float32](t, p, 5, func(k random.Key) *Node {
			return Stack([]*Node{f(k, columns), f(k.FoldIn(0), columns), f(k.FoldIn(1), columns),
				f(k.FoldIn(0).FoldIn(0), columns)}, 0)
		})
		for i := range 9 {
			check(name+": neighbouring rows", rows[i*columns:(i+1)*columns],
				rows[(i+1)*columns:(i+2)*columns])
		}
		for i := range 3 {
			check(name+": a key and those derived from it", folded[i*columns:(i+1)*columns],
				folded[(i+1)*columns:(i+2)*columns])
		}
		next := draw[float32](t, p, 6, func(k random.Key) *Node { return f(k, million) })
		check(name+": neighbouring seeds", x, next)
		check(name+": neighbouring seeds, rows", rows,
			draw[float32](t, p, 6, func(k random.Key) *Node { return f(rowKeys(k, 0, 10), 10, columns) }))
	}
}
