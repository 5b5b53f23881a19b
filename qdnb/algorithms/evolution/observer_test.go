package evolution

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

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
			learner := watcher{Bookkeeper{Rows: capacity, LossLimit: math.Inf(1)}}
			settings := settings{Batch: 12, Slice: 5, Centroids: line(20), Seed: 3}
			s := newLearningSearch(t, p, learner, settings)
			for generation := range 5 {
				filled := func() (n float32) {
					for _, f := range floats(t, stateOf(t, s), "fitnesses") {
						if !math.IsInf(float64(f), -1) {
							n++
						}
					}
					return n
				}
				before := filled()
				steps(t, s, 1)
				after := stateOf(t, s)
				saw := floats(t, after, "proposing_0.Emitter.Bookkeeper.First")
				xlatest.Close(t, "what it saw", saw[:3], []float32{float32(generation), before, filled()}, 0)
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
				if saw[3] != float32(len(entered)) {
					t.Errorf("generation %d: it saw %g enter, %d did", generation, saw[3], len(entered))
				}
				if len(entered) == 0 || len(entered) == 12 {
					t.Errorf("generation %d: %d of 12 entered, which tells nothing", generation, len(entered))
				}
			}
		}
	})
}
