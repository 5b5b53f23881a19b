package xla

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"
)

// Key is the name of a stream of random numbers: two uint32 scalars, or vectors for several streams at once. Everything is
// counter-based and made of integer operations, and so the same on every backend, device and number of workers; only
// [Key.Normal] goes through polynomials that processors may round differently, by 2e-6 at most.
//
// Keys are derived with Threefry-2x32-20 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): streams
// of different names are independent. Within a stream, word i is a hash of the key and i by two rounds of a 32-bit
// mixer: a generation of MAP-Elites draws 67 million normals, for which a cipher would cost half as much as the rollouts.
// A key is used for one purpose; [Key.Fold] names the streams below it.
type Key struct{ Hi, Lo *Node }

// NewKey is the root key of a seed, an int64 constant of the program.
func NewKey(g *Graph, seed int64) Key {
	return Key{Const(g, uint32(uint64(seed)>>32)), Const(g, uint32(uint64(seed)))}
}

// KeyOf is the root key of a seed given as a uint32[2] tensor (see [SeedWords]), an input of the program.
func KeyOf(seed *Node) Key {
	words := ConvertDType(seed, dtypes.Uint32)
	return Key{Reshape(Slice(words, AxisElem(0))), Reshape(Slice(words, AxisElem(1)))}
}

// SeedWords are the two words of a seed, for [KeyOf].
func SeedWords(seed int64) []uint32 {
	return []uint32{uint32(uint64(seed) >> 32), uint32(uint64(seed))}
}

// Fold derives the key of the stream named by data, an integer scalar (or a vector of them: then a vector of keys).
// Different data give independent streams.
func (k Key) Fold(data *Node) Key {
	word := ConvertDType(data, dtypes.Uint32)
	hi, lo := threefry2x32(k.Hi, k.Lo, ZerosLike(word), word, 20)
	return Key{settled(hi), settled(lo)}
}

// settled is x, computed once. XLA would fuse the cipher of a key into the kernel that draws with it, and run it again for every
// row of the result; an integer division by a number that it cannot know it counts as too expensive for that.
func settled(x *Node) *Node {
	one := Min(BitwiseOr(x, ConstAs(x, uint32(1))), ConstAs(x, uint32(1)))
	return Div(x, one)
}

// FoldInt is [Key.Fold] with a constant.
func (k Key) FoldInt(data int) Key { return k.Fold(Const(k.Hi.Graph(), uint32(data))) }

// Bits returns random uint32 words of the given dimensions. A scalar key gives one stream over the whole array; a vector of
// n keys gives dims[0] = n rows, each the stream of its key, whatever the other rows are.
func (k Key) Bits(dims ...int) *Node {
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
	// Left to implicit broadcasting: in a loop the pure Go backend (compute v0.1.6) loses explicit ones ("not computed yet").
	perRow := func(word *Node) *Node {
		if word.IsScalar() {
			return word
		}
		return Reshape(word, rows, 1)
	}
	index := Iota(k.Hi.Graph(), shapes.Make(dtypes.Uint32, rows, columns), 1)
	return Reshape(mix(Add(mix(BitwiseXor(index, perRow(k.Hi))), perRow(k.Lo))), dims...)
}

// mix is a bijection of uint32 in which every input bit changes every output bit with probability 0.5 +- 0.1 %: the constants
// that Ellis and Wellons found by search (lowbias32).
func mix(x *Node) *Node {
	shift := func(x *Node, by uint32) *Node { return BitwiseXor(x, BitwiseShiftRightLogicalScalar(x, by)) }
	x = MulScalar(shift(x, 16), uint32(0x21f0aaad))
	x = MulScalar(shift(x, 15), uint32(0x735a2d97))
	return shift(x, 15)
}

// Uniform draws float32 in [low, high) on a grid of 2^23 points; shapes as in [Key.Bits].
func (k Key) Uniform(low, high float64, dims ...int) *Node {
	unit := MulScalar(fromUint(BitwiseShiftRightLogicalScalar(k.Bits(dims...), uint32(9))), 1.0/(1<<23))
	// The minimum keeps the sum below high where it would be rounded up to it, and keeps compilers from fusing product and sum
	// into one instruction, which rounds once instead of twice: not all processors have it.
	start, limit := float32(low), float32(high)
	most := max(0, math.Nextafter32(limit, start)-start)
	for most > 0 && start+most >= limit {
		most = math.Nextafter32(most, 0)
	}
	return AddScalar(MinScalar(MulScalar(unit, high-low), most), low)
}

