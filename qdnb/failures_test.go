package qdnb

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/qdnb/exchange"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// failing is the expected error of a run that cannot be compiled: the program, the function, its
// line, and the rest of the message.
type failing struct{ program, function, at, rest string }

func (f failing) check(t *testing.T, spec Spec) {
	t.Helper()
	if spec.Environment == nil {
		spec.Name = "variant"
	}
	_, err := Train(background, spec)
	want := fmt.Sprintf("%s at %s: program %q cannot be compiled: ", f.function, f.at, f.program)
	if err == nil || !strings.HasPrefix(err.Error(), want) ||
		!strings.HasSuffix(err.Error(), f.rest) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v; want one line %s...%s", err, want, f.rest)
	}
	if left, _ := os.ReadDir(spec.Runs); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
}

// The sizes of [small], with slices of 8.
const (
	sliceAxis  = "8: policies of a slice of the batch"
	batchAxis  = "16: policies of the batch"
	paramsAxis = "114: parameters of a policy"
	sizesAxis  = "2: numbers of an observation or numbers of an action or components of a descriptor"
)

// broken is an environment with mistakes.
type broken struct {
	plane
	mistake string
}

func (b broken) Reset(keys random.Key) envs.State {
	s := b.plane.Reset(keys)
	if b.mistake == "wide observations" {
		s.Observation = Concatenate([]*Node{s.Observation, s.Observation}, 1)
	}
	return s
}

func (b broken) Step(s envs.State, action *Node) envs.State {
	if b.mistake == "actions" {
		action = Add(action, s.Reward)
	}
	next := b.plane.Step(s, action)
	switch b.mistake {
	case "rewards of rank 2":
		next.Reward = InsertAxes(next.Reward, -1)
	case "no descriptor":
		next.Descriptor = nil
	case "another world":
		next.PhysicsState = append(next.PhysicsState, next.Reward)
	}
	return next
}

// careless is an archive with mistakes.
type careless struct {
	repertoire.Grid
	mistake string
}

func (c careless) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	c.Grid = c.Grid.Empty(task, key).(repertoire.Grid)
	return c
}

func (c careless) Add(found repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	grid, in := c.Grid.Add(found)
	c.Grid = grid.(repertoire.Grid)
	switch c.mistake {
	case "fields":
		c.Elites.Centroids = nil
	case "descriptors":
		c.Elites.Descriptors = found.Descriptors
	case "valid":
		in.Valid = in.Accepted
	}
	return c, in
}

// hasty is a proposer with mistakes.
type hasty struct{ evolution.PolicyGradient }

func (h hasty) Init(start evolution.Start, key random.Key) evolution.Emitter {
	h.PolicyGradient = h.PolicyGradient.Init(start, key).(evolution.PolicyGradient)
	return h
}

func (h hasty) Prepare(buffer replay.Buffer, key random.Key) evolution.Emitter {
	h.PolicyGradient = h.PolicyGradient.Prepare(buffer, key).(evolution.PolicyGradient)
	return h
}

func (h hasty) Offspring(parents evolution.Parents, _ *Node, _ random.Key) *Node {
	return parents.Genotypes
}

// confused is a diversity reward with mistakes.
type confused struct{ Mistake string }

func (confused) Loss() string                                       { return "loss" }
func (c confused) Init(skills.Problem, random.Key) skills.Diversity { return c }
func (c confused) Learn(b skills.Batch) (skills.Diversity, *Node) {
	if c.Mistake == "loss" {
		return c, b.Done
	}
	return c, ReduceAllMean(b.Done)
}
func (c confused) Reward(b skills.Batch) *Node {
	switch c.Mistake {
	case "skills":
		return ReduceSum(Mul(b.Skill, b.Now), 1)
	case "rank":
		return Slice(b.Now, AxisRange(), AxisRange(0, 1))
	}
	return b.Done
}

