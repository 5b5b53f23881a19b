package evolution

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// watcher is a learner that writes down what it sees of evaluations: the number of the generation,
// the sum of its proposals, and the filled cells before the insertion. Its columns are fitness and
// descriptor of the episode, and whether the individual entered.
type watcher struct{ bookkeeper }

func (watcher) Fields() []string { return []string{"count", "first", "seen"} }

func (w watcher) Start(task scoring.Task, first *Node, key xla.Key) []*Node {
	return append(w.bookkeeper.Start(task, first, key),
		Zeros(first.Graph(), shapes.Make(dtypes.Float32, 3)))
}

func (w watcher) Columns(scoring.Task) []int {
	if w.Room == 0 {
		return nil
	}
	return []int{2, 1}
}

func (w watcher) Observe(task scoring.Task, known []*Node, seen Evaluation, _ xla.Key) (after,
	more []*Node) {
	number := func(x *Node) *Node { return ReduceAllSum(ConvertDType(x, dtypes.Float32)) }
	filled := GreaterThan(seen.Before[0], ConstAs(seen.Before[0], math.Inf(-1)))
	after = []*Node{AddScalar(known[0], 1), known[1],
		Stack([]*Node{number(seen.Number), number(seen.Proposed), number(filled)}, 0)}
	if w.Room == 0 {
		return after, nil
	}
	steps := func(x *Node) *Node { // [P, w] as columns of the transitions
		p, width := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
		return Reshape(BroadcastToDims(InsertAxes(x, 1), p, task.Length, width), p*task.Length, width)
	}
	entered := ConvertDType(seen.Entered(), dtypes.Float32)
	return after, []*Node{steps(Concatenate([]*Node{InsertAxes(seen.Fitness, -1), seen.Descriptors},
		1)), steps(InsertAxes(entered, -1))}
}

func (watcher) Learn(_ scoring.Task, known []*Node, _ replay.Buffer, _ xla.Key) (after,
	losses []*Node) {
	return known, []*Node{ScalarZero(known[0].Graph(), dtypes.Float32)}
}

// A learner sees every generation with what entered the archive, and its columns are stored with
// the transitions. Without a replay buffer it sees the same.
func TestObserverSeesEvaluations(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, room := range []int{100, 0} {
			learner := watcher{bookkeeper{Share: 4, Room: room, LossLimit: math.Inf(1)}}
			settings := Settings{Batch: 12, Slice: 5, Centroids: line(20), Seed: 3}
			s := newLearningSearch(t, p, learner, settings)
			params := s.task.Policy.Params()
			for generation := range 5 {
				filled := 0
				for _, f := range floats(t, stateOf(t, s), "fitnesses") {
					if !math.IsInf(float64(f), -1) {
						filled++
					}
				}
				steps(t, s, 1)
				after := stateOf(t, s)
				proposed := float64(3*params) * float64(generation) / 64
				xlatest.Close(t, "what it saw", floats(t, after, "learner_seen"),
					[]float32{float32(generation), float32(proposed), float32(filled)}, 1e-6)
				if room == 0 {
					if buffer, total := s.Replay(); buffer != nil || total != 0 {
						t.Errorf("a learner without a replay buffer has one of %d rows", total)
					}
					continue
				}
				origins, err := after["origins"].Int32s()
				if err != nil {
					t.Fatal(err)
				}
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
				if len(entered) == 0 || len(entered) == 12 {
					t.Errorf("generation %d: %d of 12 entered, which tells nothing", generation, len(entered))
				}
			}
			if room > 0 {
				if _, err := s.Refill(); err != nil {
					t.Fatal(err)
				}
				_, rows := replayOf(t, s)
				for at := 0; at < len(rows); at += 10 {
					if row := rows[at : at+10]; !slices.Equal(row[7:], []float32{2 * row[4], row[3], 0}) {
						t.Errorf("refilled row %v has columns %v", row[:7], row[7:])
					}
				}
				steps(t, s, 1)
			}
		}
	})
}