// Normal draws standard normal float32; shapes as in [Key.Bits].
//
// Box and Muller's transform makes one from each 32-bit word, 18 bits for the radius (at most 5.13) and 14 for the angle.
// Logarithm and cosine are polynomials of just the accuracy that this grid has, so that the whole is some fifty vector
// instructions, fused with what uses it.
func (k Key) Normal(dims ...int) *Node {
	word := k.Bits(dims...)
	u := halfway(BitwiseShiftRightLogicalScalar(word, uint32(14)), 18)
	turn := halfway(BitwiseAnd(word, ConstAs(word, uint32(1<<14-1))), 14)
	return Mul(sqrtPositive(MulScalar(lnPositive(u), -2)), cosTurn(turn))
}

// halfway maps the integers below 2^bits to the midpoints of as many cells of (0, 1).
func halfway(x *Node, bits int) *Node {
	size := math.Ldexp(1, -bits)
	return AddScalar(MulScalar(fromUint(x), size), size/2)
}

// fromUint converts uint32 below 2^31 to float32, by way of int32, which vector units convert in one instruction.
func fromUint(x *Node) *Node { return ConvertDType(Bitcast(x, dtypes.Int32), dtypes.Float32) }

// lnPositive is the natural logarithm of normal positive float32, to 5e-7 of max(1, |ln x|): the exponent, and a minimax
// polynomial of the mantissa scaled to [sqrt(1/2), sqrt(2)).
func lnPositive(x *Node) *Node {
	bits := Bitcast(x, dtypes.Int32)
	exponent := BitwiseShiftRightArithmeticScalar(AddScalar(bits, int32(-0x3f3504f3)), int32(23)) // 0x3f3504f3 is sqrt(1/2)
	f := AddScalar(Bitcast(Sub(bits, BitwiseShiftLeftScalar(exponent, int32(23))), dtypes.Float32), -1)
	series := polynomial(f, 0.11986400277963064, -0.18761717261734315, 0.20492569694959567, -0.24897765910459954,
		0.3331554463992583, -0.5000148588444934)
	return Add(MulScalar(ConvertDType(exponent, dtypes.Float32), math.Ln2), Add(f, Mul(Square(f), series)))
}

// polynomial evaluates by Horner's rule, the highest power first.
func polynomial(x *Node, coefficients ...float64) *Node {
	sum := ConstAs(x, coefficients[0])
	for _, c := range coefficients[1:] {
		sum = AddScalar(Mul(sum, x), c)
	}
	return sum
}

// sqrtPositive is the square root of positive normal float32 to 5e-6 relative: two of Newton's iterations from the bit pattern.
// XLA counts its own square root as expensive, cuts the kernel there, and draws the words again on the other side.
func sqrtPositive(x *Node) *Node {
	half := MulScalar(x, 0.5)
	bits := BitwiseShiftRightLogicalScalar(Bitcast(x, dtypes.Uint32), uint32(1))
	y := Bitcast(Sub(Const(x.Graph(), uint32(0x5f3759df)), bits), dtypes.Float32)
	for range 2 {
		y = Mul(y, Sub(ConstAs(x, 1.5), Mul(half, Square(y))))
	}
	return Mul(x, y)
}

// cosTurn is the cosine of x turns, 0 <= x <= 1, to 1e-6: the sine of the distance to the nearest zero, by a minimax polynomial.
func cosTurn(x *Node) *Node {
	// On [0, 1/2] the zero is 1/4 and the cosine falls; on [1/2, 1] it is its mirror image.
	t := MulScalar(AddScalar(Neg(Abs(AddScalar(x, -0.5))), 0.25), -2*math.Pi) // -1/4 .. 1/4 of a turn, in radians
	return Mul(t, polynomial(Square(t), -0.00018363653931916568, 0.008306325225217707, -0.16664828381655886, 0.9999966159072661))
}

// threefry2x32 encrypts the counter (c0, c1) with the key (k0, k1); all uint32 of one shape.
func threefry2x32(k0, k1, c0, c1 *Node, rounds int) (x0, x1 *Node) {
	rotations := [8]uint32{13, 15, 26, 6, 17, 29, 16, 24}
	const parity = 0x1BD11BDA
	keys := [3]*Node{k0, k1, BitwiseXor(BitwiseXor(k0, k1), ConstAs(k0, uint32(parity)))}
	x0, x1 = Add(c0, keys[0]), Add(c1, keys[1])
	for r := range rounds {
		x0 = Add(x0, x1)
		x1 = BitwiseXor(rotateLeft(x1, rotations[r%8]), x0)
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
