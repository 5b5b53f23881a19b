package qdnb

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/random"
)

// finished returns the final repertoire and skills of a run.
func finished(t *testing.T, run *runs.Run) []byte {
	t.Helper()
	data := repertoireBytes(t, run)
	if run.HasSkills() {
		data = append(data, must.Get(os.ReadFile(filepath.Join(run.Dir, "skills.npz")))...)
	}
	return data
}

// ending returns all that a finished run computed: its results, its metrics without seconds, and the arrays of its
// newest checkpoint.
func ending(t *testing.T, run *runs.Run) map[string]string {
	t.Helper()
	w := must.Get(runs.Create(filepath.Dir(run.Dir), run.Config))
	defer w.Close()
	var status runs.Status
	from := must.Get(w.LoadCheckpoint(&status))
	errtest.Equal(t, run.Dir, from.Generation, status.Generation)
	found := map[string]string{}
	for name, array := range from.Arrays {
		found[name] = fmt.Sprintf("%v %x", array.Shape, array.Data) // as text, in which NaN is equal to itself
	}
	table := must.Get(run.Metrics())
	for i, row := range table.Rows {
		if at := slices.Index(table.Columns, "seconds"); at >= 0 {
			row[at] = 0
		}
		found[fmt.Sprint("row ", i)] = fmt.Sprint(row)
	}
	for _, name := range []string{"repertoire.npz", "skills.npz"} {
		data, _ := os.ReadFile(filepath.Join(run.Dir, name))
		found[name] = string(data)
	}
	return found
}

// sameEnd checks that two runs end with the same bytes.
func sameEnd(t *testing.T, what string, got, want *runs.Run) {
	t.Helper()
	a, b := ending(t, got), ending(t, want)
	for name := range b {
		errtest.Equal(t, fmt.Sprintf("%s ends with another %s", what, name), a[name], b[name])
	}
	errtest.Equal(t, what, len(a), len(b))
	if s, want := got.Status, want.Status; s.Evaluations != want.Evaluations || s.EnvSteps != want.EnvSteps ||
		s.MaxFitness != want.MaxFitness || len(s.Machines) != 1 || s.Seconds < s.CompileSeconds {
		t.Errorf("%s ends with %+v, want %+v", what, s, want)
	}
}

// trainee trains the run of a folder to a number of generations.
type trainee func(ctx context.Context, folder string, generations int, keepReplay bool) (*runs.Run, error)

// training is the trainee of a Spec.
func training(of func(folder string, generations int) Spec) trainee {
	return func(ctx context.Context, folder string, generations int, keepReplay bool) (*runs.Run, error) {
		spec := of(folder, generations)
		spec.KeepReplay = keepReplay
		return Train(ctx, spec)
	}
}

// resumes checks that runs which are interrupted after every generation, extended, or trained in one go end with the
// same bytes, and returns the last one.
func resumes(t *testing.T, train trainee, budgets ...int) *runs.Run {
	t.Helper()
	last, folder := budgets[len(budgets)-1], t.TempDir()
	whole := must.Get(train(background, t.TempDir(), last, false))
	stopped, cancel := context.WithCancel(background)
	cancel()
	for range 2 {
		if _, err := train(stopped, folder, last, false); !errors.Is(err, ErrInterrupted) ||
			!strings.Contains(err.Error(), "rerun the same command to resume") {
			t.Fatalf("a stopped run: %v", err)
		}
	}
	sameEnd(t, "the interrupted run", must.Get(train(background, folder, last, false)), whole)
	replay := func(run *runs.Run) int { return len(must.Get(filepath.Glob(filepath.Join(run.Dir, "replay", "*")))) }
	extended := t.TempDir()
	for _, budget := range budgets {
		run := must.Get(train(background, extended, budget, true))
		if budget == last {
			sameEnd(t, "the extended run", run, whole)
		}
		record, _ := records.Find(cmp.Or(run.Status.Base, run.Config.Algorithm)) // loops have none
		critic := run.HasSkills() || slices.Contains(record.Columns, "critic_loss")
		if critic && replay(run) == 0 || replay(whole) > 0 {
			t.Errorf("%d files of the replay buffer are kept, and %d without KeepReplay", replay(run), replay(whole))
		}
	}
	return whole
}

