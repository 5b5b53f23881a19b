package xla

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"
)

// Key is the name of a stream of random numbers: two uint32 scalars, or vectors for several streams
// at once. Everything is counter-based and made of integer operations, and so the same on every
// backend, device and number of workers; only [Key.Normal] goes through polynomials that processors
// may round differently, by 6e-6 at most.
//
// Keys are derived with Threefry-2x32-20 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011): streams of different names are independent. Within a stream, word i is a hash of
// the key and i by two rounds of a 32-bit mixer, or by one for [Key.Normal]: a generation of
// MAP-Elites draws 67 million normals, for which a cipher would cost a quarter of what the rollouts
// do. A key is used for one purpose; [Key.FoldInEach] names the streams below it.
type Key struct{ Hi, Lo *Node }

// NewKey is the root key of a seed, an int64 constant of the program.
func NewKey(g *Graph, seed int64) Key {
	return Key{Const(g, uint32(uint64(seed)>>32)), Const(g, uint32(uint64(seed)))}
}

// KeyOf is the root key of a seed given as a uint32[2] tensor (see [SeedWords]), an input of the
// program.
func KeyOf(seed *Node) Key {
	words := ConvertDType(seed, dtypes.Uint32)
	return Key{Reshape(Slice(words, AxisElem(0))), Reshape(Slice(words, AxisElem(1)))}
}

// SeedWords are the two words of a seed, for [KeyOf].
func SeedWords(seed int64) []uint32 {
	return []uint32{uint32(uint64(seed) >> 32), uint32(uint64(seed))}
}

// FoldInEach derives the key of the stream named by data, an integer scalar (or a vector of them:
// then a vector of keys). Different data give independent streams.
func (k Key) FoldInEach(data *Node) Key {
	word := ConvertDType(data, dtypes.Uint32)
	hi, lo := threefry2x32(k.Hi, k.Lo, ZerosLike(word), word, 20)
	return Key{settled(hi), settled(lo)}
}

// settled is x, computed once. XLA would fuse the cipher of a key into the kernel that draws with
// it, and run it again for every row of the result; an integer division by a number that it cannot
// know it counts as too expensive for that.
func settled(x *Node) *Node {
	one := Min(BitwiseOr(x, ConstAs(x, uint32(1))), ConstAs(x, uint32(1)))
	return Div(x, one)
}

// FoldIn is [Key.FoldInEach] with a constant.
func (k Key) FoldIn(data int) Key { return k.FoldInEach(Const(k.Hi.Graph(), uint32(data))) }

// Bits returns random uint32 words of the given dimensions. A scalar key gives one stream over the
// whole array; a vector of n keys gives dims[0] = n rows, each the stream of its key, whatever the
// other rows are.
func (k Key) Bits(dims ...int) *Node {
	return k.words(dims, func(index, hi, lo *Node) *Node {
		return mix(Add(mix(BitwiseXor(index, hi)),
			lo))
	})
}

// splitMixBits are words for less than those of [Key.Bits] cost, as SplitMix makes them (Steele,
// Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014): one round of the
// mixer over a counter that goes in odd steps. Where it begins and its step are enciphered, apart
// from what Fold makes of the key: a key may be a seed, and so are two small ones.
func (k Key) splitMixBits(dims ...int) *Node {
	begin, step := threefry2x32(k.Hi, k.Lo, OnesLike(k.Hi), ZerosLike(k.Hi), 20)
	counter := Key{settled(begin), settled(BitwiseOr(step, OnesLike(step)))}
	return counter.words(dims, func(index, begin,
		step *Node) *Node {
		return mix(Add(begin, Mul(index, step)))
	})
}

// words makes the words of Bits: hash is given the indices in the streams and the keys, in shapes
// that broadcast.
func (k Key) words(dims []int, hash func(index, hi, lo *Node) *Node) *Node {
	rows, columns := 1, 1
	rest := dims
	if k.Hi.Rank() == 1 && len(dims) > 0 && dims[0] == k.Hi.Shape().Dimensions[0] {
		rows, rest = dims[0], dims[1:]
	} else if !k.Hi.IsScalar() {
		panic(errors.Errorf("keys of shape %s cannot draw an array of dimensions %v", k.Hi.Shape(), dims))
	}
	for _, d := range rest {
		columns *= d
	}
	// Left to implicit broadcasting: in a loop the pure Go backend (compute v0.1.6) loses explicit
	// ones ("not computed yet").
	perRow := func(word *Node) *Node {
		if word.IsScalar() {
			return word
		}
		return Reshape(word, rows, 1)
	}
	index := Iota(k.Hi.Graph(), shapes.Make(dtypes.Uint32, rows, columns), 1)
	return Reshape(hash(index, perRow(k.Hi), perRow(k.Lo)), dims...)
}

// mix is a bijection of uint32 in which every input bit changes every output bit with probability
// 0.5 +- 0.1 %: the constants that Ellis and Wellons found by search (lowbias32).
func mix(x *Node) *Node {
	shift := func(x *Node, by uint32) *Node {
		return BitwiseXor(x,
			BitwiseShiftRightLogicalScalar(x, by))
	}
	x = MulScalar(shift(x, 16), uint32(0x21f0aaad))
	x = MulScalar(shift(x, 15), uint32(0x735a2d97))
	return shift(x, 15)
}

