package ppo_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// signs is a line on which half of the robots are rewarded for going right and the other half for going left. Only the
// part of the observation that skills do not see tells which. Episodes end beyond 4. The descriptor is the distance.
type signs struct{}

func (signs) Spec() envs.Spec {
	return envs.Spec{Name: "signs", Observations: 3, Actions: 1, Length: 12,
		Descriptor: envs.Descriptor{Kind: envs.Outcome, Lower: []float32{0}, Upper: []float32{5},
			Components: []string{"distance (m)"}}}
}

func (e signs) Reset(keys random.Key) envs.State {
	n := keys.Hi.Shape().Dimensions[0]
	u := Reshape(keys.Uniform(-1, 1, n, 1), n)
	sign := Where(GreaterThan(u, ZerosLike(u)), OnesLike(u), Neg(OnesLike(u)))
	return e.state(MulScalar(u, 0.1), sign, ZerosLike(u))
}

func (signs) state(x, sign, reward *Node) envs.State {
	far := Abs(x)
	done := Where(GreaterThan(far, ConstAs(far, 4)), OnesLike(x), ZerosLike(x))
	return envs.State{PhysicsState: []*Node{x, sign}, Descriptor: InsertAxes(far, -1),
		Observation: Stack([]*Node{x, sign, OnesLike(x)}, 1), Reward: reward, Done: done}
}

func (e signs) Step(s envs.State, action *Node) envs.State {
	a := Reshape(action, -1)
	return e.state(Add(s.PhysicsState[0], a), s.PhysicsState[1], Mul(a, s.PhysicsState[1]))
}

// options returns the choice among three skills: left, stay, right. Gaussian ones have almost no noise.
func options(gaussian bool, every int) envs.Hierarchical {
	skills := envs.Skills{Hidden: 2, Gaussian: gaussian, Net: nn.NewPolicy(1, nil, 1)}
	if gaussian {
		skills.Net = nn.NewMLP(1, nil, 2)
	}
	var rows []float32
	for _, bias := range []float32{-0.5, 0, 0.5} {
		if gaussian {
			rows = append(rows, bias, -20, 0, 0)
		} else {
			rows = append(rows, bias, 0)
		}
	}
	skills.Rows = npz.Of(rows, 3, len(rows)/3)
	return envs.Hierarchical{Env: signs{}, Skills: skills, Every: every, Explore: true}
}

func small() *ppo.PPO {
	s := ppo.Default(signs{}.Spec())
	s.CVT = repertoire.CVT{Cells: 5, CVTSamples: 100}
	s.NumEnvs, s.UnrollLength, s.BatchSize, s.NumMinibatches, s.UpdateEpochs = 6, 4, 6, 4, 4
	s.EvaluationEnvs, s.Slice = 5, 4
	s.PolicyHidden, s.ValueHidden, s.LearningRate = []int{16}, []int{16}, 3e-3
	return s
}

func newSearch(t testing.TB, p *xla.Platform, env envs.Env, settings *ppo.PPO) algorithms.Search {
	t.Helper()
	s := must.Get(settings.New(p, env, 1))
	t.Cleanup(s.Close)
	return s
}

// evaluate plays 32 episodes of the best policy of a search, whose steps are recorded.
func evaluate(p *xla.Platform, env envs.Hierarchical, settings *ppo.PPO, s algorithms.Search) scoring.Results {
	task := scoring.NewTask(env, settings.PolicyHidden, settings.EpisodeLength)
	e := must.Get(task.Evaluator(p, scoring.Plan{Policies: 1, Episodes: 32, Recorders: []envs.Recorder{env.Recorder()}}))
	defer e.Free()
	rows := must.Get(xla.Uploads(best(s), p.Copies()))
	defer rows.Free()
	return must.Get(e.Evaluate(rows, 1, nil))
}

// best returns the best policy of a search, [1, N].
func best(s algorithms.Search) npz.Array {
	arrays := must.Get(s.Repertoire(true))
	fitnesses := must.Get(arrays["fitnesses"].Float32s())
	cell, n := slices.Index(fitnesses, slices.Max(fitnesses)), s.Task().Policy.Params()
	return npz.Of(must.Get(arrays["genotypes"].Float32s())[cell*n:(cell+1)*n], 1, n)
}

