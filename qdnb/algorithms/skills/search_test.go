package skills

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// During warm-up a search acts and stores transitions, and its parameters do not change.
func TestWarmup(t *testing.T) {
	p := xlatest.Pure(t)
	config := small()
	n := config.EnvBatchSize
	config.WarmupSteps, config.EarlyInterval = int64(3*n), 0
	config.EvaluationInterval = int64(5 * n)
	s := startSearch(t, p, diaynReward, config)
	steps(t, s, 1)
	first := memory(t, s)
	outcomes := steps(t, s, 3)
	warm := memory(t, s)
	for _, name := range xlatest.Differ(first, warm) {
		if !strings.HasPrefix(name, "Envs.") && !strings.HasPrefix(name,
			"passive_") && name != "replay" && !slices.Contains(counters, name) {
			t.Errorf("warming up changes %s", name)
		}
	}
	if warm["replay"].Shape[0] != 3*n || outcomes[2].EnvSteps != int64(3*n) {
		t.Errorf("after the warm-up: %d rows, %+v", warm["replay"].Shape[0], outcomes[2])
	}
	steps(t, s, 1)
	end := memory(t, s)
	if count := floatsOf(t, end, "metric_count"); count[0] != 1 {
		t.Errorf("the first losses are averaged over %v iterations", count[0])
	}

	// The actions do not depend on the actor, whose initial networks may all favour one direction.
	other := startSearch(t, p, diaynReward, config)
	held := memory(t, other)
	for name, array := range held {
		if strings.HasPrefix(name, "Learner.Actor.Params.") {
			n := array.Shape[0] * array.Shape[1]
			held[name] = npz.Of(slices.Repeat([]float32{3}, n), array.Shape...)
		}
	}
	restore(t, other, -1, held)
	steps(t, other, 4)
	errtest.Equal(t, "warm-up of another actor", floatsOf(t, memory(t, other), "replay"), floatsOf(t, warm, "replay"))
	if changed := xlatest.Differ(warm, end); !slices.Contains(changed,
		"Learner.Actor.Params.Bias.0") || !slices.Contains(changed, "Learner.Critic.Trainable.Params.0.Bias.0") {
		t.Errorf("the first update changes %v", changed)
	}
}

// Every return exceeds a target of -Inf: SMERL then equals PlusReward, bit for bit. With an
// unreachable target it learns only the task.
func TestSMERLWithoutATargetIsPlusReward(t *testing.T) {
	p := xlatest.Pure(t)
	after := func(objective Objective) map[string]npz.Array {
		s := startSearch(t, p, methodOf(short, 3, smallDIAYN, objective), small())
		steps(t, s, 12)
		held := memory(t, s)
		// SMERL logs one more metric.
		maps.DeleteFunc(held, func(name string, _ npz.Array) bool {
			return strings.HasPrefix(name, "Returns.") || slices.Contains(counters, name)
		})
		return held
	}
	plus, task := after(PlusReward{2}), after(PlusReward{0})
	if len(xlatest.Differ(plus, task)) == 0 {
		t.Error("the diversity reward changes nothing: the test is vacuous")
	}
	if names := xlatest.Differ(plus, after(SMERL{Target: negativeInfinity,
		Scale: 2})); len(names) > 0 {
		t.Errorf("without a target %v differ", names)
	}
	if names := xlatest.Differ(task, after(SMERL{Target: 1e9, Margin: 1, Scale: 2})); len(names) > 0 {
		t.Errorf("below its target %v differ", names)
	}
}

