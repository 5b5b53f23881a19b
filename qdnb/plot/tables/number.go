package tables

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/qdnb/stats"
)

// Notation is the number format of a column, so that no number stands out.
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

// exponents shortens 1.28e+03 to 1.28e3.
var exponents = strings.NewReplacer("e+0", "e", "e+", "e", "e-0", "e-")

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
		return exponents.Replace(strconv.FormatFloat(v, 'e', 2, 64))
	case size < 1e-9: // negligible compared with larger numbers
		return "0"
	default:
		_, text, _ := strings.Cut(strconv.FormatFloat(v, 'e', 2, 64), "e")
		exponent, _ := strconv.Atoi(text) // of the rounded number: 99.96 is 100, not 100.0
		if exponent > 2 {
			unit := math.Pow10(exponent - 2)
			v = math.Round(v/unit) * unit
		}
		return strconv.FormatFloat(v, 'f', max(0, 2-exponent), 64)
	}
}

// Spread formats a sample as "median (± standard deviation)", and a single number as that number.
func (n Notation) Spread(x []float64) string {
	if len(x) == 1 {
		return n.Number(x[0])
	}
	return fmt.Sprintf("%s (± %s)", n.Number(stats.Median(x)), n.Number(stats.Std(x)))
}

// Numbers formats the values of a column in the notation that [NotationOf] selects.
func Numbers(values ...float64) []string {
	n, texts := NotationOf(values...), make([]string, len(values))
	for i, v := range values {
		texts[i] = n.Number(v)
	}
	return texts
}

// Column formats the values of a column as [Numbers] does, the largest in bold and NaN as nothing.
func Column(values ...float64) []Entry {
	known := slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	entries, best := make([]Entry, len(values)), slices.Max(append(known, math.Inf(-1)))
	for i, text := range Numbers(values...) {
		if !math.IsNaN(values[i]) {
			entries[i] = Entry{Text: text, Bold: values[i] == best}
		}
	}
	return entries
}

// Short formats a number in a sentence or a label: some significant digits, or all digits before
// the decimal point of numbers below 1e9.
func Short(v float64, digits int) string {
	if size := math.Abs(v); size >= math.Pow10(digits)-0.5 && size < 1e9 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', digits, 64)
}

// Probability formats a P value: "< 0.001", or three decimals.
func Probability(p float64) string {
	if p < 0.001 {
		return "< 0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// Count formats a number with up to three digits and a unit: 950, 1.2k, 35k, 1.1M, 120M.
func Count(n float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if n >= 0.9995*unit.size {
			return scaled(n/unit.size, 99.5) + unit.name
		}
	}
	return fmt.Sprintf("%.0f", n)
}

// Duration formats seconds with two or three digits, as minutes from two minutes on and as hours from two hours on.
func Duration(seconds float64) string {
	switch {
	case seconds < 119.5:
		return scaled(seconds, 9.95) + " s"
	case seconds < 60*119.5:
		return scaled(seconds/60, 9.95) + " min"
	}
	return scaled(seconds/3600, 9.95) + " h"
}

// scaled formats a number with a decimal if it is below a limit and the decimal is not 0.
func scaled(v, limit float64) string {
	if v < limit {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0")
	}
	return fmt.Sprintf("%.0f", v)
}