// odd is an objective with a mistake.
type odd struct{ skills.DiversityOnly }

func (odd) Reward(task, diversity, _ *Node) *Node { return ReduceAllMean(Mul(task, diversity)) }

// A mistake in the graphs of an emitter, an environment, an archive, a diversity or an objective is one line, which begins
// with the function and its line, and says what the sizes are.
func TestMistakesNameTheirLine(t *testing.T) {
	const axes, sizes = " (" + sliceAxis + "; " + paramsAxis + ")", " (" + sliceAxis + "; " + sizesAxis + ")"
	const cellsAxis, updates = "32: cells of the archive", "16: transitions of an update"
	var none []int
	with := func(spec Spec, set string, part Tuning) Spec {
		spec.Tune = more(spec.Tune, set).And(part)
		return spec
	}
	emits := func(e evolution.Stateless) Spec { return with(small("", 1), "slice=8", emitting(e)) }
	in := func(mistake string) Spec { return with(own("", broken{plane{"plane"}, mistake}), "slice=8", nil) }
	keeps := func(mistake string) Spec {
		return with(small("", 1), "slice=8", archiving(careless{repertoire.Grid{}, mistake}))
	}
	learns := func(p skills.Parts) Spec {
		return with(smallDiscovery("diayn-reward", "", 1), "batch_size=16", skilled(p))
	}
	gradients := with(smallOf("pga-map-elites", "", 1), "slice=4", Tune(func(h *evolution.MapElites) {
		h.Mix = evolution.Mix{{Emitter: hasty{h.Mix[0].Emitter.(evolution.PolicyGradient)}, Of: 0.5},
			{Emitter: evolution.IsoLineEmitter{}, Of: 0.5}}
	}))
	restarting := smallDiscovery("sac", "", 1) // where the inner environment is blamed, not the automatic reset around it
	restarting.Env, restarting.Environment = "", broken{plane{"plane"}, "rewards of rank 2"}
	emitted := func(at, rest string) failing {
		return failing{"generation", "qdnb.TestMistakesNameTheirLine", at, rest}
	}
	stepped := func(rest string) failing {
		return failing{"generation", "qdnb.broken.Step", errtest.LineWith(t, "func (b broken) Step"), rest}
	}
	added := func(rest string) failing {
		return failing{"insertion of the generation", "qdnb.careless.Add", errtest.LineWith(t, "func (c careless) Add"), rest}
	}
	for _, c := range []struct {
		spec Spec
		want failing
	}{
		{emits(func(p evolution.Parents, keys random.Key) *Node {
			x := p.Sample(keys)
			return Add(x, keys.FoldIn(1).Normal(8))
		}), emitted(errtest.Here(-1), axes)},
		{emits(func(p evolution.Parents, keys random.Key) *Node {
			return Slice(p.Sample(keys), AxisRange(), AxisRange(1))
		}), emitted(errtest.Here(-2), ": it returns children of shape (Float32)[8, 113], not (Float32)[8, 114]"+axes)},
		{emits(func(evolution.Parents, random.Key) *Node {
			return nil
		}), emitted(errtest.Here(-2), ": it returns nil for children of shape (Float32)[8, 114]"+axes)},
		{emits(func(p evolution.Parents, keys random.Key) *Node {
			return MulScalar(p.Sample(keys), float64(none[3]))
		}), emitted(errtest.Here(-1), "runtime error: index out of range [3] with length 0")},
		{emits(func(p evolution.Parents, keys random.Key) *Node {
			var settings *struct{ Sigma float64 }
			return MulScalar(p.Sample(keys), settings.Sigma)
		}), emitted(errtest.Here(-1), "runtime error: invalid memory address or nil pointer dereference")},

		{in("wide observations"), failing{"generation", "qdnb.broken.Reset", errtest.LineWith(t, "func (b broken) Reset"),
			": it returns Observation of shape (Float32)[8, 4], not (Float32)[8, 2]" + sizes}},
		{in("actions"), failing{"generation", "qdnb.broken.Step",
			errtest.LineWith(t, "\t\taction = Add(action, s.Reward)"), sizes}},
		{in("rewards of rank 2"), stepped(": it returns Reward of shape (Float32)[8, 1], not (Float32)[8] (" + sliceAxis + ")")},
		{in("no descriptor"), stepped(": it returns nil for Descriptor of shape (Float32)[8, 2]" + sizes)},
		{in("another world"), stepped(": it returns 2 tensors for PhysicsState, not 1")},
		{restarting, failing{"evaluation", "qdnb.broken.Step", errtest.LineWith(t, "func (b broken) Step"),
			": it returns Reward of shape (Float32)[2, 1], not (Float32)[2] (2: policies of a slice of the batch or " +
				"policies of the batch or numbers of an observation or numbers of an action or components of a descriptor)"}},

		{keeps("fields"), added(": it returns 2 tensors for the archive, not 3")},
		{keeps("descriptors"), added(": it returns the archive[1] of shape (Float32)[16, 2], not (Float32)[32, 2] (" +
			batchAxis + "; " + sizesAxis + "; " + cellsAxis + ")")},
		{keeps("valid"), added(": it returns valid individuals of shape (Bool)[32], not (Bool)[16] (" + cellsAxis + "; " +
			batchAxis + ")")},
		{gradients, failing{"proposals", "qdnb.hasty.Offspring", errtest.LineWith(t, "func (h hasty) Offspring"),
			"(" + cellsAxis + "; " + paramsAxis + "; 8: proposals of a worker or proposals of an emitter)"}},

		{learns(skills.Parts{Diversity: confused{"skills"}}), failing{"iteration", "qdnb.confused.Reward",
			errtest.LineWith(t, "\t\treturn ReduceSum(Mul(b.Skill, b.Now), 1)"), "(" + updates + "; 3: skills; " + sizesAxis + ")"}},
		{learns(skills.Parts{Diversity: confused{"rank"}}), failing{"iteration", "qdnb.confused.Reward",
			errtest.LineWith(t, "func (c confused) Reward"),
			": it returns diversity rewards of shape (Float32)[16, 1], not (Float32)[16] (" + updates + ")"}},
		{learns(skills.Parts{Diversity: confused{"loss"}}), failing{"iteration", "qdnb.confused.Learn",
			errtest.LineWith(t, "func (c confused) Learn"),
			": it returns loss of shape (Float32)[16], not (Float32) (" + updates + ")"}},
		{learns(skills.Parts{Objective: odd{}}), failing{"iteration", "qdnb.odd.Reward", errtest.LineWith(t, "func (odd) Reward"),
			": it returns rewards of shape (Float32), not (Float32)[16] (" + updates + ")"}},
	} {
		c.spec.Runs = t.TempDir()
		c.want.check(t, c.spec)
	}
}