// An interrupted run can be played once a budget that it has reached ends it.
func TestInterruptedRunsEndWhereTheyAre(t *testing.T) {
	t.Parallel()
	spec := small(t.TempDir(), 5)
	for range 2 { // the first one saves the initial population
		stopped(t, spec)
	}
	run := must.Get(runs.LoadFrom(spec.Runs, "map-elites"))
	errtest.Want(t, errtest.Of(Play(background, run, PlaySpec{Backend: "go"})), "--generations 1 ", "qdnb.Generations(1)")
	spec.Budget = Generations(1)
	must.Get(Play(background, must.Get(Train(background, spec)), PlaySpec{Backend: "go"}))
}

// Settings, backends, parts and other kinds of runs that change what a checkpoint holds resume like the algorithms
// themselves, see TestAlgorithms.
func TestVariantsResumeBitForBit(t *testing.T) {
	family := func(algorithm, backend string, set ...string) trainee {
		return training(func(folder string, generations int) Spec {
			spec := smallRun(algorithm, folder, generations)
			spec.Tune, spec.Backend = more(spec.Tune, set...), backend
			return spec
		})
	}
	led := cheetahs(t, t.TempDir(), "map-elites")
	evolved, discovered := []int{4, 7}, []int{5, 33} // the replay buffer wraps around after 30
	for name, c := range map[string]struct {
		budgets []int
		train   trainee
	}{
		"bfloat16": {evolved, family("map-elites", device(), "weights=bfloat16")}, // on XLA, if it is installed
		"starts":   {evolved, family("pga-map-elites", "go", "starts=3")},
		"fronts": {evolved, training(func(folder string, generations int) Spec {
			spec := solving("mome", "rastrigin-multi", folder, generations)
			spec.Tune = more(spec.Tune, "front_size=4", "iso_sigma=0.05", "line_sigma=0.5")
			return spec
		})},
		"continuous": {discovered, family("metra", "go", "continuous_skills=2")},
		"entropy":    {discovered, family("sac", "go", "fix_alpha=false")},
		"ball": {discovered, training(func(folder string, iterations int) Spec {
			spec := smallDiscovery("diayn-reward", folder, iterations)
			spec.Name = "ball"
			spec.Tune = spec.Tune.And(skilled(skills.Parts{Diversity: Ball{Weight: 10, LearningRate: 0.01}}))
			return spec
		})},
		"skills as actions": {evolved, training(func(folder string, iterations int) Spec {
			return Spec{Environment: mazeSkills(1), Loop: smallPPO(envs.Pointmaze{}), Name: "ppo-test", Runs: folder, Backend: "go",
				Quiet: true, Budget: Generations(iterations)}
		})},
		"control": {[]int{2, 4}, func(ctx context.Context, folder string, iterations int, _ bool) (*runs.Run, error) {
			spec := smallControl(led, folder, iterations)
			spec.Tune = more(spec.Tune, "evaluation_interval=3") // not at the end of either budget
			return Control(ctx, spec)
		}},
		"adaptation": {[]int{3}, func(ctx context.Context, folder string, _ int, _ bool) (*runs.Run, error) {
			return Adapt(ctx, AdaptSpec{Backend: "go", Skills: walkers(t, folder, "map-elites"),
				Perturbation: envs.GravityMultiplier,
				Values:       [][]float64{{0.5}, {1}, {3}}, Episodes: 2, Runs: folder, Quiet: true})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resumes(t, c.train, c.budgets...)
		})
	}
}

