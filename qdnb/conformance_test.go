package qdnb

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/pareto"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/exchange"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla/nn"
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
			errtest.Equal(t, "columns", got, append(slices.Clone(record.Columns), runs.FinalColumn))
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
		errtest.Equal(t, fault+": invalid evaluations in metrics.csv", invalid, float64(run.Status.Invalid))
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

// smallDiscovery returns the spec of a run of a reinforcement-learning algorithm that takes seconds.
func smallDiscovery(algorithm, folder string, iterations int) Spec {
	spec := small(folder, iterations)
	spec.Algorithm = algorithm
	spec.Tune = runs.Assign("env_batch_size=6", "grad_updates_per_step=0.5", "batch_size=16",
		"replay_buffer_size=180", "hidden=[8,8]", "learning_rate=0.01",
		"cells=32", "cvt_samples=500", "episode_length=20", "evaluation_states=2",
		"evaluation_interval=30", "early_interval=12", "warmup_steps=0")
	if algorithm == "sac" {
		return spec
	}
	spec.Tune = more(spec.Tune, "num_skills=3", "diversity_hidden=[8]")
	if strings.Contains(algorithm, "smerl") {
		spec.Tune = more(spec.Tune, "smerl_target=-20", "smerl_margin=2")
	}
	return spec
}

// Skills are evaluated when they should be, and leave the expected files.
func TestSkillsAreMeasured(t *testing.T) {
	for algorithm, count := range map[string]int{"diayn": 3, "sac": 0} {
		run, episodes := train(t, smallDiscovery(algorithm, t.TempDir(), 11)), 2*max(1, count)
		table := must.Get(run.Metrics())
		// Measured at the start, every 12 steps before step 30, and then every 30 steps, in
		// iterations of 6 steps. The end is measured, too, which counts as no evaluation, but in its steps.
		var got, want [][3]float64
		for _, row := range table.Rows {
			got = append(got, [3]float64(row[:3]))
		}
		for i, generation := range []float64{0, 2, 4, 5, 10} {
			want = append(want, [3]float64{generation, float64((i + 1) * episodes), 6 * generation})
		}
		want = append(want, [3]float64{11, float64(5 * episodes), 66})
		errtest.Equal(t, "generations, evaluations and steps", got, want)
		for i, row := range table.Rows {
			errtest.Equal(t, algorithm+": steps of evaluations", row[len(row)-2], 20*(row[1]+row[len(row)-1]*float64(episodes)))
			for k, x := range row[8 : len(row)-2] {
				errtest.Equal(t, fmt.Sprintf("%s: %s is NaN in row %d", algorithm, table.Columns[8+k], i), math.IsNaN(x), i == 0)
			}
		}
		left := must.Get(run.Skills())
		if left.Count != count || len(left.Fitnesses) != episodes || len(left.Descriptors) != 2*episodes ||
			len(left.Trajectories) != 2*20*episodes || (len(left.Extra) == 0) != (algorithm == "sac") {
			t.Errorf("%s leaves %d skills of %d episodes, %d descriptors, %d positions and %d other arrays", algorithm,
				left.Count, len(left.Fitnesses), len(left.Descriptors), len(left.Trajectories), len(left.Extra))
		}
		for i, which := range left.Which {
			errtest.Equal(t, "skill of an episode", which, i%max(1, count))
		}
		errtest.Equal(t, "parameters", must.Get(run.Repertoire()).Params, left.Params())
	}
}

// Replacing one part turns an algorithm into another, to the byte, although the part is one of the user then: the
// diversity reward of DIAYN on pointmaze, where DADS clips no position, an objective, and an archive.
func TestPartsMakeAlgorithms(t *testing.T) {
	aurora := must.Get(must.Get(registry.Find("aurora")).Tuned(envs.Pointmaze{}.Spec(), smallOf("aurora", "", 8).Tune))
	plain := map[string]*runs.Run{}
	for _, c := range []struct {
		algorithm string
		part      Tuning
		want      string
		same      bool
	}{
		{"diayn-reward", nil, "diayn-reward", true},
		{"dads-reward", skilled(skills.Parts{Diversity: skills.DIAYN{LearningRate: 0.01, Hidden: []int{8}}}), "diayn-reward",
			true},
		{"diayn", skilled(skills.Parts{Objective: skills.PlusReward{Scale: 2}}), "diayn-reward", true}, // as published
		{"diayn", nil, "diayn-reward", false}, // else the test proves nothing
		{"aurora", nil, "aurora", true},
		{"map-elites", archiving(aurora.(*evolution.MapElites).Archive), "aurora", true},
	} {
		spec := smallRun(c.algorithm, t.TempDir(), 8)
		if c.part != nil {
			spec.Name, spec.Tune = "mine", spec.Tune.And(c.part)
		}
		run := train(t, spec)
		if plain[c.want] == nil {
			plain[c.want] = run
		}
		same := bytes.Equal(finished(t, run), finished(t, plain[c.want]))
		errtest.Equal(t, fmt.Sprintf("%s is %s", run.Name(), c.want), same, c.same)
		if c.part != nil && (run.Config.Algorithm != "mine" || !strings.HasPrefix(run.Name(), "mine-pointmaze-1-")) {
			t.Errorf("it is called %s", run.Name())
		}
	}
}

