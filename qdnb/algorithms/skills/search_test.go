package skills

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
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
	errtest.Equal(t, "rows and steps after the warm-up", fmt.Sprint(warm["replay"].Shape[0], outcomes[2].EnvSteps),
		fmt.Sprint(3*n, int64(3*n)))
	steps(t, s, 1)
	end := memory(t, s)
	errtest.Equal(t, "iterations of the first average of losses", must.Get(end["metric_count"].Float32s())[0], 1)

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
	errtest.Equal(t, "warm-up of another actor", must.Get(memory(t, other)["replay"].Float32s()),
		must.Get(warm["replay"].Float32s()))
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
	if names := xlatest.Differ(plus, after(SMERL{Target: negativeInfinity, Scale: 2})); len(names) > 0 {
		t.Errorf("without a target %v differ", names)
	}
	if names := xlatest.Differ(task, after(SMERL{Target: 1e9, Margin: 1, Scale: 2})); len(names) > 0 {
		t.Errorf("below its target %v differ", names)
	}
}

// DIAYN without a task reward: the discriminator learns to distinguish the skills, and they end in different positions.
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
		return math.Hypot(float64(e.Descriptors[2*i]-e.Descriptors[2*k]), float64(e.Descriptors[2*i+1]-e.Descriptors[2*k+1]))
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
	two := must.Get(newSearch(xlatest.Pure(t), diaynReward, config, 2)).(*search)
	defer two.Close()
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
		"Learner.Actor.Params.Bias.0 <f4 8,1 1", "Learner.Actor.Params.Bias.0 <f8 1,8 1", "Learner.Actor.Params.Bias.0 |u1 1,8 1",
		"Diversity.Dynamics.Params.Logits.Bias.0 <f4 1,2 nan\nReturns.Rows <f4 10,6 nan",
		"Envs.Observation <f4 6,2 inf -inf", "passive_genotypes <f4 0,4611686018427387904",
		"Learner.Critic.Trainable.Params.1.Bias.0 <f4 1,8 1e38")
}

