package qdnb

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// noisy is a custom emitter with a constant in its code.
func noisy(sigma float64) evolution.Emitter {
	return evolution.Stateless(func(parents evolution.Parents, keys random.Key) *Node {
		x := parents.Sample(keys.FoldIn(0))
		return Add(x, MulScalar(keys.FoldIn(1).Normal(x.Shape().Dimensions...), sigma))
	})
}

// renamed is noisy(0.005) with other variable names and on other lines.
func renamed(population evolution.Parents, streams random.Key) *Node {
	parent := population.Sample(streams.FoldIn(0)) // a comment
	noise := streams.FoldIn(1).Normal(parent.Shape().Dimensions...)
	scaled := MulScalar(noise, 0.005)
	return Add(parent, scaled)
}

// variantIn returns the spec of a small run with a custom emitter.
func variantIn(folder string, emitter evolution.Emitter) Spec {
	spec := small(folder, 2)
	spec.Name, spec.Tune = "noisy", spec.Tune.And(emitting(emitter))
	return spec
}

func TestChangedEmitterIsAnotherRun(t *testing.T) {
	folder := t.TempDir()
	spec := variantIn(folder, noisy(0.005))
	stopped(t, spec)
	var run, again, other *runs.Run
	said := stderr(t, func() { run = train(t, spec) })
	errtest.Equal(t, "a resumed run says, and its generation", fmt.Sprintf("%q %d", said, run.Status.Generation), `"" 2`)
	spec = variantIn(folder, evolution.Stateless(renamed))
	spec.Backend = filepath.Join(t.TempDir(), "none.so") // nothing is left to compute
	if said := stderr(t, func() { again = train(t, spec) }); said != "" || again.Dir != run.Dir {
		t.Errorf("with other names of variables it says %q and is in %s, not %s", said, again.Dir, run.Dir)
	}
	said = stderr(t, func() { other = train(t, variantIn(folder, noisy(0.1))) })
	when := nb.Must(runs.Open(run.Dir)).Status.Updated.Local().Format("2 January 2006, 15:04")
	errtest.Equal(t, "with another constant it says", said,
		fmt.Sprintf("qdnb: its code (Mix) changed since %s of %s: training a new run, %s\n", run.Name(), when, other.Name()))
	if other.Dir == run.Dir || string(repertoireBytes(t, other)) == string(repertoireBytes(t, run)) {
		t.Errorf("with another constant it is %s again", run.Dir)
	}
	if said := stderr(t, func() {
		again = train(t, variantIn(folder, noisy(0.1)))
	}); said != "" || again.Dir != other.Dir {
		t.Errorf("the changed one again says %q and is in %s", said, again.Dir)
	}
	errtest.Equal(t, "variant of", fmt.Sprint(run.Status.Base, " ", run.Config.Algorithm), "map-elites noisy")
	for _, r := range []*runs.Run{run, other} {
		errtest.Equal(t, "played policies", len(must.Get(Play(background, r, PlaySpec{Episodes: 2, Backend: "go"})).Results), 1)
	}
}

// rewarding is a plane whose constants differ.
type rewarding struct {
	plane
	start, step, pay, descriptor float64
}

func (r rewarding) Reset(keys random.Key) envs.State {
	s := r.plane.Reset(keys)
	s.Observation = MulScalar(s.Observation, r.start)
	return s
}

func (r rewarding) Step(s envs.State, action *Node) envs.State {
	s = r.plane.Step(s, MulScalar(action, r.step))
	s.Reward, s.Descriptor = MulScalar(s.Reward, r.pay), MulScalar(s.Descriptor, r.descriptor)
	return s
}

// keeping is a custom archive, a grid.
type keeping struct {
	repertoire.Grid
	bonus float64
	every int64
	kept  float64
	Looks repertoire.Aurora // for its sequences
}

func (k keeping) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	k.Grid = k.Grid.Empty(task, key).(repertoire.Grid)
	return k
}

func (k keeping) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	found.Fitness = AddScalar(found.Fitness, k.bonus)
	grid, in := k.Grid.Add(found)
	k.Grid = grid.(repertoire.Grid)
	return k, in
}

