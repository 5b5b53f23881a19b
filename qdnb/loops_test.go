package qdnb_test

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// noveltyGA is a custom loop: a genetic algorithm whose population keeps the individuals that
// are farthest from their nearest neighbours in descriptor space (Lehman and Stanley 2011).
type noveltyGA struct {
	Population    int     `json:"population"`
	Neighbours    int     `json:"neighbours"`
	Sigma         float64 `json:"sigma"`
	Hidden        []int   `json:"hidden"`
	EpisodeLength int     `json:"episode_length"`
	repertoire.CVT
}

func (a *noveltyGA) Check() error {
	return cmp.Or(limits.Int("population", a.Population, 2, 1<<16),
		limits.Int("neighbours", a.Neighbours, 1, a.Population), a.CVT.Check())
}

// people is a population: a pytree.
type people struct{ Genotypes, Descriptors *Node } // [P, N], [P, d]

type noveltySearch struct {
	*algorithms.Base
	population xla.State[people]
	children   *xla.Program[childrenIn, xla.Array]
	selection  *xla.Program[selectionIn, xla.State[people]]
}

type childrenIn struct {
	Seed, Number xla.Array
	Population   xla.State[people]
}

type selectionIn struct {
	Population            xla.State[people]
	Children, Descriptors xla.Array
}

func (a *noveltyGA) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	task := scoring.NewTask(env, a.Hidden, a.EpisodeLength)
	base, err := algorithms.NewBase(p, task, a.CVT, a.Population, seed)
	if err != nil {
		return nil, err
	}
	n, d := task.Policy.Params(), len(env.Spec().Descriptor.Lower)
	s := &noveltySearch{Base: base, population: xla.Pack(
		func(in []*Node) people { return people{in[0], in[1]} },
		xla.FromFloats(make([]float32, a.Population*n), a.Population, n),
		xla.FromFloats(make([]float32, a.Population*d), a.Population, d))}
	s.children, err = xla.Compile(s.Programs, "children",
		childrenIn{s.Seed, xla.Declare(dtypes.Int32), s.population}, func(in childrenIn) xla.Array {
			number := in.Number.Tree
			keys := random.KeyOf(in.Seed.Tree).FoldInEach(number).FoldInEach(
				Iota(number.Graph(), shapes.Make(dtypes.Int32, a.Population), 0))
			mutated := Add(in.Population.Tree.Genotypes, MulScalar(keys.FoldIn(0).Normal(a.Population, n), a.Sigma))
			initial := BroadcastToDims(Equal(number, ZerosLike(number)), a.Population, n)
			return xla.Out(Where(initial, task.Policy.Init(keys), mutated))
		})
	if err == nil {
		in := selectionIn{s.population, s.children.Out, xla.Declare(dtypes.Float32, a.Population, d)}
		s.selection, err = xla.Compile(s.Programs, "selection", in, a.survivors)
	}
	return s, err
}

// survivors are the individuals with the greatest mean distance to their nearest neighbours.
func (a *noveltyGA) survivors(in selectionIn) xla.State[people] {
	all := xla.Map2(in.Population.Tree, people{in.Children.Tree, in.Descriptors.Tree},
		func(old, young *Node) *Node { return Concatenate([]*Node{old, young}, 0) })
	difference := Sub(InsertAxes(all.Descriptors, 0), InsertAxes(all.Descriptors, 1))
	nearest, _ := TopK(Neg(Sqrt(ReduceSum(Square(difference), 2))), a.Neighbours+1, 1) // itself, too
	_, novel := TopK(Neg(ReduceSum(nearest, 1)), a.Population, 0)
	return xla.Out(xla.Map(all, func(x *Node) *Node { return Gather(x, InsertAxes(novel, -1)) }))
}

func (s *noveltySearch) Step() (o scoring.Outcome, err error) {
	number := s.Number()
	defer number.Free()
	children, err := s.children.Run(childrenIn{s.Seed, number, s.population})
	if err != nil {
		return o, err
	}
	defer children.Free()
	found, o, err := s.Evaluate(children)
	if err != nil {
		return o, err
	}
	n := len(found.Fitnesses)
	descriptors := xla.FromFloats(found.Descriptors, n, len(found.Descriptors)/n)
	defer descriptors.Free()
	survivors, err := s.selection.Run(selectionIn{s.population, children, descriptors})
	if err == nil {
		s.population.Free()
		s.population = survivors
	}
	return o, err
}

