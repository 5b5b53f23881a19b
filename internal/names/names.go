// Package names suggests the name that a user probably meant, formats untrusted names in one line
// and breaks text into lines.
package names

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"
)

// Nearest returns the known names closest to name by edit distance: insertions, deletions,
// replacements and swaps of letters. A candidate that begins with name counts as one edit away, one
// that contains name or is contained in it as two. The result is empty if none is close.
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

// distance returns the edit distance of two names, or less if one is a part of the other.
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

// Unknown returns the error for an unknown name; kind says what it names ("environment", "field").
// The error suggests the nearest known names and lists all.
func Unknown(kind, name string, known []string) error {
	if len(known) == 0 {
		return Wrongf("unknown %s %s: there is none, so leave it out", kind, Quote(name))
	}
	known = slices.Sorted(slices.Values(known))
	return Wrongf("unknown %s %s%s known: %s", kind, Quote(name), Suggestion(name, known), List(known))
}

// Wrong is the error for a name or a value that a user gave. A program ends with the status of wrong usage.
type Wrong struct{ error }

// Unwrap returns the error without the mark.
func (w Wrong) Unwrap() error { return w.error }

// Wrongf formats a [Wrong].
func Wrongf(format string, args ...any) error { return Wrong{fmt.Errorf(format, args...)} }

// File returns why a file that a user named cannot be read, without its path. It is a [Wrong] with advice if there is no
// such file.
func File(err error, advice string) error {
	var at *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return Wrongf("there is no such file: %s", advice)
	case errors.Is(err, syscall.EISDIR):
		return Wrongf("it is a folder: %s", advice)
	case errors.As(err, &at):
		return at.Err
	}
	return err
}

// Suggestion returns the part of an error that suggests the nearest known names; it is a semicolon
// if none is close.
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

// Limits on what an error shows.
const (
	maxRunes = 120
	maxNames = 200
)

// Plain formats text from a file for an error: as it is, or quoted if it has unprintable
// characters, and truncated if it is long.
func Plain(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return Quote(text)
	}
	return cut(text)
}

// Quote formats text from a file in quotes, truncated if it is long.
func Quote(text string) string { return fmt.Sprintf("%q", cut(text)) }

func cut(text string) string {
	if len(text) > maxRunes {
		if runes := []rune(text); len(runes) > maxRunes {
			return string(runes[:maxRunes]) + "..."
		}
	}
	return text
}

// JSON returns an error of encoding/json without the names of Go's types: it says where the syntax is wrong, or which
// field has the wrong type.
func JSON(err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		errors.As(err, &syntax) && syntax.Error() == "unexpected end of JSON input":
		return errors.New("not valid JSON: it ends too early")
	case errors.As(err, &syntax):
		return fmt.Errorf("not valid JSON: %v (byte %d)", syntax, syntax.Offset)
	case errors.As(err, &kind):
		field := kind.Field[strings.LastIndexByte(kind.Field, '.')+1:]
		return fmt.Errorf("%s has the wrong type (%s)", cmp.Or(field, "its value"), kind.Value)
	}
	return err
}

// List joins names from a file with commas, each formatted by [Plain].
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

// editDistance is the optimal string alignment: one edit may also swap two neighbours.
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

// Wrap breaks a text between words into lines of at most width characters, or longer if a word is.
func Wrap(text string, width int) []string {
	return Lines(text, func(line string) bool { return utf8.RuneCountInString(line) <= width })
}

// Lines breaks a text between words into lines that fit, or of one word; none without words.
func Lines(text string, fits func(line string) bool) (lines []string) {
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last >= 0 && fits(lines[last]+" "+word) {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

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

// InOrder compares names by their rank in a list. Names that are not in it follow, alphabetically.
func InOrder(list []string) func(a, b string) int {
	rank := func(name string) int {
		if i := slices.Index(list, name); i >= 0 {
			return i
		}
		return len(list)
	}
	return func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) }
}