func (k keeping) Due(generation int64) string {
	if generation%k.every == 0 {
		return "decay"
	}
	return ""
}

func (k keeping) Maintain(string, *Node, random.Key) repertoire.Archive {
	k.Elites.Fitness = MulScalar(k.Elites.Fitness, k.kept)
	return k
}

func (k keeping) Record(task scoring.Task) envs.Recorder { return k.Looks.Record(task) }

// learning is a custom emitter that wraps the policy gradient of PGA-MAP-Elites.
type learning struct {
	evolution.Proposer
	capacity int
	rate     float64
	proposes float64
}

func (l learning) Capacity(int) int { return l.capacity }

func (l learning) with(e evolution.Emitter) evolution.Emitter {
	l.Proposer = e.(evolution.Proposer)
	return l
}

func (l learning) Init(start evolution.Start, key random.Key) evolution.Emitter {
	return l.with(l.Proposer.Init(start, key))
}

func (l learning) Prepare(buffer replay.Buffer, key random.Key) evolution.Emitter {
	return l.with(l.Proposer.Prepare(buffer, key))
}

func (l learning) Update(g evolution.Generation, key random.Key) (evolution.Emitter, []evolution.Metric) {
	after, losses := l.Proposer.Update(g, key)
	losses[0].Value = MulScalar(losses[0].Value, l.rate)
	return l.with(after), losses
}

func (l learning) Offspring(parents evolution.Parents, which *Node, keys random.Key) *Node {
	return MulScalar(l.Proposer.Offspring(parents, which, keys), l.proposes)
}

// paying is a custom diversity reward.
type paying struct {
	skills.Diversity
	scale float64
}

func (p paying) Init(of skills.Problem, key random.Key) skills.Diversity {
	return paying{p.Diversity.Init(of, key), p.scale}
}

func (p paying) Learn(b skills.Batch) (skills.Diversity, *Node) {
	after, loss := p.Diversity.Learn(b)
	return paying{after, p.scale}, loss
}

func (p paying) Reward(b skills.Batch) *Node { return MulScalar(p.Diversity.Reward(b), p.scale) }

// over is a custom objective: a gate.
type over struct{ from, scale float64 }

func (o over) Reward(task, diversity, returns *Node) *Node {
	return Where(o.Accepts(returns), Add(task, MulScalar(diversity, o.scale)), task)
}

func (o over) Accepts(returns *Node) *Node { return GreaterThan(returns, ConstAs(returns, o.from)) }
func (over) NeedsReturns() bool            { return true }

