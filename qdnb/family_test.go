package qdnb

import (
	"bytes"
	"slices"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/runs"
)

// smallOf returns the spec of a run of an algorithm of the family that takes seconds.
func smallOf(algorithm, folder string, generations int) Spec {
	spec := small(folder, generations)
	spec.Algorithm = algorithm
	entry, _ := registry.Find(algorithm) // Train refuses unknown names, which tests of mistakes give
	if entry.Defaults != nil && entry.NeedsGradients() {
		spec.Env, spec.Tune = "sphere", runs.Assign("batch=16", "cells=32", "cvt_samples=500")
	}
	spec.Tune = more(spec.Tune, entry.Smoke...)
	return spec
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

// AURORA is MAP-Elites with its archive, to the byte, although that is a part of the user then.
func TestArchiveMakesAurora(t *testing.T) {
	whole := train(t, smallOf("aurora", t.TempDir(), 5))
	of := smallOf("aurora", "", 5)
	aurora := must.Get(must.Get(registry.Find("aurora")).Tuned(envs.Pointmaze{}.Spec(), of.Tune)).(*evolution.MapElites)
	spec := small(t.TempDir(), 5)
	spec.Name, spec.Tune = "own-aurora", spec.Tune.And(archiving(aurora.Archive))
	if own := train(t, spec); !bytes.Equal(finished(t, own), finished(t, whole)) {
		t.Errorf("%+v, not %+v", own.Status, whole.Status)
	}
}