func (s *noveltySearch) State() *xla.Checkpoint { return s.Stored(&s.population) }

// Every seed and every generation of a loop has initial states of its own.
func TestInitialStatesOfLoops(t *testing.T) {
	platform := must.Get(xla.Open(t.Context(), "go"))
	const n = 3
	task := scoring.NewTask(must.Get(envs.Make("pointmaze")), []int{4}, 5)
	seen := map[float32]string{}
	for _, seed := range []int64{0, 1, 1 + 1<<32, -1, 1 << 32} {
		base := must.Get(algorithms.NewBase(platform, task, repertoire.CVT{Cells: 4, CVTSamples: 50}, n, seed))
		policies := xla.FromFloats(make([]float32, n*task.Policy.Params()), n, task.Policy.Params())
		for generation := range 2 {
			found, _, err := base.Evaluate(policies)
			must.Do(err)
			for i, fitness := range found.Fitnesses {
				episode := fmt.Sprintf("episode %d of generation %d of seed %d", i, generation, seed)
				if other, ok := seen[fitness]; ok {
					t.Errorf("%s starts like %s", episode, other)
				}
				seen[fitness] = episode
			}
		}
		policies.Free()
		base.Close()
	}
}

// late is a loop that creates a part of its state in its first step.
type late struct{ noveltyGA }

type lateSearch struct {
	*noveltySearch
	steps xla.Array
}

func (a *late) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	s, err := a.noveltyGA.New(p, env, seed)
	if err != nil {
		return nil, err
	}
	return &lateSearch{noveltySearch: s.(*noveltySearch)}, nil
}

func (s *lateSearch) Step() (scoring.Outcome, error) {
	if len(s.steps.Leaves()) == 0 {
		s.steps = xla.FromFloats([]float32{1}, 1)
	}
	return s.noveltySearch.Step()
}

func (s *lateSearch) State() *xla.Checkpoint { return s.Stored(&s.population, &s.steps) }

// Settings with which a loop of the user cannot work are errors, not crashes.
func TestSettingsOfOwnLoops(t *testing.T) {
	p := must.Get(xla.Open(t.Context(), "go"))
	cells := repertoire.CVT{Cells: 4, CVTSamples: 20}
	train := func(int64) ([]float64, error) { return []float64{0}, nil }
	for _, c := range []struct {
		want         string
		hidden       []int
		plan         scoring.Plan
		steps, every int64
	}{
		{"", nil, scoring.Plan{Policies: 2}, 1, 1},
		{"Steps and Every of at least 1, not 1 and 0", nil, scoring.Plan{Policies: 2}, 1, 0},
		{"Steps and Every of at least 1, not 0 and -1", nil, scoring.Plan{Policies: 2}, 0, -1},
		{"has no States in its plan", nil, scoring.Plan{Policies: 2, States: 2}, 1, 1},
		{"at least 1 policy", nil, scoring.Plan{}, 1, 1},
		{"at most 16777216 units in a layer", []int{2e9, 2e9}, scoring.Plan{Policies: 2}, 1, 1},
		{"at least 1 unit, not [0 2]", []int{0}, scoring.Plan{Policies: 2}, 1, 1},
		{"at least 1 unit, not [-1 2]", []int{-1}, scoring.Plan{Policies: 2}, 1, 1},
	} {
		task := scoring.NewTask(envs.Pointmaze{}, c.hidden, 5)
		learner, err := algorithms.NewLearner(p, task, cells, c.plan, nil, 1)
		if err == nil {
			genotypes := xla.FromFloats(make([]float32, 2*task.Policy.Params()), 2, task.Policy.Params())
			learner.Steps, learner.Every, learner.Train = c.steps, c.every, train
			learner.Policies = func() (xla.Array, error) { return genotypes, nil }
			_, err = learner.Step()
		}
		if c.want != "" {
			errtest.Want(t, err, c.want)
		} else {
			must.Do(err)
		}
	}
	loop := must.Get(registry.Find("ppo")).Defaults(envs.Pointmaze{}.Spec()).(*ppo.PPO)
	loop.AdamEpsilon = math.NaN()
	errtest.Want(t, loop.Check(), "AdamEpsilon must be a number from 0 to 1, not NaN")
	for want, spec := range map[string]qdnb.Spec{
		"set Name":                   {Env: "pointmaze", Loop: loops["novelty-ga"]()},
		"are mutually exclusive":     {Algorithm: "sac", Name: "mine", Env: "pointmaze", Loop: loops["novelty-ga"]()},
		"population must be between": {Name: "mine", Env: "pointmaze", Loop: &noveltyGA{Population: 1}},
	} {
		spec.Runs = t.TempDir()
		errtest.Want(t, errtest.Of(qdnb.Train(t.Context(), spec)), want)
	}
}