// ownParts holds specs with custom parts. For each part, the first two specs have the same code,
// and each other one differs from the first in a constant.
func ownParts() map[string][]Spec {
	all := map[string][]Spec{}
	add := func(part, algorithm string, change func(*Spec)) {
		spec := smallOf(algorithm, "nowhere", 1)
		if strings.Contains(algorithm, "diayn") {
			spec = smallDiscovery(algorithm, "nowhere", 1)
		}
		spec.Name = "mine"
		change(&spec)
		all[part] = append(all[part], spec)
	}
	for _, emitter := range []evolution.Emitter{
		noisy(0.005), evolution.Stateless(renamed), noisy(float64(math.Nextafter32(0.005, 1))),
		evolution.IsoLineEmitter{IsoSigma: 0.1}, evolution.IsoLineEmitter{IsoSigma: 0.2},
	} {
		add("emitter", "map-elites", func(s *Spec) { s.Tune = s.Tune.And(emitting(emitter)) })
	}
	for _, env := range []rewarding{{plane{"p"}, 1, 2, 3, 4}, {plane{"p"}, 1, 2, 3, 4},
		{plane{"p"}, 5, 2, 3, 4},
		{plane{"p"}, 1, 5, 3, 4}, {plane{"p"}, 1, 2, 5, 4}, {plane{"p"}, 1, 2, 3, 5}} {
		add("environment", "map-elites", func(s *Spec) { s.Env, s.Environment = "", env })
	}
	grid := repertoire.Grid{}
	looks := defaultAurora()
	rarely := looks
	rarely.Sampling++
	for _, archive := range []keeping{{grid, 1, 10, 2, looks}, {grid, 1, 10, 2, looks},
		{grid, 2, 10, 2, looks}, {grid, 1, 11, 2, looks},
		{grid, 1, 10, 3, looks}, {grid, 1, 10, 2, rarely}} {
		add("archive", "map-elites", func(s *Spec) { s.Tune = s.Tune.And(archiving(archive)) })
	}
	for _, l := range []learning{{nil, 1000, 1, 1}, {nil, 1000, 1, 1}, {nil, 2000, 1, 1},
		{nil, 1000, 2, 1}, {nil, 1000, 1, 2}} {
		add("learner", "pga-map-elites", func(s *Spec) {
			s.Tune = s.Tune.And(Tune(func(h *evolution.MapElites) {
				l.Proposer = h.Mix[0].Emitter.(evolution.PolicyGradient)
				h.Mix = evolution.Mix{{Emitter: l, Of: 1}}
			}))
		})
	}
	diayn := skills.DIAYN{LearningRate: 0.01, Hidden: []int{8}}
	other := skills.DIAYN{LearningRate: 0.02, Hidden: []int{8}}
	for _, d := range []skills.Diversity{paying{diayn, 1}, paying{diayn, 1}, paying{diayn, 2}, paying{other, 1}} {
		add("diversity", "diayn-reward", func(s *Spec) {
			s.Tune = s.Tune.And(skilled(skills.Parts{Diversity: d}))
		})
	}
	for _, o := range []skills.Objective{over{1, 2}, over{1, 2}, over{1.5, 2}, over{1, 3}} {
		add("objective", "diayn-reward", func(s *Spec) {
			s.Tune = s.Tune.And(skilled(skills.Parts{Objective: o}))
		})
	}
	return all
}

// fingerprintsEnv makes the test program print the fingerprints of [ownParts].
const fingerprintsEnv = "QDNB_TEST_FINGERPRINTS"

// The identity of a run covers the graphs of custom parts, part by part. It does not depend on the
// process, the backend or the number of workers.
func TestFingerprints(t *testing.T) {
	var printed []string
	parts := ownParts()
	for _, part := range slices.Sorted(maps.Keys(parts)) {
		seen := map[string]bool{}
		for i, spec := range parts[part] {
			config := nb.Must(spec.Config())
			if i == 0 {
				printed = append(printed, part+" "+config.Name())
			}
			if os.Getenv(fingerprintsEnv) != "" {
				break // one of each part tells
			}
			if i == 1 {
				again := spec
				again.Backend = "cpu"
				if other := nb.Must(again.Config()); !maps.Equal(other.Parts, config.Parts) {
					t.Errorf("%s: another backend gives the fingerprint %v, not %v", part, other.Parts, config.Parts)
				}
			}
			recorded := "algorithm"
			if part == "environment" {
				recorded = part
			}
			if len(config.Parts) != 1 || len(config.Parts[recorded]) != 16 {
				t.Fatalf("%s: %v", part, config.Parts)
			}
			errtest.Equal(t, fmt.Sprintf("%s: number %d is an earlier one", part, i), seen[config.Name()], i == 1)
			seen[config.Name()] = true
		}
	}
	all := strings.Join(printed, "\n")
	if os.Getenv(fingerprintsEnv) != "" {
		fmt.Println(all)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestFingerprints$")
	cmd.Env = append(os.Environ(), fingerprintsEnv+"=1", backend.BackendEnv+"=nonsense", backend.WorkersEnv+"=1")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), all) {
		t.Errorf("another process: %v\n%s\nwants\n%s", err, out, all)
	}
}

