package random_test

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/gotype"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// draw computes a random array from the root key of a seed.
func draw[T gotype.Supported](t *testing.T, p *xla.Platform, seed int64,
	f func(key random.Key) *Node) []T {
	t.Helper()
	out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{f(random.KeyOf(in[0]))} },
		tensors.FromValue(random.SeedWords(seed)))
	return xlatest.Flat[T](t, out[0])
}

// rowKeys returns the keys of rows first, first+1, ...
func rowKeys(key random.Key, first, rows int) random.Key {
	return key.FoldInEach(AddScalar(Iota(key.Hi.Graph(), shapes.Make(dtypes.Int32, rows), 0),
		int32(first)))
}

// The test vectors of Random123 for threefry2x32 with 20 rounds (kat_vectors).
func TestThreefryKnownAnswers(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		const all = math.MaxUint32
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			x0, x1 := random.Threefry(in[2], in[3], in[0], in[1], 20)
			return []*Node{x0, x1}
		}, tensors.FromValue([]uint32{0, all, 0x243f6a88}),
			tensors.FromValue([]uint32{0, all, 0x85a308d3}),
			tensors.FromValue([]uint32{0, all, 0x13198a2e}), tensors.FromValue([]uint32{0, all, 0x03707344}))
		x0, x1 := xlatest.Flat[uint32](t, out[0]), xlatest.Flat[uint32](t, out[1])
		if !slices.Equal(x0, []uint32{0x6b200159, 0x1cb996fc, 0xc4923a9c}) || !slices.Equal(x1,
			[]uint32{0x99ba4efe, 0xbb002be7, 0x483df7a0}) {
			t.Errorf("threefry gave %08x %08x", x0, x1)
		}
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
		xlatest.Close(t, name+": Normal", draw[float32](t, best, 11, normal),
			draw[float32](t, pure, 11, normal), 6e-6)
	}
}

// A stream on the host draws what a key draws in a graph.
func TestStreamsDrawWhatKeysDraw(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, seed := range []int64{0, 4, -1, math.MinInt64 + 12345} {
			for _, name := range []int{0, 1, 7, math.MaxInt32} {
				want := draw[float32](t, p, seed,
					func(k random.Key) *Node { return k.FoldIn(name).FoldIn(3).Uniform(0, 1, 1000) })
				got := make([]float32, 1000)
				random.NewStream(seed).FoldIn(name).FoldIn(3).Uniform(got)
				if !slices.Equal(got, want) {
					t.Errorf("stream %d of seed %d differs", name, seed)
				}
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
		// No word appears twice among streams of different names; a coincidence has a chance of 1 in
		// 1400.
		streams := draw[uint32](t, p, 8, func(k random.Key) *Node {
			return Stack([]*Node{k.Bits(500), k.FoldIn(0).Bits(500), k.FoldIn(1).Bits(500),
				k.FoldIn(1).FoldIn(0).Bits(500),
				k.FoldIn(0).FoldIn(1).Bits(500)}, 0)
		})
		slices.Sort(streams)
		if n := len(slices.Compact(slices.Clone(streams))); n != len(streams) {
			t.Errorf("%d of %d words coincide", len(streams)-n, len(streams))
		}
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
		out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{random.TailQuantile(in[0])} },
			tensors.FromValue(n))
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
			}, tensors.FromValue(hi), tensors.FromValue(lo), tensors.FromScalar(hi[2]),
				tensors.FromScalar(lo[2]))
			first, second := xlatest.Flat[uint32](t, out[0]), xlatest.Flat[uint32](t, out[1])
			rows, stream := xlatest.Flat[uint32](t, out[2]), xlatest.Flat[uint32](t, out[3])
			for i := range uint32(100) {
				for row := range hi {
					if got, want := rows[row*100+int(i)], hash.plain(first[row], second[row], i); got != want {
						t.Fatalf("%s: word %d of key %08x %08x is %08x, want %08x", name, i, hi[row], lo[row], got,
							want)
					}
				}
				if stream[i] != rows[200+i] {
					t.Fatalf("%s: word %d of a scalar key is %08x, want %08x", name, i, stream[i], rows[200+i])
				}
			}
		}
	})
}
