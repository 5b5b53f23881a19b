package qdnb

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// fixtureEnv makes [TestFolderOfThisVersion] write its folder again, after a change of a format that is intended.
const fixtureEnv = "QDNB_FIXTURE"

// A run that an earlier build wrote stays readable. It has every kind of file: its Spec finds it, what is read agrees,
// its skills are played, and it trains on from its checkpoint and its replay buffer.
func TestFolderOfThisVersion(t *testing.T) {
	const stored, iterations = "testdata/folder", 4
	of := func(folder string, iterations int) Spec {
		spec := smallDiscovery("diayn-reward", folder, iterations)
		spec.Tune = more(spec.Tune, "hidden=[2]", "diversity_hidden=[2]", "cells=8")
		spec.KeepReplay, spec.Corrected = true, 2
		return spec
	}
	if os.Getenv(fixtureEnv) != "" {
		must.Do(os.RemoveAll(stored))
		must.Do(os.Remove(filepath.Join(train(t, of(stored, iterations)).Dir, "lock")))
	}
	root := t.TempDir()
	must.Do(os.CopyFS(root, os.DirFS(stored)))
	run, err := Load(of(root, iterations))
	if err != nil {
		t.Fatalf("no run of this Spec, whose name has changed: %v", err)
	}
	repertoire, skills, table := must.Get(run.Repertoire()), must.Get(run.Skills()), must.Get(run.Metrics())
	stats, last := repertoire.Stats(), table.Rows[len(table.Rows)-1]
	for column, want := range map[string]float64{"generation": iterations, "max_fitness": stats.MaxFitness,
		"coverage": stats.Coverage, "qd_score": stats.QDScore} {
		errtest.Equal(t, column, must.Get(table.Column(column))[len(table.Rows)-1], want)
	}
	errtest.Equal(t, "status", [3]float64{run.Status.MaxFitness, run.Status.Coverage, run.Status.QDScore},
		[3]float64(last[4:7]))
	snapshots, corrected := must.Get(run.Snapshots()), must.Get(run.Corrected())
	newest := must.Get(run.Newest())
	if len(snapshots) < 2 || len(corrected) < 2 || newest.Generation != iterations || stats.Filled < 1 ||
		skills.Count != 3 || len(skills.Genotype(2)) != repertoire.Params || len(run.Status.Machines) != 1 {
		t.Errorf("%d snapshots, %d corrected repertoires, %+v, %d skills, %+v", len(snapshots), len(corrected), stats,
			skills.Count, run.Status)
	}
	played := must.Get(Play(background, run, PlaySpec{Skills: []int{2}, Episodes: 2, Backend: "go"}))
	errtest.Equal(t, "played skill", played.Results[0].Number, 2)

	spec := of(root, iterations+2)
	further, err := Train(background, spec)
	if must.Do(err); further.Dir != run.Dir || further.Status.Generation != iterations+2 || !further.Status.Finished {
		t.Errorf("it trains on to %+v", further.Status)
	}
	generations := must.Get(must.Get(further.Metrics()).Column("generation"))
	errtest.Equal(t, "first and last row", [2]float64{generations[0], generations[len(generations)-1]},
		[2]float64{0, iterations + 2})
	w := must.Get(runs.Create(root, run.Config))
	_, generation, _, err := w.LoadCheckpoint(nil)
	must.Do(errors.Join(err, w.Close()))
	errtest.Equal(t, "newest checkpoint", generation, iterations+2)
}
