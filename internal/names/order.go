package names

import (
	"cmp"
	"slices"
)

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