// The meta-controller learns which skill is rewarded. The best return is that of the best skill
// until the episode ends beyond 4, at tanh(0.5) per step.
func TestMetaControllerLearns(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		settings := small()
		settings.NumEnvs, settings.BatchSize, settings.EvaluationEnvs = 16, 16, 32
		env := options(p.Kind == backend.Go, 3) // each kind of skill on one backend, to save time
		s := newSearch(t, p, env, settings)
		first := must.Get(s.Step())
		if first.Generation != 0 || first.EnvSteps != 0 || first.Fitnesses == nil || !math.IsNaN(first.Extra[4]) {
			t.Fatalf("first %+v", first)
		}
		last := first
		for range 60 {
			last = must.Get(s.Step())
		}
		best := float64(slices.Max(last.Fitnesses))
		if first.Extra[0] > 2 || last.Extra[0] < 3.6 || best > 4.6 || best < 4 {
			t.Errorf("mean returns %v before and %v after learning, best %v", first.Extra[0], last.Extra[0], best)
		}
		errtest.Equal(t, "steps and episodes", fmt.Sprint(last.EnvSteps, last.Evaluations), fmt.Sprint(int64(60*64*4*3), 61*32))
		env.Watch = func(s envs.State) *Node { return Slice(s.Observation, AxisRange(), AxisElem(0)) }
		env.Width = 1
		found := evaluate(p, env, settings, s)
		for i, fitness := range found.Fitnesses {
			size := len(found.Records[0]) / 32
			chosen, x := env.Played(found.Records[0][i*size : (i+1)*size])
			// A trajectory in one direction is as long as its return, and as its descriptor.
			far := math.Abs(float64(x[len(x)-1]))
			if fitness > 4 && math.Abs(far-float64(fitness)) > 0.11 || math.Abs(far-float64(found.Descriptors[i])) > 1e-5 {
				t.Errorf("episode %d ends at %v after %d steps, return %v, descriptor %v", i, far, len(x), fitness,
					found.Descriptors[i])
			}
			if len(chosen) != (len(x)+2)/3 || slices.Max(chosen) > 2 || slices.Min(chosen) < 0 {
				t.Errorf("choices %v in %d steps", chosen, len(x))
			}
		}
	})
}

// A policy that chooses among one skill scores as the skill itself, for any kind of descriptor, also if
// the episode ends within a decision.
func TestOneOptionIsItsSkill(t *testing.T) {
	maze := must.Get(envs.Make("pointmaze"))
	walker := must.Get(envs.Make("walker-uni"))
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for _, env := range []envs.Env{signs{}, maze, walker} {
			if p.Kind == backend.Go && env == walker {
				continue // slow
			}
			spec := env.Spec()
			task := scoring.NewTask(env, []int{3}, 21)
			row := make([]float32, task.Policy.Params())
			for i := range row {
				row[i] = float32(math.Sin(float64(5 * i)))
			}
			skills := envs.Skills{Net: task.MLP(), Rows: npz.Of(row, 1, len(row))}
			o := envs.Hierarchical{Env: env, Skills: skills, Every: 7}
			if n := ppo.Default(o.Spec()).EpisodeLength; n < spec.Length || n >= spec.Length+7 {
				t.Errorf("%s: an episode of %d control steps, want %d", spec.Name, n, spec.Length)
			}
			always := scoring.NewTask(o, nil, 21)
			evaluate := func(task scoring.Task, row []float32) scoring.Results {
				e := must.Get(task.Evaluator(p, scoring.Plan{Policies: 1, States: 3}))
				defer e.Free()
				rows := p.Replicated(func() *tensors.Tensor {
					return tensors.FromFlatDataAndDimensions(slices.Clone(row), 1, len(row))
				})
				defer rows.Free()
				return must.Get(e.Evaluate(rows, 3, nil))
			}
			got, want := evaluate(always, make([]float32, always.Policy.Params())), evaluate(task, row)
			xlatest.Close(t, spec.Name+" fitness", got.Fitnesses, want.Fitnesses, 1e-4)
			xlatest.Close(t, spec.Name+" descriptor", got.Descriptors, want.Descriptors, 1e-5)
		}
	})
}

