package main

import (
	"context"
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"gonum.org/v1/plot/vg"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// curve returns a column of a run's metrics over generations.
func curve(run *runs.Run, name, column string, style figures.Style) (figures.Series, error) {
	metrics, err := run.Metrics()
	if err != nil {
		return figures.Series{}, err
	}
	style.Name = name
	x, err := metrics.Column("generation")
	if err != nil {
		return figures.Series{}, err
	}
	y, err := metrics.Column(column)
	return figures.Series{Name: name, X: x, Y: y, Style: &style}, err
}

// The colours of curves, from Okabe and Ito (2008).
var (
	blue   = color.NRGBA{R: 0x00, G: 0x72, B: 0xb2, A: 0xff}
	orange = color.NRGBA{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff}
	green  = color.NRGBA{R: 0x00, G: 0x9e, B: 0x73, A: 0xff}
	purple = color.NRGBA{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff}
	grey   = color.NRGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xff}

	dashed = []vg.Length{4, 4}
	dotted = []vg.Length{1, 2}
)

// determinism draws the QD scores of the runs in "Effect on training" of docs/reliability.md.
func determinism(ctx context.Context, folder string) (figures.Grid, error) {
	settings := [][]string{
		{"batch=64", "hidden=[32,32]", "cells=128", "cvt_samples=5000"},
		{"batch=32", "hidden=[16,16]", "cells=128", "cvt_samples=5000", "episode_length=100"},
	}
	var panels figures.Panels
	for i, env := range []string{"pointmaze", "walker-uni"} {
		var lines []figures.Series
		for k, backend := range []string{"cpu", "go"} {
			dashes := [][]vg.Length{nil, dashed}[k]
			for seed, hue := range []color.NRGBA{blue, orange, green} {
				run, err := qdnb.Train(ctx, qdnb.Spec{Algorithm: "map-elites", Env: env,
					Seed: int64(seed), Budget: qdnb.Generations(40), Tune: runs.Assign(settings[i]...),
					Runs: filepath.Join(folder, backend), Backend: backend, Quiet: true})
				if err != nil {
					return figures.Grid{}, err
				}
				line, err := curve(run, fmt.Sprintf("Seed %d, %s", seed, run.Status.Backend), "qd_score",
					figures.Style{Color: hue, Dashes: dashes})
				if err != nil {
					return figures.Grid{}, err
				}
				lines = append(lines, line)
			}
		}
		title := "MAP-Elites on " + env
		apart := 0.0 // how far the backends' curves are apart, relative to their last points
		for k, of := range lines[:len(lines)/2] {
			for at, y := range of.Y {
				apart = max(apart, math.Abs(lines[len(lines)/2+k].Y[at]-y)/of.Y[len(of.Y)-1])
			}
		}
		if apart < 1e-5 {
			title += ": backends agree to five digits"
		}
		panels.Add(figures.Lines(figures.Axes{Title: title, XLabel: "Generation", YLabel: "QD score"}, lines...))
	}
	return panels.InRows(2)
}

// faults draws the metrics of a run that is killed at random times, on top of those of an
// undisturbed one.
func faults(ctx context.Context, folder string) (figures.Grid, error) {
	settings := []string{"batch=16", "hidden=[16,16]", "cells=128", "cvt_samples=5000", "episode_length=100"}
	spec := qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Budget: qdnb.Generations(400),
		Runs: filepath.Join(folder, "undisturbed"), Backend: "go", Quiet: true, Tune: runs.Assign(settings...)}
	begin := time.Now()
	undisturbed, err := qdnb.Train(ctx, spec)
	if err != nil {
		return figures.Grid{}, err
	}
	args := []string{"--algorithm", spec.Algorithm, "--env", spec.Env, "--generations", "400", "--backend", "go"}
	for _, setting := range settings {
		args = append(args, "--set", setting)
	}
	killed, kills, err := trainKilled(ctx, filepath.Join(folder, "killed"), time.Since(begin), args...)
	if err != nil {
		return figures.Grid{}, err
	}
	var panels figures.Panels
	for _, metric := range []struct{ column, label string }{
		{"coverage", "Coverage (%)"}, {"qd_score", "QD score"},
	} {
		var lines []figures.Series
		one, err := curve(undisturbed, "Undisturbed", metric.column, figures.Style{Color: blue})
		if err != nil {
			return figures.Grid{}, err
		}
		other, err := curve(killed, fmt.Sprintf("Killed %d times", len(kills)), metric.column,
			figures.Style{Color: orange, Dashes: dashed})
		if err != nil {
			return figures.Grid{}, err
		}
		top := one.Y[len(one.Y)-1]
		for _, at := range kills {
			lines = append(lines, figures.Series{Name: "Resumed here",
				X: []float64{at, at}, Y: []float64{0, top},
				Style: &figures.Style{Name: "Resumed here", Color: grey, Dashes: dotted}})
		}
		panels.Add(figures.Lines(figures.Axes{Title: "MAP-Elites on pointmaze", XLabel: "Generation",
			YLabel: metric.label}, append(lines, one, other)...))
	}
	return panels.InRows(2)
}

// trainKilled trains a run whose processes it kills until one finishes. It returns the generations
// from which they resumed. took is the time of an undisturbed run.
func trainKilled(ctx context.Context, folder string, took time.Duration,
	args ...string) (run *runs.Run, kills []float64, err error) {
	for {
		limited, cancel := context.WithTimeout(ctx, took/4+rand.N(took/4))
		cmd := exec.CommandContext(limited, "build/qdnb", append([]string{"train", "--quiet", "--runs", folder}, args...)...)
		cmd.Stderr, cmd.Env = os.Stderr, append(os.Environ(), "QDNB_CHECKPOINT_EVERY=10ms")
		err := cmd.Run()
		cancel()
		if ctx.Err() != nil || cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 0 {
			return nil, nil, err
		}
		found, _, err := runs.Find(folder, "*")
		if err != nil || len(found) == 0 {
			continue // killed before its first checkpoint
		}
		if run = found[0]; run.Status.Finished {
			return run, kills, nil
		}
		kills = append(kills, float64(run.Status.Generation))
	}
}

// shipped draws a figure of the paper from the shipped runs.
func shipped(draw func(*paper.Data) (figures.Grid, error)) func(context.Context, string) (saver, error) {
	return func(context.Context, string) (saver, error) {
		data, err := paper.Open("notebooks/results")
		if err != nil {
			return nil, err
		}
		return draw(data)
	}
}

// environments draws the tasks, and what adaptation changes.
func environments(context.Context, string) (figures.Grid, error) { return paper.Environments() }
