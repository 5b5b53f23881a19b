package evolution

import (
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
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Bookkeeper is an emitter that plain Go can reproduce. It counts generations, its loss is the mean
// reward in its buffer, and all parameters of its offspring are its count divided by 64.
type Bookkeeper struct {
	Rows   int // capacity of the replay buffer
	Count  *Node
	First  *Node // what Init was given
	params int
}

func (b Bookkeeper) Capacity(int) int { return b.Rows }

func (b Bookkeeper) Init(start Start, key random.Key) Emitter {
	b.Count, b.First = Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32)), start.First
	b.params = start.Task.Policy.Params()
	return b
}

func (b Bookkeeper) Update(g Generation, _ random.Key) (Emitter, []Metric) {
	rewards := layoutOf(g.Task).Split(g.Buffer.Rows).Reward // empty rows are 0
	mean := Div(ReduceAllSum(rewards), ConvertDType(g.Buffer.Size, dtypes.Float32))
	b.Count = AddScalar(b.Count, 1)
	return b, []Metric{{"mean_reward", mean}}
}

func (b Bookkeeper) Prepare(replay.Buffer, random.Key) Emitter {
	b.Count, b.First = DivScalar(b.Count, 64), nil
	return b
}

func (b Bookkeeper) Offspring(_ Parents, which *Node, _ random.Key) *Node {
	return BroadcastToDims(Reshape(b.Count, 1, 1), which.Shape().Dimensions[0], b.params)
}

var honest = Bookkeeper{Rows: 100}

func newLearningSearch(t *testing.T, p *xla.Platform, learner Emitter, settings settings) *search {
	t.Helper()
	return searchOf(t, p, unlimited.task(), Parts{Mix: Mix{{learner, 0.25}, {noisy, 0.75}}}, settings)
}

// The first offspring come from the learner, the others from the emitter, and the buffer contains
// every step of all of them.
func TestLearnerProposesAndIsTold(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		settings := settings{Batch: 12, Slice: 5, Centroids: line(20), Seed: 3}
		task := unlimited.task()
		params := task.Policy.Params()
		s := newLearningSearch(t, p, honest, settings)
		errtest.Equal(t, "columns", s.Columns(), []string{"mean_reward"})
		want := must.Get(s.Arrays())
		var rows []float32 // rows of the buffer
		for generation := range int32(6) {
			offspring := children(t, p, task, noisy, want, settings, generation)
			if generation == 0 && !slices.Equal(floats(t, want, "proposing_0.Emitter.First"), offspring[:params]) {
				t.Errorf("the learner starts with %v, the first individual is %v", want["proposing_0.Emitter.First"].Data,
					offspring[:params])
			}
			if generation > 0 {
				for i := range 3 * params {
					offspring[i] = float32(generation) / 64
				}
			}
			insert(t, want, floats(t, want, "centroids"), offspring, params, unlimited.evaluate)
			for at := 0; at < len(offspring); at += params {
				a := []float32{offspring[at] + offspring[at+2], offspring[at+1] + offspring[at+3]}
				// observation, next, action, reward, done, truncation
				rows = append(rows, 1, 1, a[0], a[1], a[0], 0, 0)
				rows = append(rows, 1, 1, a[0], a[1], a[0], 1, 1)
			}
			outcome := steps(t, s, 1)[0]
			got := must.Get(s.Arrays())
			for _, name := range []string{"fitnesses", "descriptors", "genotypes"} {
				if !slices.Equal(floats(t, got, name), floats(t, want, name)) {
					t.Errorf("generation %d: %s are\n%v, want\n%v", generation, name, got[name].Data, want[name].Data)
				}
			}
			buffer, total := s.Replay()
			capacity, width := buffer.Shape()
			if capacity != 100 || width != 7 || total != int64(len(rows)/7) {
				t.Fatalf("generation %d: a buffer of %d rows of %d numbers, %d of them written", generation, capacity, width, total)
			}
			from := max(0, total-capacity)
			held := must.Get(buffer.Rows(total, from, total))
			xlatest.Close(t, "the buffer", held, rows[from*7:], 0)
			mean := 0.0
			for at := from * 7; at < int64(len(rows)); at += 7 {
				mean += float64(rows[at+4]) / float64(min(total, capacity))
			}
			if math.Abs(outcome.Extra[0]-mean) > 1e-5 {
				t.Errorf("generation %d: loss %v, want %v", generation, outcome.Extra[0], mean)
			}
		}
		buffer, total := s.Replay()
		errtest.Want(t, errtest.Of(buffer.Rows(total, 0, 10)))
	})
}