// METRA and CSF have their authors' skills for each robot, 50 updates for eight episodes of 200 steps, and
// none before there are 10 000 transitions.
func TestPublishedSettingsOfLaterSkills(t *testing.T) {
	type settings struct {
		Skills     int     `json:"num_skills"`
		Components int     `json:"continuous_skills"`
		Updates    float64 `json:"grad_updates_per_step"`
		Warmup     int     `json:"warmup_steps"`
		Rate       float64 `json:"learning_rate"`
	}
	for env, components := range map[string]int{"ant-uni": 2, "ant-omni": 2, "humanoid-omni": 2, "halfcheetah-uni": 0} {
		for algorithm, components := range map[string]int{"metra": components, "csf": 2} {
			config := must.Get(Spec{Algorithm: algorithm, Env: env}.Config())
			var got settings
			must.Do(json.Unmarshal(config.Hyperparameters, &got))
			if math.Abs(got.Updates/(50./1600)-1) > 0.05 {
				t.Errorf("%s on %s makes %g updates for each transition", algorithm, env, got.Updates)
			}
			got.Updates = 0
			errtest.Equal(t, fmt.Sprintf("%s on %s", algorithm, env), got, (settings{16, components, 0, 10_000, 1e-4}))
		}
	}
}

// reporting is an emitter that copies parents and reports a number.
type reporting struct {
	name  string
	value func(evolution.Generation) *Node
}

func (r reporting) Init(evolution.Start, random.Key) evolution.Emitter { return r }

func (r reporting) Offspring(p evolution.Parents, _ *Node, keys random.Key) *Node {
	return p.Sample(keys)
}

func (r reporting) Update(g evolution.Generation, _ random.Key) (evolution.Emitter, []evolution.Metric) {
	return r, []evolution.Metric{{Name: r.name, Value: r.value(g)}}
}

// unnamed is a ball whose loss has no name.
type unnamed struct{ Ball Ball }

func (u unnamed) Condition(p skills.Problem) skills.Problem { return u.Ball.Condition(p) }

func (u unnamed) Init(p skills.Problem, key random.Key) skills.Diversity {
	return unnamed{u.Ball.Init(p, key).(Ball)}
}

func (u unnamed) Reward(of skills.Batch) *Node { return u.Ball.Reward(of) }

func (u unnamed) Learn(of skills.Batch) (skills.Diversity, *Node) {
	after, loss := u.Ball.Learn(of)
	return unnamed{after.(Ball)}, loss
}

func (unnamed) Loss() string { return "" }