func TestLoad(t *testing.T) {
	folder := t.TempDir()
	spec := variantIn(folder, noisy(0.005))
	fails := func(want string, spec Spec) {
		t.Helper()
		run, err := Load(spec)
		if err == nil || run != nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, %v; want %q", run, err, want)
		}
	}
	fails("no run noisy-pointmaze-1-", spec)
	stopped(t, spec)
	fails("is not finished: train it with the same Spec to resume it", spec)
	run := train(t, spec)
	other := spec
	other.Tune = more(spec.Tune, "batch=8")
	train(t, other)
	errtest.Equal(t, "the loaded run", must.Get(Load(spec)).Dir, run.Dir)
	changed := spec
	changed.Tune = changed.Tune.And(emitting(noisy(0.1)))
	fails("(its code (Mix) changed since "+run.Name()+" of ", changed)
	longer := spec
	longer.Budget = Generations(5)
	fails("ended before the budget of the Spec, 5 generations: train it", longer)
	errtest.Equal(t, "folders that Load leaves", len(nb.Must(filepath.Glob(filepath.Join(folder, "*")))), 2)
	must.Do(os.Remove(filepath.Join(run.Dir, "status.json"))) // as if it had been interrupted while it was compiled
	fails("(its code (Mix) changed since "+run.Name()+", which saved no generation)", changed)
}

func TestFresh(t *testing.T) {
	spec := small(t.TempDir(), 2)
	spec.Fresh = true
	run := train(t, spec)
	mark := filepath.Join(run.Dir, "mark")
	nb.Check(os.WriteFile(mark, nil, 0o666))
	broken := spec
	broken.Backend = filepath.Join(t.TempDir(), "none.so")
	errtest.Want(t, errtest.Of(Train(background, broken)), "no PJRT plugin at ")
	must.Get(os.Stat(mark))
	var again *runs.Run
	said := stderr(t, func() { again = train(t, spec) })
	aside := filepath.Join(spec.Runs, "set-aside", run.Name()+".1")
	if _, err := os.Stat(filepath.Join(aside, "mark")); err != nil || again.Dir != run.Dir || !strings.Contains(said, aside) {
		t.Errorf("%v; it says %q, and is in %s", err, said, again.Dir)
	}
	errtest.Want(t, errtest.Of(os.Stat(mark)), "no such file")
	if found, _, err := runs.Find(spec.Runs, "*"); len(found) != 1 || err != nil {
		t.Errorf("%d runs are listed, %v", len(found), err)
	}
	writer := nb.Must(runs.Create(spec.Runs, run.Config))
	defer writer.Close()
	errtest.Want(t, errtest.Of(Train(background, spec)), "is being trained by process")
	must.Get(os.Stat(filepath.Join(run.Dir, "config.json")))
}

// imported returns a copy of a run as a variant's.
func imported(t *testing.T, run *runs.Run) *runs.Run {
	t.Helper()
	config := run.Config
	config.Algorithm, config.Parts = "mine", map[string]string{"emitter": "0123456789abcdef"}
	return nb.Must(runs.Import(t.TempDir(), config, func(w *runs.Writer) error {
		if err := w.SaveRepertoire(nb.Must(run.Repertoire())); err != nil {
			return err
		}
		return w.SaveStatus(run.Status)
	}))
}

