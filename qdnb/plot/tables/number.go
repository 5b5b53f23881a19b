package tables

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Notation is how the numbers of a column are written, so that none of them stands out by its form.
type Notation int

// The notations: 1280, -0.250 and 789000, or 1.28e3, -2.50e-1 and 7.89e5.
const (
	Plain Notation = iota
	Scientific
)

// NotationOf is that of a column of values: [Scientific] where one of them is finite and from 1e9
// on, or below 1e-4 but not 0.
func NotationOf(values ...float64) Notation {
	for _, v := range values {
		if size := math.Abs(v); size >= 1e9 && !math.IsInf(v, 0) || size < 1e-4 && size > 0 {
			return Scientific
		}
	}
	return Plain
}

// Number writes a number with the three digits that count. What is not finite is nan, inf or -inf.
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
	case size < 1e-9: // beside larger numbers it is as good as nothing
		return "0"
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

// Numbers writes the values of a column in the notation that [NotationOf] finds for them.
func Numbers(values ...float64) []string {
	n, texts := NotationOf(values...), make([]string, len(values))
	for i, v := range values {
		texts[i] = n.Number(v)
	}
	return texts
}
