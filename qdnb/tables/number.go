package tables

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Number writes a number with the three digits that count, as the paper: 1280, -0.25, 7.89e5. What is not finite is nan, inf or -inf.
func Number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, 64), "+"))
	case v == 0:
		return "0"
	case size >= 99950 || size < 0.001:
		text := strconv.FormatFloat(v, 'e', 2, 64)
		mantissa, exponent, _ := strings.Cut(text, "e")
		n, err := strconv.Atoi(exponent)
		if err != nil {
			return text
		}
		return fmt.Sprintf("%se%d", mantissa, n)
	default:
		digits := max(0, 2-int(math.Floor(math.Log10(size))))
		rounded := v
		if size >= 1000 { // three digits that count
			unit := math.Pow(10, math.Floor(math.Log10(size))-2)
			rounded = math.Round(v/unit) * unit
		}
		return strconv.FormatFloat(rounded, 'f', digits, 64)
	}
}
