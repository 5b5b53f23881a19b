package bench

import (
	"errors"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// BenchmarkUpdates times the gradient updates of a learner in one program, with the paper's sizes on
// ant-uni: 87 observations, 8 actions, batches of 256 transitions from a full buffer of random
// transitions, and networks with two hidden layers of 256 units.
//
// An update of td3 updates the critics, and every second one also the actor. An update of sac
// updates the discriminator, the critics and the actor, as in DIAYN+REWARD with five skills. An
// update of variation is a policy-gradient step of each of PGA-MAP-Elites' individuals.
func BenchmarkUpdates(b *testing.B) {
	defer failing(b)
	start, ok := map[string]func() updates{"td3": benchTD3, "sac": benchSAC, "variation": benchVariation}[*learner]
	if !ok || *steps < 1 || *buffer < 1 || *individuals < 1 {
		b.Fatalf("-learner must be td3, sac or variation, not %q; -steps, -buffer and -individuals 1 or more", *learner)
	}
	u := start()
	defer u.free()
	_, fastest := best(b, u.run)
	report(b, map[string]float64{"steps": float64(*steps), "updates/s": float64(*steps) / fastest,
		"compile-s": u.compileTime.Seconds()})
}

// updates is a compiled learner. run runs the updates; a NaN loss panics.
type updates struct {
	compileTime time.Duration
	run, free   func()
}

// newUpdates compiles a learner. start makes its state, a pytree, from a key. train maps a state to
// the next state and the losses.
func newUpdates[T any](start func(random.Key) T, train func(T, random.Key) (T, []*graph.Node)) updates {
	type in struct {
		State xla.State[T] `xla:"donate"`
	}
	type out struct {
		State  xla.State[T]
		Losses xla.State[[]*graph.Node]
	}
	seed := platform.Seed(0).First()
	defer seed.Free()
	first := must.Get(xla.Compile(platform, "start", seed, func(seed xla.Array) in {
		return in{xla.Out(start(random.KeyOf(seed.Tree)))}
	}))
	defer first.Free()
	held := must.Get(first.Run(seed))
	program := must.Get(xla.Compile(platform, "updates", held, func(in in) out {
		g := xla.Flatten(in.State.Tree)[0].Graph()
		after, losses := train(in.State.Tree, random.NewKey(g, 1))
		return out{xla.Out(after), xla.Out(losses)}
	}))
	return updates{
		compileTime: program.CompileTime,
		run: func() {
			found := must.Get(program.Run(held))
			held.State = found.State
			if slices.ContainsFunc(found.Losses.Scalars(), math.IsNaN) {
				panic(errors.New("a loss is NaN"))
			}
		},
		free: func() {
			held.State.Free()
			program.Free()
		},
	}
}

func benchTD3() updates {
	const observations, actions = 87, 8
	type whole struct {
		Learner td3.TrainingState
		Buffer  replay.Buffer
	}
	algorithm := td3.Default().For(nn.NewPolicy(observations, []int{256, 256}, actions))
	return newUpdates(func(key random.Key) whole {
		g := key.Hi.Graph()
		one := key.FoldInEach(graph.Const(g, []int32{0}))
		zeros := graph.Zeros(g, shapes.Make(dtypes.Float32, *buffer))
		full := graph.Const(g, int32(*buffer))
		rows := algorithm.Layout().Join(replay.Transitions{
			Obs:     key.FoldIn(2).Normal(*buffer, observations),
			NextObs: key.FoldIn(3).Normal(*buffer, observations),
			Action:  key.FoldIn(4).Uniform(-1, 1, *buffer, actions), Reward: key.FoldIn(5).Normal(*buffer),
			Done: zeros, Truncation: zeros,
		})
		return whole{algorithm.Start(algorithm.Actor.Init(one), key.FoldIn(1)),
			replay.Buffer{Rows: rows, Size: full, Position: graph.ZerosLike(full)}}
	}, func(w whole, key random.Key) (whole, []*graph.Node) {
		learner, critic, actor := algorithm.Train(w.Learner, w.Buffer, key, *steps)
		return whole{learner, w.Buffer}, []*graph.Node{critic, actor}
	})
}

// benchVariation is the policy-gradient variation of individuals on random observations.
func benchVariation() updates {
	const observations, actions = 87, 8
	type whole struct {
		Individuals, Observations *graph.Node
		Critic                    nn.Network
	}
	algorithm := td3.Default().For(nn.NewPolicy(observations, []int{256, 256}, actions))
	return newUpdates(func(key random.Key) whole {
		which := graph.Iota(key.Hi.Graph(), shapes.Make(dtypes.Int32, *individuals), 0)
		individuals := algorithm.Actor.Init(key.FoldInEach(which))
		first := graph.Slice(individuals, graph.AxisRange(0, 1))
		return whole{individuals, key.FoldIn(2).Normal(*steps*algorithm.TransitionsBatchSize, observations),
			algorithm.Start(first, key.FoldIn(1)).Critic.Params[0]}
	}, func(w whole, _ random.Key) (whole, []*graph.Node) {
		worker := graph.Const(w.Individuals.Graph(), int32(0))
		w.Individuals = algorithm.Vary(w.Individuals, w.Critic, w.Observations, worker, *individuals)
		return w, []*graph.Node{graph.ReduceAllMean(w.Individuals)}
	})
}

func benchSAC() updates {
	const observations, actions, count = 87, 8, 5
	type whole struct {
		Learner   sac.TrainingState
		Diversity skills.Diversity
		Buffer    replay.Buffer
	}
	type state struct {
		State  whole
		Key    random.Key
		Losses *graph.Node
	}
	config := sac.Default()
	algorithm := config.For(observations+count, actions)
	layout := replay.Layout{Obs: observations + count, Actions: actions}
	task := skills.Problem{Env: must.Get(envs.Make("ant-uni")), Skills: skills.Distribution{OneHot: count}}
	diayn := skills.DIAYN{LearningRate: config.LearningRate, Hidden: config.Hidden}
	return newUpdates(func(key random.Key) whole {
		g := key.Hi.Graph()
		skill := graph.OneHot(graph.ModScalar(graph.Iota(g, shapes.Make(dtypes.Int32, *buffer), 0), int32(count)),
			count, dtypes.Float32)
		observed := func(key random.Key) *graph.Node {
			return graph.Concatenate([]*graph.Node{key.Normal(*buffer, observations), skill}, 1)
		}
		zeros, full := graph.Zeros(g, shapes.Make(dtypes.Float32, *buffer)), graph.Const(g, int32(*buffer))
		rows := layout.Join(replay.Transitions{Obs: observed(key.FoldIn(0)), NextObs: observed(key.FoldIn(1)),
			Action: key.FoldIn(2).Uniform(-1, 1, *buffer, actions), Reward: key.FoldIn(3).Normal(*buffer),
			Done: zeros, Truncation: zeros})
		return whole{algorithm.Start(key.FoldIn(4)), diayn.Init(task, key.FoldIn(5)),
			replay.Buffer{Rows: rows, Size: full, Position: graph.ZerosLike(full)}}
	}, func(w whole, key random.Key) (whole, []*graph.Node) {
		zero := graph.Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32))
		end := xla.ForUnfused(key.Hi.Graph(), *steps, state{w, key, zero}, func(step *graph.Node, u state) state {
			draw := u.Key.FoldInEach(step)
			b := layout.Split(u.State.Buffer.At(u.State.Buffer.Draw(draw.FoldIn(0), config.BatchSize)))
			part := func(x *graph.Node, from, to int) *graph.Node {
				return graph.Slice(x, graph.AxisRange(), graph.AxisRange(from, to))
			}
			of := skills.Batch{Transitions: b, Skill: part(b.Obs, observations, observations+count),
				Now: part(b.Obs, 0, observations), Next: part(b.NextObs, 0, observations)}
			b.Reward = graph.Add(b.Reward, graph.StopGradient(u.State.Diversity.Reward(of)))
			u.State.Diversity, _ = u.State.Diversity.Learn(of)
			var critic, actor *graph.Node
			u.State.Learner, critic, actor, _ = algorithm.Update(u.State.Learner, b, algorithm.NewNoise(draw.FoldIn(1)))
			u.Losses = graph.Add(u.Losses, graph.Add(critic, actor))
			return u
		})
		return end.State, []*graph.Node{end.Losses}
	})
}

