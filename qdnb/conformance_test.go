package qdnb

import (
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/random"
)

// smallRun returns the spec of a run of an algorithm that takes seconds.
func smallRun(algorithm, folder string, generations int) Spec {
	record, known := records.Find(algorithm)
	switch {
	case algorithm == "ppo":
		spec := small(folder, generations)
		spec.Algorithm, spec.Tune = algorithm, runs.Assign("cells=32", "cvt_samples=200", "episode_length=10",
			"num_envs=2", "unroll_length=4", "batch_size=4", "num_minibatches=1", "update_epochs=2",
			"evaluation_envs=2", "policy_hidden=8", "value_hidden=8")
		return spec
	case known && !record.Evolves():
		return smallDiscovery(algorithm, folder, generations)
	}
	return smallOf(algorithm, folder, generations)
}

// What holds for every algorithm, so that a record is all that a new one needs to be tried: it logs the
// columns of its record, finds better solutions than it started with, whose policies can be played, ends
// with the same bytes however it is interrupted or extended, and survives episodes that are not finite.
// TestAlgorithmsHavePages and TestProgramsForAcceleratorsBuild have the same list.
func TestAlgorithms(t *testing.T) {
	for _, algorithm := range Algorithms() {
		of := func(folder string, generations int) Spec {
			spec := smallRun(algorithm, folder, generations)
			if algorithm == "ppo" { // evaluated once in two iterations
				spec.Tune = more(spec.Tune, "episode_length=20", "evaluation_interval=16")
			}
			return spec
		}
		record := records.Of(algorithm)
		budgets := []int{4, 7} // AURORA's loops of two: trained at 0 and 4; the threshold is due after 6
		if !record.Evolves() {
			budgets = []int{5, 33} // the replay buffer wraps around after 30
		}
		t.Run(algorithm, func(t *testing.T) {
			t.Parallel()
			whole := resumes(t, training(of), budgets...)
			table := must.Get(whole.Metrics())
			got := table.Columns[8:]
			if algorithm == "ppo" { // the first are fitness and descriptor
				got = got[2+2*2:]
			}
			if !slices.Equal(got, append(slices.Clone(record.Columns), runs.FinalColumn)) {
				t.Errorf("it logs %v, its record has %v", got, record.Columns)
			}
			score := must.Get(table.Column("qd_score"))
			if !(score[len(score)-1] > score[0]) {
				t.Errorf("the QD scores are %g", score)
			}
			repertoire := must.Get(whole.Repertoire())
			stats := repertoire.Stats()
			if repertoire.Cells() != 32 || stats.Filled == 0 || stats.MaxFitness != whole.Status.MaxFitness {
				t.Errorf("a repertoire of %d cells with %+v; the run says %+v", repertoire.Cells(), stats, whole.Status)
			}
			if played, err := Play(background, whole, PlaySpec{Cells: []int{repertoire.Best()}}); err != nil ||
				len(played.Results) != 1 {
				t.Errorf("replaying its best policy: %v", err)
			}
			if !must.Get(registry.Find(algorithm)).NeedsGradients() { // those solve tasks without episodes
				survives(t, of(t.TempDir(), budgets[0]))
			}
		})
	}
}

// survives trains where rewards, states, observations or ends are not finite: that costs their episodes, not
// the run. They are counted, reach no network, and all losses stay finite. One algorithm of each loop meets one kind after
// the other, the others all of them at once.
func survives(t *testing.T, spec Spec) {
	t.Helper()
	faults := []string{"any"}
	if slices.Contains([]string{"map-elites", "pga-map-elites", "diayn", "ppo"}, spec.Algorithm) {
		faults = []string{"reward", "state", "observation", "done"}
	}
	for _, fault := range faults {
		speed := 2.0
		if strings.Contains(spec.Algorithm, "aurora") { // its episodes start in one state
			speed = 10
		}
		spec.Env, spec.Environment, spec.Runs = "", faulty{plane{"faulty"}, fault, 0.09, speed}, t.TempDir()
		run := train(t, spec)
		if s := run.Status; s.Invalid == 0 || math.IsInf(s.MaxFitness, -1) {
			t.Errorf("%s: %d are invalid, max fitness %g", fault, s.Invalid, s.MaxFitness)
		}
		table := must.Get(run.Metrics())
		invalid := 0.0
		for i, row := range table.Rows {
			if row[len(row)-1] == 0 || row[0] != table.Rows[i-1][0] { // else it repeats the row before
				invalid += row[7]
			}
			for k, x := range row[8:] {
				if i > 0 && (math.IsNaN(x) || math.IsInf(x, 0)) {
					t.Errorf("%s: %s is %g in row %d", fault, table.Columns[8+k], x, i)
				}
			}
		}
		if invalid != float64(run.Status.Invalid) {
			t.Errorf("%s: metrics.csv counts %g, status.json %d", fault, invalid, run.Status.Invalid)
		}
	}
}