// replayOf reads all rows of a buffer.
func replayOf(t *testing.T, s *search) (from int64, rows []float32) {
	t.Helper()
	buffer, total := s.Replay()
	capacity, _ := buffer.Shape()
	from = max(0, total-capacity)
	return from, must.Get(buffer.Rows(total, from, total))
}

// watcher is a proposer that writes down what it sees of evaluations: the number of the generation,
// the filled cells before the insertion and after it, and the individuals that entered. Its columns
// are fitness and descriptor of the episode, and whether the individual entered.
type watcher struct{ Bookkeeper }

func (w watcher) Init(start Start, key random.Key) Emitter {
	w.Bookkeeper = w.Bookkeeper.Init(start, key).(Bookkeeper)
	w.First = Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32, 4))
	return w
}

func (w watcher) Prepare(buffer replay.Buffer, key random.Key) Emitter {
	w.Bookkeeper = w.Bookkeeper.Prepare(buffer, key).(Bookkeeper)
	return w
}

func (w watcher) Columns(scoring.Task) []int {
	if w.Rows == 0 {
		return nil
	}
	return []int{2, 1}
}

func (w watcher) Observe(g Generation, _ random.Key) []*Node {
	steps := func(x *Node) *Node { // [P, w] as columns of the transitions
		p, width, n := x.Shape().Dimensions[0], x.Shape().Dimensions[1], g.Task.Length
		return Reshape(BroadcastToDims(InsertAxes(x, 1), p, n, width), p*n, width)
	}
	entered := ConvertDType(g.Entered(), dtypes.Float32)
	return []*Node{steps(Concatenate([]*Node{InsertAxes(g.Found.Fitness, -1), g.Found.Descriptors}, 1)),
		steps(InsertAxes(entered, -1))}
}

func (w watcher) Update(g Generation, _ random.Key) (Emitter, []Metric) {
	number := func(x *Node) *Node { return ReduceAllSum(ConvertDType(x, dtypes.Float32)) }
	filled := func(x *Node) *Node { return number(GreaterThan(x, ConstAs(x, math.Inf(-1)))) }
	w.Count = AddScalar(w.Count, 1)
	w.First = Stack([]*Node{number(g.Number), filled(g.Before.Fitness), filled(g.Parents.Cells.Fitness),
		number(g.Entered())}, 0)
	return w, nil
}

// A learner sees every generation with what entered the archive, and its columns are stored with
// the transitions. Without a replay buffer it sees the same.
func TestObserverSeesEvaluations(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for _, capacity := range []int{100, 0} {
			learner := watcher{Bookkeeper{Rows: capacity}}
			settings := settings{Batch: 12, Slice: 5, Centroids: line(20), Seed: 3}
			s := newLearningSearch(t, p, learner, settings)
			for generation := range 5 {
				number := func(state map[string]npz.Array) float32 { return float32(filled(floats(t, state, "fitnesses"))) }
				before := number(must.Get(s.Arrays()))
				steps(t, s, 1)
				after := must.Get(s.Arrays())
				saw := floats(t, after, "proposing_0.Emitter.Bookkeeper.First")
				xlatest.Close(t, "what it saw", saw[:3], []float32{float32(generation), before, number(after)}, 0)
				if capacity == 0 {
					if buffer, total := s.Replay(); buffer != nil || total != 0 {
						t.Errorf("a learner without a replay buffer has one of %d rows", total)
					}
					continue
				}
				origins := must.Get(after["origins"].Int32s())
				entered := map[int]float32{}
				for at := 0; at < len(origins); at += 2 {
					if origins[at] == int32(generation) {
						entered[int(origins[at+1])] = 1
					}
				}
				_, rows := replayOf(t, s)
				rows = rows[len(rows)-24*10:]
				for i := range 24 { // observation, next, action, reward, done, truncation, own columns
					row := rows[10*i : 10*i+10]
					errtest.Equal(t, fmt.Sprintf("generation %d, step %d: columns", generation, i), row[7:],
						[]float32{2 * row[4], row[3], entered[i/2]})
				}
				errtest.Equal(t, fmt.Sprintf("generation %d: it saw entering", generation), saw[3], float32(len(entered)))
				if len(entered) == 0 || len(entered) == 12 {
					t.Errorf("generation %d: %d of 12 entered, which tells nothing", generation, len(entered))
				}
			}
		}
	})
}