// BenchmarkTraining divides the time of generations, or iterations, among the programs of an algorithm and
// the host: the mean time of a generation, each program's share, and the time to write a checkpoint with
// the transitions of the timed generations.
func BenchmarkTraining(b *testing.B) {
	defer failing(b)
	algorithm, env := tuned("pga-map-elites")
	search := must.Get(algorithm.New(platform, env, 0))
	defer search.Close()
	for range max(1, *warmup) {
		must.Get(search.Step())
	}
	rows, before, compiled, start := written(search), platform.RunTimes(), search.CompileTime(), time.Now()
	generations := 0
	for b.Loop() {
		must.Get(search.Step())
		generations++
	}
	whole := (time.Since(start) - (search.CompileTime() - compiled)).Seconds()
	host, after := 1.0, platform.RunTimes()
	for _, name := range slices.Sorted(maps.Keys(after)) {
		share := (after[name].Time - before[name].Time).Seconds() / whole
		host -= share
		b.ReportMetric(share, strings.ReplaceAll(name, " ", "-")+"-share")
	}
	start = time.Now()
	checkpoint(b, search, rows)
	report(b, map[string]float64{"generation-s": whole / float64(generations), "host-share": host, "peak-B": peakMemory(),
		"compile-s": search.CompileTime().Seconds(), "checkpoint-s": time.Since(start).Seconds()})
}

