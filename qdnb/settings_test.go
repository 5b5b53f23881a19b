package qdnb

import (
	"bytes"
	"cmp"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/pareto"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/exchange"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
)

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
	if _, err := figures.ParetoFronts(train(t, solving("map-elites", "arm", t.TempDir(), 1))); err == nil {
		t.Error("a figure of fronts of MAP-Elites")
	}
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

// smallPPO takes seconds.
func smallPPO(env envs.Env) *ppo.PPO {
	c := ppo.Default(env.Spec())
	c.NumEnvs, c.UnrollLength, c.BatchSize, c.NumMinibatches, c.UpdateEpochs = 2, 2, 2, 1, 2
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
						t.Errorf("table %d: %s of %s on %s is %v, published is %v", table, row.Setting, method, env,
							got, want)
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

// Table 3 lists the targets that adaptation uses.
func TestPublishedTargets(t *testing.T) {
	targets, rows := catalog.Targets(), paper.MazeTargets().Rows
	if len(rows) != len(targets) {
		t.Fatalf("%d targets, not %d", len(rows), len(targets))
	}
	for i, row := range rows {
		for k := range 2 {
			if got := nb.Must(strconv.ParseFloat(row[1+k].Text,
				64)); got != targets[i][k] || row[0].Text != strconv.Itoa(i) {
				t.Errorf("target %d is %v, not %v", i, row, targets[i])
			}
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
