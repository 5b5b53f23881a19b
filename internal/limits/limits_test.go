package limits_test

import (
	"math"
	"testing"

	"example.com/qdnb/internal/limits"
)

func TestLimits(t *testing.T) {
	rate := func(x float64) error { return limits.Positive("rate", x, 1) }
	share := func(x float64) error { return limits.Number("share", x, 1) }
	size := func(n int) error { return limits.Int("size", n, 1, 9) }
	layers := func(units ...int) error { return limits.Layers("hidden", units, 1) }
	for _, c := range []struct {
		err  error
		want string // nothing is wrong where empty
	}{
		{rate(1), ""}, {share(0), ""}, {size(9), ""}, {limits.Factor("scale", -3), ""},
		{layers(1, 1<<14), ""},
		{rate(0), "rate must be a number above 0 and at most 1, not 0"},
		{rate(math.NaN()), "rate must be a number above 0 and at most 1, not NaN"},
		{share(1.5), "share must be a number from 0 to 1, not 1.5"},
		{size(0), "size must be between 1 and 9, not 0"},
		{limits.Factor("scale", math.Inf(1)), "scale must be a number from -1e6 to 1e6, not +Inf"},
		{layers(), "number of hidden layers must be between 1 and 16, not 0"},
		{layers(8, 0), "hidden layers must have between 1 and 16384 units, not 0"},
	} {
		got := ""
		if c.err != nil {
			got = c.err.Error()
		}
		if got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