// DIAYN without a task reward: the discriminator learns to distinguish the skills, and they end in
// different positions.
func TestDIAYNParts(t *testing.T) {
	diayn := DIAYN{LearningRate: 3e-3, Hidden: []int{32}}
	s := startSearch(t, xlatest.Quick(t), methodOf(free, 3, diayn, DiversityOnly{}), quick(15))
	outcomes := steps(t, s, 121)
	loss := func(outcomes []scoring.Outcome) (sum float64) {
		for _, o := range outcomes {
			sum += o.Extra[slices.Index(s.Columns(), "discriminator_loss")] / float64(len(outcomes))
		}
		return sum
	}
	first, last := loss(outcomes[4:5]), loss(outcomes[120:])
	_, e, err := s.Evaluate()
	must.Do(err)
	distance := func(i, k int) float64 {
		return math.Hypot(float64(e.Descriptors[2*i]-e.Descriptors[2*k]),
			float64(e.Descriptors[2*i+1]-e.Descriptors[2*k+1]))
	}
	within, between := 0.0, math.Inf(1) // largest distance within a skill, smallest between two
	for i := range e.Fitnesses {
		for k := range i {
			if i%3 == k%3 {
				within = max(within, distance(i, k))
			} else {
				between = min(between, distance(i, k))
			}
		}
	}
	t.Logf("the discriminator's loss goes from %.2f to %.2f; skills end %.2f apart, episodes of one "+
		"skill %.2f", first, last, between, within)
	if first < 0.9 || last > 0.6*math.Log(3) {
		t.Errorf("the discriminator's loss goes from %.2f to %.2f; log 3 is %.2f", first, last, math.Log(3))
	}
	if between < 0.5 || between < 1.5*within {
		t.Errorf("skills end %.2f apart, episodes of one skill %.2f", between, within)
	}
}

// Another seed draws other networks and starts. Runs of one seed are compared by package qdnb.
func TestSeeds(t *testing.T) {
	config := small()
	one := startSearch(t, xlatest.Pure(t), diaynReward, config)
	config.Seed = 2
	two := startSearch(t, xlatest.Pure(t), diaynReward, config)
	differ := xlatest.Differ(memory(t, one), memory(t, two))
	for _, name := range []string{"Learner.Actor.Params.Kernel.0", "Learner.Critic.Trainable.Params.0.Kernel.0",
		"Envs.Observation"} {
		if !slices.Contains(differ, name) {
			t.Errorf("seed 2 has the same %s", name)
		}
	}
}

// FuzzRestore restores a search from arbitrary arrays. It resumes if they are accepted, and is
// unchanged if they are refused.
func FuzzRestore(f *testing.F) {
	s := startSearch(f, xlatest.Pure(f), smerlDADS, small())
	for range 3 {
		must.Get(s.Step())
	}
	xlatest.FuzzRestore(f, s, 2, "", "Returns.Position <i4 , 2147483647",
		"Returns.Position <i4 , -5\nReturns.Age <i4 6, -2147483648", "Returns.Position <f4 , 1",
		"-Returns.Position <f4 1,", "-Learner.LogAlpha.Params <f4 1,", "-Learner.Actor.Params.Bias.0 <f4 1,",
		"evaluations |u1 , 3", "evaluations <f8 , nan",
		"evaluations <i8 2, 1", "-evaluations <f4 1,", "metric_sums <f8 9, nan", "iteration <i8 , -9",
		"metric_sums <f4 8, 1", "Learner.LogAlpha.Params <f4 , inf",
		"Learner.Actor.Params.Bias.0 <f4 8,1 1", "Learner.Actor.Params.Bias.0 <f8 1,8 1",
		"Learner.Actor.Params.Bias.0 |u1 1,8 1",
		"Diversity.Dynamics.Params.Logits.Bias.0 <f4 1,2 nan\nReturns.Rows <f4 10,6 nan",
		"Envs.Observation <f4 6,2 inf -inf", "passive_genotypes <f4 0,4611686018427387904",
		"Learner.Critic.Trainable.Params.1.Bias.0 <f4 1,8 1e38")
}

