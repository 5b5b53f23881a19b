// Package random draws random numbers from counter-based generators: the same numbers on every
// backend, device and number of workers. [Key] draws in a graph, [Stream] on the host.
package random

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Key names a stream of random numbers: two uint32 scalars, or vectors for several streams. All
// draws are counter-based integer operations and so the same on every backend, device and number of
// workers. The exception is [Key.Normal]: its polynomials may be rounded differently by processors,
// by at most 6e-6.
//
// Keys are derived with Threefry-2x32-20 (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011): streams of different names are independent. Within a stream, word i is a hash of
// the key and i: two rounds of a 32-bit mixer, or one round for [Key.Normal]. A generation of
// MAP-Elites draws 67 million normals, for which a cipher would cost a quarter of the time of the
// rollouts. Use a key for one purpose only; [Key.FoldInEach] derives further streams from it.
type Key struct{ Hi, Lo *Node }

// NewKey returns the root key of a seed, an int64 constant of the program.
func NewKey(g *Graph, seed int64) Key {
	return Key{Const(g, uint32(uint64(seed)>>32)), Const(g, uint32(uint64(seed)))}
}

// KeyOf returns the root key of a seed that is an input of the program: a uint32[2] tensor, see
// [SeedWords].
func KeyOf(seed *Node) Key {
	words := ConvertDType(seed, dtypes.Uint32)
	return Key{Reshape(Slice(words, AxisElem(0))), Reshape(Slice(words, AxisElem(1)))}
}

// SeedWords returns the two words of a seed for [KeyOf].
func SeedWords(seed int64) []uint32 {
	return []uint32{uint32(uint64(seed) >> 32), uint32(uint64(seed))}
}

// FoldInEach derives the key of the stream named by data: an integer scalar, or a vector for a
// vector of keys. Different data give independent streams.
func (k Key) FoldInEach(data *Node) Key {
	word := ConvertDType(data, dtypes.Uint32)
	hi, lo := threefry2x32(k.Hi, k.Lo, ZerosLike(word), word, 20)
	return Key{computedOnce(hi), computedOnce(lo)}
}

// computedOnce returns x divided by 1. XLA would fuse the cipher of a key into the kernel that
// draws with it and run the cipher again for every row of the result. It does not duplicate an
// integer division by a number that it cannot know, because it counts that as expensive.
func computedOnce(x *Node) *Node {
	one := Min(BitwiseOr(x, ConstAs(x, uint32(1))), ConstAs(x, uint32(1)))
	return Div(x, one)
}

// Split folds 0 to n-1 into a key: n keys.
func (k Key) Split(n int) Key {
	return k.FoldInEach(Iota(k.Hi.Graph(), shapes.Make(dtypes.Int32, n), 0))
}

// FoldIn is [Key.FoldInEach] with a constant.
func (k Key) FoldIn(data int) Key { return k.FoldInEach(Const(k.Hi.Graph(), uint32(data))) }

// Bits draws random uint32 words of the given dimensions. A scalar key gives one stream over the
// whole array. A vector of n keys gives dims[0] = n rows: each is the stream of its key and does
// not depend on the other rows.
func (k Key) Bits(dims ...int) *Node {
	return k.words(dims, func(index, hi, lo *Node) *Node {
		return mix(Add(mix(BitwiseXor(index, hi)), lo))
	})
}

// splitMixBits draws words at a lower cost than [Key.Bits], with SplitMix (Steele, Lea and Flood,
// "Fast splittable pseudorandom number generators", OOPSLA 2014): one round of the mixer over a
// counter with an odd step. Threefry encrypts the start and the step, because a key may be a seed
// and two seeds may be close. The counter of that encryption differs from those of FoldInEach.
func (k Key) splitMixBits(dims ...int) *Node {
	begin, step := threefry2x32(k.Hi, k.Lo, OnesLike(k.Hi), ZerosLike(k.Hi), 20)
	counter := Key{computedOnce(begin), computedOnce(BitwiseOr(step, OnesLike(step)))}
	return counter.words(dims, func(index, begin, step *Node) *Node {
		return mix(Add(begin, Mul(index, step)))
	})
}

// words draws the words of Bits. hash receives the indices in the streams and the keys, in shapes
// that broadcast.
func (k Key) words(dims []int, hash func(index, hi, lo *Node) *Node) *Node {
	rows, columns := 1, 1
	rest := dims
	if k.Hi.Rank() == 1 && len(dims) > 0 && dims[0] == k.Hi.Shape().Dimensions[0] {
		rows, rest = dims[0], dims[1:]
	} else if !k.Hi.IsScalar() {
		panic(fmt.Errorf("keys of shape %s cannot draw an array of dimensions %v", k.Hi.Shape(), dims))
	}
	for _, d := range rest {
		columns *= d
	}
	// Broadcasting stays implicit: in a loop the pure Go backend (compute v0.1.6) loses explicit
	// broadcasts ("not computed yet").
	perRow := func(word *Node) *Node {
		if word.IsScalar() {
			return word
		}
		return Reshape(word, rows, 1)
	}
	index := Iota(k.Hi.Graph(), shapes.Make(dtypes.Uint32, rows, columns), 1)
	return Reshape(hash(index, perRow(k.Hi), perRow(k.Lo)), dims...)
}

