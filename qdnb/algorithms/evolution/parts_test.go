package evolution

import (
	"math"
	"os"
	"reflect"
	"slices"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// Emitters that cannot share a batch, and parts that cannot work together, are one line before the
// first generation.
func TestPartsThatDoNotFitTogether(t *testing.T) {
	small := honest
	small.Rows = 7
	for want, mix := range map[string]Mix{
		"a replay buffer of 7 transitions is too small for the 8 of a generation": {{small, 1}},
		"share 2 of the emitters needs an emitter and a number from 0 to 1, or Rest once, not evolution.Stateless and 2": {
			{honest, -1}, {noisy, 2}},
		"share 2 of the emitters needs an emitter":              {{noisy, 1}, {nil, 0}},
		"the shares of the emitters must add up to 1, not 0.75": {{honest, 0.5}, {noisy, 0.25}},
		"the shares of the emitters must add up to 1, not 0":    nil,
		"share 2 of the emitters, 0.2 of a batch of 4, is less than one individual: at least 0.25, or 0 to leave it out": {
			{noisy, 0.8}, {StrategySettings{Emitters: 1, Sigma0: 1}.Emitter(), 0.2}},
		"share 3 of the emitters, 1e-09 of a batch": {{noisy, 0.5}, {isoline, 0.5 - 1e-9}, {noisy, 1e-9}},
		"so no other emitter can learn from them":   {{watcher{honest}, 0.5}, {honest, 0.5}},
	} {
		_, err := newSearch(xlatest.Pure(t), unlimited.task(), Parts{Mix: mix}, settings{Batch: 4, Centroids: line(3)})
		errtest.Want(t, err, want)
	}

	maze, sphere := mazeTask(), scoring.NewTask(envs.Sphere(6), nil, 1)
	cma, mome, dcrl := defaultCMAMAE(maze.Env.Spec()), defaultMOME(maze.Env.Spec()), defaultDCRLMapElites(maze.Env.Spec())
	cma.Mix = Mix{{cma.Mix[0].Emitter, 1. / 3}, {isoline, 2. / 3}}
	parts.Change(cma, func(s *StrategySettings) { s.Emitters = 3 })
	parts.Change(dcrl, func(c *td3.Config) {
		c.NumCriticTrainingSteps, c.NumPGTrainingSteps = 1, 1
		c.CriticHidden, c.ReplayBufferSize, c.TransitionsBatchSize = []int{4}, 8000, 4
	})
	mome.Mix = Mix{{dcrl.Mix[0].Emitter, 0.5}, {isoline, 0.5}}
	parts.Change(mome, func(f *repertoire.Fronts) { f.FrontSize = 3 })
	lm := defaultCMAMAE(sphere.Env.Spec())
	parts.Change(lm, func(s *StrategySettings) { s.Strategy, s.Emitters = lmMAESName, 1 })
	few := mazeSettings(0)
	few.Batch, few.Centroids = 8, npz.Of([]float32{0, 0}, 1, 2)
	for want, c := range map[string]struct {
		of       *MapElites
		task     scoring.Task
		settings settings
	}{
		"a share of it, must be a multiple of emitters": {cma, maze, mazeSettings(0)},
		"needs an archive with one solution per cell":   {mome, maze, mazeSettings(0)},
		"not 8 for 6: lower batch":                      {lm, sphere, few},
	} {
		c.of.Batch = c.settings.Batch
		c.of.Resolve(c.task.Env.Spec())
		err := c.of.Check()
		if err == nil {
			_, err = newSearch(xlatest.Pure(t), c.task, c.of.Parts, c.settings)
		}
		errtest.Want(t, err, want)
	}
	s := newLearningSearch(t, xlatest.Pure(t), honest, settings{Batch: 4, Centroids: line(3)})
	arrays := stateOf(t, s)
	arrays["proposing_0.Emitter.Count"] = npz.Of([]float32{1, 2}, 2)
	errtest.Want(t, s.Restore(0, arrays), "the checkpoint's proposing_0.Emitter.Count has shape [2]")
	for _, wrong := range []int{-1, 41} {
		aurora := defaultAurora(maze.Env.Spec())
		parts.Change(aurora, func(a *repertoire.Aurora) { a.Capacity, a.Target = 40, wrong })
		errtest.Want(t, aurora.Check(), "target must be between 0 and 40")
	}
}

// An archive with fewer slots than a slice has policies works on every backend, and only its slots
// limit a slice.
func TestArchiveSmallerThanASlice(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		novelty := func(capacity int) repertoire.Archive {
			return repertoire.DominatedNovelty{Capacity: capacity, K: 1}
		}
		for capacity, want := range map[int]int{30: 12, 7: 7} { // the passive grid has 3 cells
			s := searchOf(t, p, unlimited.task(), Parts{Mix: Mix{{noisy, 1}}, Archive: novelty(capacity)},
				settings{Batch: 12, Slice: 12, Centroids: line(3)})
			steps(t, s, 2)
			cells := floats(t, stateOf(t, s), "passive_fitnesses")
			if s.settings.Slice != want || slices.Max(cells) == float32(math.Inf(-1)) {
				t.Errorf("capacity %d: slices of %d, want %d; cells %v", capacity, s.settings.Slice, want, cells)
			}
		}
		fronts := repertoire.Fronts{FrontSize: 5}
		if s := searchOf(t, p, unlimited.task(), Parts{Mix: Mix{{noisy, 1}}, Archive: fronts},
			settings{Batch: 12, Slice: 12, Centroids: line(3)}); s.settings.Slice != 12 {
			t.Errorf("fronts with 15 slots: slices of %d, want 12", s.settings.Slice)
		}
		small := repertoire.DominatedNovelty{Capacity: 2, K: 1}
		s := searchOf(t, p, unlimited.task(), Parts{Mix: Mix{{noisy, 1}}, Archive: small},
			settings{Batch: 12, Slice: 5, Centroids: line(20)})
		steps(t, s, 2)
		population, cells := floats(t, stateOf(t, s), "fitnesses"), floats(t, stateOf(t, s), "passive_fitnesses")
		empty := float32(math.Inf(-1))
		if len(population) != 2 || slices.Min(population) == empty || slices.Max(cells) == empty {
			t.Errorf("population %v, cells %v", population, cells)
		}
	})
}