func TestMisfitsGiveOneLine(t *testing.T) {
	p := xlatest.Pure(t)
	type all struct {
		method method
		config config
	}
	together := "skills, a diversity reward and an objective go together"
	for _, c := range []struct {
		want   string
		change func(*all)
	}{
		{"2 environments cannot play all of 3 skills", func(a *all) { a.config.EnvBatchSize = 2 }},
		{"must hold whole episodes: at least 48 transitions, not 42",
			func(a *all) { a.config.ReplayBufferSize, a.method.Objective = 42, SMERL{Target: 1} }},
		{together, func(a *all) { a.method.Objective = nil }},
		{together, func(a *all) { a.method.Diversity = nil }},
		{together, func(a *all) { a.method.Skills.OneHot = 0 }},
		{together, func(a *all) { a.method.Diversity, a.method.Objective = nil, nil }},
		{"skills are either one-hot, or vectors", func(a *all) { a.method.Skills.Draw = cube(1, 1).Draw }},
		{"evaluated skill 1 has 2 components, the first has 1", func(a *all) {
			a.method.Skills = Distribution{Draw: cube(1, 1).Draw, Evaluated: [][]float32{{0}, {0, 1}}}
		}},
		{"the share of redrawn skills is 0.5", func(a *all) { a.method.Skills.Redraw = 0.5 }},
	} {
		a := all{diaynReward, small()}
		c.change(&a)
		s, err := newSearch(p, a.method, a.config)
		if errtest.Want(t, err, c.want); s != nil {
			t.Errorf("%q: there is a search", c.want)
		}
	}
}

// A unit of a hidden layer that is no number ends the search, although activations may turn NaN
// into 0, and the state of the iteration before stays.
func TestWhatIsNoNumberEndsTheSearch(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := startSearch(t, p, diaynReward, small())
		steps(t, s, 3)
		held := memory(t, s)
		for _, name := range []string{"Learner.Critic.Trainable.Params.0.Bias.0", "Learner.Actor.Params.Bias.0",
			"Diversity.Discriminator.Params.Bias.0"} {
			arrays, data := maps.Clone(held), slices.Clone(floatsOf(t, held, name))
			data[3] = float32(math.NaN())
			arrays[name] = npz.Of(data, held[name].Shape...)
			restore(t, s, 2, arrays)
			o, err := s.Step()
			errtest.Want(t, err, " in iteration 3: ")
			if !regexp.MustCompile(`^\w+ is (NaN|[+-]Inf)`).MatchString(fmt.Sprint(err)) || o.Fitnesses != nil || s.Generation != 2 {
				t.Errorf("%s: %v after iteration %d", name, err, s.Generation)
			}
		}
	})
}

func TestUpdatesAreRounded(t *testing.T) {
	for _, c := range []struct {
		per  float64
		want int
	}{{1, 200}, {0, 0}, {0.5, 100}, {0.001, 0}, {0.0051, 1}, {2.5, 500}} {
		errtest.Equal(t, fmt.Sprintf("%g updates per transition, 200 transitions", c.per),
			(SAC{EnvBatchSize: 200, GradUpdatesPerStep: c.per}).Updates(), c.want)
	}
}