// The division among slices and workers does not change the results.
func TestShares(t *testing.T) {
	p := xlatest.Best(t)
	var want map[string]npz.Array
	for slice, workers := range map[int]int{1: p.Workers, 6: 1} {
		settings := small()
		settings.Slice = slice
		s := newSearch(t, xlatest.WithWorkers(p, workers), options(false, 3), settings)
		for range 2 {
			must.Get(s.Step())
		}
		arrays := must.Get(s.State().Arrays())
		if want == nil {
			want = arrays
		}
		for name := range want {
			got, _ := arrays[name].Float64s()
			expected, _ := want[name].Float64s()
			for i := range expected {
				if math.Abs(got[i]-expected[i]) > 1e-4 && !math.IsInf(expected[i], -1) {
					t.Fatalf("slices of %d on %d workers: %s[%d] is %v, want %v", slice, workers, name, i, got[i], expected[i])
				}
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	p := xlatest.Pure(t)
	for want, spoil := range map[string]func(*envs.Hierarchical, *ppo.PPO){
		"skills of shape": func(o *envs.Hierarchical, _ *ppo.PPO) {
			o.Skills.Rows = npz.Of([]float32{1, 2, 3}, 1, 3)
		},
		"skills expect":          func(o *envs.Hierarchical, _ *ppo.PPO) { o.Skills.Hidden = 1 },
		"learning_rate must be ": func(_ *envs.Hierarchical, s *ppo.PPO) { s.LearningRate = 2 },
	} {
		env, settings := options(false, 3), small()
		spoil(&env, settings)
		errtest.Want(t, errtest.Of(settings.New(p, env, 0)), want)
	}
}

// Whatever the numbers of a meta-controller are, it chooses among the existing skills.
func TestMetaControllersThatAreNotFinite(t *testing.T) {
	settings, env, p := small(), options(true, 3), xlatest.Pure(t)
	settings.NormalizeObservations = true
	task := newSearch(t, p, env, settings).Task()
	evaluator := must.Get(task.Evaluator(p, scoring.Plan{Policies: 1, Episodes: 5,
		Recorders: []envs.Recorder{env.Recorder()}}))
	defer evaluator.Free()
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e38} {
		row := npz.Of(slices.Repeat([]float32{float32(x), 1}, task.Policy.Params())[:task.Policy.Params()], 1,
			task.Policy.Params())
		rows := must.Get(xla.Uploads(row, p.Copies()))
		found := must.Get(evaluator.Evaluate(rows, 0, nil))
		rows.Free()
		for episode := range slices.Chunk(found.Records[0], len(found.Records[0])/5) {
			if chosen, _ := env.Played(episode); len(chosen) == 0 || slices.Min(chosen) < 0 || slices.Max(chosen) > 2 {
				t.Errorf("%g: choices %v", x, chosen)
			}
		}
	}
}

// scripted is an environment with predefined states: rewards, ends and observations of state t, [t,
// B] and [t, B, observations].
type scripted struct {
	rewards, dones, obs         []float32
	states, batch, observations int
}

func (s scripted) Spec() envs.Spec {
	return envs.Spec{Name: "scripted", Observations: s.observations, Actions: 1, Length: s.states,
		Descriptor: envs.Descriptor{Kind: envs.None}}
}

// at returns state t. The physics state is the time.
func (s scripted) at(time *Node) envs.State {
	row := func(data []float32, dims ...int) *Node {
		all := Reshape(Const(time.Graph(), data), append([]int{s.states}, dims...)...)
		return Reshape(Gather(all, Reshape(Slice(time, AxisRange(0, 1)), 1, 1)), dims...)
	}
	return envs.State{PhysicsState: []*Node{time}, Observation: row(s.obs, s.batch, s.observations),
		Reward: row(s.rewards, s.batch), Done: row(s.dones, s.batch)}
}

func (s scripted) Reset(keys random.Key) envs.State {
	return s.at(Zeros(keys.Hi.Graph(), shapes.Make(dtypes.Int32, s.batch)))
}

func (s scripted) Step(state envs.State, _ *Node) envs.State {
	return s.at(AddScalar(state.PhysicsState[0], 1))
}

// A decision earns the rewards of its own control steps up to the end of the episode, and the meta-controller observes
// what the published one does. The latter is credited with what the next decision earns.
func TestGoldenDecisions(t *testing.T) {
	f := golden.Read(t, "10_ppo_hierarchical.npz")
	shape, every, steps := f.Shape("h.obs_steps"), int(f.Number("const.num_h_steps")), int(f.Number("const.unroll_length"))
	s := scripted{f.Float32s("h.reward_steps"), f.Float32s("h.done_steps"), f.Float32s("h.obs_steps"), shape[0],
		shape[1], shape[2]}
	rewards, dones, ends := make([]float32, steps*s.batch), make([]float32, steps*s.batch), 0
	for i := range rewards {
		for k := range every {
			at := (i/s.batch*every+k+1)*s.batch + i%s.batch // the state that the control step leads to
			rewards[i] += s.rewards[at]
			if s.dones[at] > 0 {
				dones[i] = 1
				ends++
				break
			}
		}
	}
	if ends == 0 {
		t.Fatal("no episode ends in the script")
	}
	h := envs.Hierarchical{Env: s, Skills: envs.Skills{Net: nn.NewPolicy(s.observations, nil, 1)}, Every: every}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g := in[0].Graph()
			action := Zeros(g, shapes.Make(dtypes.Float32, s.batch, h.Spec().Actions))
			state := envs.Reset(h, random.KeyOf(in[0]).Split(s.batch))
			obs, reward, done := []*Node{state.Observation}, []*Node(nil), []*Node(nil)
			for range steps {
				state = envs.Step(h, state, action)
				obs, reward, done = append(obs, state.Observation), append(reward, state.Reward), append(done, state.Done)
			}
			return []*Node{Stack(reward, 0), Stack(done, 0), Stack(obs, 0)}
		}, xlatest.Tensor(random.SeedWords(1), 2))
		xlatest.Close(t, "rewards", xlatest.Flat[float32](t, out[0]), rewards, 1e-6)
		xlatest.Close(t, "dones", xlatest.Flat[float32](t, out[1]), dones, 0)
		xlatest.Close(t, "observations", xlatest.Flat[float32](t, out[2]), f.Float32s("h.obs"), 0)
	})
}