// sampled is a population that is measured in every n-th generation.
type sampled struct {
	repertoire.DominatedNovelty
	Every int64
}

func (s sampled) MeasureEvery() int64 { return s.Every }

func (s sampled) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	s.DominatedNovelty = s.DominatedNovelty.Empty(task, key).(repertoire.DominatedNovelty)
	return s
}

func (s sampled) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	after, in := s.DominatedNovelty.Add(found)
	s.DominatedNovelty = after.(repertoire.DominatedNovelty)
	return s, in
}

// The measurement of the end of a budget is that of a run in which it is due, also of a run that
// starts from genotypes, which take several generations.
func TestConcludeMeasuresTheGeneration(t *testing.T) {
	for _, given := range []int{0, 45} {
		task := mazeTask()
		after := func(measureEvery int64) []float32 {
			parts := Parts{Mix: Mix{{isoline, 1}}, Archive: sampled{repertoire.DominatedNovelty{Capacity: 24, K: 3},
				measureEvery}, Initial: make([][]float32, given)}
			for i := range parts.Initial {
				parts.Initial[i] = slices.Repeat([]float32{float32(i) / 100}, task.Policy.Params())
			}
			s := searchOf(t, xlatest.Pure(t), task, parts, mazeSettings(1))
			last := steps(t, s, 3)[2]
			if measureEvery > 2 {
				last = must.Get(s.Conclude())
			}
			return last.Fitnesses
		}
		if got, want := after(100), after(2); !slices.Equal(got, want) {
			t.Errorf("after %d given genotypes the end is measured as %v, want %v", given, got, want)
		}
	}
}

// The population is also reported on the task's cells, and evaluations of the passive
// repertoire are counted: one of each slot in every second generation.
func TestPopulationOnTheCells(t *testing.T) {
	task := mazeTask()
	parts := Parts{Mix: Mix{{isoline, 1}}, Archive: sampled{repertoire.DominatedNovelty{Capacity: 24, K: 3}, 2}}
	s := searchOf(t, xlatest.Pure(t), task, parts, mazeSettings(1))
	outcomes := steps(t, s, 4)
	arrays := stateOf(t, s)
	fitnesses, at := floats(t, arrays, "fitnesses"), floats(t, arrays, "descriptors")
	centroids := must.Get(s.settings.Centroids.Float32s())
	best := map[int]float32{}
	for i, f := range fitnesses {
		cell, nearest := 0, math.Inf(1)
		for c := range len(centroids) / 2 {
			x, y := at[2*i]-centroids[2*c], at[2*i+1]-centroids[2*c+1]
			if d := float64(x*x + y*y); d < nearest {
				cell, nearest = c, d
			}
		}
		if known, ok := best[cell]; !math.IsInf(float64(f), -1) && (!ok || f > known) {
			best[cell] = f
		}
	}
	coverage, score := 100*float64(len(best))/float64(len(centroids)/2), 0.0
	for _, f := range best {
		score += float64(f) + task.QDOffset()
	}
	extra := outcomes[3].Extra
	if extra[3] != coverage || math.Abs(extra[4]-score) > 1e-6*math.Abs(score) {
		t.Errorf("%v are %v, want a coverage of %g and a QD score of %g", s.Columns(), extra, coverage, score)
	}
	for i, passes := range []int{1, 1, 2, 2} {
		if got, want := outcomes[i].Extra[2], float64(passes*24*task.Length); got != want {
			t.Errorf("generation %d: %g steps of evaluations, want %g", i, got, want)
		}
	}
}