// Whatever parts and environments call their metrics, each has a column.
func TestMetricsHaveColumnsOfTheirOwn(t *testing.T) {
	own := func(spec Spec) (*runs.Table, []string) {
		t.Helper()
		spec.TensorBoard = true
		table := must.Get(train(t, spec).Metrics())
		return table, table.Columns[len(session.Columns) : len(table.Columns)-1]
	}
	spec := small(t.TempDir(), 2)
	mix := evolution.Mix{}
	reported := []string{"loss", "loss", "final", "seconds", "", "a, b", "损失", "loss"}
	for i, name := range reported {
		number := func(g evolution.Generation) *Node { return ConstAs(ReduceAllSum(g.Found.Fitness), float64(i)) }
		mix = append(mix, evolution.Share{Emitter: reporting{name, number}, Of: 0.125})
	}
	spec.Name, spec.Tune = "reporting", spec.Tune.And(Tune(func(h *evolution.MapElites) { h.Mix = mix }))
	table, names := own(spec)
	want := []string{"loss", "loss_2", "final_2", "seconds_2", "column", "a__b", "损失", "loss_3"}
	errtest.Equal(t, fmt.Sprintf("the losses %q have the columns", reported), names, want)
	for i, name := range names {
		column := must.Get(table.Column(name))
		if slices.ContainsFunc(column, func(x float64) bool { return x != float64(i) }) {
			t.Errorf("column %s is %v, want %d", name, column, i)
		}
	}

	spec = smallOf("pga-map-elites", t.TempDir(), 2)
	spec.Name, spec.Tune = "two", spec.Tune.And(Tune(func(h *evolution.MapElites) {
		h.Mix[0].Of, h.Mix[1] = 0.5, evolution.Share{Emitter: h.Mix[0].Emitter, Of: 0.5}
	}))
	want = []string{"critic_loss", "actor_loss", "critic_loss_2", "actor_loss_2"}
	if _, names := own(spec); !slices.Equal(names, want) {
		t.Errorf("two policy gradients have the columns %q", names)
	}

	spec = smallDiscovery("diayn", t.TempDir(), 2)
	silent := skills.Parts{Diversity: unnamed{Ball{Weight: 10, LearningRate: 0.01}}}
	spec.Name, spec.Tune = "unnamed", spec.Tune.And(skilled(silent))
	if _, names := own(spec); !slices.Contains(names, "diversity_loss") {
		t.Errorf("a loss without a name is missing in %q", names)
	}

	for _, c := range [][]string{{"+x", "-x", "x", "x_2"}, {"fitness", "+", "fitness_2", "column"},
		{"高度", "Ångström (m) 2", "高度", "ångström_m_2"}} {
		env := altered{plane{"tilted"}, func(spec *envs.Spec) { spec.Descriptor.Components = c[:2] }, nil}
		spec := Spec{Environment: env, Loop: smallPPO(env), Name: "own-ppo", Runs: t.TempDir(), Backend: "go",
			Quiet: true, Budget: Generations(1)}
		want := []string{"fitness_mean", "fitness_std", c[2] + "_mean", c[2] + "_max", c[3] + "_mean", c[3] + "_max",
			"policy_loss", "value_loss", "entropy", "evaluation_steps"}
		if _, names := own(spec); !slices.Equal(names, want) {
			t.Errorf("components %q have the columns %q, want %q", c[:2], names, want)
		}
	}
}

// A run with fixed starts, or with weights of bfloat16, has other scores than one without. Fresh starts are the default,
// which a configuration does not name. Rounded weights are those that are played and exported.
func TestStartsAndWeights(t *testing.T) {
	folder := t.TempDir()
	with := func(setting string) *runs.Run {
		spec := smallOf("pga-map-elites", folder, 3)
		spec.Tune = more(spec.Tune, setting)
		return train(t, spec)
	}
	plain, rounded := with("starts=fresh"), with("weights=bfloat16")
	for _, usual := range []string{"weights=float32", "batch=16"} {
		errtest.Equal(t, usual, with(usual).Name(), plain.Name())
	}
	for _, run := range []*runs.Run{rounded, with("starts=3")} {
		if run.Name() == plain.Name() || bytes.Equal(repertoireBytes(t, run), repertoireBytes(t, plain)) {
			t.Errorf("%s and %s have the same repertoire", run.Name(), plain.Name())
		}
	}
	set := nb.Must(policies.Select(rounded, nil, nil))
	errtest.Equal(t, "weights of what is played", nb.Must(set.Task(envs.Pointmaze{})).Weights, "bfloat16")
	file := filepath.Join(t.TempDir(), "policy.npz")
	nb.Must(exchange.Export(rounded, exchange.ExportSpec{Out: file}))
	for _, w := range nb.Must(npz.Read(file))["layer_0.kernel"].Data.([]float32) {
		if math.Float32bits(w)&0xffff != 0 {
			t.Fatalf("the weight %g is exported, which is not a bfloat16", w)
		}
	}
	for _, wrong := range []string{"0", "-1", "many", "1.5", "1048577"} {
		spec := smallOf("pga-map-elites", folder, 3)
		spec.Tune = more(spec.Tune, "starts="+wrong)
		errtest.Want(t, errtest.Of(Train(background, spec)), "starts")
	}
	for _, algorithm := range []string{"aurora", "pga-aurora"} {
		spec := smallOf(algorithm, folder, 3)
		spec.Tune = more(spec.Tune, "starts=3")
		errtest.Want(t, errtest.Of(Train(background, spec)), "the same initial state")
	}
}