// mix is a bijection of uint32 in which every input bit flips every output bit with probability 0.5
// +- 0.1 %. The constants are lowbias32's, found by search by Ellis and Wellons.
func mix(x *Node) *Node {
	shift := func(x *Node, by uint32) *Node {
		return BitwiseXor(x, BitwiseShiftRightLogicalScalar(x, by))
	}
	x = MulScalar(shift(x, 16), uint32(0x21f0aaad))
	x = MulScalar(shift(x, 15), uint32(0x735a2d97))
	return shift(x, 15)
}

// Uniform draws float32 in [low, high) on a grid of 2^23 points; shapes as in [Key.Bits].
func (k Key) Uniform(low, high float64, dims ...int) *Node {
	unit := MulScalar(fromUint(BitwiseShiftRightLogicalScalar(k.Bits(dims...), uint32(9))), 1.0/(1<<23))
	// The minimum keeps the sum below high where rounding would reach it. It also keeps compilers from
	// fusing product and sum into one FMA instruction, which rounds once instead of twice and is not
	// available on all processors.
	start, limit := float32(low), float32(high)
	most := max(0, math.Nextafter32(limit, start)-start)
	for most > 0 && start+most >= limit {
		most = math.Nextafter32(most, 0)
	}
	return AddScalar(MinScalar(MulScalar(unit, high-low), most), low)
}

// Normal draws standard normal float32 by inversion; shapes as in [Key.Bits].
//
// 31 bits of a word are the tail probability, at least 2^-32 and at most 1/2; the other bit is the
// sign. The largest magnitude is 6.23 standard deviations. The whole is some forty vector
// instructions, which XLA fuses with their users.
func (k Key) Normal(dims ...int) *Node {
	word := k.splitMixBits(dims...)
	magnitude := ConstAs(word, uint32(1<<31-1))
	z := tailQuantile(AddScalar(fromUint(BitwiseAnd(word, magnitude)), 1))
	return Bitcast(BitwiseOr(BitwiseAnd(Bitcast(z, dtypes.Uint32), magnitude),
		BitwiseAnd(word, BitwiseNot(magnitude))), dtypes.Float32)
}

// tailQuantile returns the z that a standard normal number exceeds with probability p = n/2^32, for
// float32 n from 1 to 2^31, to within 3e-5. It is a polynomial of 1/sqrt(-ln p); the logarithm and
// the root are polynomials too, all minimax. XLA's own logarithm and root are several times slower,
// and XLA splits the kernel at such expensive operations and draws the words again on the other
// side.
//
// h and y below are scaled so that the leading coefficients are 1 or -1. With more constants the
// vector registers would spill at every iteration.
func tailQuantile(n *Node) *Node {
	bits := Bitcast(n, dtypes.Uint32)
	exponent := fromUint(BitwiseShiftRightLogicalScalar(bits, uint32(23)))
	mantissa := BitwiseOr(BitwiseAnd(bits, ConstAs(bits, uint32(1<<23-1))), ConstAs(bits, uint32(127<<23)))
	m := Bitcast(mantissa, dtypes.Float32) // 1 <= m < 2

	// h is -ln(p) / 0.0311.
	h := Sub(AddScalar(MulScalar(exponent, -22.28481866168161), 3605.691770204149),
		Mul(m, monic(m, -9.28304423058631, 36.34984856596827, -79.12876796391525, 113.46784604940761)))

	// Half the bit pattern, negated, is nearly the pattern of 1/sqrt(h), up to a factor; t measures
	// the remaining error.
	half := BitwiseShiftRightLogicalScalar(Bitcast(h, dtypes.Uint32), uint32(1))
	y := Bitcast(Sub(ConstAs(half, uint32(0x5f28dcdb)), half), dtypes.Float32)
	t := Mul(h, Square(y))
	y = Mul(y, Sub(ConstAs(t, 4.624127669110821), Mul(t, monic(t, -3.6600634924117683, 5.312693412524502))))

	return Mul(h, monic(y, -1.8562334873130497, 1.5984217036891635, -0.9873071941810625,
		-0.06987034922566673, 0.12883199915980784, -4.089525215842629e-05))
}

// monic evaluates a polynomial by Horner's rule. The leading coefficient is 1; the others follow in
// descending order of power.
func monic(x *Node, coefficients ...float64) *Node {
	sum := AddScalar(x, coefficients[0])
	for _, c := range coefficients[1:] {
		sum = AddScalar(Mul(sum, x), c)
	}
	return sum
}

// fromUint converts uint32 below 2^31 to float32 by way of int32, which vector units convert in one
// instruction.
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