// A run with replaced parts does not record the settings that only its algorithm's own parts read, and
// its identity does not depend on them. What replaces a part may have such a setting itself.
func TestIgnoredSettingsAreNotRecorded(t *testing.T) {
	archive := func(p *evolution.Parts) { p.Archive = repertoire.Grid{} }
	mix := func(p *evolution.Parts) { p.Mix = evolution.Mix{{Emitter: noisy(0.1), Of: 1}} }
	aurora := "ae_learning_rate capacity epochs late_epochs latent loop max_observation observation sampling " +
		"threshold training_batch"
	td3 := "critic_hidden critic_learning_rate discount greedy_learning_rate"
	left := func(algorithm, env string, tune Tuning) string {
		t.Helper()
		names := func(s Spec) (all map[string]any) {
			nb.Check(json.Unmarshal(nb.Must(s.Config()).Hyperparameters, &all))
			return all
		}
		spec := smallest(algorithm, t.TempDir())
		spec.Env = env
		all := names(spec)
		spec.Name, spec.Tune = "mine", spec.Tune.And(tune)
		recorded := names(spec)
		maps.DeleteFunc(all, func(name string, _ any) bool { return recorded[name] != nil })
		return strings.Join(slices.Sorted(maps.Keys(all)), " ")
	}
	for _, c := range []struct {
		algorithm, want string
		tune            Tuning
	}{
		{"map-elites", "", Tune(func(*evolution.MapElites) {})},
		{"map-elites", "iso_sigma line_sigma", Tune(mix)},
		{"map-elites", "", Tune(archive)},
		{"aurora", aurora, Tune(archive)},
		{"aurora", "iso_sigma line_sigma", Tune(mix)},
		{"pga-map-elites", td3 + " iso_sigma isoline_share line_sigma noise_clip num_critic_training_steps " +
			"num_pg_training_steps policy_delay policy_learning_rate policy_noise replay_buffer_size reward_scaling " +
			"soft_tau_update transitions_batch_size", Tune(mix)},
		{"pga-aurora", aurora, Tune(archive)},
		{"pga-aurora", "iso_sigma isoline_share line_sigma", Tune(func(h *evolution.MapElites) { h.Mix = h.Mix[:1] })},
		{"dns", "capacity k", Tune(archive)},
		{"mome", "front_size", Tune(archive)},
		{"cma-mae", "archive_learning_rate threshold_min", Tune(archive)},
		{"dms", "adam_l2_coeff adam_learning_rate emitters restart_rule sigma0 strategy vectors", Tune(mix)},
		{"diayn-reward", "diversity_hidden", skilled(skills.Parts{Diversity: paying{skills.DIAYN{}, 1}})},
		{"diayn-reward", "diversity_reward_scale", skilled(skills.Parts{Objective: over{1, 1}})},
		{"smerl-dads", "diversity_hidden diversity_reward_scale smerl_margin smerl_target",
			skilled(skills.Parts{Diversity: paying{skills.DIAYN{}, 1}, Objective: over{1, 1}})},
		{"csf", "continuous_skills diversity_hidden negative_skills negative_weight",
			skilled(skills.Parts{Diversity: paying{skills.DIAYN{}, 1}})},
	} {
		errtest.Equal(t, fmt.Sprintf("%s leaves out", c.algorithm), left(c.algorithm, "ant-omni", c.tune), c.want)
	}

	root := t.TempDir()
	run := train(t, variantIn(root, noisy(0.005)))
	if text := run.Config.String(); strings.Contains(text, "sigma") || !strings.Contains(text, `"batch":`) {
		t.Errorf("it records %s", text)
	}
	ignoring := variantIn(root, noisy(0.005))
	ignoring.Tune = Tuning(runs.Assign("iso_sigma=0.7")).And(ignoring.Tune)
	errtest.Equal(t, "with another iso_sigma the folder", nb.Must(Load(ignoring)).Dir, run.Dir)
	for _, ignored := range []string{"iso_sigma=0.005", "iso_sigma=0.7"} {
		spec := variantIn(root, evolution.IsoLineEmitter{IsoSigma: 0.25})
		spec.Tune = Tuning(runs.Assign(ignored)).And(spec.Tune)
		errtest.Contains(t, nb.Must(spec.Config()).String(), `"iso_sigma":0.25,`)
	}
}

// The folder of a run keeps the source of what its user supplied, whatever it is, and only of that.
func TestSourceIsKept(t *testing.T) {
	root := t.TempDir()
	text := string(nb.Must(os.ReadFile("identity_test.go")))
	environment := small(root, 2)
	environment.Env, environment.Environment = "", rewarding{plane{"p"}, 1, 2, 3, 4}
	for want, spec := range map[string]Spec{
		"// qdnb.noisy at ":            variantIn(root, noisy(0.005)),
		"// qdnb.rewarding.Step at ":   environment,
		"// qdnb.TestSourceIsKept at ": variantIn(root, evolution.IsoLineEmitter{IsoSigma: 0.1}),
	} {
		run := train(t, spec)
		errtest.Equal(t, fmt.Sprintf("the source of %s", run), run.Source(), filepath.Join(run.Dir, "source.txt"))
		source := string(nb.Must(os.ReadFile(run.Source())))
		errtest.Contains(t, source, want, "\n\n"+text+"\n")
	}
	errtest.Equal(t, "the source of a run without custom parts", train(t, small(root, 2)).Source(), "")
	broken := variantIn(root, noisy(0.007))
	broken.Backend = filepath.Join(root, "none.so")
	errtest.Want(t, errtest.Of(Train(background, broken)), "no PJRT plugin at ")
	if found, _, err := runs.Find(root, "*"); len(found) != 4 || err != nil {
		t.Errorf("%d runs are left, %v", len(found), err)
	}
}