// ownCells is a grid of cells of its own.
type ownCells struct {
	repertoire.Grid
	centroids npz.Array
}

func (o ownCells) Empty(task scoring.Task, key random.Key) repertoire.Archive {
	task.Centroids = o.centroids
	o.Grid = o.Grid.Empty(task, key).(repertoire.Grid)
	return o
}

func (o ownCells) Add(e repertoire.Evaluated) (repertoire.Archive, repertoire.Insertion) {
	next, entering := o.Grid.Add(e)
	o.Grid = next.(repertoire.Grid)
	return o, entering
}

// An archive with another number of cells than the algorithm's is measured as it is stored.
func TestArchiveWithItsOwnCells(t *testing.T) {
	points := make([]float32, 128*2)
	for i := range points {
		points[i] = float32(i%17)/8 - 1
	}
	grid := ownCells{centroids: npz.Of(points, 128, 2)}
	spec := small(t.TempDir(), 3)
	spec.Name, spec.Tune = "own-cells", spec.Tune.And(archiving(grid))
	run := train(t, spec)
	r := nb.Must(run.RepertoireMap())
	stats := r.Stats()
	if s := run.Status; r.Cells() != 128 || stats.Filled == 0 || s.Coverage != stats.Coverage || s.QDScore != stats.QDScore {
		t.Errorf("%+v, but the status has %v %% and %v", stats, s.Coverage, s.QDScore)
	}
}

