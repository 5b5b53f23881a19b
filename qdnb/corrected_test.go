package qdnb

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/watch"
)

// Training stores corrected repertoires, which hold averages over episodes, without changing the run. They equal those of
// the finished run's policies, whether or not it was interrupted.
func TestCorrectedDuringTraining(t *testing.T) {
	for _, spec := range []Spec{small("", 6), smallDiscovery("diayn-reward", "", 6)} {
		spec.Runs = t.TempDir()
		plain := train(t, spec)
		late := spec // asks for it when the run is complete
		late.Corrected = 3
		errtest.Want(t, errtest.Of(Train(background, late)), "--corrected --by mean --episodes 3 --save")
		spec.Runs, spec.Corrected = t.TempDir(), 3
		run := train(t, spec)
		train(t, spec) // has them
		if !bytes.Equal(repertoireBytes(t, run), repertoireBytes(t, plain)) {
			t.Errorf("%s: corrections changed the run", spec.Algorithm)
		}
		corrected := nb.Must(run.Corrected())
		if len(corrected) != 6 {
			t.Fatalf("%s: %d corrected repertoires, want one for each generation", spec.Algorithm, len(corrected))
		}
		spec.Runs = t.TempDir()
		stopped(t, spec)
		stopped(t, spec)
		if resumed := nb.Must(train(t, spec).Corrected()); !reflect.DeepEqual(fitnessesOf(resumed),
			fitnessesOf(corrected)) {
			t.Errorf("%s: an interrupted run has other corrected repertoires", spec.Algorithm)
		}

		if len(nb.Must(plain.Corrected())) != 0 {
			t.Errorf("%s: corrected repertoires that nobody asked for", spec.Algorithm)
		}
		play := PlaySpec{Cells: nb.Must(plain.RepertoireMap()).Filled(), Episodes: 3, Seed: spec.Seed, Backend: "go"}
		recording := nb.Must(Play(background, plain, play))
		c, best := nb.Must(recording.Corrected(plain, runs.ByMean)), math.Inf(-1)
		for _, r := range recording.Results {
			best = max(best, r.Mean())
		}
		before, after := c.Archived.Stats(), c.Repertoire.Stats() // which holds means, of the archived policies
		if n := len(play.Cells); len(c.Fitness) != n || len(c.Descriptor) != n || c.Episodes != 3 || after.Filled == 0 ||
			after.Filled > before.Filled || math.Abs(after.MaxFitness-best) > 1e-4 {
			t.Errorf("%d deviations of %d policies, %+v after %+v; the best mean is %g", len(c.Fitness), n, after, before, best)
		}
		errtest.Equal(t, "panels", len(nb.Must(c.Figure()).Panels[0]), 2)
		fewer := play
		fewer.Cells = play.Cells[1:]
		errtest.Want(t, errtest.Of(nb.Must(Play(background, plain, fewer)).Corrected(plain, runs.ByMean)), "cell")
		nb.Check(c.Save())
		train(t, late)
		last, saved := corrected[5], nb.Must(plain.Corrected())[0]
		last.Seconds, saved.Seconds = 0, 0
		if !reflect.DeepEqual(saved, last) || saved.Episodes != 3 || saved.FitnessStd <= 0 {
			t.Errorf("%s: the finished run's corrected repertoire is %+v, want %+v", spec.Algorithm, saved, last)
		}
		spec.Runs, spec.CorrectedBy = t.TempDir(), runs.ByMedian
		other := train(t, spec)
		medians := nb.Must(other.Corrected())[5]
		again := nb.Must(nb.Must(Play(background, plain, play)).Corrected(plain, runs.ByMedian)).Repertoire
		if medians.Correction.String() != "median of 3 episodes" || last.Correction.String() != "mean of 3 episodes" ||
			!slices.Equal(medians.Fitnesses, again.Fitnesses) || slices.Equal(medians.Fitnesses, last.Fitnesses) {
			t.Errorf("%s: medians are %v", spec.Algorithm, medians)
		}
		for want, of := range map[string][]*runs.Run{"Coverage (%), mean of 3 episodes": {run},
			"Coverage (%), median of 3 episodes": {other}, "Corrected coverage (%)": {run, other}} {
			curves := nb.Must(figures.CorrectedMetrics(of, figures.EnvSteps))
			below := curves.Panels[1][1]
			if n := len(below.Legend); below.Y.Label.Text != want || n != len(of) ||
				n == 2 && !strings.HasSuffix(below.Legend[0].Text+below.Legend[1].Text, "n of 3 episodes") {
				t.Errorf("%s: the axis is %q with %d kinds of lines, want %q", spec.Algorithm, below.Y.Label.Text, n, want)
			}
		}
		spec.Seed++
		seeds := nb.Must(figures.CorrectedMetrics([]*runs.Run{other, train(t, spec)}, figures.EnvSteps))
		errtest.Equal(t, fmt.Sprintf("%s: curves of two seeds", spec.Algorithm), len(seeds.Panels[1][1].Legend), 1)
	}
	spec := small(t.TempDir(), 1)
	for _, n := range []int{-1, 1e9} {
		spec.Corrected = n
		errtest.Want(t, errtest.Of(spec.Config()), "--corrected (Spec.Corrected) must be between 0 and 1048576")
	}
	run := train(t, small(t.TempDir(), 1))
	errtest.Want(t, errtest.Of(figures.CorrectedMetrics([]*runs.Run{run}, figures.EnvSteps)), "--save")
}

// A corrected repertoire of a renamed folder is not stored in another folder.
func TestCorrectedOfRenamedRun(t *testing.T) {
	run := train(t, small(t.TempDir(), 1))
	renamed := filepath.Join(filepath.Dir(run.Dir), "mine")
	nb.Check(os.Rename(run.Dir, renamed))
	run = nb.Must(runs.Open(renamed))
	play := PlaySpec{Cells: nb.Must(run.RepertoireMap()).Filled(), Episodes: 2, Backend: "go"}
	err := watch.CanSave(run) // before the episodes
	errtest.Want(t, err, "rename")
	err = nb.Must(nb.Must(Play(background, run, play)).Corrected(run, runs.ByMean)).Save()
	errtest.Want(t, err, "rename")
	if left := nb.Must(os.ReadDir(filepath.Dir(renamed))); len(left) != 1 {
		t.Errorf("%d folders, want the run's only", len(left))
	}
}

func fitnessesOf(snapshots []runs.Snapshot) (all [][]float32) {
	for _, s := range snapshots {
		all = append(all, s.Fitnesses)
	}
	return all
}
