package evolution

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Bookkeeper is an emitter that plain Go can reproduce. It counts generations, its loss is the mean
// reward in its buffer, and all parameters of its offspring are its count divided by 64.
type Bookkeeper struct {
	Rows      int     // capacity of the replay buffer
	LossLimit float64 // above it the loss is NaN
	Count     *Node
	First     *Node // what Init was given
	params    int
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
	mean = Where(GreaterThan(mean, ConstAs(mean, b.LossLimit)), ConstAs(mean, math.NaN()), mean)
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

var honest = Bookkeeper{Rows: 100, LossLimit: math.Inf(1)}

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
		if got := s.Columns(); !slices.Equal(got, []string{"mean_reward"}) {
			t.Errorf("columns %v", got)
		}
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
			insert(t, want, floats(t, want, "centroids"), offspring, params, evaluateScripted)
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
					t.Errorf("generation %d: %s are\n%v, want\n%v", generation, name, got[name].Data,
						want[name].Data)
				}
			}
			buffer, total := s.Replay()
			capacity, width := buffer.Shape()
			if capacity != 100 || width != 7 || total != int64(len(rows)/7) {
				t.Fatalf("generation %d: a buffer of %d rows of %d numbers, %d of them written", generation,
					capacity, width, total)
			}
			from := max(0, total-capacity)
			held, err := buffer.Rows(total, from, total)
			if err != nil {
				t.Fatal(err)
			}
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
	rows, err := buffer.Rows(total, from, total)
	if err != nil {
		t.Fatal(err)
	}
	return from, rows
}

func TestNaNLossEndsTheSearch(t *testing.T) {
	wary := honest
	wary.LossLimit = -1e9
	s := newLearningSearch(t, xlatest.Pure(t), wary, settings{Batch: 4, Centroids: line(3)})
	if _, err := s.Step(); err == nil || !strings.Contains(err.Error(),
		"mean_reward is NaN in generation 0") || strings.Contains(err.Error(), "\n") {
		t.Errorf("NaN loss: %v", err)
	}
}

func TestUnusableLearnersGiveOneLine(t *testing.T) {
	p := xlatest.Pure(t)
	small := honest
	small.Rows = 7
	for want, mix := range map[string]Mix{
		"a replay buffer of 7 transitions is too small for the 8 of a generation": {{small, 1}},
		"share 2 of the emitters needs an emitter and a number from 0 to 1, or Rest once, not evolution.Stateless and 2": {
			{honest, -1}, {noisy, 2}},
		"share 2 of the emitters needs an emitter":              {{noisy, 1}, {nil, 0}},
		"the shares of the emitters must add up to 1, not 0.75": {{honest, 0.5}, {noisy, 0.25}},
		"the shares of the emitters must add up to 1, not 0":    nil,
		"share 2 of the emitters, 0.2 of a batch of 4, is less than one individual: at least 0.25, or 0 to leave it out": {
			{noisy, 0.8}, {StrategySettings{Emitters: 1, Sigma0: 1}.Emitter(), 0.2}},
		"share 3 of the emitters, 1e-09 of a batch": {{noisy, 0.5}, {isoline, 0.5 - 1e-9}, {noisy, 1e-9}},
		"so no other emitter can learn from them":   {{watcher{honest}, 0.5}, {honest, 0.5}},
	} {
		_, err := newSearch(p, unlimited.task(), Parts{Mix: mix}, settings{Batch: 4, Centroids: line(3)})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want %q", err, want)
		}
	}
	s := newLearningSearch(t, p, honest, settings{Batch: 4, Centroids: line(3)})
	arrays := stateOf(t, s)
	arrays["proposing_0.Emitter.Count"] = npz.Of([]float32{1, 2}, 2)
	if err := s.Restore(0, arrays); err == nil || !strings.Contains(err.Error(),
		"the checkpoint's proposing_0.Emitter.Count has shape [2]") {
		t.Errorf("a checkpoint of another learner: %v", err)
	}
}