// A run that lacks what its training needs, or whose files are damaged, does not start again over its results, and a
// finished run without its repertoire is not complete: one line says what is missing, and no file changes. Trained
// afresh, it is set aside. A finished learner can be extended only with its whole replay buffer.
func TestRunsThatCannotResume(t *testing.T) {
	whole, pga := train(t, small(t.TempDir(), 2)), train(t, smallOf("pga-map-elites", t.TempDir(), 2))
	sac, half := train(t, smallDiscovery("sac", t.TempDir(), 11)), small(t.TempDir(), 40)
	stopped(t, half)
	unfinished := must.Get(filepath.Glob(filepath.Join(half.Runs, "*")))[0]
	each := func(pattern string, do func(path string)) func(dir string) {
		return func(dir string) {
			paths := must.Get(filepath.Glob(filepath.Join(dir, pattern)))
			for _, path := range paths {
				do(path)
			}
			errtest.Equal(t, pattern+" is there", len(paths) > 0, true)
		}
	}
	remove := func(pattern string) func(string) {
		return each(pattern, func(path string) { must.Do(os.RemoveAll(path)) })
	}
	flip := func(pattern string) func(string) {
		return each(pattern, func(path string) {
			data := must.Get(os.ReadFile(path))
			data[len(data)/3] ^= 1
			must.Do(os.WriteFile(path, data, 0o666))
		})
	}
	cut := func(pattern string, share float64) func(string) {
		return each(pattern, func(path string) {
			must.Do(os.Truncate(path, int64(share*float64(must.Get(os.Stat(path)).Size()))))
		})
	}
	partOfBuffer := func(dir string) { // as a process leaves that is killed while it deletes the buffer
		must.Do(os.MkdirAll(filepath.Join(dir, "replay"), 0o777))
		must.Do(os.WriteFile(filepath.Join(dir, "replay", "000000000000-000000000001.npz"), nil, 0o666))
	}
	kill := func(dir string) { // an extension
		w := must.Get(runs.Create(filepath.Dir(dir), whole.Config))
		s := w.Status
		s.Finished = false
		must.Do(errors.Join(w.SaveStatus(s), w.Close()))
	}
	const state, damaged, lost = "checkpoints/state-*.npz", "state-000000002.npz is damaged (", "no checkpoint to resume from"
	longer, again := small("", 3), small("", 2)
	for i, c := range []struct {
		from string
		spec Spec
		want string
		harm []func(dir string)
	}{
		{whole.Dir, longer, lost, []func(string){remove("checkpoints")}},
		{whole.Dir, longer, damaged, []func(string){flip(state)}},
		{whole.Dir, longer, damaged, []func(string){flip("repertoire.npz")}}, // with the genotypes
		{whole.Dir, longer, damaged, []func(string){remove("repertoire.npz")}},
		{whole.Dir, longer, damaged, []func(string){remove("status.json"), flip(state)}},
		{whole.Dir, longer, damaged, []func(string){kill, flip(state)}},
		{whole.Dir, longer, "has a checkpoint, but no valid metrics.csv", []func(string){remove("metrics.csv")}},
		{whole.Dir, longer, "has a checkpoint, but no valid metrics.csv", []func(string){cut("metrics.csv", 0.9)}},
		{whole.Dir, again, "lacks its repertoire.npz", []func(string){remove("repertoire.npz")}},
		{whole.Dir, again, "its repertoire.npz is damaged (", []func(string){cut("repertoire.npz", 0.9)}},
		{whole.Dir, again, "its metrics.csv is damaged (", []func(string){cut("metrics.csv", 0.1)}},
		{whole.Dir, again, "its metrics.csv is damaged (it lacks rows up to generation 2)",
			[]func(string){cut("metrics.csv", 0.9)}},
		{sac.Dir, smallDiscovery("sac", "", 11), "its skills.npz is damaged (", []func(string){cut("skills.npz", 0.5)}},
		{unfinished, half, "generations and ", []func(string){remove(state)}},
		{unfinished, half, "but it has " + lost, []func(string){remove("checkpoints")}},
		{unfinished, half, "has been trained, but it has " + lost, []func(string){remove("status.json"), remove("checkpoints")}},
		{unfinished, half, "is damaged (", []func(string){flip(state)}},
		{pga.Dir, smallOf("pga-map-elites", "", 4), "its replay buffer was not kept", nil},
		{pga.Dir, smallOf("pga-map-elites", "", 4), "its replay buffer was not kept", []func(string){partOfBuffer}},
		{sac.Dir, smallDiscovery("sac", "", 14), "its replay buffer was not kept", nil},
		{sac.Dir, smallDiscovery("sac", "", 14), "its replay buffer was not kept", []func(string){partOfBuffer}},
	} {
		c.spec.Runs = t.TempDir()
		dir := filepath.Join(c.spec.Runs, filepath.Base(c.from))
		must.Do(os.CopyFS(dir, os.DirFS(c.from)))
		for _, harm := range c.harm {
			harm(dir)
		}
		before, advice := contents(t, dir), "--fresh (Spec.Fresh) sets the run aside"
		if strings.Contains(c.want, "replay") {
			advice = "--fresh (Spec.Fresh) trains it again, and --keep-replay"
		}
		said := stderr(t, func() { errtest.Want(t, errtest.Of(Train(background, c.spec)), dir, c.want, advice) })
		if same := maps.Equal(before, contents(t, dir)); said != "" || !same {
			t.Errorf("case %d: it says %q, and the files are unchanged: %v", i, said, same)
		}
		c.spec.Fresh = true
		train(t, c.spec)
	}
}

