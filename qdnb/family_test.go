package qdnb

import (
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/runs"
)

// learns reports whether an algorithm has a learner with a replay buffer.
func learns(algorithm string) bool {
	return hasCritics(algorithm) || algorithm == "ascii-me"
}

func hasCritics(algorithm string) bool {
	return strings.HasPrefix(algorithm, "pga") || algorithm == "dcrl-map-elites"
}

// smallOf returns the spec of a run of an algorithm of the family that takes seconds.
func smallOf(algorithm, folder string, generations int) Spec {
	spec := small(folder, generations)
	spec.Algorithm = algorithm
	entry, _ := registry.Find(algorithm) // Train refuses unknown names, which tests of mistakes give
	if entry.Defaults != nil && entry.Differentiates() {
		spec.Env, spec.Tune = "sphere", runs.Assign("batch=16", "cells=32", "cvt_samples=500")
	}
	spec.Tune = more(spec.Tune, entry.Smoke...)
	return spec
}

func TestFamilyIsMeasured(t *testing.T) {
	for algorithm, columns := range map[string][]string{
		"pga-map-elites":  {"critic_loss", "actor_loss"},
		"dcrl-map-elites": {"critic_loss", "actor_loss"},
		"aurora":          {"archive_size", "archive_max_fitness", "evaluation_steps"},
		"aurora-xcon":     {"archive_size", "archive_max_fitness", "evaluation_steps"},
		"dns": {"archive_size", "archive_max_fitness", "evaluation_steps", "archive_coverage",
			"archive_qd_score"},
		"cma-mae":    {},
		"dms":        {},
		"ascii-me":   {},
		"cma-mega":   {},
		"cma-maega":  {},
		"ppga":       {"policy_loss", "value_loss"},
		"mome":       {"moqd_score", "max_hypervolume", "global_hypervolume", "archive_size"},
		"pga-aurora": {"critic_loss", "actor_loss", "archive_size", "archive_max_fitness", "evaluation_steps"},
	} {
		run := train(t, smallOf(algorithm, t.TempDir(), 4))
		table := must.Get(run.Metrics())
		if got := table.Columns[8:]; !slices.Equal(got, append(columns, runs.FinalColumn)) {
			t.Errorf("%s logs %v, want %v", algorithm, got, columns)
		}
		repertoire := must.Get(run.Repertoire())
		stats := repertoire.Stats()
		if repertoire.Cells() != 32 || stats.Filled == 0 || stats.MaxFitness != run.Status.MaxFitness {
			t.Errorf("%s: a repertoire of %d cells with %+v; the run says %+v", algorithm,
				repertoire.Cells(), stats, run.Status)
		}
		cell := repertoire.Best()
		if played, err := Play(background, run, PlaySpec{Cells: []int{cell}}); err != nil || len(
			played.Results) != 1 {
			t.Errorf("%s: replaying its best policy: %v", algorithm, err)
		}
	}
}

// A policy gradient without offspring still learns.
func TestProposerWithoutOffspring(t *testing.T) {
	spec := smallOf("pga-map-elites", t.TempDir(), 1)
	spec.Name, spec.Tune = "pga-idle", spec.Tune.And(Tune(func(h *evolution.MapElites) {
		h.Mix[0].Of = 0
		h.Mix[1] = evolution.Share{Emitter: evolution.IsoLineEmitter{IsoSigma: 0.5, LineSigma: 0.5}, Of: 1}
	}))
	if table, err := train(t, spec).Metrics(); err != nil || !slices.Contains(table.Columns, "critic_loss") {
		t.Errorf("columns %v: %v", table.Columns, err)
	}
}