// Uniform draws float32 in [low, high) on a grid of 2^23 points; shapes as in [Key.Bits].
func (k Key) Uniform(low, high float64, dims ...int) *Node {
	unit := MulScalar(fromUint(BitwiseShiftRightLogicalScalar(k.Bits(dims...), uint32(9))),
		1.0/(1<<23))
	// The minimum keeps the sum below high where it would be rounded up to it, and keeps compilers
	// from fusing product and sum into one instruction, which rounds once instead of twice: not all
	// processors have it.
	start, limit := float32(low), float32(high)
	most := max(0, math.Nextafter32(limit, start)-start)
	for most > 0 && start+most >= limit {
		most = math.Nextafter32(most, 0)
	}
	return AddScalar(MinScalar(MulScalar(unit, high-low), most), low)
}

// Normal draws standard normal float32, by inversion; shapes as in [Key.Bits].
//
// 31 bits of a word are the probability of a tail, at least 2^-32 and at most 1/2, and the other
// bit says which: the numbers reach 6.23 standard deviations. The whole is some forty vector
// instructions, fused with what uses it.
func (k Key) Normal(dims ...int) *Node {
	word := k.splitMixBits(dims...)
	magnitude := ConstAs(word, uint32(1<<31-1))
	z := tailQuantile(AddScalar(fromUint(BitwiseAnd(word, magnitude)), 1))
	return Bitcast(BitwiseOr(BitwiseAnd(Bitcast(z, dtypes.Uint32), magnitude),
		BitwiseAnd(word, BitwiseNot(magnitude))), dtypes.Float32)
}

// tailQuantile is the z that a standard normal number exceeds with probability p = n/2^32, for
// float32 n from 1 to 2^31, to 3e-5: a polynomial of 1/sqrt(-ln p), of which even the logarithm and
// the root are polynomials, all minimax. XLA's own are several times slower, and it cuts the kernel
// at what it counts as expensive and draws the words again on the other side.
//
// h and y below are scaled so that the highest coefficients are 1 or -1: more constants than these
// do not fit the vector registers beside the rest, and compilers then move them about at every
// turn.
func tailQuantile(n *Node) *Node {
	bits := Bitcast(n, dtypes.Uint32)
	exponent := fromUint(BitwiseShiftRightLogicalScalar(bits, uint32(23)))
	mantissa := BitwiseOr(BitwiseAnd(bits, ConstAs(bits, uint32(1<<23-1))),
		ConstAs(bits, uint32(127<<23)))
	m := Bitcast(mantissa, dtypes.Float32) // 1 <= m < 2

	// h is -ln(p) / 0.0311.
	h := Sub(AddScalar(MulScalar(exponent, -22.28481866168161), 3605.691770204149),
		Mul(m, monic(m, -9.28304423058631, 36.34984856596827, -79.12876796391525, 113.46784604940761)))

	// Half the bit pattern, negated, is nearly the pattern of 1/sqrt(h), up to a factor; t tells
	// what is left to correct.
	half := BitwiseShiftRightLogicalScalar(Bitcast(h, dtypes.Uint32), uint32(1))
	y := Bitcast(Sub(ConstAs(half, uint32(0x5f28dcdb)), half), dtypes.Float32)
	t := Mul(h, Square(y))
	y = Mul(y, Sub(ConstAs(t, 4.624127669110821),
		Mul(t, monic(t, -3.6600634924117683, 5.312693412524502))))

	return Mul(h, monic(y, -1.8562334873130497, 1.5984217036891635, -0.9873071941810625,
		-0.06987034922566673,
		0.12883199915980784, -4.089525215842629e-05))
}

// monic evaluates a polynomial by Horner's rule: the highest power has the coefficient 1, the
// others follow.
func monic(x *Node, coefficients ...float64) *Node {
	sum := AddScalar(x, coefficients[0])
	for _, c := range coefficients[1:] {
		sum = AddScalar(Mul(sum, x), c)
	}
	return sum
}

// fromUint converts uint32 below 2^31 to float32, by way of int32, which vector units convert in
// one instruction.
func fromUint(x *Node) *Node { return ConvertDType(Bitcast(x, dtypes.Int32), dtypes.Float32) }

// threefryRotations and threefryParity are the constants of Threefry-2x32.
var threefryRotations = [8]int{13, 15, 26, 6, 17, 29, 16, 24}

const threefryParity uint32 = 0x1BD11BDA

// threefry2x32 encrypts the counter (c0, c1) with the key (k0, k1); all uint32 of one shape.
func threefry2x32(k0, k1, c0, c1 *Node, rounds int) (x0, x1 *Node) {
	keys := [3]*Node{k0, k1, BitwiseXor(BitwiseXor(k0, k1), ConstAs(k0, threefryParity))}
	x0, x1 = Add(c0, keys[0]), Add(c1, keys[1])
	for r := range rounds {
		x0 = Add(x0, x1)
		x1 = BitwiseXor(rotateLeft(x1, uint32(threefryRotations[r%8])), x0)
		if (r+1)%4 == 0 {
			injection := (r + 1) / 4
			x0 = Add(x0, keys[injection%3])
			x1 = AddScalar(Add(x1, keys[(injection+1)%3]), uint32(injection))
		}
	}
	return x0, x1
}

func rotateLeft(x *Node, by uint32) *Node {
	return BitwiseOr(BitwiseShiftLeftScalar(x, by), BitwiseShiftRightLogicalScalar(x, 32-by))
}
