package random_test

import (
	"context"
	"fmt"
	"log"
	"math"
	"math/bits"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/gotype"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// draw computes a random array from the root key of a seed.
func draw[T gotype.Supported](t *testing.T, p *xla.Platform, seed int64, f func(key random.Key) *Node) []T {
	t.Helper()
	out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{f(random.KeyOf(in[0]))} },
		tensors.FromValue(random.SeedWords(seed)))
	return xlatest.Flat[T](t, out[0])
}

// rowKeys returns the keys of rows first, first+1, ...
func rowKeys(key random.Key, first, rows int) random.Key {
	return key.FoldInEach(AddScalar(Iota(key.Hi.Graph(), shapes.Make(dtypes.Int32, rows), 0), int32(first)))
}

// The test vectors of Random123 for threefry2x32 with 20 rounds (kat_vectors).
func TestThreefryKnownAnswers(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		const all = math.MaxUint32
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			x0, x1 := random.Threefry(in[2], in[3], in[0], in[1], 20)
			return []*Node{x0, x1}
		}, tensors.FromValue([]uint32{0, all, 0x243f6a88}), tensors.FromValue([]uint32{0, all, 0x85a308d3}),
			tensors.FromValue([]uint32{0, all, 0x13198a2e}), tensors.FromValue([]uint32{0, all, 0x03707344}))
		x0, x1 := xlatest.Flat[uint32](t, out[0]), xlatest.Flat[uint32](t, out[1])
		errtest.Equal(t, "threefry", fmt.Sprint(x0, x1),
			fmt.Sprint([]uint32{0x6b200159, 0x1cb996fc, 0xc4923a9c}, []uint32{0x99ba4efe, 0xbb002be7, 0x483df7a0}))
	})
}

func TestKeysAreTheSameHoweverTheSeedIsGiven(t *testing.T) {
	for _, seed := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 40} {
		f := func(key random.Key) *Node { return key.Bits(5) }
		constant := func(key random.Key) *Node { return f(random.NewKey(key.Hi.Graph(), seed)) }
		if a, b := draw[uint32](t, xlatest.Best(t), seed, f),
			draw[uint32](t, xlatest.Best(t), 0, constant); !slices.Equal(a, b) {
			t.Errorf("seed %d: %v as an input, %v as a constant", seed, a, b)
		}
	}
}

// The pure Go backend and XLA draw the same numbers.
func TestRandomIsTheSameOnEveryBackend(t *testing.T) {
	best, pure := xlatest.Best(t), xlatest.Pure(t)
	for name, key := range map[string]func(random.Key) random.Key{
		"scalar key": func(k random.Key) random.Key { return k },
		"row keys":   func(k random.Key) random.Key { return rowKeys(k, 3, 50).FoldIn(9) },
	} {
		if a, b := draw[uint32](t, best, 11, func(k random.Key) *Node { return key(k).Bits(50, 2000) }),
			draw[uint32](t, pure, 11, func(k random.Key) *Node {
				return key(k).Bits(50, 2000)
			}); !slices.Equal(a, b) {
			t.Errorf("%s: Bits differ", name)
		}
		for _, limits := range [][2]float64{{0, 1}, {-1, -0.7}, {-0.1, 0.1}, {3, 1000}} {
			uniform := func(k random.Key) *Node { return key(k).Uniform(limits[0], limits[1], 50, 2000) }
			a, b := draw[float32](t, best, 11, uniform), draw[float32](t, pure, 11, uniform)
			if !slices.Equal(a, b) {
				t.Errorf("%s: Uniform %v differs", name, limits)
				xlatest.Close(t, "uniform", a, b, 0)
			}
			if low, high := slices.Min(a),
				slices.Max(a); low < float32(limits[0]) || high >= float32(limits[1]) {
				t.Errorf("%s: Uniform %v drew from %g to %g", name, limits, low, high)
			}
		}
		normal := func(k random.Key) *Node { return key(k).Normal(50, 2000) }
		xlatest.Close(t, name+": Normal", draw[float32](t, best, 11, normal), draw[float32](t, pure, 11, normal), 6e-6)
	}
}

// A stream on the host draws what a key draws in a graph.
func TestStreamsDrawWhatKeysDraw(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, seed := range []int64{0, 4, -1, math.MinInt64 + 12345} {
			for _, name := range []int{0, 1, 7, math.MaxInt32} {
				want := draw[float32](t, p, seed, func(k random.Key) *Node { return k.FoldIn(name).FoldIn(3).Uniform(0, 1, 1000) })
				got := make([]float32, 1000)
				random.NewStream(seed).FoldIn(name).FoldIn(3).Uniform(got)
				errtest.Equal(t, fmt.Sprintf("stream %d of seed %d", name, seed), got, want)
			}
		}
	})
}

