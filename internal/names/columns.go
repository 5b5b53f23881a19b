package names

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Columns makes names of columns of a CSV file: distinct, not empty, without spaces, commas and
// quotes. Of equal names, or one of those that are taken, the second one ends in _2.
func Columns(list []string, taken ...string) []string {
	var columns []string
	for _, name := range list {
		name = strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) || !unicode.IsPrint(r) || r == ',' || r == '"' {
				return '_'
			}
			return r
		}, cmp.Or(strings.TrimSpace(name), "column"))
		column := name
		for n := 2; slices.Contains(columns, column) || slices.Contains(taken, column); n++ {
			column = fmt.Sprintf("%s_%d", name, n)
		}
		columns = append(columns, column)
	}
	return columns
}