// smallOf returns the spec of a run of an algorithm of the family that takes seconds.
func smallOf(algorithm, folder string, generations int) Spec {
	spec := small(folder, generations)
	spec.Algorithm = algorithm
	entry, _ := registry.Find(algorithm) // Train refuses unknown names, which tests of mistakes give
	if entry.Defaults != nil && entry.NeedsGradients() {
		spec.Env, spec.Tune = "sphere", runs.Assign("batch=16", "cells=32", "cvt_samples=500")
	}
	spec.Tune = more(spec.Tune, entry.Smoke...)
	return spec
}

// A policy gradient without offspring still learns.
func TestProposerWithoutOffspring(t *testing.T) {
	spec := smallOf("pga-map-elites", t.TempDir(), 1)
	spec.Name, spec.Tune = "pga-idle", spec.Tune.And(Tune(func(h *evolution.MapElites) {
		h.Mix[0].Of = 0
		h.Mix[1] = evolution.Share{Emitter: evolution.IsoLineEmitter{IsoSigma: 0.5, LineSigma: 0.5}, Of: 1}
	}))
	if table, err := train(t, spec).Metrics(); err != nil || !slices.Contains(table.Columns, "critic_loss") {
		t.Errorf("columns %v: %v", table.Columns, err)
	}
}

// The types below embed a part and forget a method that returns the part.
type (
	ownAdd       struct{ repertoire.Grid }
	ownOffspring struct{ evolution.IsoLineEmitter }
	ownInit      struct{ evolution.IsoLineEmitter }
	ownProposals struct{ evolution.PolicyGradient }
	ownReward    struct{ skills.DIAYN }
	ownLearner   struct{ skills.DIAYN }
)

func (a ownAdd) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	grid, in := a.Grid.Add(found)
	return ownAdd{grid.(repertoire.Grid)}, in
}

func (e ownOffspring) Offspring(p evolution.Parents, _ *Node, keys random.Key) *Node {
	return p.Sample(keys)
}

func (e ownInit) Init(evolution.Start, random.Key) evolution.Emitter { return e }

func (e ownProposals) Init(s evolution.Start, key random.Key) evolution.Emitter {
	return ownProposals{e.PolicyGradient.Init(s, key).(evolution.PolicyGradient)}
}

func (d ownReward) Reward(b skills.Batch) *Node { return Neg(d.DIAYN.Reward(b)) }

func (d ownLearner) Init(p skills.Problem, key random.Key) skills.Diversity {
	return ownLearner{d.DIAYN.Init(p, key).(skills.DIAYN)}
}

// A part that embeds another one and inherits a method that returns the part would be replaced by the
// embedded one: the error names the method to write.
func TestEmbeddedPartsKeepTheirMethods(t *testing.T) {
	diayn := skills.DIAYN{LearningRate: 0.01, Hidden: []int{8}}
	proposing := Tune(func(h *evolution.MapElites) {
		h.Mix = evolution.Mix{{Emitter: ownProposals{h.Mix[0].Emitter.(evolution.PolicyGradient)}, Of: 1}}
	})
	for _, c := range []struct {
		algorithm    string
		own          Tuning
		part, method string
		replacement  string
	}{
		{"map-elites", archiving(ownAdd{}), "qdnb.ownAdd", "Empty", "repertoire.Grid"},
		{"map-elites", emitting(ownOffspring{}), "qdnb.ownOffspring", "Init", "evolution.IsoLineEmitter"},
		{"map-elites", emitting(ownInit{}), "qdnb.ownInit", "Update", "evolution.IsoLineEmitter"},
		{"pga-map-elites", proposing, "qdnb.ownProposals", "Prepare", "evolution.PolicyGradient"},
		{"diayn-reward", skilled(skills.Parts{Diversity: ownReward{diayn}}), "qdnb.ownReward", "Init", "skills.DIAYN"},
		{"diayn-reward", skilled(skills.Parts{Diversity: ownLearner{diayn}}), "qdnb.ownLearner", "Learn", "skills.DIAYN"},
	} {
		spec := smallest(c.algorithm, t.TempDir())
		spec.Name, spec.Budget, spec.Tune = "own", Generations(5), spec.Tune.And(c.own)
		errtest.Want(t, errtest.Of(Train(background, spec)), "it returns "+c.replacement+", not "+c.part,
			"write a method "+c.method+" of "+c.part+" that returns "+c.part)
	}
}
