package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// Later methods are drawn with the paper's, and corrected metrics are tabulated, also from a
// shipped folder.
func TestBeyond(t *testing.T) {
	f := newFolder(t)
	for i, experiment := range []string{results.ExperimentTraining, results.ExperimentBeyond} {
		method := []string{"map-elites", "dns"}[i]
		c := must.Get(runs.NewConfig(method, "ant-omni", 0, map[string]any{"cells": 4}))
		budget := runs.Budget{Generations: 9}
		line := sweep.Line{Experiment: experiment, Label: method, Run: c, Budget: budget}
		metrics := "generation,env_steps,seconds,max_fitness,coverage,qd_score\n"
		for row := range 10 {
			metrics += fmt.Sprintf("%d,%d,%d,%d,%d,%d\n", row, 100*row, 7*row, row+i, 5*row, 9*row+i)
		}
		status := runs.Status{Budget: budget, Progress: runs.Progress{Generation: 9, EnvSteps: 900},
			MaxFitness: 9 + float64(i), Coverage: 100, QDScore: 81}
		f.run(t, line, status, metrics, func(w *runs.Writer) {
			r := fourCells(5, omniLower, omniUpper)
			must.Do(w.SaveRepertoire(r))
			r.Fitnesses[1], r.Fitnesses[0] = r.Fitnesses[2], 3+float32(i)
			must.Do(w.SaveSnapshot(runs.Snapshot{Progress: status.Progress, Repertoire: *r,
				Correction: runs.Correction{Episodes: 6, FitnessStd: 2}}))
		})
	}
	d := f.open(t)
	out := t.TempDir() + "/results"
	must.Get(Ship(out, f.lines, f.dir+"/"+RunsFolder, About{Machine: "a test"}))
	small := must.Get(Open(out))
	// A run that was extended since has no corrected repertoire of its end.
	extended := *d.Tables
	extended.Trained = slices.Clone(extended.Trained)
	for i := range extended.Trained {
		extended.Trained[i].Generation++
	}
	errtest.Want(t, errtest.Of(Corrected(&Data{Dir: d.Dir, Tables: &extended})), "--corrected --save")
	for _, data := range []*Data{d, small} {
		table := must.Get(Corrected(data))
		var rows []string
		for _, row := range table.Rows {
			rows = append(rows, strings.Join(texts(row)[:7], " "))
		}
		want := []string{"ant-omni MAP-Elites 1 0.0009 9.00 3.00 100", "ant-omni DNS 1 0.0009 10.0 4.00 100"}
		if !slices.Equal(rows, want) {
			t.Errorf("%q, want %q", rows, want)
		}
		if note := table.Notes[0]; !strings.Contains(note, "6 episodes") {
			t.Errorf("its note is %q", note)
		}
		for _, draw := range []func(*Data) (figures.Grid, error){BeyondCurvesOverTime, BeyondCurvesOverSteps,
			BeyondRepertoires} {
			must.Get(must.Get(draw(data)).Figure())
		}
	}
	g, err := metricCurves(d, []string{"map-elites", "dns"}, []string{"ant-omni"}, timeAxis)
	if err != nil || len(g.Panels[0][0].Legend) != 2 {
		t.Errorf("%+v, %v; want a line for each method", g, err)
	}
	axis := timeAxis
	axis.coloured = 1
	g = must.Get(metricCurves(d, []string{"map-elites", "dns"}, []string{"ant-omni"}, axis))
	legend := g.Panels[0][0].Legend
	errtest.Equal(t, "the legend", fmt.Sprint(legend[0].Text, " ", legend[1].Text), "Others DNS")
	// An unreadable repertoire leaves its method out.
	damaged, err := filepath.Glob(filepath.Join(d.Dir, RunsFolder, "dns-*", "corrected", "*"))
	if err != nil || len(damaged) != 1 {
		t.Fatal(damaged, err)
	}
	must.Do(os.Truncate(damaged[0], 9))
	if table, err := Corrected(d); err != nil || len(table.Rows) != 1 ||
		!strings.Contains(table.Notes[1], "Unreadable: DNS on ant-omni.") {
		t.Errorf("with a damaged file: %+v, %v", table, err)
	}
	alone, lines := shippable(t)
	data := must.Get(Open(shipped(t, alone, lines)))
	errtest.Want(t, errtest.Of(Corrected(data)), "--corrected")
	for _, draw := range []func(*Data) error{
		func(d *Data) error { _, err := BeyondCurvesOverTime(d); return err },
		func(d *Data) error { _, err := BeyondRepertoires(d); return err }} {
		errtest.Want(t, draw(data), "beyond")
	}
}

// Repertoires with one solution, or with none, have no range of fitnesses.
func TestBeyondRepertoiresOfFewSolutions(t *testing.T) {
	for _, filled := range []int{1, 0} {
		f := newMapFolder(t)
		f.add(results.ExperimentBeyond, "dns", "ant-omni", 0, 5, omniLower, omniUpper)
		path := filepath.Join(f.data.Dir, RunsFolder, f.data.Trained[0].Run, "repertoire.npz")
		r := must.Get(runs.ReadRepertoire(path, true))
		r.Genotypes = make([]float32, r.Cells()*r.Params)
		for cell := filled; cell < r.Cells(); cell++ {
			r.Fitnesses[cell] = float32(math.Inf(-1))
		}
		must.Do(r.Write(path))
		figure, err := BeyondRepertoires(f.data)
		contains(t, says(t, figure, err), figures.MethodName("dns"))
	}
}