func TestMisfitsGiveOneLine(t *testing.T) {
	p := xlatest.Pure(t)
	type all struct {
		method method
		config SAC
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
		s, err := newSearch(p, a.method, a.config, 1)
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
			arrays, data := maps.Clone(held), slices.Clone(must.Get(held[name].Float32s()))
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

// Settings that do not fit together are one line; limits of single ones are tested by package qdnb. Values at the
// limits are accepted, and so are the defaults of an environment that has no published ones.
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

// Each objective with values that are exact in float32; the return of the second transition is the lowest accepted one.
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

// point is a task that plain Go computes exactly: a point in the plane moves by a quarter of its action and pays its
// distance |x-1| + |y| from (1, 0). Its observation and descriptor are its position.
type point struct {
	Edge   float64 // an episode ends if x exceeds it
	Limit  float64 // rewards are NaN if x exceeds it
	Spread float64 // spread of the initial states around 0
}

// endless is a point whose episodes all start at 0 and end by their length.
var endless = point{Edge: math.Inf(1), Limit: math.Inf(1)}

func (point) Spec() envs.Spec {
	return envs.Spec{Name: "point", Observations: 2, Actions: 2, Length: 8,
		Descriptor: envs.Descriptor{
			Kind: envs.Final, Lower: []float32{-2, -2}, Upper: []float32{2, 2},
			Components: []string{"x", "y"}}}
}

func (p point) at(xy, reward *Node) envs.State {
	x := Reshape(Slice(xy, AxisRange(), AxisElem(0)), -1)
	return envs.State{
		PhysicsState: []*Node{Transpose(xy, 0, 1)}, Observation: xy, Descriptor: xy, Reward: reward,
		Done: ConvertDType(GreaterThan(x, ConstAs(x, p.Edge)), dtypes.Float32),
	}
}

func (p point) Reset(keys random.Key) envs.State {
	n := keys.Hi.Shape().Dimensions[0]
	return p.at(keys.Uniform(-p.Spread, p.Spread, n, 2), Zeros(keys.Hi.Graph(), shapes.Make(dtypes.Float32, n)))
}

func (p point) Step(s envs.State, action *Node) envs.State {
	xy := Add(s.Observation, MulScalar(action, 0.25))
	x, y := Reshape(Slice(xy, AxisRange(), AxisElem(0)), -1),
		Reshape(Slice(xy, AxisRange(), AxisElem(1)), -1)
	reward := Neg(Add(Abs(AddScalar(x, -1)), Abs(y)))
	return p.at(xy, Where(GreaterThan(x, ConstAs(x, p.Limit)), ConstAs(x, math.NaN()), reward))
}

// moved computes a step in plain Go.
func (p point) moved(x, y, right, up float32) (nextX, nextY, reward float32, done bool) {
	x, y = x+right/4, y+up/4
	return x, y, -(float32(math.Abs(float64(x-1))) + float32(math.Abs(float64(y)))),
		float64(x) > p.Edge
}

// Every evaluated skill as a separate policy acts like the actor conditioned on it without noise, and
// so does the actor of numbered skills.
func TestGenotypesDoWhatTheActorDoes(t *testing.T) {
	for _, skills := range []Distribution{{}, {OneHot: 1}, {OneHot: 3}, unitVectors(2, 1), unitVectors(2, 2),
		unitVectors(2, 5), cube(4, 3)} {
		for _, hidden := range [][]int{{7, 5}, {4}, nil} {
			task := Problem{Env: endless, Length: 8, Skills: skills}
			mlp, n := nn.NewMLP(2+skills.Size(), hidden, 4), max(1, skills.Count())
			what := fmt.Sprintf("%d skills of size %d, hidden layers %v", n, skills.Size(), hidden)
			xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
				out := xlatest.Run(t, p, func(in []*Node) []*Node {
					key := random.KeyOf(in[0])
					row := key.FoldIn(1).Normal(1, mlp.Params()) // biases are not 0
					actor, obs := mlp.Network(row, 0), key.FoldIn(2).Normal(n, 2)
					x := task.inputs(obs, nil)
					numbers := obs
					if skills.vectors() {
						x = task.inputs(obs, Const(obs.Graph(), skills.Evaluated))
					} else if skills.OneHot > 0 {
						x = task.inputs(obs, skills.playing(obs.Graph(), n))
					}
					if skills.Count() > 0 {
						numbers = Concatenate([]*Node{obs, oneHots(obs.Graph(), n)}, 1)
					}
					means := func(outputs *Node) *Node { return Tanh(Slice(outputs, AxisRange(), AxisRange(0, 2))) }
					numbered := task.WithOneHotSkills(actor)
					genotypes := task.Genotypes(numbered)
					return []*Node{means(actor.Apply(x)), means(numbered.Apply(numbers)), task.policy(hidden).View(genotypes).Apply(obs)}
				}, xlatest.Tensor(random.SeedWords(1), 2))
				want := xlatest.Flat[float32](t, out[0])
				for i, of := range []string{"numbered skills", "policies"} {
					xlatest.Close(t, what+": "+of, xlatest.Flat[float32](t, out[i+1]), want, 1e-5)
				}
			})
		}
	}
}

// A skill that is a vector is drawn for an episode, lasts until it ends, and is stored with each of
// its transitions, as are the features of the step.
func TestVectorsLastAnEpisode(t *testing.T) {
	qdac := QDAC{LearningRate: 1e-2, Discount: 0.9, Tau: 0.1, Hidden: []int{8}, Distance: 0.1, Smooth: 1e-3}
	changes := qdac
	changes.Changes = true
	type feature func(start, now, next float32, done bool) float32
	for _, c := range []struct {
		diversity Diversity
		unit      bool
		want      feature
	}{
		{METRA{LearningRate: 1e-2, Hidden: []int{8}, Multiplier: 30, Slack: 1e-3, Components: 2}, true,
			func(_, now, _ float32, _ bool) float32 { return now }},
		{qdac, false, func(_, now, _ float32, _ bool) float32 { return now / 2 }},
		{changes, false, func(start, now, next float32, done bool) float32 {
			if done {
				return start / 2
			}
			return (start + 8*(next-now)) / 2
		}},
	} {
		s := startSearch(t, xlatest.Pure(t), methodOf(short, 3, c.diversity, TaskOnly{}), small())
		steps(t, s, 11) // the first only measures
		rows, width := stored(t, s)
		const n = 6
		row := func(step, k int) []float32 { return rows[(step*n+k)*width:][:width] }
		ended := 0
		for i := range 10 * n {
			step, k := i/n, i%n
			now := row(step, k)
			done, skill, features := now[7] == 1, now[9:11], now[11:13]
			square := math.Hypot(float64(skill[0]), float64(skill[1]))
			if c.unit && math.Abs(square-1) > 1e-5 || slices.Max(skill) > 1 || slices.Min(skill) < -1 {
				t.Errorf("%T, step %d: the skill is %v", c.diversity, step, skill)
			}
			for i, start := range row(0, k)[:2] {
				if want := c.want(start, now[i], now[2+i], done); math.Abs(float64(features[i]-want)) > 1e-5 {
					t.Errorf("%T, step %d: %v has features %v, want %g", c.diversity, step, now, features, want)
				}
			}
			if done {
				ended++
			}
			if step < 9 && done == slices.Equal(skill, row(step+1, k)[9:11]) {
				t.Errorf("%T: step %d of environment %d ends its episode: %v; skills %v and then %v",
					c.diversity, step, k, done, skill, row(step+1, k)[9:11])
			}
		}
		if ended < n || slices.Equal(row(0, 0)[9:11], row(0, 1)[9:11]) {
			t.Errorf("%T: %d episodes ended; the first two skills are %v and %v", c.diversity, ended,
				row(0, 0)[9:11], row(0, 1)[9:11])
		}
	}
}

