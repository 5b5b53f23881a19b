package session

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/qdnb/internal/progress"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// TrainSeeds trains runs that differ only in their seeds, as [Train] trains each of them. Options i
// belongs to training i. Time limits are for all runs and divided equally; the other limits are for
// each.
//
// Runs of neuroevolution train together, generation by generation, and those at the same generation
// share a program except on XLA:CPU (see [evolution.StepTogether]). A run that is behind catches up
// first. A run's time is that of the generations that it took part in, divided by the runs in each.
// Runs of other algorithms train one after the other.
func TrainSeeds(ctx context.Context, options []Options, trainings []Training) ([]*runs.Run, error) {
	found, g := make([]*runs.Run, len(options)), &group{}
	for i, o := range options {
		o.seeds = len(options)
		if _, together := trainings[i].Family.(evolving); !together {
			var err error
			if found[i], err = Train(ctx, o, trainings[i]); err != nil {
				return nil, err
			}
			continue
		}
		if _, err := xla.Canonical(o.Backend); err != nil {
			return nil, err
		}
		var complete bool
		if found[i], complete = o.finished(); complete {
			continue
		}
		t := &training{Training: trainings[i]}
		t.PaperSteps, o.Quiet = 0, true // the group has a progress bar
		t.session = &session{Options: o, job: t}
		defer t.session.close()
		g.all = append(g.all, t)
	}
	if len(g.all) == 0 {
		return found, nil
	}
	if err := g.train(ctx, options[0].Quiet); err != nil {
		return nil, err
	}
	for i, o := range options {
		var err error
		if found[i], err = runs.Open(o.dir()); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// group is runs that train together.
type group struct {
	all []*training
	bar *progress.Bar

	// all wall-clock and processor time before these is charged to runs
	now time.Time
	cpu float64
}

// train trains all runs to the end of their budgets, and saves checkpoints.
func (g *group) train(ctx context.Context, quiet bool) error {
	g.now = time.Now()
	config := g.all[0].Config
	label := fmt.Sprintf("%s-%s, %d seeds", config.Algorithm, config.Env, len(g.all))
	g.bar = progress.NewBar(label, quiet)
	defer g.bar.Close()
	if slow := slowCompilation(g.all[0].Env); slow != "" && !quiet {
		g.bar.Notice("%s", slow)
	}
	g.bar.Update(0, "compiling")
	sessions := make([]*session, len(g.all))
	for i, t := range g.all {
		t.together, t.notes = len(g.all), g.bar
		sessions[i] = t.session
	}
	if err := open(ctx, sessions...); err != nil {
		return err
	}
	n, compiling := float64(len(g.all)), 0.0
	for _, t := range g.all {
		compiling += t.compileSeconds()
	}
	for _, t := range g.all {
		t.status.Seconds += time.Since(g.now).Seconds() / n
		t.status.CompileSeconds += compiling/n - t.compileSeconds()
	}
	g.now, g.cpu = time.Now(), processorSeconds()
	g.bar.Begin(g.fraction())
	for due := g.due(); len(due) > 0; due = g.due() {
		if err := g.step(due); err != nil {
			return err
		}
		stopped := ctx.Err() != nil
		for _, t := range g.all {
			if stopped || time.Since(t.saved) > t.pause {
				if err := t.save(); err != nil {
					return err
				}
			}
		}
		if stopped {
			g.bar.Done("stopped at " + g.summary()[0] + "; rerun the same command to resume")
			return fmt.Errorf("%w: %d runs in %s are saved at %s; rerun the same command to resume",
				ErrInterrupted, len(g.all), g.all[0].Root, g.summary()[0])
		}
	}
	for _, t := range g.all {
		if err := t.complete(); err != nil {
			return err
		}
	}
	g.bar.Done(strings.Join(g.summary(), "  "))
	return nil
}

// due returns the runs to train next: those at the lowest generation, or one of them if they share
// no program.
func (g *group) due() (due []*training) {
	for _, t := range g.all {
		switch {
		case t.done():
		case len(due) == 0, t.search.Generation() < due[0].search.Generation():
			due = []*training{t}
		case t.search.Generation() == due[0].search.Generation() && evolutionOf(t).Shares():
			due = append(due, t)
		}
	}
	return due
}

func evolutionOf(t *training) *evolution.Search { return t.search.(*evolution.Search) }

// step runs the next generation of runs and records it.
func (g *group) step(due []*training) error {
	searches := make([]*evolution.Search, len(due))
	for i, t := range due {
		searches[i] = evolutionOf(t)
	}
	outcomes, err := evolution.StepTogether(searches...)
	if err != nil {
		return err
	}
	share := 1 / float64(len(due))
	seconds, cpu := time.Since(g.now).Seconds(), processorSeconds()-g.cpu
	g.now, g.cpu = time.Now(), processorSeconds()
	for i, t := range due {
		t.charge(seconds*share, cpu*share)
		from, cpuFrom := t.start, t.session.cpu
		if err := t.record(outcomes[i]); err != nil {
			return err
		}
		g.now, g.cpu = g.now.Add(t.start.Sub(from)), g.cpu+t.session.cpu-cpuFrom // untimed work
	}
	g.bar.Update(g.fraction(), g.summary()...)
	return nil
}

// fraction is the mean of those of the runs.
func (g *group) fraction() (mean float64) {
	for _, t := range g.all {
		mean += t.fraction(t.status.Progress) / float64(len(g.all))
	}
	return mean
}

// summary returns the ranges of the generations and the newest metrics.
func (g *group) summary() []string {
	between := func(format string, of func(runs.Status) float64) string {
		var values []float64
		for _, t := range g.all {
			if t.search.Generation() >= 0 {
				values = append(values, of(t.status))
			}
		}
		low, high := fmt.Sprintf(format, slices.Min(values)), fmt.Sprintf(format, slices.Max(values))
		if low == high {
			return low
		}
		return low + " to " + high
	}
	return []string{
		"generation " + between("%.0f", func(s runs.Status) float64 { return float64(s.Generation) }),
		"max fitness " + between("%.4g", func(s runs.Status) float64 { return s.MaxFitness }),
		"coverage " + between("%.1f", func(s runs.Status) float64 { return s.Coverage }) + " %",
	}
}