// replayer is a search with a replay buffer.
type replayer interface {
	Replay() (buffer *replay.Store, total int64)
}

// written is the number of transitions written to the replay buffer so far, if the search has one.
func written(search algorithms.Search) (total int64) {
	if r, ok := search.(replayer); ok {
		_, total = r.Replay()
	}
	return total
}

// checkpoint writes the state, and the transitions after the first ones.
func checkpoint(b *testing.B, search algorithms.Search, from int64) {
	arrays := must.Get(search.State().Arrays())
	if r, ok := search.(replayer); ok {
		if buffer, total := r.Replay(); buffer != nil {
			capacity, width := buffer.Shape()
			rows := must.Get(buffer.Rows(total, max(from, total-capacity), total))
			arrays["replay"] = npz.Of(rows, len(rows)/width, width)
		}
	}
	must.Do(npz.Write(filepath.Join(b.TempDir(), "state.npz"), arrays))
}

// insertionCells is the number of cells of the repertoire of [BenchmarkInsertion], as in the paper.
const insertionCells = 1024

// BenchmarkInsertion times the insertion of a batch of stored candidates, 1000 unless -batch says
// otherwise, into a full repertoire of the paper's size on ant-uni: 1024 cells, policies with two hidden
// layers of 256 units. Each insertion starts from the result of the one before. So many as -better says
// are fitter than all occupants; in an advanced search these are about 50 of 1000.
func BenchmarkInsertion(b *testing.B) {
	defer failing(b)
	size := batchOr(1000)
	if size < 1 || *better < 0 || *better > size {
		b.Fatalf("-batch must be 1 or more and -better between 0 and -batch, not %d and %d", size, *better)
	}
	params := nn.NewPolicy(87, []int{256, 256}, 8).Params()
	must.Do(platform.CheckMemory(4*int64(params)*int64(insertionCells+size), 0))
	in := startInsertion(size, params)
	defer func() { xla.Free(&in.Cells, &in.Candidates, &in.Centroids) }()
	in.Number = xla.Declare(dtypes.Float32)
	program := must.Get(compileInsertion(size, in))
	defer program.Free()
	entered, number := 0, float32(0)
	best(b, func() {
		number++
		in.Number = xla.Single(tensors.FromScalar(number))
		defer in.Number.Free()
		out := must.Get(program.Run(in))
		in.Cells = out.Cells
		entered = int(out.Count.Scalars()[0]) // waits for the device
	})
	report(b, map[string]float64{"batch": float64(size), "params": float64(params), "entered": float64(entered),
		"compile-s": program.CompileTime.Seconds()})
}

