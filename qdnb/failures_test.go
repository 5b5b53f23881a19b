package qdnb

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/random"
)

// here returns the position that many lines below the caller, as errors print it.
func here(lines int) string {
	_, file, line, _ := runtime.Caller(1)
	return fmt.Sprintf("%s:%d", file, line+lines)
}

// lineWith returns the position of the line of this file that begins with a text.
func lineWith(t *testing.T, text string) string {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	before, _, found := strings.Cut(string(nb.Must(os.ReadFile(file))), "\n"+text)
	if !found {
		t.Fatalf("no line begins with %q", text)
	}
	return fmt.Sprintf("%s:%d", file, strings.Count(before, "\n")+2)
}

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
		return failing{"generation", "qdnb.broken.Step", lineWith(t, "func (b broken) Step"), rest}
	}
	added := func(rest string) failing {
		return failing{"insertion of the generation", "qdnb.careless.Add", lineWith(t, "func (c careless) Add"), rest}
	}
	for _, c := range []struct {
		spec Spec
		want failing
	}{
		{emits(func(p evolution.Parents, keys random.Key) *Node {
			x := p.Sample(keys)
			return Add(x, keys.FoldIn(1).Normal(8))
		}), emitted(here(-1), axes)},
		{emits(func(p evolution.Parents, keys random.Key) *Node {
			return Slice(p.Sample(keys), AxisRange(), AxisRange(1))
		}), emitted(here(-2), ": it returns children of shape (Float32)[8, 113], not (Float32)[8, 114]"+axes)},
		{emits(func(evolution.Parents, random.Key) *Node {
			return nil
		}), emitted(here(-2), ": it returns nil for children of shape (Float32)[8, 114]"+axes)},
		{emits(func(p evolution.Parents, keys random.Key) *Node {
			return MulScalar(p.Sample(keys), float64(none[3]))
		}), emitted(here(-1), "runtime error: index out of range [3] with length 0")},
		{emits(func(p evolution.Parents, keys random.Key) *Node {
			var settings *struct{ Sigma float64 }
			return MulScalar(p.Sample(keys), settings.Sigma)
		}), emitted(here(-1), "runtime error: invalid memory address or nil pointer dereference")},

		{in("wide observations"), failing{"generation", "qdnb.broken.Reset", lineWith(t, "func (b broken) Reset"),
			": it returns Observation of shape (Float32)[8, 4], not (Float32)[8, 2]" + sizes}},
		{in("actions"), failing{"generation", "qdnb.broken.Step", lineWith(t, "\t\taction = Add(action, s.Reward)"), sizes}},
		{in("rewards of rank 2"), stepped(": it returns Reward of shape (Float32)[8, 1], not (Float32)[8] (" + sliceAxis + ")")},
		{in("no descriptor"), stepped(": it returns nil for Descriptor of shape (Float32)[8, 2]" + sizes)},
		{in("another world"), stepped(": it returns 2 tensors for PhysicsState, not 1")},
		{restarting, failing{"evaluation", "qdnb.broken.Step", lineWith(t, "func (b broken) Step"),
			": it returns Reward of shape (Float32)[2, 1], not (Float32)[2] (2: policies of a slice of the batch or " +
				"policies of the batch or numbers of an observation or numbers of an action or components of a " +
				"descriptor)"}},

		{keeps("fields"), added(": it returns 2 tensors for the archive, not 3")},
		{keeps("descriptors"), added(": it returns the archive[1] of shape (Float32)[16, 2], not (Float32)[32, 2] (" +
			batchAxis + "; " + sizesAxis + "; " + cellsAxis + ")")},
		{keeps("valid"), added(": it returns valid individuals of shape (Bool)[32], not (Bool)[16] (" + cellsAxis + "; " +
			batchAxis + ")")},
		{gradients, failing{"proposals", "qdnb.hasty.Offspring", lineWith(t, "func (h hasty) Offspring"),
			"(" + cellsAxis + "; " + paramsAxis + "; 8: proposals of a worker or proposals of an emitter)"}},

		{learns(skills.Parts{Diversity: confused{"skills"}}), failing{"iteration", "qdnb.confused.Reward",
			lineWith(t, "\t\treturn ReduceSum(Mul(b.Skill, b.Now), 1)"), "(" + updates + "; 3: skills; " + sizesAxis + ")"}},
		{learns(skills.Parts{Diversity: confused{"rank"}}), failing{"iteration", "qdnb.confused.Reward",
			lineWith(t, "func (c confused) Reward"),
			": it returns diversity rewards of shape (Float32)[16, 1], not (Float32)[16] (" + updates + ")"}},
		{learns(skills.Parts{Diversity: confused{"loss"}}), failing{"iteration", "qdnb.confused.Learn",
			lineWith(t, "func (c confused) Learn"),
			": it returns loss of shape (Float32)[16], not (Float32) (" + updates + ")"}},
		{learns(skills.Parts{Objective: odd{}}), failing{"iteration", "qdnb.odd.Reward", lineWith(t, "func (odd) Reward"),
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
	if s := run.Status; r.Cells() != 128 || stats.Filled == 0 || s.Coverage != stats.Coverage ||
		s.QDScore != stats.QDScore {
		t.Errorf("%+v, but the status has %v %% and %v", stats, s.Coverage, s.QDScore)
	}
}

// lengthless returns a run on walker-uni with episodes of no steps. Its rollout is rejected, like
// one that needs too much memory.
func lengthless(t *testing.T) *runs.Run {
	t.Helper()
	run := walkers(t, t.TempDir(), "map-elites")
	config := nb.Must(runs.NewConfig("map-elites", "walker-uni", 0,
		map[string]any{"hidden": []int{8}, "episode_length": 0}))
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
