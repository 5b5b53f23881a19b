package names

import (
	"cmp"
	"slices"
)

// InOrder compares names by their place in a list. Names that are not in it follow, alphabetically.
func InOrder(list []string) func(a, b string) int {
	place := func(name string) int {
		if i := slices.Index(list, name); i >= 0 {
			return i
		}
		return len(list)
	}
	return func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) }
}