// Splitting a row inverts joining it, and network inputs are conditioned on the skill.
func TestRowsAreReadAsTheyWereWritten(t *testing.T) {
	const n = 5
	before := []float32{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5}
	after := []float32{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	actions := []float32{-0.5, 0.5, -0.25, 0.25, 0, 1, -1, 0.75, 0.125, 0.625}
	for _, c := range []struct {
		skills int
		full   bool
		width  int
	}{{0, false, 9}, {3, true, 10}, {3, false, 14}} {
		task := Problem{Env: endless, Length: 8, Skills: Distribution{OneHot: c.skills}}
		if !c.full {
			task.Features = task.Descriptors()
		}
		errtest.Equal(t, fmt.Sprintf("%+v: the width of rows", c), task.layout().Width(), c.width)
		xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				g := in[0].Graph()
				from, to := endless.at(in[0], ZerosLike(in[3])), endless.at(in[1], in[3])
				from.Descriptor, to.Descriptor = AddScalar(in[0], 100), AddScalar(in[1], 100)
				to.Done = Const(g, []float32{0, 1, 0, 1, 0})
				var skill *Node
				if c.skills > 0 {
					skill = task.Skills.playing(g, n)
				}
				b := task.read(task.rows(from, to, in[2], skill, Const(g, []float32{0, 0, 0, 1, 0})), nil)
				if len(b.More) > 0 || (b.Skill == nil) != (c.skills == 0) {
					t.Errorf("%+v: skills %v, and columns %v", c, b.Skill, b.More)
				}
				return xla.Flatten(b)
			}, xlatest.Tensor(before, n, 2), xlatest.Tensor(after, n, 2), xlatest.Tensor(actions, n, 2),
				xlatest.Tensor([]float32{1, 2, 3, 4, 5}, n))
			// environment k plays skill k mod 3
			hot := []float32{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0}
			conditioned := func(x []float32) []float32 {
				if c.skills == 0 {
					return x
				}
				var out []float32
				for i := range n {
					out = append(append(out, x[2*i:2*i+2]...), hot[3*i:3*i+3]...)
				}
				return out
			}
			done := []float32{0, 1, 0, 1, 0}
			want := [][]float32{conditioned(before), conditioned(after), actions, {1, 2, 3, 4, 5}, done, {0, 0, 0, 1, 0}}
			if c.skills > 0 {
				now, next := slices.Clone(before), slices.Clone(after)
				for i := range now {
					if !c.full {
						now[i], next[i] = now[i]+100, next[i]+100
					}
				}
				want = append(want, hot, now, next)
			}
			for i, x := range out {
				errtest.Equal(t, fmt.Sprintf("%+v: part %d", c, i), xlatest.Flat[float32](t, x), want[i])
			}
		})
	}
}

// small configures a search that takes milliseconds.
func small() SAC {
	algorithm := sac.Default()
	algorithm.Hidden, algorithm.BatchSize, algorithm.LearningRate = []int{8, 8}, 16, 1e-2
	return SAC{
		Config: algorithm, EnvBatchSize: 6, GradUpdatesPerStep: 2. / 6, ReplayBufferSize: 6 * 10,
		EpisodeLength: 8, EvaluationStates: 2, EvaluationInterval: 18, EarlyInterval: 6,
		CVT: repertoire.CVT{Cells: 25, CVTSamples: 500},
	}
}