// 18_ascii.npz: rewards to go of episodes, of which two end early, and six parents after eight steps,
// each with the weights of its own episode (qdax/core/emitters/ascii_emitter.py of the published
// code). tools/golden_ascii.py made it.
func TestGoldenASCII(t *testing.T) {
	f := golden.Read(t, "18_ascii.npz")
	dims := f.Shape("obs")
	n, length, actions := dims[0], dims[1], f.Shape("actions")[2]
	env := publishedTask{spec: envs.Spec{Observations: dims[2], Actions: actions}}
	e := actionCrossover{ASCIISettings: ASCIISettings{NumEpochs: int(f.Number("const.no_epochs")),
		LearningRate: f.Number("const.learning_rate"), DiscountRate: f.Number("const.discount_rate"),
		ClipParam: f.Number("const.clip_param"), Std: f.Number("const.std")},
		task: scoring.NewTask(env, []int{7, 6}, length)}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			flat := func(x *Node) *Node { return Reshape(x, n*length, -1) }
			column := func(x *Node) *Node { return Reshape(x, n*length) }
			other := e.episodes(layoutOf(e.task).Join(replay.Transitions{Obs: flat(in[0]), NextObs: flat(in[0]),
				Action: flat(in[1]), Reward: column(in[2]), Done: column(in[3]), Truncation: column(in[3])}))
			return []*Node{Mul(other.Returns, other.Alive), e.vary(in[4], e.weights(in[5], in[6], other), other)}
		}, xlatest.Stored(f, "obs"), xlatest.Stored(f, "actions"), xlatest.Stored(f, "rewards"), xlatest.Stored(f, "done"),
			xlatest.Stored(f, "parents"), xlatest.Stored(f, "elite_obs"), xlatest.Stored(f, "elite_returns"))
		xlatest.Matches(t, f, out, 3e-5, "returns", "children")
	})
}

// The emitter keeps the rewards to go of every individual in the archive, and its offspring alone improve the archive.
func TestASCIIKeepsEpisodesOfMembers(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		settings := settings{Batch: 24, Slice: 8, Centroids: line(10), Seed: 3}
		a := defaultASCIIME(aims().Env.Spec())
		a.Mix[1].Of = 0 // no Iso+LineDD
		parts.Change(a, func(s *ASCIISettings) { s.LearningRate, s.NumEpochs = 0.01, 5 })
		s := searchOf(t, p, aims(), a.Parts, settings)
		var best []float32
		for range 12 {
			best = append(best, slices.Max(steps(t, s, 1)[0].Fitnesses))
			state := must.Get(s.Arrays())
			toGo := floats(t, state, "proposing_0.Emitter.Returns")
			for i, f := range floats(t, state, "fitnesses") {
				if f > -10 {
					xlatest.Close(t, "rewards to go", toGo[2*i:2*i+2], []float32{0.995 * f, 0.5 * f}, 1e-6)
				}
			}
		}
		if gained := best[len(best)-1] - best[0]; !(gained > 0.2) {
			t.Errorf("without other variation the best fitness rises by %g: %v", gained, best)
		}
	})
}