// contents returns the files below a folder, except the lock.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must.Do(filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != "lock" {
			files[path] = string(must.Get(os.ReadFile(path)))
		}
		return err
	}))
	return files
}

// fixtureEnv makes [TestFolderOfThisVersion] write its folder again, after a change of a format that is intended.
const fixtureEnv = "QDNB_FIXTURE"

// A run that an earlier build wrote stays readable. It has every kind of file: its Spec finds it, what is read agrees,
// its skills are played, and it trains on from its checkpoint and its replay buffer.
func TestFolderOfThisVersion(t *testing.T) {
	const stored, iterations = "testdata/folder", 4
	of := func(folder string, iterations int) Spec {
		spec := smallDiscovery("diayn-reward", folder, iterations)
		spec.Tune = more(spec.Tune, "hidden=[2]", "diversity_hidden=[2]", "cells=8")
		spec.KeepReplay, spec.Corrected = true, 2
		return spec
	}
	if os.Getenv(fixtureEnv) != "" {
		must.Do(os.RemoveAll(stored))
		must.Do(os.Remove(filepath.Join(train(t, of(stored, iterations)).Dir, "lock")))
	}
	root := t.TempDir()
	must.Do(os.CopyFS(root, os.DirFS(stored)))
	run, err := Load(of(root, iterations))
	if err != nil {
		t.Fatalf("no run of this Spec, whose name has changed: %v", err)
	}
	repertoire, skills, table := must.Get(run.Repertoire()), must.Get(run.Skills()), must.Get(run.Metrics())
	stats, last := repertoire.Stats(), table.Rows[len(table.Rows)-1]
	for column, want := range map[string]float64{"generation": iterations, "max_fitness": stats.MaxFitness,
		"coverage": stats.Coverage, "qd_score": stats.QDScore} {
		errtest.Equal(t, column, must.Get(table.Column(column))[len(table.Rows)-1], want)
	}
	errtest.Equal(t, "status", [3]float64{run.Status.MaxFitness, run.Status.Coverage, run.Status.QDScore},
		[3]float64(last[4:7]))
	snapshots, corrected := must.Get(run.Snapshots()), must.Get(run.Corrected())
	newest := must.Get(run.Newest())
	if len(snapshots) < 2 || len(corrected) < 2 || newest.Generation != iterations || stats.Filled < 1 ||
		skills.Count != 3 || len(skills.Genotype(2)) != repertoire.Params || len(run.Status.Machines) != 1 {
		t.Errorf("%d snapshots, %d corrected repertoires, %+v, %d skills, %+v", len(snapshots), len(corrected), stats,
			skills.Count, run.Status)
	}
	played := must.Get(Play(background, run, PlaySpec{Skills: []int{2}, Episodes: 2, Backend: "go"}))
	errtest.Equal(t, "played skill", played.Results[0].Number, 2)

	spec := of(root, iterations+2)
	further, err := Train(background, spec)
	if must.Do(err); further.Dir != run.Dir || further.Status.Generation != iterations+2 || !further.Status.Finished {
		t.Errorf("it trains on to %+v", further.Status)
	}
	generations := must.Get(must.Get(further.Metrics()).Column("generation"))
	errtest.Equal(t, "first and last row", [2]float64{generations[0], generations[len(generations)-1]},
		[2]float64{0, iterations + 2})
	w := must.Get(runs.Create(root, run.Config))
	errtest.Equal(t, "newest checkpoint", must.Get(w.LoadCheckpoint(nil)).Generation, iterations+2)
	must.Do(w.Close())
}

// swarmSettings are settings that a run of the swarm may have, if its algorithm has them.
var swarmSettings = []string{"weights=bfloat16", "starts=3", "memory=4", "slice=3", "batch=12", "front_size=4",
	"continuous_skills=2", "fix_alpha=false", "num_skills=2", "hidden=[4]", "episode_length=15", "isoline_share=0.25",
	"evaluation_interval=4", "grad_updates_per_step=1", "reward_scaling=2", "extinction_every=3", "strategy=sep-cma-es"}

