package qdnb

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/runs"
)

// learns reports whether an algorithm has a learner with a replay buffer.
func learns(algorithm string) bool {
	return strings.Contains(algorithm, "pga") || algorithm == "dcrl-map-elites"
}

// smallOf returns the spec of a run of an algorithm of the family that takes seconds.
func smallOf(algorithm, folder string, generations int) Spec {
	spec := small(folder, generations)
	spec.Algorithm = algorithm
	if learns(algorithm) {
		spec.Tune = more(spec.Tune, "critic_hidden=[8,8]", "replay_buffer_size=1000",
			"num_critic_training_steps=4",
			"num_pg_training_steps=3", "transitions_batch_size=16")
	}
	if strings.Contains(algorithm, "aurora") {
		spec.Tune = more(spec.Tune, "capacity=24", "sampling=5", "loop=2", "epochs=3", "late_epochs=2",
			"training_batch=8", "latent=2", "threshold=0.01")
	}
	if algorithm == "dns" {
		spec.Tune = more(spec.Tune, "capacity=24")
	}
	if algorithm == "mome" {
		spec.Tune = more(spec.Tune, "front_size=3")
	}
	if algorithm == "cma-mae" {
		spec.Tune = more(spec.Tune, "emitters=4")
	}
	return spec
}

// A run that is interrupted after every generation, extended in two steps, or trained in one go
// ends with the same repertoire, to the byte. A learner's replay buffer is restored from disk.
func TestFamilyResumesBitForBit(t *testing.T) {
	for _, algorithm := range []string{"pga-map-elites", "aurora", "pga-aurora", "dns",
		"dcrl-map-elites", "cma-mae", "mome"} {
		t.Run(algorithm, func(t *testing.T) {
			// AURORA's loops of two: trained at 0 and 4, the threshold at 6 is not due, and at 8
			const generations = 7
			whole := train(t, smallOf(algorithm, t.TempDir(), generations))
			folder := t.TempDir()
			for range 3 {
				stopped(t, smallOf(algorithm, folder, generations))
			}
			if run := train(t, smallOf(algorithm, folder, generations)); !bytes.Equal(repertoireBytes(t,
				run), repertoireBytes(t, whole)) {
				t.Error("the interrupted run ends with another repertoire")
			}

			extended := t.TempDir()
			for _, budget := range []int{4, generations} {
				spec := smallOf(algorithm, extended, budget)
				spec.KeepReplay = true
				run := train(t, spec)
				if budget == generations && !bytes.Equal(repertoireBytes(t, run), repertoireBytes(t, whole)) {
					t.Error("the extended run ends with another repertoire")
				}
				kept, _ := filepath.Glob(filepath.Join(run.Dir, "replay", "*"))
				if learns(algorithm) != (len(kept) > 0) {
					t.Errorf("%d segments of a replay buffer are kept", len(kept))
				}
			}
			if dropped, _ := filepath.Glob(filepath.Join(whole.Dir, "replay")); len(dropped) > 0 {
				t.Error("a finished run keeps its replay buffer without KeepReplay")
			}
		})
	}
}

func TestExtensionRefillsTheReplayBuffer(t *testing.T) {
	folder := t.TempDir()
	train(t, smallOf("pga-map-elites", folder, 2))
	var run *runs.Run
	said := stderr(t, func() { run = train(t, smallOf("pga-map-elites", folder, 4)) })
	if want := "refilled with 48 episodes"; !strings.Contains(said, want) || strings.Count(said,
		"\n") != 1 {
		t.Errorf("extending a run whose buffer was deleted prints %q, want %q in one line", said, want)
	}
	if run.Status.Generation != 4 {
		t.Errorf("it ends at generation %d", run.Status.Generation)
	}

	// An extension was killed while it saved the buffer for the first time.
	w := must.Get(runs.Create(folder, run.Config))
	const total, capacity, width = 2000, 1000, 7
	_, _, _, err := w.LoadCheckpoint(nil)
	if err == nil {
		err = w.SaveReplay(total, capacity, width, func(from, to int64) ([]float32, error) {
			return make([]float32, (to-from)*width), nil
		})
	}
	must.Do(errors.Join(err, w.Close()))
	if run = train(t, smallOf("pga-map-elites", folder, 6)); run.Status.Generation != 6 {
		t.Errorf("after a killed extension it ends at generation %d", run.Status.Generation)
	}
}

func TestFamilyIsMeasured(t *testing.T) {
	for algorithm, columns := range map[string][]string{
		"pga-map-elites":  {"critic_loss", "actor_loss"},
		"dcrl-map-elites": {"critic_loss", "actor_loss"},
		"aurora":          {"archive_size", "archive_max_fitness"},
		"dns":             {"archive_size", "archive_max_fitness"},
		"cma-mae":         {},
		"mome":            {"moqd_score", "max_hypervolume", "global_hypervolume", "archive_size"},
		"pga-aurora":      {"critic_loss", "actor_loss", "archive_size", "archive_max_fitness"},
	} {
		run := train(t, smallOf(algorithm, t.TempDir(), 4))
		table := must.Get(run.Metrics())
		if got := table.Columns[8:]; !slices.Equal(got, append(columns, runs.FinalColumn)) {
			t.Errorf("%s logs %v, want %v", algorithm, got, columns)
		}
		repertoire := must.Get(run.Repertoire())
		stats := repertoire.Stats()
		if repertoire.Cells() != 32 || stats.Filled == 0 || stats.MaxFitness != run.Status.MaxFitness {
			t.Errorf("%s: a repertoire of %d cells with %+v; the run says %+v", algorithm,
				repertoire.Cells(), stats, run.Status)
		}
		cell := repertoire.Best()
		if played, err := Play(background, run, PlaySpec{Cells: []int{cell}}); err != nil || len(
			played.Results) != 1 {
			t.Errorf("%s: replaying its best policy: %v", algorithm, err)
		}
	}
}