// lengthless returns a run on walker-uni with episodes of no steps. Its rollout is rejected, like
// one that needs too much memory.
func lengthless(t *testing.T) *runs.Run {
	t.Helper()
	run := walkers(t, t.TempDir(), "map-elites")
	config := nb.Must(runs.NewConfig("map-elites", "walker-uni", 0, map[string]any{"hidden": []int{8}, "episode_length": 0}))
	return nb.Must(runs.Import(t.TempDir(), config, func(w *runs.Writer) error {
		if err := w.SaveRepertoire(nb.Must(run.Repertoire())); err != nil {
			return err
		}
		return w.SaveStatus(run.Status)
	}))
}

// A rollout that is rejected or cannot be compiled gives an error of one line and leaves no files.
func TestRolloutThatCannotBegin(t *testing.T) {
	run, _ := madeUp(t, 3)
	for name, c := range map[string]struct {
		want string
		do   func(root string) error
	}{
		"evaluate, compilation": {`program "evaluation" cannot be compiled`, func(string) error {
			unbuildable := altered{drift{"drift"}, nil, func(s envs.State) envs.State {
				s.Reward = Add(s.Reward, Const(s.Reward.Graph(), []float32{1, 2, 3, 4, 5}))
				return s
			}}
			_, err := Play(background, run, PlaySpec{Environment: unbuildable, Episodes: 2, Backend: "go"})
			return err
		}},
		"evaluate": {"1 step", func(string) error {
			_, err := Play(background, lengthless(t), PlaySpec{Episodes: 2, Backend: "go"})
			return err
		}},
		"films": {"1 step", func(string) error {
			_, err := films(lengthless(t), PlaySpec{Episodes: 1, Backend: "go"})
			return err
		}},
		"adapt": {"1 step", func(root string) error {
			_, err := Adapt(context.Background(), AdaptSpec{
				Skills: lengthless(t), Perturbation: envs.GravityMultiplier, Values: [][]float64{{1}},
				Episodes: 2, Runs: root, Backend: "go", Quiet: true,
			})
			return err
		}},
		"control": {"memory", func(root string) error {
			spec := smallControl(cheetahs(t, t.TempDir(), "map-elites"), root, 1)
			spec.Tune = more(spec.Tune, "num_envs=131072", "batch_size=131072", "unroll_length=4096")
			_, err := Control(context.Background(), spec)
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			errtest.Want(t, c.do(root), c.want)
			if left, _ := os.ReadDir(root); len(left) > 0 {
				t.Errorf("it leaves %v", left)
			}
		})
	}
}

// smallest returns the spec of the shortest run of an algorithm. Tests of mistakes give unknown names, too.
func smallest(algorithm, folder string) Spec { return smallRun(algorithm, folder, 1) }