// A buffer that another learner has made longer may hold the latest generation around its end.
func TestASCIIReadsTheLatestGeneration(t *testing.T) {
	e := actionCrossover{task: aims(), batch: 3}
	rows := e.batch * e.task.Length
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			e := e
			e.Finite = Ones(in[0].Graph(), shapes.Make(dtypes.Float32, e.batch))
			buffer := layoutOf(e.task).NewBuffer(in[0].Graph(), 2*rows-2)
			var list []*Node
			for generation := range 3 {
				all := Iota(in[0].Graph(), shapes.Make(dtypes.Float32, rows, layoutOf(e.task).Width()), 0)
				buffer = buffer.Insert(AddScalar(all, float64(100*generation)))
				list = append(list, Reshape(e.Prepare(buffer, random.KeyOf(in[0])).(actionCrossover).Others.Obs, -1))
			}
			return list
		}, xlatest.Tensor(random.SeedWords(1), 2))
		for generation := range out {
			want := []float32{0, 1, 2, 3, 4, 5}
			for i := range want {
				want[i] += float32(100 * generation)
			}
			errtest.Equal(t, fmt.Sprintf("generation %d: the rows read", generation),
				xlatest.Flat[float32](t, out[generation]), want)
		}
	})
}

// Episodes with a step that is not finite teach nothing, although the buffer replaces the step. What
// follows the end of an episode does not count.
func TestASCIIIgnoresBrokenEpisodes(t *testing.T) {
	task, nan := aims(), float32(math.NaN())
	layout := layoutOf(task)
	steps := []float32{1, nan, 1, 1, 1, 1, 1, nan} // rewards of four episodes
	ends := []float32{0, 1, 0, 1, 0, 1, 1, 1}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			ones := OnesLike(InsertAxes(in[1], -1))
			rows := layout.Join(replay.Transitions{Obs: ones, NextObs: ones, Action: Concatenate([]*Node{ones, ones}, 1),
				Reward: in[1], Done: in[2], Truncation: ZerosLike(in[1])})
			key := random.KeyOf(in[0])
			e := actionCrossover{}.Init(Start{Task: task, Slots: 1, Batch: 4}, key)
			g := Generation{Found: repertoire.Evaluated{Transitions: rows}}
			g.Index, g.Accepted = Const(rows.Graph(), []int32{3}), Const(rows.Graph(), []bool{true})
			e, _ = e.Update(g, key)
			buffer := layout.NewBuffer(rows.Graph(), len(steps))
			kept, _ := buffer.KeepFinite(rows)
			ready := e.(actionCrossover).Prepare(buffer.Insert(kept), key).(actionCrossover)
			return []*Node{ready.Others.Alive, ready.Returns}
		}, xlatest.Tensor(random.SeedWords(1), 2), xlatest.Tensor(steps, 8), xlatest.Tensor(ends, 8))
		for i, want := range [][]float32{{0, 0, 1, 1, 1, 1, 1, 0}, {1, 0}} {
			errtest.Equal(t, fmt.Sprint("result ", i), xlatest.Flat[float32](t, out[i]), want)
		}
	})
}

// publishedTask has the sizes, limits and reward offset of 15_dcrl.npz.
type publishedTask struct {
	scripted
	spec envs.Spec
}

func (p publishedTask) Spec() envs.Spec { return p.spec }

