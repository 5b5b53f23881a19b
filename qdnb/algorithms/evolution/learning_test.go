package evolution

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

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
	"example.com/qdnb/xla"
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
		want := stateOf(t, s)
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
			got := stateOf(t, s)
			for _, name := range []string{"fitnesses", "descriptors", "genotypes"} {
				if !slices.Equal(floats(t, got, name), floats(t, want, name)) {
					t.Errorf("generation %d: %s are\n%v, want\n%v", generation, name, got[name].Data, want[name].Data)
				}
			}
			buffer, total := s.Replay()
			capacity, width := buffer.Shape()
			if capacity != 100 || width != 7 || total != int64(len(rows)/7) {
				t.Fatalf("generation %d: a buffer of %d rows of %d numbers, %d of them written", generation,
					capacity, width, total)
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
		if _, err := buffer.Rows(total, 0, 10); err == nil {
			t.Error("overwritten rows can be read")
		}
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
				before := number(stateOf(t, s))
				steps(t, s, 1)
				after := stateOf(t, s)
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
					if want := []float32{2 * row[4], row[3], entered[i/2]}; !slices.Equal(row[7:], want) {
						t.Errorf("generation %d, step %d: columns %v, want %v", generation, i, row[7:], want)
					}
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

// smallASCII are settings for networks of a few units, without Iso+LineDD.
func smallASCII() *MapElites {
	a := defaultASCIIME(aims().Env.Spec())
	a.Mix[1].Of = 0
	parts.Change(a, func(s *ASCIISettings) { s.LearningRate, s.NumEpochs = 0.01, 5 })
	return a
}

// The emitter keeps the rewards to go of every individual in the archive, and its offspring alone improve
// the archive.
func TestASCIIKeepsEpisodesOfMembers(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		settings := settings{Batch: 24, Slice: 8, Centroids: line(10), Seed: 3}
		s := searchOf(t, p, aims(), smallASCII().Parts, settings)
		var best []float32
		for range 12 {
			best = append(best, slices.Max(steps(t, s, 1)[0].Fitnesses))
			state := stateOf(t, s)
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