// The row of a key does not depend on the other keys, their order, or its length.
func TestARowDependsOnItsKeyAlone(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		words := func(first, rows, columns int) []uint32 {
			return draw[uint32](t, p, 8, func(k random.Key) *Node {
				return rowKeys(k, first, rows).Bits(rows, columns)
			})
		}
		all := words(0, 6, 40)
		for row := range 6 {
			if !slices.Equal(words(row, 1, 40), all[row*40:(row+1)*40]) || !slices.Equal(words(row, 2,
				15)[:15], all[row*40:row*40+15]) {
				t.Errorf("row %d depends on the others", row)
			}
		}
		// No word appears twice among streams of different names; a coincidence has a chance of 1 in 1400.
		streams := draw[uint32](t, p, 8, func(k random.Key) *Node {
			return Stack([]*Node{k.Bits(500), k.FoldIn(0).Bits(500), k.FoldIn(1).Bits(500),
				k.FoldIn(1).FoldIn(0).Bits(500),
				k.FoldIn(0).FoldIn(1).Bits(500)}, 0)
		})
		slices.Sort(streams)
		errtest.Equal(t, "words that differ", len(slices.Compact(slices.Clone(streams))), len(streams))
	})
}

// The quantile behind Normal against the exact one, over the floats that Normal passes to it.
func TestAccuracyOfTailQuantile(t *testing.T) {
	const size = 1 << 20
	n := make([]float32, size)
	for i := range n {
		n[i] = float32(math.Exp2(31 * float64(i) / (size - 1))) // 1 .. 2^31
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{random.TailQuantile(in[0])} }, tensors.FromValue(n))
		worst, at := 0.0, 0
		for i, got := range xlatest.Flat[float32](t, out[0]) {
			want := math.Sqrt2 * math.Erfcinv(2*float64(n[i])/(1<<32))
			if off := math.Abs(float64(got) - want); !(off <= worst) {
				worst, at = off, i
			}
		}
		t.Logf("off by at most %.3g, for p = %g", worst, n[at]/(1<<32))
		if !(worst <= 3e-5) {
			t.Errorf("off by %.3g for p = %g", worst, n[at]/(1<<32))
		}
	})
}

// twoRounds is word index of a stream in plain Go. first and second are the key or, for SplitMix,
// the counter's start and step.
func twoRounds(first, second, index uint32) uint32 {
	return random.MixWord(random.MixWord(index^first) + second)
}
func splitMix(first, second, index uint32) uint32 { return random.MixWord(index*(second|1) + first) }

var hashes = map[string]struct {
	plain func(first, second, index uint32) uint32
	graph func(k random.Key, dims ...int) *Node
}{
	"Bits":         {twoRounds, random.Key.Bits},
	"SplitMixBits": {splitMix, random.SplitMixBits},
}

func TestWordsAreTheHashesOfTheirIndex(t *testing.T) {
	hi, lo := []uint32{0, 0, 0x9e3779b9, math.MaxUint32},
		[]uint32{2, 3, 0x7f4a7c16, math.MaxUint32 - 1}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for name, hash := range hashes {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				key, scalar := random.Key{Hi: in[0], Lo: in[1]}, random.Key{Hi: in[2], Lo: in[3]}
				first, second := key.Hi, key.Lo
				if name == "SplitMixBits" {
					first, second = random.Threefry(key.Hi, key.Lo, OnesLike(key.Hi), ZerosLike(key.Hi), 20)
				}
				return []*Node{first, second, hash.graph(key, 4, 100), hash.graph(scalar, 10, 10)}
			}, tensors.FromValue(hi), tensors.FromValue(lo), tensors.FromScalar(hi[2]), tensors.FromScalar(lo[2]))
			first, second := xlatest.Flat[uint32](t, out[0]), xlatest.Flat[uint32](t, out[1])
			rows, stream := xlatest.Flat[uint32](t, out[2]), xlatest.Flat[uint32](t, out[3])
			for i := range uint32(100) {
				for row := range hi {
					if got, want := rows[row*100+int(i)], hash.plain(first[row], second[row], i); got != want {
						t.Fatalf("%s: word %d of key %08x %08x is %08x, want %08x", name, i, hi[row], lo[row], got, want)
					}
				}
				if stream[i] != rows[200+i] {
					t.Fatalf("%s: word %d of a scalar key is %08x, want %08x", name, i, stream[i], rows[200+i])
				}
			}
		}
	})
}