func TestFamilyMistakesGiveOneLine(t *testing.T) {
	for want, set := range map[string][]string{
		"replay_buffer_size must be at least 320":       {"pga-map-elites", "replay_buffer_size=100"},
		"isoline_share must be at least 0 and below 1":  {"pga-map-elites", "isoline_share=1"},
		"critic_learning_rate must be a number above 0": {"pga-aurora", "critic_learning_rate=0"},
		`did you mean "no_sd"`:                          {"aurora", "observation=no_s"},
		"k must be between 1 and 64, not 0":             {"dns", "k=0"},
		"front_size must be between 1 and 4096, not -1": {"mome", "front_size=-1"},
		"batch must be a multiple of emitters, at least twice as many, not 16 of 5": {"cma-mae",
			"emitters=5"},
		"sigma0 must be above 0":                                          {"cma-mae", "sigma0=0"},
		"archive_learning_rate must be from 0":                            {"cma-mae", "archive_learning_rate=2"},
		"threshold_min must be a number":                                  {"cma-mae", "threshold_min=-1e31"},
		`did you mean "no_improvement"`:                                   {"cma-mae", "restart_rule=no_improvment"},
		`"iso_sigma"`:                                                     {"cma-mae", "iso_sigma=0.1"},
		`did you mean "lm-ma-es"`:                                         {"cma-mae", "strategy=lm-ma"},
		"vectors is a setting of lm-ma-es":                                {"cma-mae", "vectors=3"},
		"adam_l2_coeff are settings of openai-es: set strategy=openai-es": {"cma-mae", "adam_l2_coeff=0"},
		"batch/emitters must be even, not 3":                              {"cma-mae", "strategy=openai-es", "batch=12"},
		"adam_learning_rate must be":                                      {"cma-mae", "strategy=openai-es", "adam_learning_rate=0"},
		"lengthscale must be a number above 0":                            {"dcrl-map-elites", "lengthscale=0"},
		"injection_share must be at least 0 and at most 1 - isoline_share, not 0.6": {"dcrl-map-elites",
			"injection_share=0.6"},
		"sampling must be between 1 and 10, not 15": {"aurora", "sampling=15"},
		"episode_length must be between 2 and":      {"aurora", "episode_length=1", "sampling=1"},
		"threshold must be at least 0":              {"pga-aurora", "threshold=-1"},
		`unknown field "critic_hidden"`:             {"map-elites", "critic_hidden=8"},
	} {
		spec := smallOf(set[0], t.TempDir(), 1)
		spec.Tune = more(spec.Tune, set[1:]...)
		errtest.Want(t, errtest.Of(Train(background, spec)), want)
		if left, _ := os.ReadDir(spec.Runs); len(left) > 0 {
			t.Errorf("%v leaves %v", set, left)
		}
	}
}

// A policy gradient without offspring still learns.
func TestProposerWithoutOffspring(t *testing.T) {
	spec := smallOf("pga-map-elites", t.TempDir(), 1)
	spec.Name, spec.Tune = "pga-idle", spec.Tune.And(Tune(func(h *evolution.PGAMapElites) {
		h.Mix = evolution.Mix{
			{Emitter: evolution.PolicyGradient{PolicyGradientSettings: h.PolicyGradientSettings}, Of: 0},
			{Emitter: evolution.IsoLineEmitter{IsoSigma: 0.5, LineSigma: 0.5}, Of: 1}}
	}))
	if table, err := train(t, spec).Metrics(); err != nil || !slices.Contains(table.Columns, "critic_loss") {
		t.Errorf("columns %v: %v", table.Columns, err)
	}
}

// A variant of PGA-MAP-Elites replaces one of its emitters and keeps the policy gradient.
func TestVariantKeepsTheRest(t *testing.T) {
	spec := smallOf("pga-map-elites", t.TempDir(), 2)
	spec.Name, spec.Tune = "pga-wild", spec.Tune.And(Tune(func(h *evolution.PGAMapElites) {
		h.Mix = evolution.Mix{
			{Emitter: evolution.PolicyGradient{PolicyGradientSettings: h.PolicyGradientSettings}, Of: 0.5},
			{Emitter: evolution.IsoLineEmitter{IsoSigma: 0.5, LineSigma: 0.5}, Of: 0.5}}
	}))
	run := train(t, spec)
	if table, err := run.Metrics(); err != nil || !slices.Contains(table.Columns, "critic_loss") {
		t.Errorf("columns %v: %v", table.Columns, err)
	}
	if run.Config.Algorithm != "pga-wild" {
		t.Errorf("it is called %s", run.Config.Algorithm)
	}
	repertoire := must.Get(run.Repertoire())
	filled := slices.IndexFunc(repertoire.Fitnesses,
		func(f float32) bool { return !math.IsInf(float64(f), -1) })
	if _, err := Play(background, run, PlaySpec{Cells: []int{filled}}); err != nil {
		t.Errorf("a variant's policies cannot be replayed: %v", err)
	}
}
