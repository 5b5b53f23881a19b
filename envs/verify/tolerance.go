package verify

import (
	"fmt"
	"math"
	"strings"
)

// tolerance is the largest difference that counts as rounding. The zero value requires equality.
type tolerance struct {
	base float64
	// err64 names the array with the published code's rounding error per sample. Ten times this is
	// added to the tolerance.
	err64 string
	value float64 // added after multiplication by the absolute stored number
}

func (t tolerance) String() string {
	if t == (tolerance{}) {
		return "equal"
	}
	short := func(x float64) string { return strings.Replace(fmt.Sprintf("%.0e", x), "e-0", "e-", 1) }
	terms := []string{short(t.base)}
	if t.err64 != "" {
		terms = append(terms, "10 err64")
	}
	if t.value > 0 {
		terms = append(terms, short(t.value)+" |x|")
	}
	return strings.Join(terms, " + ")
}

// compare returns the worst differences of an array and which of its parts (samples, steps) are
// outside of the tolerance. It compares the parts with counts set. err64 has a number per part, or
// is nil.
func compare(c column, counts []bool, got, want, err64 []float32) (r Result, outside []bool) {
	t := c.tolerance
	r = Result{Name: c.name, Tolerance: t.String()}
	outside = make([]bool, len(counts))
	size := len(want) / len(counts)
	for part, count := range counts {
		if !count {
			continue
		}
		for i := part * size; i < (part+1)*size-c.ignore; i++ {
			x := math.Abs(float64(want[i]))
			off := math.Abs(float64(got[i]) - float64(want[i]))
			if math.IsNaN(off) { // want is finite
				off = math.Inf(1)
			}
			if off == 0 {
				continue
			}
			allowed := t.base + t.value*x
			if err64 != nil {
				allowed += 10 * float64(err64[part])
			}
			r.WorstAbs = max(r.WorstAbs, off)
			r.WorstShare = max(r.WorstShare, off/allowed)
			if x > 0 {
				r.WorstRel = max(r.WorstRel, off/x)
			}
			outside[part] = outside[part] || off > allowed
		}
	}
	return r, outside
}