// A mistake in a spec gives one line, before anything is written.
func TestMistakesGiveOneLine(t *testing.T) {
	obstacle := filepath.Join(t.TempDir(), "file")
	must.Do(os.WriteFile(obstacle, nil, 0o666))
	set := func(assignments ...string) func(*Spec) {
		return func(s *Spec) { s.Tune = more(s.Tune, assignments...) }
	}
	in := func(env envs.Env) func(*Spec) { return func(s *Spec) { s.Env, s.Environment = "", env } }
	with := func(of Tuning) func(*Spec) { return func(s *Spec) { s.Name, s.Tune = "mine", s.Tune.And(of) } }
	named := func(name string, of Tuning) func(*Spec) {
		return func(s *Spec) { s.Name, s.Tune = name, s.Tune.And(of) }
	}
	copies := emitting(evolution.Stateless(func(parents evolution.Parents, keys random.Key) *Node {
		return parents.Sample(keys)
	}))
	diversity := skilled(skills.Parts{Diversity: skills.DIAYN{LearningRate: 1e-3, Hidden: []int{8}}})
	objective := skilled(skills.Parts{Objective: skills.PlusReward{Scale: 1}})
	strategies := func(s evolution.StrategySettings) func(*Spec) { return with(emitting(s.Emitter())) }
	learned, actions := defaultAurora(), defaultAurora()
	learned.Every = 0 // by which the host would divide
	actions.Features = &envs.Recorder{Width: 2}
	actions.Sampling, actions.Observation, actions.MaxObservation = 0, "", 0 // replaced by Features
	forgetful := evolution.PolicyGradient{}
	forgetful.Config = td3.Default()
	forgetful.ReplayBufferSize = 5
	idle := mazeSkills(1)
	idle.Every = 0
	const unnamed = "a variant needs a name that no algorithm has: set Name together with the parts"
	for _, c := range []struct {
		want, algorithm string
		change          func(*Spec)
	}{
		{`"map-elite"; did you mean "map-elites"?`, "map-elite", set()},
		{"`qdnb sweep plan --experiment hurdles`", "hierarchical-control", set()},
		{"cma-mae with a setting: archive_learning_rate=1", "cma-me", set()},
		{"qdnb.Adapt in a notebook", "adaptation", set()},
		{`did you mean "pga-aurora", "pga-map-elites" or "ppga"?`, "pga", set()},
		{`unknown field "batch_size"; did you mean "batch"?`, "map-elites", set("batch_size=10")},
		{`unknown field "num_skills"`, "sac", set("num_skills=3")},
		{`unknown field "diversity_reward_scale"`, "dads", set("diversity_reward_scale=3")},
		{"cvt_samples must be between 32", "map-elites", set("cvt_samples=5")},
		{"hidden layers must have between 1", "map-elites", set("hidden=[8,0]")},
		{"batch: \"many\" is not an integer", "map-elites", set("batch=many")},
		{"memory", "mome", set("hidden=4096,4096", "front_size=4096", "cells=1024", "cvt_samples=1024")},
		{"replay_buffer_size must be at least 320", "pga-map-elites", set("replay_buffer_size=100")},
		{"isoline_share must be a number from 0 to 1, not -1", "pga-map-elites", set("isoline_share=-1")},
		{"must be a multiple of emitters, at least 2 times as many, not 16 of 5", "cma-mae", set("emitters=5")},
		{"qdnb: policies of nn.GRU are not multilayer", "ppga", set("memory=8")},
		{"threshold_min must be a number", "cma-mae", set("threshold_min=-1e31")},
		{"vectors is a setting of lm-ma-es", "cma-mae", set("vectors=3")},
		{"adam_l2_coeff are settings of openai-es: set strategy=openai-es", "cma-mae", set("adam_l2_coeff=0")},
		{"batch/emitters must be even, not 3", "cma-mae", set("strategy=openai-es", "batch=12")},
		{"adam_learning_rate must be", "cma-mae", set("strategy=openai-es", "adam_learning_rate=0")},
		{"injection_share must be at most the emitter's share of the offspring, 8 of 16, not 0.6", "dcrl-map-elites",
			set("injection_share=0.6")},
		{"num_envs must be between 2 and", "ppga", set("num_envs=1")},
		{"num_envs must be a multiple of num_minibatch", "ppga", set("num_envs=5")},
		{"sampling must be between 1 and 10, not 15", "aurora", set("sampling=15")},
		{"episode_length must be between 2 and", "aurora", set("episode_length=1", "sampling=1")},
		{"smerl_target: ", "smerl-diayn", set("smerl_target=-Inf")}, // JSON has no infinity
		{"must hold whole episodes of all environments", "smerl-dads", set("replay_buffer_size=60")},

		{`"pointmaz"; did you mean "pointmaze"?`, "map-elites", func(s *Spec) { s.Env = "pointmaz" }},
		{`"ant-maze", "ant-omni", "ant-trap" or "ant-uni"?`, "map-elites", func(s *Spec) { s.Env = "ant" }},
		{"the budget is negative", "map-elites", func(s *Spec) { s.Budget.Generations = -1 }},
		{`unknown backend "nonsense"`, "map-elites", func(s *Spec) { s.Backend = "nonsense" }},
		{obstacle + " is not a folder; ", "map-elites", func(s *Spec) { s.Runs = obstacle }},
		{": lower batch", "map-elites", assigned("pointmaze", "hidden=[16384,16384,16384]", "batch=1000000")},
		{"replay_buffer_size", "pga-map-elites", assigned("pointmaze", "replay_buffer_size=2000000000")},
		{"replay_buffer_size", "sac", assigned("pointmaze", "replay_buffer_size=2000000000")},
		{"env_batch_size", "smerl-dads", assigned("pointmaze", "env_batch_size=100000000", "replay_buffer_size=2000000000")},
		{"batch_size", "sac", assigned("pointmaze", "batch_size=1000000000", "hidden=[4096,4096]")},
		{"add --corrected", "map-elites", func(s *Spec) { s.CorrectedBy = runs.ByMedian }},
		{"qdnb: cma-es has matrices", "cma-mae", assigned("pointmaze", "strategy=cma-es", "hidden=[64,64]")},
		{"memory and weights have no effect in sphere", "cma-mae", assigned("sphere", "hidden=8")},
		{"memory and weights have no effect in arm", "map-elites", assigned("arm", "memory=8")},
		{"memory and weights have no effect in arm", "dns", assigned("arm", "weights=bfloat16")},
		{"episode_length have no effect in sphere", "dms", assigned("sphere", "starts=3")},
		{"episode_length have no effect in sphere", "cma-mega", assigned("sphere", "episode_length=5")},
		{"sphere has none", "pga-map-elites", assigned("sphere")},
		{"sphere has none", "diayn-reward", assigned("sphere")},
		{"mine learns from observations, of which sphere has none", "map-elites", func(s *Spec) {
			s.Env, s.Name, s.Tune = "sphere", "mine", emitting(evolution.PolicyGradient{})
		}},
		{"qdnb: pointmaze has no gradients of fitness and descriptor", "cma-mega", func(s *Spec) { s.Env = "pointmaze" }},
		{"Every, the control steps of a decision, must be at least 1, not 0", "ppo", in(idle)},
		{"pointmaze-options has discrete actions, which map-elites does not learn: use ppo", "map-elites", in(mazeSkills(1))},
		{"halfcheetah-hurdles has no descriptor, which", "diayn", func(s *Spec) { s.Env = "halfcheetah-hurdles" }},
		{"Env and Environment are mutually exclusive", "map-elites", func(s *Spec) { s.Environment = plane{"plane"} }},
		{`"pointmaze" is the name of a built-in environment`, "map-elites", in(plane{"pointmaze"})},
		{"the environment has no name", "map-elites", in(plane{})},
		{`the name of the environment is "my plane", which cannot`, "map-elites", in(plane{"my plane"})},
		{`the name of the algorithm or variant is "a/b", which cannot`, "map-elites", named("a/b", nil)},
		{"smerl_target is unknown for this environment", "smerl-diayn", func(s *Spec) {
			s.Env, s.Environment, s.Tune = "", plane{"plane"}, smallDiscovery("diayn", "", 1).Tune
		}},

		{"Tune changes skills.Parts, but the hyperparameters are *skills.SAC", "sac", with(diversity)},
		{"Tune changes skills.Parts, but the hyperparameters are *evolution.MapElites", "map-elites", with(objective)},
		{`Name is "dns", which is an algorithm other than map-elites`, "map-elites", named("dns", nil)},
		{`Name is "adaptation", which is`, "map-elites", named("adaptation", nil)},
		{`Name is "hierarchical-control", which is`, "sac", named("hierarchical-control", nil)},
		{unnamed, "map-elites", named("adaptation", copies)},
		{unnamed, "map-elites", named("", copies)},
		{unnamed, "dads-reward", named("", diversity)},
		{unnamed, "diayn", named("diayn-reward", objective)},
		// Parts of the user are checked like ours.
		{"capacity must be between 2 and 131072, not 0", "map-elites", with(archiving(repertoire.Aurora{}))},
		{"loop must be between 1 and", "map-elites", with(archiving(struct{ repertoire.Aurora }{learned}))},
		{"Every of Features must be between 1 and 20, not 0", "map-elites", with(archiving(actions))},
		{"archive_learning_rate must be a number from 0 to 1, not NaN", "map-elites",
			with(archiving(repertoire.Annealed{LearningRate: math.NaN()}))},
		{"critic_learning_rate must be a number above 0", "map-elites",
			with(emitting(struct{ evolution.Proposer }{evolution.PolicyGradient{}}))},
		{"replay_buffer_size must be at least 320", "map-elites", with(emitting(forgetful))},
		{"share 1 of the emitters is Stateless(nil): give it a function", "map-elites", with(emitting(evolution.Stateless(nil)))},
		{"emitters must be between 1 and 1048576, not 0", "map-elites", strategies(evolution.StrategySettings{Sigma0: 1})},
		{"must be a multiple of emitters", "map-elites", strategies(evolution.StrategySettings{Sigma0: 1, Emitters: 3})},
		{"adam_learning_rate must be above 0 for openai-es", "map-elites",
			strategies(evolution.StrategySettings{Sigma0: 1, Emitters: 4, Strategy: "openai-es"})},
		{"skills.DIAYN: LearningRate must be a number from 0", "diayn",
			with(skilled(skills.Parts{Diversity: skills.DIAYN{LearningRate: -1}}))},
		{"smerl_margin must be at least 0, not -1", "diayn", with(skilled(skills.Parts{Objective: skills.SMERL{Margin: -1}}))},
		{"nil", "diayn-reward", with(skilled(skills.Parts{Diversity: (*skills.DIAYN)(nil)}))},
		{"nil", "diayn-reward", with(skilled(skills.Parts{Objective: (*skills.SMERL)(nil)}))},
		{"nil", "map-elites", with(archiving((*repertoire.Grid)(nil)))},
		{"nil", "map-elites", with(emitting((*evolution.IsoLineEmitter)(nil)))},
		{"nil", "map-elites", with(Tune(func(m *evolution.MapElites) { m.Policy = (*pointed)(nil) }))},
		{"Tune(nil): give it a function", "map-elites", with(Tune[evolution.MapElites](nil))},
	} {
		spec := smallest(c.algorithm, t.TempDir())
		c.change(&spec)
		run, err := Train(background, spec)
		want, begins := strings.CutPrefix(c.want, "qdnb: ")
		if errtest.Want(t, err, want); begins && !strings.HasPrefix(fmt.Sprint(err), want) {
			t.Errorf("%v does not begin with %q", err, want)
		}
		if left, _ := os.ReadDir(spec.Runs); run != nil || len(left) > 0 {
			t.Errorf("%q leaves %v, %v", want, run, left)
		}
	}
	if os.Geteuid() != 0 { // root may write everywhere
		folder := t.TempDir()
		must.Do(os.Chmod(folder, 0o555))
		errtest.Want(t, errtest.Of(Train(background, small(folder, 2))), "cannot write to")
	}
}

