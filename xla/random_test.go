package xla_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/gotype"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// draw computes something random of the root key of a seed.
func draw[T gotype.Supported](t *testing.T, p *xla.Platform, seed int64, f func(key xla.Key) *Node) []T {
	t.Helper()
	out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{f(xla.KeyOf(in[0]))} }, tensors.FromValue(xla.SeedWords(seed)))
	return xlatest.Flat[T](t, out[0])
}

// rowKeys are the keys of rows first, first+1, ...
func rowKeys(key xla.Key, first, rows int) xla.Key {
	return key.Fold(AddScalar(Iota(key.Hi.Graph(), shapes.Make(dtypes.Int32, rows), 0), int32(first)))
}

// The vectors for threefry2x32 with 20 rounds that Random123 publishes (kat_vectors).
func TestThreefryKnownAnswers(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		const all = math.MaxUint32
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			x0, x1 := xla.Threefry(in[2], in[3], in[0], in[1], 20)
			return []*Node{x0, x1}
		}, tensors.FromValue([]uint32{0, all, 0x243f6a88}), tensors.FromValue([]uint32{0, all, 0x85a308d3}),
			tensors.FromValue([]uint32{0, all, 0x13198a2e}), tensors.FromValue([]uint32{0, all, 0x03707344}))
		x0, x1 := xlatest.Flat[uint32](t, out[0]), xlatest.Flat[uint32](t, out[1])
		if !slices.Equal(x0, []uint32{0x6b200159, 0x1cb996fc, 0xc4923a9c}) || !slices.Equal(x1, []uint32{0x99ba4efe, 0xbb002be7, 0x483df7a0}) {
			t.Errorf("threefry gave %08x %08x", x0, x1)
		}
	})
}

func TestKeysAreTheSameHoweverTheSeedIsGiven(t *testing.T) {
	for _, seed := range []int64{0, 1, -1, math.MaxInt64, math.MinInt64, 1 << 40} {
		f := func(key xla.Key) *Node { return key.Bits(5) }
		constant := func(key xla.Key) *Node { return f(xla.NewKey(key.Hi.Graph(), seed)) }
		if a, b := draw[uint32](t, xlatest.Best(t), seed, f), draw[uint32](t, xlatest.Best(t), 0, constant); !slices.Equal(a, b) {
			t.Errorf("seed %d: %v as an input, %v as a constant", seed, a, b)
		}
	}
}

// The pure Go backend and XLA draw the same numbers.
func TestRandomIsTheSameOnEveryBackend(t *testing.T) {
	best, pure := xlatest.Best(t), xlatest.Pure(t)
	for name, key := range map[string]func(xla.Key) xla.Key{
		"scalar key": func(k xla.Key) xla.Key { return k },
		"row keys":   func(k xla.Key) xla.Key { return rowKeys(k, 3, 50).FoldInt(9) },
	} {
		if a, b := draw[uint32](t, best, 11, func(k xla.Key) *Node { return key(k).Bits(50, 2000) }),
			draw[uint32](t, pure, 11, func(k xla.Key) *Node { return key(k).Bits(50, 2000) }); !slices.Equal(a, b) {
			t.Errorf("%s: Bits differ", name)
		}
		for _, limits := range [][2]float64{{0, 1}, {-1, -0.7}, {-0.1, 0.1}, {3, 1000}} {
			uniform := func(k xla.Key) *Node { return key(k).Uniform(limits[0], limits[1], 50, 2000) }
			a, b := draw[float32](t, best, 11, uniform), draw[float32](t, pure, 11, uniform)
			if !slices.Equal(a, b) {
				t.Errorf("%s: Uniform %v differs", name, limits)
				xlatest.Close(t, "uniform", a, b, 0)
			}
			if low, high := slices.Min(a), slices.Max(a); low < float32(limits[0]) || high >= float32(limits[1]) {
				t.Errorf("%s: Uniform %v drew from %g to %g", name, limits, low, high)
			}
		}
		normal := func(k xla.Key) *Node { return key(k).Normal(50, 2000) }
		xlatest.Close(t, name+": Normal", draw[float32](t, best, 11, normal), draw[float32](t, pure, 11, normal), 2e-6)
	}
}