// readDCRL reads 15_dcrl.npz: single steps of QDax 0.5.0 (qdax/core/emitters/dcrl_emitter.py) for given networks and
// transitions, without noise on the target's action. tools/golden_dcrl.py made it.
func readDCRL(t *testing.T) (golden.File, DescriptorConditioned, scoring.Task) {
	f := golden.Read(t, "15_dcrl.npz")
	settings := partOf[td3.Config](defaultDCRLMapElites(envs.Spec{}))
	settings.CriticHidden, settings.TransitionsBatchSize = []int{7, 6}, f.Shape("data.obs")[0]
	settings.CriticLearningRate = f.Number("const.critic_learning_rate")
	settings.GreedyLearningRate = f.Number("const.actor_learning_rate")
	settings.PolicyLearningRate = f.Number("const.policy_learning_rate")
	settings.SoftTauUpdate, settings.Discount = f.Number("const.soft_tau_update"),
		f.Number("const.discount")
	settings.RewardScaling, settings.PolicyNoise = f.Number("const.reward_scaling"),
		f.Number("const.policy_noise")
	settings.PolicyDelay = int(f.Number("const.policy_delay"))
	env := publishedTask{spec: envs.Spec{Observations: f.Shape("data.obs")[1],
		Actions: f.Shape("data.actions")[1], Offset: f.Number("const.offset"),
		Descriptor: envs.Descriptor{
			Lower: f.Float32s("lower"), Upper: f.Float32s("upper")}}}
	task := scoring.NewTask(env, []int{7, 6}, 1)
	return f, DescriptorConditioned{PolicyGradient: PolicyGradient{
		Config: settings, policy: task.MLP()},
		Lengthscale: f.Number("const.lengthscale"), task: task}, task
}

// transitionsOf returns the transitions of 15_dcrl.npz as rows of the replay buffer.
func transitionsOf(f golden.File) (rows [][]float32) {
	for i := range f.Shape("data.obs")[0] {
		rows = append(rows, f.Joined([]int32{int32(i)}, "data.obs", "data.next_obs", "data.actions", "data.rewards",
			"data.dones", "data.truncations", "desc", "target"))
	}
	return rows
}

// Scaled descriptors and rewards, and up to three updates of critics and actor.
func TestGoldenDCRLUpdates(t *testing.T) {
	f, l, task := readDCRL(t)
	rows, names := transitionsOf(f), []string{"critic", "target_critic", "actor", "target_actor"}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		steps := xlatest.Few(p, 3)
		in := []*tensors.Tensor{xlatest.Stored(f, "data.desc"), xlatest.Stored(f, "data.target")}
		for _, name := range names {
			in = append(in, xlatest.Stored(f, name))
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			g, limits := in[0].Graph(), task.Env.Spec().Descriptor
			out := []*Node{normalised(limits, in[0]), normalised(limits, in[1]), l.read(Const(g, rows)).Reward}
			learner, key := l.conditioned(), random.NewKey(g, 1)
			learner.Read = func(drawn *Node) replay.Transitions { // all of them, instead of those drawn
				return l.read(Const(drawn.Graph(), rows))
			}
			state := learner.Start(in[4], key)
			state.Critic.Params, state.Critic.Target = learner.Critic.Networks(in[2]), learner.Critic.Networks(in[3])
			state.Actor.Target = learner.Actor.Network(in[5], 0)
			buffer := l.layout().NewBuffer(g, 1)
			for n := range steps {
				after, critic, actor := learner.Train(state, buffer, key, n+1)
				out = append(out, nn.JoinNetworks(after.Critic.Params), nn.JoinNetworks(after.Critic.Target),
					after.Actor.Params.Join(), after.Actor.Target.Join(), critic, actor)
			}
			return out
		}, in...)
		xlatest.Matches(t, f, out, 1e-6, "desc", "target", "reward")
		for n := range steps {
			for i, name := range append(names, "critic_loss", "actor_loss") {
				name := fmt.Sprint(name, "_", n+1)
				xlatest.Close(t, name, xlatest.Flat[float32](t, out[3+6*n+i]), f.Float32s(name), 1e-5)
			}
		}
	})
}

