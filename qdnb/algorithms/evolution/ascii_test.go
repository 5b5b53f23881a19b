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
	"example.com/qdnb/internal/parts"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

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
