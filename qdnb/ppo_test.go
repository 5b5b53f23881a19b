package qdnb

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/exchange"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
)

// smallPPO takes seconds.
func smallPPO(env envs.Env) *ppo.PPO {
	c := ppo.Default(env.Spec())
	c.NumEnvs, c.UnrollLength, c.BatchSize, c.NumMinibatches, c.UpdateEpochs = 2, 2, 2, 1, 2
	c.EvaluationEnvs, c.PolicyHidden, c.ValueHidden, c.EpisodeLength = 2, []int{8}, []int{8}, 6
	c.CVT = repertoire.CVT{Cells: 4, CVTSamples: 100}
	return c
}

// mazeSkills are two policies as skills in pointmaze.
func mazeSkills(last float32) envs.Hierarchical {
	net, rows := nn.NewPolicy(2, nil, 2), []float32{1, 0, 0, 0, 0, 0, 0, last, 0, 0, 0, 0}
	return envs.Hierarchical{Env: envs.Pointmaze{}, Every: 2,
		Skills: envs.Skills{Net: net, Rows: npz.Of(rows, 2, net.Params())}}
}

// The policies of a run with normalised observations are read, played and exported with their normaliser.
func TestNormalisedPPO(t *testing.T) {
	loop := smallPPO(envs.Pointmaze{})
	loop.NormalizeObservations, loop.EpisodeLength = true, 20
	run := train(t, Spec{Loop: loop, Name: "ppo-test", Env: "pointmaze", Runs: t.TempDir(), Backend: "go",
		Quiet: true, Budget: Generations(4)})
	best := nb.Must(run.Repertoire()).Best()
	row := nb.Must(run.Repertoire()).Genotype(best)
	plain := nn.NewPolicy(2, []int{8}, 2)
	if len(row) != plain.Params()+4 || row[len(row)-1] <= 0 || row[len(row)-1] >= 1 {
		t.Fatalf("a policy has %d parameters, the last are %v", len(row), row[len(row)-4:])
	}
	nb.Must(Play(background, run, PlaySpec{Backend: "go"}))
	dir := t.TempDir()
	shapes := nb.Must(exchange.Export(run, exchange.ExportSpec{Cell: &best, Out: filepath.Join(dir, "policy.npz")}))
	if !slices.Equal(shapes["input.mean"], []int{2}) || shapes["input.limit"] == nil {
		t.Errorf("the file has %v", shapes)
	}
	nb.Must(exchange.Export(run, exchange.ExportSpec{Repertoire: true, Out: filepath.Join(dir, "policy.onnx")}))
	text := string(nb.Must(os.ReadFile(filepath.Join(dir, "policy.json"))))
	errtest.Contains(t, text, `"normalisation": "included"`)
	whole := filepath.Join(dir, "whole.npz")
	nb.Must(exchange.Export(run, exchange.ExportSpec{Repertoire: true, Out: whole}))
	imported := nb.Must(exchange.Import(exchange.ImportSpec{Algorithm: "ppo", Env: "pointmaze", Repertoire: whole,
		Set: []string{"hidden=[8]", "episode_length=20"}, Runs: t.TempDir()}))
	play := PlaySpec{Cells: []int{best}, Backend: "go"}
	if a, b := nb.Must(Play(background, run, play)), nb.Must(Play(background, imported, play)); a.Results[0].Mean() !=
		b.Results[0].Mean() {
		t.Errorf("an imported policy earns %g, the exported one %g", b.Results[0].Mean(), a.Results[0].Mean())
	}
	spec := small(t.TempDir(), 1)
	spec.Start, spec.Env = run.Dir, "pointmaze"
	spec.Tune = runs.Assign("hidden=[8]", "cells=8", "cvt_samples=100", "batch=4")
	_, err := Train(background, spec)
	errtest.Want(t, err, "normalise their observations")
}