// A run knows whether this build would compute it by the same programs. Seed, budget and backend do not
// matter, but settings do.
func TestOrigins(t *testing.T) {
	var origins session.Origins
	check := func(name string, run *runs.Run, want session.Origin) {
		t.Helper()
		errtest.Equal(t, name, origins.Of(run), want)
	}
	root := t.TempDir()
	run := train(t, small(root, 2))
	check("a run of this build", run, session.SamePrograms)
	other := small(root, 3)
	other.Seed, other.Backend = 7, device()
	if a, b := run.Status.Machines[0].Programs, train(t, other).Status.Machines[0].Programs; a != b || len(a) != 16 {
		t.Errorf("another seed has the programs %s, not %s", b, a)
	}
	larger := small(root, 2)
	larger.Tune = more(larger.Tune, "batch=8")
	if a, b := run.Status.Machines[0].Programs, train(t, larger).Status.Machines[0].Programs; a == b {
		t.Error("another batch has the same programs")
	}
	named := small(root, 2)
	named.Name = "large-steps"
	named.Tune = more(named.Tune, "iso_sigma=0.5")
	check("a variant by settings", train(t, named), session.SamePrograms)
	check("a variant by parts", train(t, variantIn(root, noisy(0.1))), session.UnknownPrograms)

	altered := func(change func(*runs.Run)) *runs.Run {
		again := must.Get(runs.Open(run.Dir))
		change(again)
		return again
	}
	check("an earlier program", altered(func(r *runs.Run) {
		r.Status.Machines[0].Programs, r.Status.Machines[0].Numbers = "0123456789abcdef", ""
	}), session.OtherPrograms)
	check("two programs", altered(func(r *runs.Run) {
		r.Status.UseMachine(runs.MachineUse{Programs: "0123456789abcdef", After: 1})
	}), session.OtherPrograms)
	check("no record", altered(func(r *runs.Run) { r.Status.Machines[0].Programs = "" }), session.UnknownPrograms)
	check("no machine", altered(func(r *runs.Run) { r.Status.Machines = nil }), session.UnknownPrograms)
	check("a setting that is gone", altered(func(r *runs.Run) {
		r.Config.Hyperparameters = json.RawMessage(`{"batch_size": 16}`)
	}), session.OtherPrograms)

	adapted := must.Get(Adapt(context.Background(), AdaptSpec{Skills: walkers(t, root, "map-elites"), Runs: root,
		Perturbation: envs.GravityMultiplier, Values: [][]float64{{1}}, Episodes: 1, Quiet: true}))
	check("adaptation", adapted, session.SamePrograms)
	control := controlled(t, smallControl(cheetahs(t, root, "map-elites"), root, 1))
	check("control", control, session.SamePrograms)
	// Without skills the programs cannot be built, and the ledger alone tells, if the build recorded its lines: a modified
	// one does not.
	adapted.Status.Machines[0].Numbers = ""
	must.Do(os.RemoveAll(filepath.Join(root, adapted.Config.SkillsRun())))
	must.Do(os.RemoveAll(filepath.Join(root, control.Config.SkillsRun())))
	origins = session.Origins{}
	check("adaptation without its skills", adapted, session.UnknownPrograms)
	check("control without its skills", control, session.UnknownPrograms)
	shipped := must.Get(filepath.Glob("../notebooks/results/runs/adaptation-halfcheetah-uni-*"))
	for numbers, want := range map[string]session.Origin{"0123456789abcdef": session.OtherPrograms,
		"": session.UnknownPrograms, must.Get(runs.Open(shipped[0])).Status.Machines[0].Numbers: session.SameNumbers} {
		run := must.Get(runs.Open(shipped[0]))
		run.Status.Machines[0].Numbers = numbers
		check("skills without policies, of numbers "+numbers, run, want)
	}
}
