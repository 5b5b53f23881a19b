package main

import (
	"bytes"
	"context"
	"fmt"
	"image/color"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"gonum.org/v1/plot/vg"

	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
)

// program starts qdnb.
type program struct {
	ctx    context.Context
	path   string
	folder string // of runs
}

// command returns a command of qdnb that writes to standard error.
func (p program) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.ctx, p.path, args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// train trains a run in a folder and returns it.
func (p program) train(name string, args ...string) (*runs.Run, error) {
	folder := filepath.Join(p.folder, name)
	args = append([]string{"train", "--quiet", "--runs", folder}, args...)
	if err := p.command(args...).Run(); err != nil {
		return nil, err
	}
	return only(folder)
}

// only opens the only run of a folder.
func only(folder string) (*runs.Run, error) {
	found, _, err := runs.Find(folder, "*")
	if err == nil && len(found) != 1 {
		err = fmt.Errorf("%d runs in %s, want 1", len(found), folder)
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// same returns an error unless the files of two runs have the same bytes.
func same(a, b *runs.Run, file string) error {
	one, err := os.ReadFile(filepath.Join(a.Dir, file))
	if err != nil {
		return err
	}
	other, err := os.ReadFile(filepath.Join(b.Dir, file))
	if err == nil && !bytes.Equal(one, other) {
		err = fmt.Errorf("the files %s of %s and %s differ", file, a.Dir, b.Dir)
	}
	return err
}

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
	grey   = color.NRGBA{R: 0x99, G: 0x99, B: 0x99, A: 0xff}

	dashed = []vg.Length{4, 4}
	dotted = []vg.Length{1, 2}
)

// determinism draws the QD scores of the runs in "Effect on training" of docs/reliability.md. It
// trains one of them twice and fails if the second one has other bytes.
func determinism(p program) (*figures.Figure, error) {
	var panels []figures.Panel
	for _, task := range []struct {
		env      string
		settings []string
	}{
		{"pointmaze", []string{"batch=64", "hidden=[32,32]", "cells=128", "cvt_samples=5000"}},
		{"walker-uni", []string{"batch=32", "hidden=[16,16]", "cells=128", "cvt_samples=5000",
			"episode_length=100"}},
	} {
		panel := figures.Panel{Title: task.env, XLabel: "generation", YLabel: "QD score"}
		var first *runs.Run
		for i, b := range []struct {
			backend string
			dashes  []vg.Length
		}{{"cpu", nil}, {"go", dashed}, {"cpu", nil}} {
			for seed, c := range []color.NRGBA{blue, orange, green} {
				args := []string{"--algorithm", "map-elites", "--env", task.env, "--generations", "40",
					"--backend", b.backend, "--seed", fmt.Sprint(seed)}
				for _, setting := range task.settings {
					args = append(args, "--set", setting)
				}
				run, err := p.train(fmt.Sprint(task.env, i, seed), args...)
				if err != nil {
					return nil, err
				}
				if i == 2 { // the first run again
					if err := same(first, run, "repertoire.npz"); err != nil {
						return nil, err
					}
					break
				}
				if first == nil {
					first = run
				}
				line, err := curve(run, fmt.Sprintf("seed %d, %s", seed, run.Status.Backend), "qd_score",
					figures.Style{Color: c, Dashes: b.dashes})
				if err != nil {
					return nil, err
				}
				panel.Series = append(panel.Series, line)
			}
		}
		panels = append(panels, panel)
	}
	return figures.Curves(panels, 2)
}

// faults draws the metrics of a run that is killed at random times, on top of those of an
// undisturbed one. It fails if the two have other bytes.
func faults(p program) (*figures.Figure, error) {
	args := []string{"--algorithm", "map-elites", "--env", "pointmaze", "--generations", "400",
		"--backend", "go", "--set", "batch=16", "--set", "hidden=[16,16]", "--set", "cells=128",
		"--set", "cvt_samples=5000", "--set", "episode_length=100"}
	begin := time.Now()
	undisturbed, err := p.train("undisturbed", args...)
	if err != nil {
		return nil, err
	}
	took := time.Since(begin)
	killed, kills, err := p.killed("killed", took, args...)
	if err != nil {
		return nil, err
	}
	if err := same(undisturbed, killed, "repertoire.npz"); err != nil {
		return nil, err
	}
	var panels []figures.Panel
	for _, c := range []struct{ column, label string }{
		{"coverage", "coverage (%)"}, {"qd_score", "QD score"},
	} {
		panel := figures.Panel{XLabel: "generation", YLabel: c.label}
		one, err := curve(undisturbed, "undisturbed", c.column, figures.Style{Color: blue})
		if err != nil {
			return nil, err
		}
		other, err := curve(killed, fmt.Sprintf("killed %d times", len(kills)), c.column,
			figures.Style{Color: orange, Dashes: dashed})
		if err != nil {
			return nil, err
		}
		top := one.Y[len(one.Y)-1]
		for _, at := range kills {
			panel.Series = append(panel.Series, figures.Series{Name: "resumed here",
				X: []float64{at, at}, Y: []float64{0, top},
				Style: &figures.Style{Name: "resumed here", Color: grey, Dashes: dotted}})
		}
		panel.Series = append(panel.Series, one, other)
		panels = append(panels, panel)
	}
	return figures.Curves(panels, 2)
}

// killed trains a run whose processes it kills until one finishes. It returns the generations from
// which they resumed. took is the time of an undisturbed run.
func (p program) killed(name string, took time.Duration,
	args ...string) (run *runs.Run, kills []float64, err error) {
	folder := filepath.Join(p.folder, name)
	args = append([]string{"train", "--quiet", "--runs", folder}, args...)
	for {
		cmd := p.command(args...)
		cmd.Env = append(os.Environ(), "QDNB_CHECKPOINT_EVERY=10ms")
		if err := cmd.Start(); err != nil {
			return nil, nil, err
		}
		timer := time.AfterFunc(took/4+rand.N(took/4), func() { _ = cmd.Process.Kill() })
		err := cmd.Wait()
		timer.Stop()
		if cmd.ProcessState.ExitCode() > 0 {
			return nil, nil, err
		}
		if run, err = only(folder); err != nil {
			continue // killed before its first checkpoint
		}
		if run.Status.Finished {
			return run, kills, nil
		}
		kills = append(kills, float64(run.Status.Generation))
	}
}