// The row of a key is the same whatever other keys are beside it, in whatever order, and however long it is.
func TestARowDependsOnItsKeyAlone(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		words := func(first, rows, columns int) []uint32 {
			return draw[uint32](t, p, 8, func(k xla.Key) *Node { return rowKeys(k, first, rows).Bits(rows, columns) })
		}
		all := words(0, 6, 40)
		for row := range 6 {
			if !slices.Equal(words(row, 1, 40), all[row*40:(row+1)*40]) || !slices.Equal(words(row, 2, 15)[:15], all[row*40:row*40+15]) {
				t.Errorf("row %d depends on the others", row)
			}
		}
		// No word appears twice among streams of different names, which would be a coincidence of 1 in 1400.
		streams := draw[uint32](t, p, 8, func(k xla.Key) *Node {
			return Stack([]*Node{k.Bits(500), k.FoldInt(0).Bits(500), k.FoldInt(1).Bits(500), k.FoldInt(1).FoldInt(0).Bits(500),
				k.FoldInt(0).FoldInt(1).Bits(500)}, 0)
		})
		slices.Sort(streams)
		if n := len(slices.Compact(slices.Clone(streams))); n != len(streams) {
			t.Errorf("%d of %d words coincide", len(streams)-n, len(streams))
		}
	})
}

// Functions of vector units, on every float that random numbers meet and on a wide range beside: the comments of the functions
// state these accuracies.
func TestAccuracyOfElementaryFunctions(t *testing.T) {
	grid := func(n int, f func(u float64) float64) (x []float32) {
		for i := range n {
			x = append(x, float32(f((float64(i)+0.5)/float64(n))))
		}
		return x
	}
	relative := func(got, want float64) float64 { return math.Abs(got-want) / math.Abs(want) }
	absolute := func(got, want float64) float64 { return math.Abs(got - want) }
	wide := grid(1<<20, func(u float64) float64 { return math.Exp2(-125 + 250*u) })
	unit := grid(1<<20, func(u float64) float64 { return u })
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, c := range []struct {
			name   string
			x      []float32
			f      func(*Node) *Node
			oracle func(float64) float64
			off    func(got, want float64) float64
			limit  float64
		}{
			{"ln on (0, 1)", grid(1<<18, func(u float64) float64 { return u }), xla.LnPositive, math.Log,
				func(got, want float64) float64 { return math.Abs(got-want) / max(1, math.Abs(want)) }, 5e-7},
			{"ln, relative, on (0, 1)", grid(1<<18, func(u float64) float64 { return u }), xla.LnPositive, math.Log, relative, 2e-6},
			{"ln", wide, xla.LnPositive, math.Log,
				func(got, want float64) float64 { return math.Abs(got-want) / max(1, math.Abs(want)) }, 5e-7},
			{"sqrt", wide, xla.SqrtPositive, math.Sqrt, relative, 5e-6},
			{"cos", unit, xla.CosTurn, func(x float64) float64 { return math.Cos(2 * math.Pi * x) }, absolute, 1e-6},
		} {
			out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{c.f(in[0])} }, tensors.FromValue(c.x))
			worst, at := 0.0, float32(0)
			for i, got := range xlatest.Flat[float32](t, out[0]) {
				if off := c.off(float64(got), c.oracle(float64(c.x[i]))); !(off <= worst) {
					worst, at = off, c.x[i]
				}
			}
			t.Logf("%s: %.3g, at %g", c.name, worst, at)
			if !(worst <= c.limit) {
				t.Errorf("%s is off by %.3g at %g, %.3g is allowed", c.name, worst, at, c.limit)
			}
		}
	})
}

// mix in plain Go.
func mix(x uint32) uint32 {
	x = (x ^ x>>16) * 0x21f0aaad
	x = (x ^ x>>15) * 0x735a2d97
	return x ^ x>>15
}

// A flipped bit of the input flips each bit of the output with probability 1/2.
func TestMixAvalanches(t *testing.T) {
	const samples = 1 << 17
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]uint32, samples)
	for i := range x {
		x[i] = rng.Uint32()
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node { return []*Node{xla.Mix(in[0])} }, tensors.FromValue(x))
		for i, got := range xlatest.Flat[uint32](t, out[0]) {
			if got != mix(x[i]) {
				t.Fatalf("mix of %08x is %08x, want %08x", x[i], got, mix(x[i]))
			}
		}
	})
	var flips [32][32]int
	for _, v := range x {
		image := mix(v)
		for in := range 32 {
			for changed := image ^ mix(v^1<<in); changed != 0; changed &= changed - 1 {
				flips[in][bits.TrailingZeros32(changed)]++
			}
		}
	}
	worst := 0.0
	for in := range flips {
		for _, n := range flips[in] {
			worst = max(worst, math.Abs(float64(n)/samples-0.5))
		}
	}
	t.Logf("the probability of a flip is off by at most %.3f %%", 100*worst)
	if standard := 0.5 / math.Sqrt(samples); worst > 5*standard {
		t.Errorf("the probability of a flip is off by %g, %.1f standard errors", worst, worst/standard)
	}
}
