package main

import (
	"cmp"
	"context"
	"slices"

	"example.com/qdnb/qdnb/plot/figures"
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
	rows, err := recorded(path)
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
	// Panels of a column share their labels if they have the same sides.
	slices.SortStableFunc(all, func(a, b scores) int { return cmp.Compare(len(b.sides), len(a.sides)) })
	var rows [2][]scores
	for i, s := range all {
		rows[i%2] = append(rows[i%2], s)
	}
	all = slices.Concat(rows[:]...)
	var panels figures.Panels
	for _, s := range all {
		var groups []figures.BoxGroup
		for _, side := range s.sides {
			groups = append(groups, figures.BoxGroup{Label: cmp.Or(labels[side], side),
				Boxes: []figures.Box{{Name: s.algorithm, Values: s.of[side]}}})
		}
		panel, err := figures.Boxes(figures.Axes{Title: figures.MethodName(s.algorithm), YLabel: "QD score"},
			figures.BoxOptions{Points: "One seed"}, groups...)
		if err == nil {
			panel.Legend = panel.Legend[len(groups):] // the title names the method
		}
		panels.Add(panel, err)
	}
	return panels.InRows(3)
}
