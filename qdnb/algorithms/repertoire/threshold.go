package repertoire

import "math"

// Retrains reports whether AURORA retrains its encoder after a loop; loops count from 1. It does if
// loop+1 is a triangular number: after 2, 5, 9, 14, 20, ..., with each pause one loop longer. Then
// all descriptors change and the archive is rebuilt. The training before the first loop is not
// included.
func Retrains(loop int64) bool {
	if loop < 1 {
		return false
	}
	// loop+1 = k (k+1) / 2 for an integer k; for large loops, rounding may shift the root by 1.
	k := int64((math.Sqrt(8*float64(loop+1)+1) - 1) / 2)
	for _, k := range []int64{k, k + 1} {
		if k*(k+1)/2 == loop+1 {
			return true
		}
	}
	return false
}

// Adapts reports whether the [Threshold] is updated after a loop: after every second loop, unless
// it [Retrains].
func Adapts(loop int64) bool { return loop > 0 && loop%2 == 0 && !Retrains(loop) }