// Gradient steps of two parents towards their own descriptors, and actors specialised to five
// descriptors: their parameters and actions.
func TestGoldenDCRLOffspring(t *testing.T) {
	f, l, task := readDCRL(t)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			goals, td3 := normalised(task.Env.Spec().Descriptor, in[5]), l.unconditioned()
			policies := l.specialise(l.conditioned().Actor.Network(in[4], 0), goals)
			children := td3.VaryTowards(in[0], in[1], td3.Critic.Network(in[2], 0), in[3], Const(in[0].Graph(), int32(0)), 2)
			return []*Node{children, policies, task.MLP().View(policies).Apply(in[6])}
		}, xlatest.Stored(f, "vary.parents"), xlatest.Stored(f, "vary.goals"), xlatest.Stored(f, "vary.critic"),
			xlatest.Stored(f, "vary.obs"), xlatest.Stored(f, "inject.actor"), xlatest.Stored(f, "inject.goals"),
			xlatest.Stored(f, "inject.obs"))
		xlatest.Matches(t, f, out, 1e-5, "vary.children", "inject.policies", "inject.actions")
	})
}

// aims is a scripted task whose policies can reach any descriptor: the actions are bounded.
func aims() scoring.Task {
	task := unlimited.task()
	task.Policy = nn.NewPolicy(1, []int{8}, 2)
	return task
}

// smallDCRL are settings for networks of a few units.
func smallDCRL() *MapElites {
	d := defaultDCRLMapElites(aims().Env.Spec())
	parts.Change(d, func(e *DescriptorConditioned) {
		e.CriticHidden, e.ReplayBufferSize, e.TransitionsBatchSize = []int{16}, 4000, 64
		e.NumCriticTrainingSteps, e.NumPGTrainingSteps, e.Lengthscale = 60, 10, 0.4
		e.CriticLearningRate, e.GreedyLearningRate = 3e-3, 3e-3
	})
	return d
}

func newDCRL(t *testing.T, p *xla.Platform, d *MapElites, settings settings) *search {
	t.Helper()
	return searchOf(t, p, aims(), d.Parts, settings)
}

// The transitions of a proposal have an individual's descriptor as their target, all others the one that
// their episode reached.
func TestDCRLTargets(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		const batch = 16
		settings := settings{Batch: batch, Slice: 8, Centroids: line(20), Seed: 3}
		proposed := smallDCRL() // all offspring, not half of them
		proposed.Mix[1].Of = 0
		steps(t, newDCRL(t, p, proposed, settings), 2)
		s := newDCRL(t, p, smallDCRL(), settings)
		for generation := range 3 {
			before := floats(t, must.Get(s.Arrays()), "descriptors")
			steps(t, s, 1)
			_, rows := replayOf(t, s)
			rows = rows[len(rows)-2*batch*9:]
			away := 0
			for i := range 2 * batch { // observation, next, two actions, reward, done, truncation, columns
				action, reached, target := rows[9*i+3], rows[9*i+7], rows[9*i+8]
				errtest.Equal(t, fmt.Sprint("descriptor of row ", i), reached, action)
				meant := []float32{reached}
				if generation > 0 && i/2 < 8 {
					meant = before
				}
				if !slices.Contains(meant, target) {
					t.Errorf("generation %d, row %d: target %v, want one of %v", generation, i, target, meant)
				}
				if target != reached {
					away++
				}
			}
			errtest.Equal(t, fmt.Sprint("other targets in generation ", generation), away > 0, generation > 0)
		}
	})
}