// cells are a repertoire, and candidates the individuals that may enter it: pytrees.
type (
	cells      struct{ Genotypes, Fitness, Descriptors *graph.Node }
	candidates struct {
		Genotypes, Descriptors *graph.Node
		Order                  *graph.Node // [batch], a value in [0, 1) that ranks the better ones
	}
)

type (
	insertionIn struct {
		Number     xla.Array        // number of the insertion
		Cells      xla.State[cells] `xla:"donate"`
		Centroids  xla.Array
		Candidates xla.State[candidates]
	}
	insertionOut struct {
		Cells xla.State[cells]
		Count xla.Array // accepted candidates
	}
)

func startInsertion(size, params int) insertionIn {
	seed := platform.Seed(0).First()
	defer seed.Free()
	first := must.Get(xla.Compile(platform, "start", seed, func(seed xla.Array) insertionIn {
		key, g := random.KeyOf(seed.Tree), seed.Tree.Graph()
		return insertionIn{
			Cells: xla.Out(cells{
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells, params)),
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells)),
				graph.Zeros(g, shapes.Make(dtypes.Float32, insertionCells, 2))}),
			Centroids: xla.Out(key.FoldIn(0).Uniform(-1, 1, insertionCells, 2)),
			Candidates: xla.Out(candidates{
				key.FoldIn(1).Uniform(-1, 1, size, params),
				key.FoldIn(2).Uniform(-1, 1, size, 2),
				key.FoldIn(3).Uniform(0, 1, size)}),
		}
	}))
	defer first.Free()
	return must.Get(first.Run(seed))
}

// compileInsertion compiles the insertion. In insertion n the better candidates have a fitness from
// n to n+1, the others -1.
func compileInsertion(size int, in insertionIn) (*xla.Program[insertionIn, insertionOut], error) {
	return xla.Compile(platform, "insertion", in, func(in insertionIn) insertionOut {
		held, found := in.Cells.Tree, in.Candidates.Tree
		repertoireCells := repertoire.Cells{Fitness: held.Fitness, Descriptors: held.Descriptors, Centroids: in.Centroids.Tree}
		// The better candidates are spread over the batch, as in a search.
		position := graph.ModScalar(graph.MulScalar(graph.Iota(found.Order.Graph(),
			shapes.Make(dtypes.Int32, size), 0), 7919), int32(size))
		better := graph.LessThan(position, graph.ConstAs(position, int32(*better)))
		batch := repertoire.Batch{Fitness: graph.Where(better, graph.Add(found.Order, in.Number.Tree),
			graph.ConstAs(found.Order, -1)), Descriptors: found.Descriptors}
		archive, entering := repertoire.Grid{Elites: repertoireCells}.Add(repertoire.Evaluated{Batch: batch})
		after := archive.Cells()
		to, count := xla.Nonzero(entering.Accepted)
		winners := graph.Gather(entering.Index, graph.InsertAxes(to, -1))
		genotypes := xla.SetRowsAt(held.Genotypes, found.Genotypes, winners, to, count)
		return insertionOut{xla.Out(cells{genotypes, after.Fitness, after.Descriptors}), xla.Out(count)}
	})
}