// pointed is an architecture whose methods read it.
type pointed struct{ nn.MLP }

// nil where a value is expected by other functions is an error of one line, too.
func TestNilValues(t *testing.T) {
	var none context.Context
	var absent *runs.Run
	simulator := (*envs.Simulator)(nil)
	run, spec := finishedRun(t, t.TempDir(), "map-elites", "pointmaze", 1, 3), small(t.TempDir(), 1)
	for want, err := range map[string]error{
		"Environment of the Spec is a nil *envs.Simulator": errtest.Of(Train(background, Spec{Algorithm: "map-elites",
			Environment: simulator, Runs: spec.Runs})),
		"Loop of the Spec is a nil *evolution.MapElites": errtest.Of(Train(background, Spec{Name: "own",
			Loop: (*evolution.MapElites)(nil), Env: "pointmaze", Runs: spec.Runs})),
		"Policy of the PlaySpec is a nil *qdnb.pointed": errtest.Of(Play(background, run,
			PlaySpec{Policy: (*pointed)(nil)})),
		"Environment of the PlaySpec is a nil *envs.Simulator": errtest.Of(Play(background, run,
			PlaySpec{Environment: simulator})),
		"Environment of the AdaptSpec is a nil *envs.Simulator": errtest.Of(Adapt(background, AdaptSpec{Environment: simulator,
			Skills: run, Perturbation: envs.GravityMultiplier})),
	} {
		t.Run(want, func(t *testing.T) { errtest.Want(t, err, want) })
	}
	for name, err := range map[string]error{
		"context":    errtest.Of(Train(none, spec)),
		"contexts":   errtest.Of(TrainSeeds(none, spec, 1, 2)),
		"ask":        errtest.Of(Ask(none, simulated("dns", spec.Runs, 1))),
		"export":     errtest.Of(exchange.Export(nil, exchange.ExportSpec{Out: "x.npz"})),
		"repertoire": errtest.Of(absent.Repertoire()),
		"metrics":    errtest.Of(absent.Metrics()),
		"snapshots":  errtest.Of(absent.Snapshots()),
	} {
		t.Run(name, func(t *testing.T) { errtest.Want(t, err, "nil") })
	}
	spec.Tune = spec.Tune.And(nil)
	must.Get(spec.Config())
}