// A share of 0 leaves any emitter out, and the first one that makes offspring makes the rest.
func TestSharesOfZero(t *testing.T) {
	run := func(mix Mix) (fitnesses []float32) {
		s := searchOf(t, xlatest.Pure(t), unlimited.task(), Parts{Mix: mix},
			settings{Batch: 10, Slice: 4, Centroids: line(8)})
		for _, o := range steps(t, s, 3) {
			fitnesses = append(fitnesses, o.Fitnesses...)
		}
		return fitnesses
	}
	want := run(Mix{{noisy, 0.55}, {isoline, 0.45}})
	for _, idle := range []Emitter{StrategySettings{Emitters: 5, Sigma0: 1}.Emitter(), isoline, noisy} {
		if got := run(Mix{{noisy, 0.55}, {isoline, 0.45}, {idle, 0}}); !slices.Equal(got, want) {
			t.Errorf("with a share of 0 of %T the run differs", idle)
		}
	}
	for _, mix := range []Mix{{{noisy, 0}, {isoline, 0.35}, {noisy, 0.65}}, {{isoline, 0.35}, {noisy, 0.65}}} {
		all := must.Get(mix.assign(10))
		if len(all) != 2 || all[0].count != 4 || all[1].count != 6 || all[1].first != 4 {
			t.Errorf("%v", all)
		}
	}
}

// A search ends with the same bytes on all workers and on one. On a CPU its archive is in memory
// once, however many workers read it. Searches that are stopped and resumed are compared by package
// qdnb. Without QDNB_LONG only those run that share their work in different ways, since XLA takes
// seconds for each program.
func TestWorkersShareTheWork(t *testing.T) {
	p := xlatest.Best(t)
	if p.Workers == 1 {
		t.Skipf("SKIPPED: %s has one worker", p)
	}
	mega, maega := smallMEGA(envs.Sphere(20).Spec())
	parts.Change(mega, func(s *ArborescenceSettings) { s.GradOpt = adamName })
	gradients := func(h *MapElites) func(p *xla.Platform) *search {
		return func(p *xla.Platform) *search {
			return searchOn(t, p, h, envs.Sphere(20), map[bool]int{true: 5, false: 48}[p.Workers == 1])
		}
	}
	quick := []string{"map-elites", "learner", openAIESName, "one turn"}
	cases := map[string]func(p *xla.Platform) *search{
		"mega": gradients(mega), "maega": gradients(maega),
		"map-elites": func(p *xla.Platform) *search { return startSearch(t, p, mazeTask(), isoline, mazeSettings(4)) },
		"learner": func(p *xla.Platform) *search { // more rows than its buffer has
			return newLearningSearch(t, p, honest, settings{Batch: 12, Slice: 4, Centroids: line(9), Seed: 1})
		},
		"ascii-me": func(p *xla.Platform) *search { // the share of one of two workers is one individual
			return searchOf(t, p, mazeTask(), defaultASCIIME(mazeTask().Env.Spec()).Parts,
				settings{Batch: 4, Slice: 1, Centroids: mazeSettings(0).Centroids, Seed: 3})
		},
		"ppga": func(p *xla.Platform) *search {
			return searchOf(t, p, legs(2).task(), partsOf(smallPPGA(), aims()), mazeSettings(3))
		},
		"aurora-xcon": func(p *xla.Platform) *search { return archiveSearch(t, p, smallXCon()) },
		// If each worker has one slice, a single one runs a loop of several: XLA must not round its
		// physics differently.
		"one turn": func(platform *xla.Platform) *search {
			centroids := npz.Of([]float32{0.1, 0.2, 0.5, 0.6, 0.4, 0.3}, 3, 2)
			return startSearch(t, platform, scoring.NewTask(must.Get(envs.Make("walker-uni")), []int{8, 8}, 20), isoline,
				settings{Batch: 2 * p.Workers, Slice: 2, Seed: 1, Centroids: centroids})
		},
	}
	for _, strategy := range strategyNames {
		cases[strategy] = func(p *xla.Platform) *search { return cmamae(t, p, strategy, 20, 3, 30, 4) }
	}
	for name, start := range cases {
		if os.Getenv("QDNB_LONG") == "" && !slices.Contains(quick, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			generations := map[string]int{"learner": 10, "one turn": 1}[name]
			if generations == 0 {
				generations = 6
			}
			all, one := start(p), start(xlatest.WithWorkers(p, 1))
			steps(t, all, generations)
			steps(t, one, generations)
			if !reflect.DeepEqual(stateOf(t, one), stateOf(t, all)) {
				t.Error("one worker ends with another state")
			}
			if buffer, _ := all.Replay(); buffer != nil {
				_, got := replayOf(t, one)
				if _, want := replayOf(t, all); !slices.Equal(got, want) {
					t.Error("one worker ends with another replay buffer")
				}
			}
			for i, leaf := range all.contents.Leaves() {
				if n := len(leaf.Value()); n != 1 && p.Kind == backend.CPU {
					t.Errorf("tensor %d of the archive is in memory %d times", i, n)
				}
			}
		})
	}
}
