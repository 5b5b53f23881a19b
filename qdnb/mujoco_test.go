package qdnb_test

import (
	"math"
	"os"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/qdnb/watch"
)

// A gait walks as far in MuJoCo as here, in the mean of 64 episodes from the same states, and as evenly.
func TestGaitsWalkAsFarInMuJoCo(t *testing.T) {
	if os.Getenv("QDNB_MUJOCO") == "" {
		t.Skip("SKIPPED: QDNB_MUJOCO=1 runs the tests that fetch MuJoCo")
	}
	run := train(t, qdnb.Spec{Algorithm: "map-elites", Budget: qdnb.Generations(12),
		Environment: must.Get(envs.RobotTask{Name: "go1"}.Environment(robots.Go1())),
		Tune:        runs.Assign("batch=128", "cells=128", "hidden=[16]", "iso_sigma=0.05", "line_sigma=0.1")})
	played := must.Get(watch.InMuJoCo(t.Context(), run, watch.PeerSpec{Cell: -1, Episodes: 64}))
	here, there := played.Here.Distances, played.Same.Distances
	spread := math.Hypot(stats.Std(here), stats.Std(there)) / 8
	t.Logf("%.2f ± %.2f m here, %.2f ± %.2f m in MuJoCo, with all contacts %.2f m", stats.Mean(here), stats.Std(here),
		stats.Mean(there), stats.Std(there), stats.Mean(played.MuJoCo.Distances))
	if stats.Mean(here) < 0.3 {
		t.Errorf("the gait walks %.2f m: nothing is compared", stats.Mean(here))
	}
	if difference := stats.Mean(here) - stats.Mean(there); math.Abs(difference) > 4*spread {
		t.Errorf("the distances differ by %.2f m, %.1f standard errors", difference, difference/spread)
	}
}