// drawnRun draws the spec of a run without a folder.
func drawnRun(draw *rand.Rand) Spec {
	algorithm := Algorithms()[draw.IntN(len(Algorithms()))]
	spec := smallRun(algorithm, "", 3+draw.IntN(10))
	for _, setting := range swarmSettings {
		with := spec
		with.Tune = more(spec.Tune, setting)
		if _, err := with.Config(); err == nil && draw.IntN(2) == 0 {
			spec = with
		}
	}
	faults := []string{"reward", "state", "observation", "done", "infinity"}
	if fault := draw.IntN(3 * len(faults)); fault < len(faults) && !must.Get(registry.Find(algorithm)).NeedsGradients() {
		spec.Env, spec.Environment = "", faulty{plane{"faulty"}, faults[fault], 0.09, 2}
	}
	return spec
}

// However a run is interrupted, extended or damaged, it ends with the bytes of an undisturbed one. A seed
// draws the algorithm, its settings, the faults of its environment, and what happens to the run:
// QDNB_SWARM=SEED tries that one again, and QDNB_LONG=1 tries three hundred.
func TestSwarm(t *testing.T) {
	first, last := uint64(1), uint64(4)
	if os.Getenv("QDNB_LONG") != "" {
		last = 300
	}
	if seed := os.Getenv("QDNB_SWARM"); seed != "" {
		first = must.Get(strconv.ParseUint(seed, 10, 64))
		last = first
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("QDNB_SWARM=%d", seed), func(t *testing.T) {
			t.Parallel()
			draw := rand.New(rand.NewPCG(seed, 0))
			spec, folder := drawnRun(draw), t.TempDir()
			t.Logf("%s with %s", spec.Algorithm, must.Get(spec.Config()).Hyperparameters)
			undisturbed, generations := spec, int(spec.Budget.Generations)
			undisturbed.Runs = t.TempDir()
			whole := train(t, undisturbed)
			spec.Runs, spec.KeepReplay = folder, true
			for range 1 + draw.IntN(4) {
				switch states := must.Get(filepath.Glob(filepath.Join(folder, "*", "checkpoints", "state-*"))); draw.IntN(3) {
				case 0:
					t.Log("interrupted after a generation")
					ctx, cancel := context.WithCancel(background)
					cancel()
					if _, err := Train(ctx, spec); err != nil && !errors.Is(err, ErrInterrupted) {
						t.Fatal(err)
					}
				case 1:
					if len(states) > 1 {
						t.Log("the newest checkpoint is damaged")
						must.Do(os.Truncate(slices.Max(states), 1000))
					}
				case 2:
					part := spec
					part.Budget = Generations(draw.IntN(generations + 1))
					t.Logf("trained to %v", part.Budget)
					train(t, part)
				}
			}
			run, err := Train(background, spec)
			if err != nil || !bytes.Equal(finished(t, run), finished(t, whole)) {
				t.Errorf("it ends differently: %v", err)
			}
		})
	}
}

// Runs of several seeds are those that train alone, also after interruptions, after one of them was
// trained alone, and when one joins later.
func TestSeedsTrainedTogetherEqualSeedsTrainedAlone(t *testing.T) {
	for algorithm, backend := range map[string]string{"pga-map-elites": "go", "map-elites": device()} {
		t.Run(algorithm, func(t *testing.T) {
			spec := smallOf(algorithm, t.TempDir(), 6)
			spec.Backend, spec.KeepReplay = backend, true
			var alone []*runs.Run
			for _, spec.Seed = range []int64{7, 8, 9} {
				alone = append(alone, train(t, spec))
			}
			spec.Runs = t.TempDir()
			interrupted := func(seeds ...int64) {
				ctx, cancel := context.WithCancel(background)
				cancel()
				if _, err := TrainSeeds(ctx, spec, seeds...); !errors.Is(err, ErrInterrupted) ||
					!strings.Contains(err.Error(), "rerun the same command to resume") {
					t.Fatalf("stopped seeds: %v", err)
				}
			}
			interrupted(7, 8)
			interrupted(7, 8)
			for range 3 { // alone
				spec.Seed = 8
				stopped(t, spec)
			}
			interrupted(7, 8, 9)
			together := must.Get(TrainSeeds(background, spec, 7, 8, 9))
			for i, run := range together {
				sameEnd(t, run.Name(), run, alone[i])
				if s := run.Status; run.Name() != alone[i].Name() || !s.Finished || s.Generation != 6 ||
					s.Seconds <= 0 || s.Seconds < s.CPUSeconds/100 {
					t.Errorf("%s: %+v", run.Dir, s)
				}
			}
		})
	}
}