var (
	smallDIAYN = DIAYN{LearningRate: 1e-2, Hidden: []int{8}}
	smallDADS  = DADS{LearningRate: 1e-2, Hidden: []int{8}, Components: 2}
)

// quick configures a search that learns something within a second.
func quick(environments int) SAC {
	config := small()
	config.Hidden, config.BatchSize, config.LearningRate, config.Tau,
		config.AlphaInit = []int{32, 32}, 64, 3e-3, 0.02, 0.02
	config.EnvBatchSize, config.GradUpdatesPerStep = environments, 1
	config.ReplayBufferSize = environments * 300
	config.EvaluationStates, config.EvaluationInterval = 6, int64(4*environments)
	config.EarlyInterval = 0
	return config
}

// short is a point whose episodes end early or by their length.
var short = point{Edge: 1, Limit: math.Inf(1), Spread: 0.5}

// methodOf returns a method with one-hot skills, unless the diversity reward has others.
func methodOf(env envs.Env, skills int, d Diversity, o Objective) method {
	task := Problem{Env: env, Length: 8}
	if d != nil {
		task.Skills.OneHot, task.Features = skills, task.Descriptors()
	}
	return newMethod(task, d, o)
}

// free is a point whose episodes end by their length only.
var free = point{Edge: math.Inf(1), Limit: math.Inf(1), Spread: 0.1}

var (
	diaynReward = methodOf(short, 3, smallDIAYN, PlusReward{2})
	smerlDADS   = methodOf(short, 3, smallDADS, SMERL{Target: -8, Margin: 1, Scale: 2})
)

func startSearch(t testing.TB, p *xla.Platform, method method, config SAC) *search {
	t.Helper()
	s := must.Get(newSearch(p, method, config, 1)).(*search)
	t.Cleanup(s.Close)
	return s
}

func steps(t *testing.T, s *search, n int) (outcomes []scoring.Outcome) {
	t.Helper()
	for range n {
		outcomes = append(outcomes, must.Get(s.Step()))
	}
	return outcomes
}

// memory returns the whole state of a search: its checkpoint arrays and the rows of its replay buffer.
func memory(t *testing.T, s *search) map[string]npz.Array {
	t.Helper()
	arrays := must.Get(s.Arrays())
	buffer, total := s.Replay()
	capacity, width := buffer.Shape()
	first := max(0, total-capacity)
	rows := must.Get(buffer.Rows(total, first, total))
	arrays["replay"] = npz.Of(rows, int(total-first), width)
	return arrays
}

// restore restores the state that memory returned.
func restore(t *testing.T, s *search, iteration int64, held map[string]npz.Array) {
	t.Helper()
	arrays := maps.Clone(held)
	delete(arrays, "replay")
	must.Do(s.Restore(iteration, arrays))
	buffer, total := s.Replay()
	rows := held["replay"]
	must.Do(buffer.Set(total, func(put func(from int64, rows []float32) error) error {
		return put(total-int64(rows.Shape[0]), rows.Data.([]float32))
	}))
}

// stored returns the rows of a replay buffer with up to capacity rows, and their width.
func stored(t *testing.T, s *search) (rows []float32, width int) {
	t.Helper()
	buffer, total := s.Replay()
	_, width = buffer.Shape()
	rows = must.Get(buffer.Rows(total, 0, total))
	return rows, width
}

// Arrays returns the state of a search, as a checkpoint holds it.
func (s *search) Arrays() (map[string]npz.Array, error) { return s.State().Arrays() }

// Restore restores the state that Arrays returned.
func (s *search) Restore(_ int64, arrays map[string]npz.Array) error {
	return s.State().Restore(arrays)
}

// counters are the host's values in checkpoints.
var counters = []string{"iteration", "evaluations", "metric_sums", "metric_count", "dropped"}

// Defaults returns the hyperparameters of an algorithm of skills by its name.
func Defaults(name string, env envs.Spec) *Discovery {
	i := slices.IndexFunc(Algorithms, func(e algorithms.Entry) bool { return e.Name == name })
	return Algorithms[i].Defaults(env).(*Discovery)
}
