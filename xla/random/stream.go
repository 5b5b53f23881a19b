package random

import "math/bits"

// Stream draws on the host the same numbers as a scalar [Key] in a graph, bit for bit.
type Stream struct{ hi, lo uint32 }

// NewStream returns the root stream of a seed; see [NewKey].
func NewStream(seed int64) Stream {
	return Stream{uint32(uint64(seed) >> 32), uint32(uint64(seed))}
}

// FoldIn derives the stream named by data; see [Key.FoldIn].
func (s Stream) FoldIn(data int) Stream {
	keys := [3]uint32{s.hi, s.lo, s.hi ^ s.lo ^ threefryParity}
	x0, x1 := keys[0], uint32(data)+keys[1]
	for r := range 20 {
		x0 += x1
		x1 = bits.RotateLeft32(x1, threefryRotations[r%8]) ^ x0
		if (r+1)%4 == 0 {
			injection := (r + 1) / 4
			x0 += keys[injection%3]
			x1 += keys[(injection+1)%3] + uint32(injection)
		}
	}
	return Stream{x0, x1}
}

// Seed returns the seed whose root stream is s.
func (s Stream) Seed() int64 { return int64(uint64(s.hi)<<32 | uint64(s.lo)) }

// Uniform fills numbers with draws from [0, 1); see [Key.Uniform].
func (s Stream) Uniform(numbers []float32) {
	for i := range numbers {
		word := mixWord(mixWord(uint32(i)^s.hi) + s.lo)
		numbers[i] = float32(word>>9) / (1 << 23)
	}
}

// mixWord is [mix] of one word.
func mixWord(x uint32) uint32 {
	x = (x ^ x>>16) * 0x21f0aaad
	x = (x ^ x>>15) * 0x735a2d97
	return x ^ x>>15
}
