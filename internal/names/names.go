// Package names finds the name that was meant, and shows names of any origin in one line.
package names

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Nearest finds the known names that were probably meant by name: those with the fewest letters to
// insert, delete, replace or swap. A name that begins with it counts as one letter away, one that
// contains it or is contained in it as two. It is empty if none is close.
func Nearest(name string, known []string) []string {
	lower := strings.ToLower(name)
	var best []string
	least := max(2, len([]rune(name))/3)
	for _, candidate := range known {
		d := distance(lower, strings.ToLower(candidate))
		if d > least || d >= max(len([]rune(name)), len([]rune(candidate))) {
			continue
		}
		if d < least {
			best, least = nil, d
		}
		best = append(best, candidate)
	}
	return best
}

// distance is the edit distance of two names, or less where one is a part of the other.
func distance(name, candidate string) int {
	d := editDistance(name, candidate)
	switch {
	case len(name) >= 3 && strings.HasPrefix(candidate, name):
		return min(d, 1)
	case len(name) >= 4 && strings.Contains(candidate, name),
		len(candidate) >= 4 && strings.Contains(name, candidate):
		return min(d, 2)
	}
	return d
}

// Unknown is the error for a name that is not one of those known; kind says of what ("environment",
// "field"). It suggests the nearest names and lists all.
func Unknown(kind, name string, known []string) error {
	known = slices.Sorted(slices.Values(known))
	return fmt.Errorf("unknown %s %s%s known: %s", kind, Quote(name), Suggestion(name, known),
		List(known))
}

// Suggestion asks in an error whether the nearest of known names was meant; it is a semicolon if
// none is close.
func Suggestion(name string, known []string) string {
	var quoted []string
	for _, nearest := range Nearest(name, known) {
		quoted = append(quoted, fmt.Sprintf("%q", nearest))
	}
	switch last := len(quoted) - 1; last {
	case -1:
		return ";"
	case 0:
		return "; did you mean " + quoted[0] + "?"
	default:
		return "; did you mean " + strings.Join(quoted[:last], ", ") + " or " + quoted[last] + "?"
	}
}

// What is longer than this helps nobody in an error.
const (
	maxRunes = 120
	maxNames = 200
)

// Plain is text from a file as an error shows it: as it is, or quoted if it has anything that does
// not print, and cut off if it is long.
func Plain(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Quote(text)
	}
	return cut(text)
}

// Quote is text from a file in quotes, cut off if it is long.
func Quote(text string) string { return fmt.Sprintf("%q", cut(text)) }

func cut(text string) string {
	if len(text) > maxRunes {
		if runes := []rune(text); len(runes) > maxRunes {
			return string(runes[:maxRunes]) + "..."
		}
	}
	return text
}

// List is names from a file with commas between them, each [Plain].
func List(names []string) string {
	var shown []string
	for _, name := range names[:min(len(names), maxNames)] {
		shown = append(shown, Plain(name))
	}
	if more := len(names) - len(shown); more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, ", ")
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours (optimal string
// alignment).
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