// Complete runs are left out. A run that another process trains is an error.
func TestSeedsOfOneCommand(t *testing.T) {
	spec := small(t.TempDir(), 3)
	first := train(t, spec) // seed 1
	config := must.Get(small(spec.Runs, 3).Config())
	config.Seed = 3
	writer := must.Get(runs.Create(spec.Runs, config))
	rest, err := TrainSeeds(background, spec, 1, 3, 2)
	errtest.Want(t, err, "seed 3: "+writer.Dir+" is being trained by process")
	errtest.Equal(t, "the other seeds", fmt.Sprint(len(rest), rest[1].Config.Seed, rest[1].Status.Finished), "2 2 true")
	must.Do(writer.Discard())
	all, err := TrainSeeds(background, spec, 1, 2, 3)
	if err != nil || len(all) != 3 || all[0].Status.Updated != first.Status.Updated ||
		all[2].Config.Seed != 3 || !all[2].Status.Finished {
		t.Errorf("%v, %v", all, err)
	}
	errtest.Want(t, errtest.Of(TrainSeeds(background, spec, 1, 2, 1)), "seed 1 is given twice")
}

// unlucky is an emitter whose loss is infinite if the number that it drew at the start is negative.
type unlucky struct {
	evolution.Stateless
	Drawn *Node
}

func (u unlucky) Init(_ evolution.Start, key random.Key) evolution.Emitter {
	u.Drawn = Reshape(key.Normal(1))
	return u
}

func (u unlucky) Update(evolution.Generation, random.Key) (evolution.Emitter, []evolution.Metric) {
	return u, []evolution.Metric{{Name: "loss", Value: Inverse(MaxScalar(u.Drawn, 0))}}
}

// A seed that diverges, or whose run is damaged, does not keep the others from training.
func TestSeedsThatFail(t *testing.T) {
	spec := small(t.TempDir(), 3)
	config := must.Get(spec.Config())
	config.Seed = 2
	damaged := filepath.Join(spec.Runs, config.Name())
	must.Do(os.MkdirAll(damaged, 0o777))
	must.Do(os.WriteFile(filepath.Join(damaged, "config.json"), []byte("{"), 0o666))
	seeds := func(found []*runs.Run) (list []int64) {
		for _, run := range found {
			if run.Status.Finished {
				list = append(list, run.Config.Seed)
			}
		}
		return list
	}
	found, err := TrainSeeds(background, spec, 1, 2, 3)
	errtest.Want(t, err, "seed 2: "+damaged)
	errtest.Equal(t, "trained of the seeds 1 to 3", seeds(found), []int64{1, 3})
	spec.Name, spec.Tune = "unlucky", spec.Tune.And(emitting(unlucky{
		Stateless: func(p evolution.Parents, keys random.Key) *Node { return p.Sample(keys) }}))
	found, err = TrainSeeds(background, spec, 1, 2, 3)
	errtest.Want(t, err, "seed 1, seed 3: loss is +Inf in generation 0")
	errtest.Equal(t, "trained of the seeds 1 to 3, of which 2 does not diverge", seeds(found), []int64{2})
	must.Do(os.WriteFile(filepath.Join(found[0].Dir, "status.json"), []byte("{"), 0o666))
	_, err = TrainSeeds(background, spec, 3, 2)
	errtest.Want(t, err, "seed 3: loss is +Inf", "; seed 2: "+found[0].Dir)
}

// Time limits are shared: the runs' times add up to the limit. The same spec finds each of them complete.
func TestSeedsShareTime(t *testing.T) {
	for _, spec := range []Spec{small(t.TempDir(), 0), smallDiscovery("diayn-reward", t.TempDir(), 2)} {
		spec.Budget = runs.Budget{Time: 600 * time.Millisecond}
		all := nb.Must(TrainSeeds(background, spec, 1, 2, 3))
		again := nb.Must(TrainSeeds(background, spec, 1, 2, 3))
		for i, run := range all {
			s := run.Status
			if s.Budget.Time != 200*time.Millisecond || s.Seconds < 0.2 || !s.Finished {
				t.Errorf("%+v", s)
			}
			spec.Seed = run.Config.Seed
			loaded, err := Load(spec)
			if err != nil || train(t, spec).Status.Updated != s.Updated ||
				again[i].Status.Updated != s.Updated || loaded.Dir != run.Dir {
				t.Errorf("seed %d was trained again, or %v", spec.Seed, err)
			}
		}
	}
}
