package exchange

import (
	"fmt"
	"slices"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/runs"
)

// layers formats the layer sizes of a network as in "7 -> 8 -> 8 -> 4".
func layers(s *runs.Skills) string {
	text := strings.Join(strings.Fields(strings.Trim(fmt.Sprint(s.Sizes()), "[]")), " -> ")
	if s.Count > 0 {
		return fmt.Sprintf("%s, %d observations and %d skills", text, s.Observations, s.Count)
	}
	return text
}

// fitting describes what n parameters would fit: a policy of a repertoire, another environment, or
// other hidden layers.
func fitting(n int, s runs.Skills) string {
	var found []string
	if n == s.Params() {
		found = append(found, "it is one policy of a repertoire, as quality-diversity algorithms find")
	}
	for _, name := range envs.Names() {
		env, err := envs.Make(name)
		if err != nil {
			continue
		}
		counts := slices.Sorted(slices.Values([]int{0, 5, s.Count}))
		for _, count := range slices.Compact(counts) {
			other := runs.Skills{Observations: env.Spec().Observations, Actions: env.Spec().Actions,
				Count: count, Hidden: s.Hidden}
			if runs.Row(other.Sizes()) == n {
				found = append(found, fmt.Sprintf("it fits %s with %d skills", name, count))
			}
		}
	}
	sizes := s.Sizes()
	if hidden := fittingHidden(n, sizes[0], sizes[len(sizes)-1]); hidden != "" {
		found = append(found, "it fits with "+hidden)
	}
	if found == nil {
		return "it fits no environment with these hidden layers"
	}
	return strings.Join(found, "; ")
}

// fittingHidden returns the --set flags of up to three equal hidden layers for which a network has
// n parameters, "" if there are none.
func fittingHidden(n, in, out int) string {
	var found []string
	for layers := range 4 {
		for units := 1; units <= 4096 && (layers > 0 || units == 1); units++ {
			hidden := slices.Repeat([]int{units}, layers)
			if runs.Row(slices.Concat([]int{in}, hidden, []int{out})) == n {
				found = append(found, "--set hidden="+strings.ReplaceAll(fmt.Sprint(hidden), " ", ","))
			}
		}
	}
	return strings.Join(found, " or ")
}
