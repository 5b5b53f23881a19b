package repertoire

import "math"

// Retrains tells whether AURORA trains its encoder anew after a loop (of some generations, loops
// being counted from 1 on): when loop+1 is a triangular number, after 2, 5, 9, 14, 20, ..., each
// pause longer by one loop. Then all descriptors change and the archive is filled anew. The
// training before the first loop is not among them.
func Retrains(loop int64) bool {
	if loop < 1 {
		return false
	}
	// loop+1 = k (k+1) / 2 for a whole k; the root may be off by a rounding for large loops.
	k := int64((math.Sqrt(8*float64(loop+1)+1) - 1) / 2)
	for _, k := range []int64{k, k + 1} {
		if k*(k+1)/2 == loop+1 {
			return true
		}
	}
	return false
}

// Adapts tells whether the [Threshold] is updated after a loop: after every other one, unless it
// [Retrains].
func Adapts(loop int64) bool { return loop > 0 && loop%2 == 0 && !Retrains(loop) }
