package tables

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Notation is the number format of a column, so that no number stands out by its form.
type Notation int

// The notations: 1280, -0.250 and 789000 in Plain; 1.28e3, -2.50e-1 and 7.89e5 in Scientific.
const (
	Plain Notation = iota
	Scientific
)

// NotationOf returns the notation for a column of values: [Scientific] if any of them is finite and
// at least 1e9, or below 1e-4 but not 0.
func NotationOf(values ...float64) Notation {
	for _, v := range values {
		if size := math.Abs(v); size >= 1e9 && !math.IsInf(v, 0) || size < 1e-4 && size > 0 {
			return Scientific
		}
	}
	return Plain
}

// Number formats a number with three significant digits. Values that are not finite become nan, inf
// or -inf.
func (n Notation) Number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(v, 'f', -1, 64), "+"))
	case v == 0:
		return "0"
	case n == Scientific:
		text := strconv.FormatFloat(v, 'e', 2, 64)
		mantissa, exponent, _ := strings.Cut(text, "e")
		n, err := strconv.Atoi(exponent)
		if err != nil {
			return text
		}
		return fmt.Sprintf("%se%d", mantissa, n)
	case size < 1e-9: // negligible compared with larger numbers
		return "0"
	default:
		digits := max(0, 2-int(math.Floor(math.Log10(size))))
		rounded := v
		if size >= 1000 { // round to three significant digits
			unit := math.Pow(10, math.Floor(math.Log10(size))-2)
			rounded = math.Round(v/unit) * unit
		}
		return strconv.FormatFloat(rounded, 'f', digits, 64)
	}
}

// Numbers formats the values of a column in the notation that [NotationOf] selects.
func Numbers(values ...float64) []string {
	n, texts := NotationOf(values...), make([]string, len(values))
	for i, v := range values {
		texts[i] = n.Number(v)
	}
	return texts
}
