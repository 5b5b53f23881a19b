package main

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/stats"
)

// scores are the final QD scores of an algorithm by side: qdnb, published, or a fault planted in qdnb.
type scores struct {
	algorithm string
	steps     string // environment steps of the published code
	sides     []string
	of        map[string][]float64
}

// parityScores reads docs/parity.csv, which `make parity` writes, in its order.
func parityScores(path string) ([]scores, error) {
	rows, err := records(path)
	if err != nil {
		return nil, err
	}
	var all []scores
	for _, row := range rows {
		algorithm, side := row["algorithm"], row["side"]
		i := slices.IndexFunc(all, func(s scores) bool { return s.algorithm == algorithm })
		if i < 0 {
			i, all = len(all), append(all, scores{algorithm: algorithm, of: map[string][]float64{}})
		}
		score, err := row.number("qd_score")
		if err != nil {
			return nil, err
		}
		s := &all[i]
		if s.of[side] == nil {
			s.sides = append(s.sides, side)
		}
		if side == "published" {
			s.steps = row["env_steps"]
		}
		s.of[side] = append(s.of[side], score)
	}
	return all, nil
}

// labels name sides below their boxes.
var labels = map[string]string{"published": "JAX", "sigma-1.3": "σ × 1.3", "discount-0.95": "γ 0.95",
	"frozen-target": "frozen"}

// parity draws the scores of all seeds on both sides, and those of planted faults.
func parity(context.Context, string) (figures.Grid, error) {
	all, err := parityScores("docs/parity.csv")
	if err != nil {
		return figures.Grid{}, err
	}
	// Panels of one column share their labels, which a gap below the last must not take from it.
	slices.SortStableFunc(all, func(a, b scores) int { return cmp.Compare(len(b.sides), len(a.sides)) })
	var panels []*figures.Panel
	for _, s := range all {
		var groups []figures.BoxGroup
		for _, side := range s.sides {
			groups = append(groups, figures.BoxGroup{Label: cmp.Or(labels[side], side),
				Boxes: []figures.Box{{Name: s.algorithm, Values: s.of[side]}}})
		}
		panel, err := figures.Boxes(figures.Axes{Title: figures.MethodName(s.algorithm), YLabel: "QD score"},
			figures.BoxOptions{Points: "One seed"}, groups...)
		if err != nil {
			return figures.Grid{}, err
		}
		panels = append(panels, panel)
	}
	return figures.InRows(3, panels...), nil
}

const (
	draws  = 9999 // random divisions of a permutation test
	splits = 200  // of the seeds here into two halves
)

// parityTable compares the scores of both sides: their means, the p-value of two one-sided tests with a margin of
// one pooled standard deviation, the p-value with which a permutation test tells each fault from the same seeds
// without it, and how often that test calls two halves of the seeds here different at 5 %.
func parityTable(all []scores) string {
	var b strings.Builder
	b.WriteString("| algorithm | steps | QD score here | published | difference, pooled deviations | p of TOST |" +
		" p of faults | halves told apart |\n|---|---|---|---|---|---|---|---|\n")
	for _, s := range all {
		random := stats.Source(0)
		here, published := s.of["qdnb"], s.of["published"]
		margin := stats.PooledStd(here, published)
		var faults []string
		for _, side := range s.sides {
			if side != "qdnb" && side != "published" {
				faults = append(faults, fmt.Sprintf("%s: %.2g", labels[side], stats.Permutation(random, here, s.of[side], draws)))
			}
		}
		apart := 0
		for range splits {
			shuffled := slices.Clone(here)
			random.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			half := len(shuffled) / 2
			if stats.Permutation(random, shuffled[:half], shuffled[half:], draws/10) <= 0.05 {
				apart++
			}
		}
		fmt.Fprintf(&b, "| %s | %s | %.0f ± %.0f | %.0f ± %.0f | %s | %.2g | %s | %.1f %% |\n",
			figures.MethodName(s.algorithm), s.steps, stats.Mean(here), stats.Std(here), stats.Mean(published),
			stats.Std(published), hundredths((stats.Mean(here)-stats.Mean(published))/margin),
			stats.Equivalent(here, published, margin),
			strings.Join(faults, ", "), 100*float64(apart)/splits)
	}
	return b.String()
}

// hundredths formats a number without a negative zero.
func hundredths(x float64) string { return strconv.FormatFloat(math.Round(100*x)/100+0, 'f', 2, 64) }