// The example trains a meta-controller that chooses among three policies in pointmaze, each for ten
// steps. Its skills are up, left and right; those of a repertoire come from policies.All.
func ExamplePPO() {
	platform, err := xla.Open(context.Background(), "go")
	if err != nil {
		fmt.Println(err)
		return
	}
	net := nn.NewPolicy(2, nil, 2) // no layers: the bias is the action
	rows := []float32{0, 9, 0, 0, 0, 0, -9, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0}
	env := envs.Hierarchical{Env: envs.Pointmaze{}, Every: 10,
		Skills: envs.Skills{Net: net, Rows: npz.Of(rows, 3, net.Params())}}

	algorithm := ppo.Default(env.Env.Spec())
	algorithm.Cells, algorithm.CVTSamples, algorithm.NumEnvs, algorithm.EvaluationEnvs = 16, 1000, 8, 8
	algorithm.BatchSize, algorithm.NumMinibatches, algorithm.UpdateEpochs = 8, 1, 1
	search, err := algorithm.New(platform, env, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer search.Close()
	for range 2 {
		outcome, err := search.Step()
		fmt.Println(outcome.Generation, outcome.EnvSteps, outcome.Evaluations, err)
	}
	// Output:
	// 0 0 8 <nil>
	// 1 1600 16 <nil>
}