// The file of a run with two objectives has the fronts, none of whose solutions
// dominates another one, and the fittest of each; metrics.csv has their hypervolumes.
func TestFronts(t *testing.T) {
	spec := solving("mome", "rastrigin-multi", t.TempDir(), 6)
	spec.Tune = more(spec.Tune, "front_size=4", "iso_sigma=0.05", "line_sigma=0.5")
	run := train(t, spec)
	r := must.Get(run.Repertoire())
	fronts, score, solutions := r.Fronts(), 0.0, 0
	if len(fronts) != 32 || r.Cells() != 32 {
		t.Fatalf("%d fronts, %d cells", len(fronts), r.Cells())
	}
	for cell, front := range fronts {
		best := math.Inf(-1)
		for _, s := range front {
			best = max(best, s[0]+s[1])
		}
		if got := float64(r.Fitnesses[cell]); math.Abs(got-best) > 0.01 {
			t.Errorf("cell %d shows the fitness %g, its front has %v", cell, got, front)
		}
		if len(pareto.Front(front)) != len(front) || len(front) > 4 {
			t.Errorf("cell %d has the front %v", cell, front)
		}
		score, solutions = score+pareto.Hypervolume(front, r.ReferencePoint()), solutions+len(front)
	}
	table := must.Get(run.Metrics())
	last := table.Rows[len(table.Rows)-1]
	if got := last[8]; math.Abs(got-score) > 1e-6*score || last[11] != float64(solutions) || solutions <= 32 {
		t.Errorf("moqd_score %g of %g solutions, want %g of %d", got, last[11], score, solutions)
	}
	for _, draw := range []func(*runs.Run) (*figures.Panel, error){
		figures.Hypervolumes, figures.ParetoFronts} {
		must.Get(draw(run))
	}
	errtest.Want(t, errtest.Of(figures.ParetoFronts(train(t, solving("map-elites", "arm", t.TempDir(), 1)))))
}

// With one objective the MOQD score is the QD score.
func TestFrontsOfOneObjective(t *testing.T) {
	spec := solving("mome", "sphere", t.TempDir(), 4)
	spec.Tune = more(spec.Tune, "front_size=2", "iso_sigma=0.1")
	table := must.Get(train(t, spec).Metrics())
	for _, row := range table.Rows {
		if math.Abs(row[6]-row[8]) > 1e-4*row[6] {
			t.Errorf("generation %g: QD score %g, MOQD score %g", row[0], row[6], row[8])
		}
	}
}

// smallPPO takes seconds. Its sequences have one step.
func smallPPO(env envs.Env) *ppo.PPO {
	c := ppo.Default(env.Spec())
	c.NumEnvs, c.UnrollLength, c.BatchSize, c.NumMinibatches, c.UpdateEpochs = 2, 1, 2, 1, 2
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

// The paper's tables of hyperparameters match those of the algorithms.
func TestPublishedHyperparametersAreTheDefaults(t *testing.T) {
	envs := protocol.Environments()
	covered := map[string]bool{}
	for _, table := range []int{4, 5, 6, 7} {
		rows, methods := paper.Hyperparameters(table)
		if len(rows) < 5 {
			t.Errorf("table %d has %d rows", table, len(rows))
		}
		for _, method := range methods {
			covered[method] = true
			for _, env := range envs {
				config := nb.Must(Spec{Algorithm: method, Env: env}.Config())
				var settings map[string]any
				nb.Check(json.Unmarshal(config.Hyperparameters, &settings))
				for _, row := range rows {
					if len(row.Only) > 0 && !slices.Contains(row.Only, method) {
						if got, ok := settings[row.Setting]; ok && table == 4 {
							t.Errorf("table %d: %s has %s, %v, too", table, method, row.Setting, got)
						}
						continue
					}
					var want any
					must.Do(json.Unmarshal([]byte(cmp.Or(row.Here, row.Values[env], row.Value)), &want))
					if got, ok := settings[row.Setting]; !ok || !reflect.DeepEqual(got, want) {
						t.Errorf("table %d: %s of %s on %s is %v, published is %v", table, row.Setting, method, env, got, want)
					}
				}
			}
		}
	}
	for _, method := range append(records.Compared(), records.Names(records.Unrewarded)...) {
		if !covered[method] {
			t.Errorf("no table has the hyperparameters of %s", method)
		}
	}
}

// The paper's results are all of known methods, and the catalogue has the facts of the environments.
func TestProtocolIsThatOfTheProgram(t *testing.T) {
	methods := slices.Concat(records.Compared(), records.Names(records.Unrewarded), []string{"sac"})
	for _, table := range []int{1, 8, 9, 10, 11} {
		for _, p := range paper.Published(table) {
			if methods = append(methods, p.Method); p.Metric != results.EnvSteps {
				must.Get(envs.Make(p.Env))
			}
		}
	}
	for _, name := range methods {
		if !slices.Contains(Algorithms(), name) {
			t.Errorf("there is no algorithm %s", name)
		}
	}
	for _, task := range catalog.Tasks() {
		spec := nb.Must(envs.Make(task.Name)).Spec()
		// these follow from the model
		spec.Zero, spec.ObservationComponents, spec.ActionComponents = nil, task.ObservationComponents, task.ActionComponents
		errtest.Equal(t, task.Name, spec, task.Spec)
	}
}