// Proposals are the same bits however they are divided among workers, and the share of injection is kept.
func TestDCRLProposalsAreDivided(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for _, c := range []struct{ isoline, inject float64 }{{0.5, 0.25}, {0.25, 0.125}, {0.5, 0},
			{0.5, 0.5}} {
			task := aims()
			start := DescriptorConditioned{PolicyGradient: PolicyGradient{Config: partOf[td3.Config](smallDCRL())},
				InjectionShare: c.inject, Lengthscale: 0.1}
			const batch, cells, steps = 16, 5, 640
			n := batch - int(c.isoline*batch)
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				key := random.KeyOf(in[0])
				g := in[0].Graph()
				number := func(from, k int) *Node {
					return MinScalar(AddScalar(Iota(g, shapes.Make(dtypes.Int32, k), 0), int32(from)), int32(n-1))
				}
				l := start.Init(Start{Task: task}, key).(DescriptorConditioned)
				genotypes := task.Policy.Init(key.FoldIn(5).FoldInEach(number(0, cells)))
				cells := repertoire.Cells{Fitness: ReduceSum(genotypes, 1), Descriptors: key.FoldIn(6).Uniform(-1, 1, cells, 1)}
				parents := newParents(genotypes, cells)
				parents.Batch, parents.Count = batch, n
				l.Observations = key.FoldIn(7).Uniform(-1, 1, steps, 1)
				propose := func(from, k int) *Node {
					which := number(from, k)
					return l.Offspring(parents, which, key.FoldIn(8).FoldInEach(which))
				}
				_, targets := l.parents(parents, key.FoldIn(8).FoldInEach(number(0, n)))
				third := (n + 2) / 3
				return []*Node{propose(0, n), Concatenate([]*Node{propose(0, third), propose(third, third),
					propose(2*third, third)}, 0), l.specialise(l.Learner.Actor.Params, targets)}
			}, xlatest.Tensor(random.SeedWords(1), 2))
			whole, parts, actors := xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1]),
				xlatest.Flat[float32](t, out[2])
			errtest.Equal(t, fmt.Sprintf("%+v: proposals of one worker and of three", c), whole, parts[:len(whole)])
			injected, params := 0, task.Policy.Params()
			for at := 0; at < len(whole); at += params {
				if slices.Equal(whole[at:at+params], actors[at:at+params]) {
					injected++
				}
			}
			errtest.Equal(t, fmt.Sprintf("%+v: specialised actors of %d proposals", c, n), injected, int(c.inject*batch))
		}
	})
}

// The actor learns to reach the descriptors that it is specialised to, at a high reward.
func TestDCRLLearnsToReachDescriptors(t *testing.T) {
	p := xlatest.Quick(t)
	d := smallDCRL()
	s := newDCRL(t, p, d, settings{Batch: 64, Slice: 32, Centroids: line(16), Seed: 1})
	task := aims()
	l := s.parts.Mix[0].Emitter.(DescriptorConditioned)
	l.task, l.policy = task, task.MLP()
	var goals []float32
	for i := range 9 {
		goals = append(goals, float32(i)/5-0.8)
	}
	measure := func() (off, reward float64) {
		in, state := []*tensors.Tensor{xlatest.Tensor(goals, len(goals), 1)}, must.Get(s.Arrays())
		mlp := l.conditioned().Actor
		for layer := range mlp.Sizes[1:] {
			for _, part := range []string{"Bias", "Kernel"} {
				const actor = "proposing_0.Emitter.PolicyGradient.Learner.Actor.Trainable.Params"
				x := state[fmt.Sprintf("%s.%s.%d", actor, part, layer)]
				in = append(in, xlatest.Tensor(must.Get(x.Float32s()), x.Shape...))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			actor := nn.Network{MLP: mlp}
			for i := 1; i < len(in); i += 2 {
				actor.Bias, actor.Kernel = append(actor.Bias, in[i]), append(actor.Kernel, in[i+1])
			}
			return []*Node{task.MLP().View(l.specialise(actor, in[0])).Apply(OnesLike(in[0]))}
		}, in...)
		actions := xlatest.Flat[float32](t, out[0])
		for i, goal := range goals {
			off += math.Abs(float64(actions[2*i+1]-goal)) / float64(len(goals))
			reward += float64(actions[2*i]) / float64(len(goals))
		}
		return off, reward
	}
	before, _ := measure()
	steps(t, s, 25)
	after, reward := measure()
	t.Logf("off by %.3f before, %.3f after, reward %.3f", before, after, reward)
	if !(after < 0.5*before) || !(after < 0.25) || !(reward > 0.7) {
		t.Errorf("specialised actors miss their descriptors by %.3f at a reward of %.3f; untrained ones "+
			"by %.3f", after, reward, before)
	}
}