// A state that a resumed run would not restore is an error at the first checkpoint.
func TestLateStateOfALoop(t *testing.T) {
	loop := &late{*loops["novelty-ga"]().(*noveltyGA)}
	_, err := qdnb.Train(context.Background(), qdnb.Spec{Name: "late", Env: "pointmaze", Runs: t.TempDir(),
		Backend: "go", Budget: qdnb.Generations(2), Quiet: true, Loop: loop})
	errtest.Want(t, err, "the checkpoint has 1., which State did not list before the first Step")
}

// stateless is a loop whose search has no checkpoint.
type stateless struct{ noveltyGA }

type statelessSearch struct{ *noveltySearch }

func (a *stateless) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	s, err := a.noveltyGA.New(p, env, seed)
	if err != nil {
		return nil, err
	}
	return statelessSearch{s.(*noveltySearch)}, nil
}

func (statelessSearch) State() *xla.Checkpoint { return nil }

// A search without a checkpoint is an error before its first step.
func TestLoopWithoutState(t *testing.T) {
	loop := &stateless{*loops["novelty-ga"]().(*noveltyGA)}
	errtest.Want(t, errtest.Of(qdnb.Train(t.Context(), qdnb.Spec{Name: "stateless", Env: "pointmaze", Runs: t.TempDir(),
		Backend: "go", Budget: qdnb.Generations(1), Quiet: true, Loop: loop})), "State of the search of stateless returned nil")
}

// loops are small custom loops, by name.
var loops = map[string]func() algorithms.Algorithm{
	"novelty-ga": func() algorithms.Algorithm {
		return &noveltyGA{Population: 20, Neighbours: 3, Sigma: 0.1, Hidden: []int{8}, EpisodeLength: 20,
			CVT: repertoire.CVT{Cells: 16, CVTSamples: 200}}
	},
	"grid-loop": func() algorithms.Algorithm {
		return &archiving{Batch: 20, Sigma: 0.1, Hidden: []int{8}, EpisodeLength: 20,
			CVT: repertoire.CVT{Cells: 16, CVTSamples: 200}, Archive: repertoire.Grid{}}
	},
}

// unplayable is a loop whose settings do not describe its policies.
type unplayable struct {
	loop   algorithms.Algorithm
	Layers []int `json:"layers"`
}

func (u *unplayable) Check() error { return u.loop.Check() }

func (u *unplayable) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	return u.loop.New(p, env, seed)
}

// Policies that cannot be evaluated again are an error before training, not at an eighteenth of the budget.
func TestCorrectedLoopsDescribeTheirPolicies(t *testing.T) {
	spec := qdnb.Spec{Name: "mine", Env: "pointmaze", Runs: t.TempDir(), Backend: "go", Quiet: true,
		Budget: qdnb.Generations(2), Loop: &unplayable{loops["novelty-ga"](), []int{8}}, Corrected: 2}
	train := func() error {
		_, err := qdnb.Train(context.Background(), spec)
		return err
	}
	errtest.Want(t, train(), "Corrected needs layers [2 8 2] and the episodes of 20 steps of mine",
		"these are layers [2 256 256 2] and ")
	if left := nb.Must(os.ReadDir(spec.Runs)); len(left) > 0 {
		t.Errorf("it leaves %v", left)
	}
	spec.Loop = loops["novelty-ga"]()
	must.Do(train())
	spec.Loop, spec.Corrected = &unplayable{loops["novelty-ga"](), []int{8}}, 0
	must.Do(train())
}