// Every number among the hyperparameters has limits, except for three of any sign and size, and no choice takes an empty
// or a mistyped value, but names what was meant.
func TestSettingsHaveLimits(t *testing.T) {
	env := must.Get(envs.Make("pointmaze")).Spec()
	for _, name := range Algorithms() {
		entry := must.Get(registry.Find(name))
		set := func(field, value string) error { return errtest.Of(entry.Tuned(env, runs.Assign(field+"="+value))) }
		settings := map[string]any{"weights": "float32"}
		if errtest.Of(entry.Tuned(env, runs.Assign("weights=float32"))) != nil {
			delete(settings, "weights")
		}
		must.Do(json.Unmarshal(must.Get(parts.Marshal(must.Get(entry.Tuned(env, nil)))), &settings))
		for field, value := range settings {
			switch value := value.(type) {
			case float64:
				err := set(field, "-1e18")
				if !slices.Contains([]string{"cvt_seed", "smerl_target", "threshold_min"}, field) &&
					!strings.HasPrefix(fmt.Sprint(err), field+" must be ") {
					t.Errorf("%s: %s=-1e18: %v", name, field, err)
				}
			case string:
				errtest.Want(t, set(field, value[1:]), fmt.Sprintf("%q; did you mean %q?", value[1:], value))
				errtest.Want(t, set(field, ""), field)
			}
		}
	}
}

// assigned is a Spec's change of the environment and of settings.
func assigned(env string, settings ...string) func(*Spec) {
	return func(s *Spec) { s.Env, s.Tune = env, runs.Assign(settings...) }
}