const million = 1_000_000

// Moments are within five standard errors, and the Kolmogorov-Smirnov distance is below its 99.9 % quantile.
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

// The words of a stream, and of neighbouring rows at one position, are uniform byte by byte and in pairs of neighbours,
// and no bit of a word predicts a bit of the next, all at five standard deviations.
func TestWordsAreUniform(t *testing.T) {
	chiSquared := func(t *testing.T, what string, counts []float64, n float64) {
		expected, statistic := n/float64(len(counts)), 0.0
		for _, c := range counts {
			statistic += (c - expected) * (c - expected) / expected
		}
		freedom := float64(len(counts) - 1)
		if off := (statistic - freedom) / math.Sqrt(2*freedom); math.Abs(off) > 5 {
			t.Errorf("%s: chi-squared with %g degrees of freedom is %g, %.1f standard deviations off", what, freedom, statistic, off)
		}
	}
	check := func(t *testing.T, what string, words []uint32) {
		n := float64(len(words) - 1)
		pairs := make([]float64, 1<<16)
		var bytes [4][256]float64
		var planes [2][32][1<<13 + 1]uint64 // bit i of all words but the last, and of the next ones
		for i, word := range words[1:] {
			before := words[i]
			pairs[before>>24<<8|word>>24]++
			for i := range 4 {
				bytes[i][byte(word>>(8*i))]++
			}
			for bit := range 32 {
				planes[0][bit][i/64] |= uint64(before>>bit&1) << (i % 64)
				planes[1][bit][i/64] |= uint64(word>>bit&1) << (i % 64)
			}
		}
		chiSquared(t, what+": pairs of neighbours' high bytes", pairs, n)
		for i := range 4 {
			chiSquared(t, fmt.Sprintf("%s: byte %d", what, i), bytes[i][:], n)
		}
		for i := range planes[0] {
			for j := range planes[1] {
				c := n
				for k, word := range planes[0][i] {
					c -= float64(bits.OnesCount64(word ^ planes[1][j][k]))
				}
				if off := (c - n/2) / (math.Sqrt(n) / 2); math.Abs(off) > 5 {
					t.Errorf("%s: bit %d and bit %d of the next word are equal %.1f standard deviations too often", what, i, j, off)
				}
			}
		}
	}
	for name, hash := range hashes {
		t.Run(name, func(t *testing.T) {
			check(t, "a stream", draw[uint32](t, xlatest.Best(t), 4, func(k random.Key) *Node { return hash.graph(k, 1<<19) }))
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

// Numbers, and the magnitudes of normal ones, are uncorrelated along a stream, between neighbouring rows, between the
// streams derived from a key, and between neighbouring seeds, each at 4.5 standard errors.
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
			check(name+": neighbouring rows", rows[i*columns:(i+1)*columns], rows[(i+1)*columns:(i+2)*columns])
		}
		for i := range 3 {
			check(name+": a key and those derived from it", folded[i*columns:(i+1)*columns], folded[(i+1)*columns:(i+2)*columns])
		}
		next := draw[float32](t, p, 6, func(k random.Key) *Node { return f(k, million) })
		check(name+": neighbouring seeds", x, next)
		check(name+": neighbouring seeds, rows", rows,
			draw[float32](t, p, 6, func(k random.Key) *Node { return f(rowKeys(k, 0, 10), 10, columns) }))
	}
}

// Individuals 0, 1 and 2 draw from their own streams:
// individual 1 draws the same with or without the others.
func ExampleKey() {
	p, err := xla.Open(context.Background(), "")
	if err != nil {
		log.Fatal(err)
	}
	type draws struct{ Together, Alone xla.Array }
	seed := p.Seed(42).First()
	program, err := xla.Compile(p, "draw", seed, func(seed xla.Array) draws {
		key := random.KeyOf(seed.Tree).FoldIn(100) // of generation 100
		together := key.FoldInEach(Const(seed.Tree.Graph(), []int32{0, 1, 2})).Uniform(0, 1, 3, 2)
		alone := key.FoldInEach(Const(seed.Tree.Graph(), int32(1))).Uniform(0, 1, 2)
		return draws{xla.Out(together), xla.Out(alone)}
	})
	if err != nil {
		log.Fatal(err)
	}
	defer program.Free()
	out, err := program.Run(seed)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.4f\n%.4f\n", out.Together.Value()[0].Value(), out.Alone.Value()[0].Value())
	// Output:
	// [[0.9798 0.9177] [0.1269 0.8298] [0.4358 0.6571]]
	// [0.1269 0.8298]
}