// A custom loop is trained like any other algorithm, with a run folder, checkpoints and figures.
func ExampleSpec_loop() {
	folder, _ := os.MkdirTemp("", "runs")
	defer os.RemoveAll(folder)
	run, err := qdnb.Train(context.Background(), qdnb.Spec{
		Name: "novelty-ga", Env: "pointmaze", Runs: folder, Backend: "go", Budget: qdnb.Generations(10),
		Quiet: true, Loop: loops["novelty-ga"](),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.Config.Algorithm, run.Status.Generation, run.Status.Evaluations)
	// Output: novelty-ga 10 220
}

// ruled is a loop that learns nothing, by a [algorithms.Rule] with a change.
type ruled struct {
	repertoire.CVT
	change func(*algorithms.Rule[[]*Node])
}

func (r *ruled) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	task := scoring.NewTask(env, []int{2}, 5)
	rule := algorithms.Rule[[]*Node]{Metrics: []string{"loss"}, Steps: 5, Every: 5, Episodes: 1,
		Start: func(key random.Key) []*Node { return []*Node{task.MLP().Init(key.Split(1))} },
		Iterate: func(m []*Node, key random.Key) ([]*Node, []*Node) {
			zero := Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32))
			return m, []*Node{zero, zero}
		},
		Policy: func(m []*Node) *Node { return m[0] }}
	r.change(&rule)
	return rule.New(p, task, r.CVT, seed)
}

// A mistake in a rule is one line that names the function.
func TestMistakesOfRules(t *testing.T) {
	type rule = algorithms.Rule[[]*Node]
	returning := func(change func(m, metrics []*Node) ([]*Node, []*Node)) func(*rule) {
		return func(r *rule) {
			old := r.Iterate
			r.Iterate = func(m []*Node, key random.Key) ([]*Node, []*Node) { return change(old(m, key)) }
		}
	}
	for want, change := range map[string]func(*rule){
		"":                               func(*rule) {},
		"Start, Iterate and Policy":      func(r *rule) { r.Start = nil },
		"Iterate and Policy: one of":     func(r *rule) { r.Iterate = nil },
		"and Policy: one of them is nil": func(r *rule) { r.Policy = nil },
		"Episodes of a Rule must be at least 1, not 0": func(r *rule) { r.Episodes = 0 },
		"it returns []*graph.Node without tensors":     func(r *rule) { r.Start = func(random.Key) []*Node { return nil } },
		"it returns nil for genotypes of shape":        func(r *rule) { r.Policy = func([]*Node) *Node { return nil } },
		"it returns genotypes of shape": func(r *rule) {
			r.Policy = func(m []*Node) *Node { return Reshape(m[0], -1, 1) }
		},
		"it returns 0 tensors for the state, not 1": returning(func(_, metrics []*Node) ([]*Node, []*Node) {
			return nil, metrics
		}),
		"it returns the state[0] of shape": returning(func(m, metrics []*Node) ([]*Node, []*Node) {
			return []*Node{Reshape(m[0], -1)}, metrics
		}),
		"it returns 1 tensors for metrics": returning(func(m, metrics []*Node) ([]*Node, []*Node) { return m, metrics[:1] }),
		"it returns 3 tensors for metrics": returning(func(m, metrics []*Node) ([]*Node, []*Node) {
			return m, append(metrics, metrics[0])
		}),
		"it returns loss of shape": returning(func(m, metrics []*Node) ([]*Node, []*Node) {
			return m, []*Node{m[0], metrics[1]}
		}),
	} {
		_, err := qdnb.Train(context.Background(), qdnb.Spec{Name: "ruled", Env: "pointmaze", Backend: "go", Quiet: true,
			Loop: &ruled{repertoire.CVT{Cells: 4, CVTSamples: 40}, change}, Runs: t.TempDir(), Budget: qdnb.Generations(2)})
		if want == "" && err != nil {
			t.Error(err)
		} else if want != "" {
			errtest.Want(t, err, want)
		}
	}
}

// archiving is a custom loop around an archive: it mutates individuals, and inserts the children.
type archiving struct {
	Batch         int                `json:"batch"`
	Sigma         float64            `json:"sigma"`
	Hidden        []int              `json:"hidden"`
	EpisodeLength int                `json:"episode_length"`
	Archive       repertoire.Archive `json:"-"`
	repertoire.CVT
}

