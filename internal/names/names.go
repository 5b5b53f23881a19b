// Package names finds the name that was meant.
package names

import (
	"fmt"
	"slices"
	"strings"
)

// Nearest finds the known name that was probably meant by name: the one with the fewest letters to insert, delete, replace
// or swap, or one that begins with it. It is empty if none is close.
func Nearest(name string, known []string) string {
	lower := strings.ToLower(name)
	best, least := "", max(2, len([]rune(name))/3)+1
	for _, candidate := range known {
		d := editDistance(lower, strings.ToLower(candidate))
		if len(lower) >= 3 && strings.HasPrefix(strings.ToLower(candidate), lower) {
			d = min(d, 1)
		}
		if d < least && d < max(len([]rune(name)), len([]rune(candidate))) {
			best, least = candidate, d
		}
	}
	return best
}

// Unknown is the error for a name that is not one of those known; kind says of what ("environment", "field"). It
// suggests the nearest name and lists all.
func Unknown(kind, name string, known []string) error {
	known = slices.Sorted(slices.Values(known))
	suggestion := ""
	if nearest := Nearest(name, known); nearest != "" {
		suggestion = fmt.Sprintf("; did you mean %q?", nearest)
	} else {
		suggestion = ";"
	}
	return fmt.Errorf("unknown %s %q%s known: %s", kind, name, suggestion, strings.Join(known, ", "))
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	if len(s) > 64 || len(t) > 64 { // no name of ours is that long
		return max(len(s), len(t))
	}
	d := make([][]int, len(s)+1)
	for i := range d {
		d[i] = make([]int, len(t)+1)
		d[i][0] = i
	}
	for j := range t {
		d[0][j+1] = j + 1
	}
	for i := 1; i <= len(s); i++ {
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			d[i][j] = min(d[i-1][j]+1, d[i][j-1]+1, d[i-1][j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(s)][len(t)]
}