// Settings that do not fit together are one line; limits of single ones are tested by package qdnb.
// Values at the limits are accepted, and so are the defaults of an environment that has no
// published ones.
func TestMistakesInSettings(t *testing.T) {
	known, other, mean := endless.Spec(), endless.Spec(), endless.Spec()
	known.Name, mean.Descriptor.Kind = "pointmaze", envs.Mean
	for _, c := range []struct {
		want, algorithm string
		change          func(*Discovery)
	}{
		{"replay_buffer_size must be a multiple of env_batch", "diayn", func(d *Discovery) { d.ReplayBufferSize = 100_100 }},
		{"at least 1600 transitions, not 1400", "smerl-diayn", func(d *Discovery) { d.ReplayBufferSize = 1400 }},
		{"grad_updates_per_step must be between 0 and ", "diayn", func(d *Discovery) { d.GradUpdatesPerStep = math.NaN() }},
		{"grad_updates_per_step is 0.002, less than one", "diayn", func(d *Discovery) { d.GradUpdatesPerStep = 0.002 }},
		{"num_skills must be at most env_batch_size (200)", "diayn", func(d *Discovery) { d.NumSkills = 201 }},
		{"num_skills must be at least 2", "diayn", func(d *Discovery) { d.NumSkills = 1 }},
		{"smerl_target is unknown", "smerl-dads", func(d *Discovery) { d.Objective = SMERL{Target: math.NaN()} }},
		{"smerl_margin must be at least 0", "smerl-dads", func(d *Discovery) { d.Objective = SMERL{Margin: math.NaN()} }},
		{"num_skills must be between", "metra", func(d *Discovery) { d.NumSkills = 0 }},
		{"at most env_batch_size", "metra", func(d *Discovery) { d.NumSkills = d.EnvBatchSize + 1 }},
		{"", "metra", func(d *Discovery) { // each environment plays any of continuous skills
			d.NumSkills = d.EnvBatchSize + 1
			parts.Change(d, func(m *METRA) { m.Components = 2 })
		}},
		{"", "smerl-diayn", func(d *Discovery) {
			d.Objective = SMERL{Target: math.Inf(-1), Scale: -1}
			d.GradUpdatesPerStep, d.EarlyInterval, d.Hidden, d.ReplayBufferSize = 0, 0, nil, 200*8
			d.Config.Discount, d.Config.Tau = 0, 1
		}},
	} {
		d := Defaults(c.algorithm, known)
		must.Do(d.Check())
		if c.change(d); c.want == "" {
			must.Do(d.Check())
		} else {
			errtest.Want(t, d.Check(), c.want)
		}
	}
	for _, name := range []string{"diayn", "dads", "diayn-reward", "dads-reward"} {
		h := Defaults(name, other)
		must.Do(h.Check())
		if b := h.SAC; b.RewardScaling != 1 || b.EpisodeLength != 8 || b.Updates() != 200 || !b.FixAlpha || b.AlphaInit != 0.1 {
			t.Errorf("%s: %+v", name, b)
		}
		if h.method(endless).Width() != 2 || len(Defaults(name, mean).method(endless).Features.Columns) > 0 {
			t.Errorf("%s: skills are distinguished by positions if they are the descriptor, else by observations", name)
		}
	}
}

var negativeInfinity = math.Inf(-1)

// Each objective with values that are exact in float32; the return of the second transition is the
// lowest accepted one.
func TestObjectives(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	task, diversity := []float32{1, 2, 3, 4, 5, 6}, []float32{0.5, -1, 2, 4, 8, nan}
	returns := []float32{9.5, 10, 11, nan, -inf, 9}
	for _, c := range []struct {
		objective Objective
		needs     bool
		want      []float32
	}{
		{DiversityOnly{}, false, []float32{0.5, -1, 2, 4, 8}},
		{PlusReward{3}, false, []float32{2.5, -1, 9, 16, 29}},
		// The last episode is not accepted, so its NaN does not propagate.
		{SMERL{Target: 12, Margin: 2, Scale: 3}, true, []float32{1, -1, 9, 4, 5, 6}},
	} {
		errtest.Equal(t, fmt.Sprintf("%T: NeedsReturns", c.objective), c.objective.NeedsReturns(), c.needs)
		xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				if !c.needs {
					return []*Node{c.objective.Reward(in[0], in[1], nil)}
				}
				return []*Node{c.objective.Reward(in[0], in[1], Const(in[0].Graph(), returns))}
			}, xlatest.Tensor(task, 6), xlatest.Tensor(diversity, 6))
			errtest.Equal(t, fmt.Sprintf("%+v", c.objective), xlatest.Flat[float32](t, out[0])[:len(c.want)], c.want)
		})
	}
}