// held is an archive and the genotypes of its slots: a pytree.
type held struct {
	Genotypes *Node // [slots, N]
	Archive   repertoire.Archive
}

// insert adds children, and moves the genotypes of those that enter.
func (h held) insert(children *Node, found repertoire.Evaluated) held {
	archive, in := h.Archive.Add(found)
	slots, count := xla.Nonzero(in.Accepted)
	from := Gather(in.Index, InsertAxes(slots, -1))
	return held{xla.SetRowsAt(h.Genotypes, children, from, slots, count), archive}
}

type archivingSearch struct {
	*algorithms.Base
	held     xla.State[held]
	children *xla.Program[mutationIn, xla.Array]
	insert   *xla.Program[insertIn, xla.State[held]]
}

type mutationIn struct {
	Seed, Number xla.Array
	Held         xla.State[held]
}

type insertIn struct {
	Held                           xla.State[held] `xla:"donate"`
	Children, Fitness, Descriptors xla.Array
}

func (a *archiving) New(p *xla.Platform, env envs.Env, seed int64) (algorithms.Search, error) {
	base, err := algorithms.NewBase(p, scoring.NewTask(env, a.Hidden, a.EpisodeLength), a.CVT, a.Batch, seed)
	if err != nil {
		return nil, err
	}
	task := base.Task()
	n, d := task.Policy.Params(), len(env.Spec().Descriptor.Lower)
	empty, err := xla.Compile(base.Programs, "empty", base.Seed, func(seed xla.Array) xla.State[held] {
		archive := a.Archive.Empty(task, random.KeyOf(seed.Tree))
		slots := archive.Cells().Fitness.Shape().Dimensions[0]
		return xla.Out(held{Zeros(seed.Tree.Graph(), shapes.Make(dtypes.Float32, slots, n)), archive})
	})
	if err != nil {
		return nil, err
	}
	s := &archivingSearch{Base: base}
	if s.held, err = empty.Run(base.Seed); err != nil {
		return nil, err
	}
	s.children, err = xla.Compile(base.Programs, "children", mutationIn{base.Seed, xla.Declare(dtypes.Int32), s.held},
		func(in mutationIn) xla.Array {
			number, h := in.Number.Tree, in.Held.Tree
			keys := random.KeyOf(in.Seed.Tree).FoldInEach(number).FoldInEach(
				Iota(number.Graph(), shapes.Make(dtypes.Int32, a.Batch), 0))
			parents := Gather(h.Genotypes, InsertAxes(h.Archive.Cells().Sampler().Draw(keys.FoldIn(0)), -1))
			mutated := Add(parents, MulScalar(keys.FoldIn(1).Normal(a.Batch, n), a.Sigma))
			initial := BroadcastToDims(Equal(number, ZerosLike(number)), a.Batch, n)
			return xla.Out(Where(initial, task.Policy.Init(keys), mutated))
		})
	if err == nil {
		in := insertIn{s.held, s.children.Out, xla.Declare(dtypes.Float32, a.Batch), xla.Declare(dtypes.Float32, a.Batch, d)}
		s.insert, err = xla.Compile(base.Programs, "insert", in, func(in insertIn) xla.State[held] {
			return xla.Out(in.Held.Tree.insert(in.Children.Tree, repertoire.Evaluated{Batch: repertoire.Batch{
				Fitness: in.Fitness.Tree, Descriptors: in.Descriptors.Tree}}))
		})
	}
	return s, err
}

func (s *archivingSearch) Step() (o scoring.Outcome, err error) {
	number := s.Number()
	defer number.Free()
	children, err := s.children.Run(mutationIn{s.Seed, number, s.held})
	if err != nil {
		return o, err
	}
	defer children.Free()
	found, o, err := s.Evaluate(children)
	if err != nil {
		return o, err
	}
	n := len(found.Fitnesses)
	in := insertIn{s.held, children, xla.FromFloats(found.Fitnesses, n),
		xla.FromFloats(found.Descriptors, n, len(found.Descriptors)/n)}
	s.held, err = s.insert.Run(in)
	xla.Free(&in.Fitness, &in.Descriptors)
	return o, err
}

func (s *archivingSearch) State() *xla.Checkpoint { return s.Stored(&s.held) }
