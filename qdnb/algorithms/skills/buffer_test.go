package skills

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
)

// The rows of the replay buffer are the transitions in order, bit for bit, across both kinds of
// episode ends and where the ring wraps.
func TestReplayHoldsTheTransitions(t *testing.T) {
	const n, width = 6, 14
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := startSearch(t, p, diaynReward, small())
		type position struct{ x, y float32 }
		var first, now [n]position
		var age [n]int
		ended, cut := 0, 0
		steps(t, s, 1)
		for step := range 3 { // each of ten iterations, which fill the ring once
			steps(t, s, 10)
			buffer, total := s.Replay()
			rows, err := buffer.Rows(total, total-10*n, total)
			if err != nil || len(rows) != 10*n*width {
				t.Fatalf("%d numbers, %v", len(rows), err)
			}
			for i := range 10 * n {
				k, row := i%n, rows[i*width:(i+1)*width]
				if step == 0 && i < n {
					first[k] = position{row[0], row[1]}
					now[k] = first[k]
				}
				x, y, reward, done := short.moved(now[k].x, now[k].y, row[4], row[5])
				age[k]++
				next, over, truncated := position{x, y}, float32(0), float32(0)
				if done || age[k] == 8 {
					next, over, age[k] = first[k], 1, 0
					ended++
					if !done {
						truncated = 1
						cut++
					}
				}
				want := []float32{now[k].x, now[k].y, next.x, next.y, row[4], row[5], reward, over, truncated,
					float32(k % 3), now[k].x, now[k].y, next.x, next.y}
				if !slices.Equal(row, want) {
					t.Fatalf("row %d is\n%v, want\n%v", i, row, want)
				}
				if math.Abs(float64(row[4])) >= 1 || k > 0 && row[4] == rows[(i-1)*width+4] {
					t.Fatalf("row %d has the action %v", i, row[4:6])
				}
				now[k] = next
			}
		}
		if ended == cut || cut == 0 {
			t.Errorf("%d episodes ended, %d by their length: the test is vacuous", ended, cut)
		}
		if first[0] == first[3] {
			t.Error("two environments of one skill have the same initial state")
		}
		buffer, total := s.Replay()
		errtest.Want(t, errtest.Of(buffer.Rows(total, 0, 1)))
	})
}

// While a search runs, the stored returns are those of the stored rows: in a buffer that is partly
// filled, full, and in the middle of the ring.
func TestReturnsAreOfTheStoredRows(t *testing.T) {
	const n = 6
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := startSearch(t, p, smerlDADS, small())
		steps(t, s, 1)
		for end, more := 0, 5; end < 25; more = 8 {
			steps(t, s, more)
			end += more
			checkReturns(t, fmt.Sprintf("after %d steps", end), memory(t, s), end, n, 10)
		}
	})
}

// checkReturns compares the returns of a full buffer's rows with the sums of its rewards, for
// episodes that begin in it. ring is its capacity in steps.
func checkReturns(t *testing.T, what string, held map[string]npz.Array, end, n, ring int) {
	t.Helper()
	rows, returns := must.Get(held["replay"].Float32s()), must.Get(held["Returns.Rows"].Float32s())
	width, filled := held["replay"].Shape[1], held["replay"].Shape[0]/n
	compared := 0
	for k := range n {
		var sum float32
		var episode []int // steps of the running episode
		begun := filled < ring
		flush := func() {
			for _, step := range episode {
				if got := returns[(end-filled+step)%ring*n+k]; begun {
					compared++
					if got != sum {
						t.Errorf("%s: the return at step %d of environment %d is %g, its episode's rewards sum to %g",
							what, step, k, got, sum)
					}
				}
			}
			sum, episode, begun = 0, nil, true
		}
		for step := range filled {
			row := rows[(step*n+k)*width:]
			sum += row[6]
			episode = append(episode, step)
			if row[7] > 0 {
				flush()
			}
		}
		flush()
	}
	if compared < n {
		t.Errorf("%s: %d rows were compared", what, compared)
	}
	for i := filled * n; filled < ring && i < len(returns); i++ {
		if returns[i] != float32(negativeInfinity) {
			t.Errorf("%s: row %d was never written, and has the return %g", what, i, returns[i])
		}
	}
}

// returnsAfter returns the rows after each step of rewards and ends [steps, n], flat. The state is
// donated from step to step.
func returnsAfter(t *testing.T, p *xla.Platform, capacity, n, length int, rewards, dones []float32) [][]float32 {
	t.Helper()
	compile := func(name string, inputs []shapes.Shape, build func(in []*Node) []*Node) *xlatest.Program {
		program := must.Get(xlatest.Compile(p, name, inputs, build))
		t.Cleanup(program.Free)
		return program
	}
	run := func(program *xlatest.Program, values ...xla.Sharded) []xla.Sharded {
		return must.Get(program.Run(values...))
	}
	start := compile("start", []shapes.Shape{shapes.Make(dtypes.Float32)}, func(in []*Node) []*Node {
		return xla.Flatten(newReturns(in[0].Graph(), capacity, n))
	})
	state := run(start, xla.Sharded{tensors.FromScalar(float32(0))})
	var inputs []shapes.Shape
	for _, x := range state {
		inputs = append(inputs, x[0].Shape())
	}
	step := shapes.Make(dtypes.Float32, n)
	insert := compile("insert", append(inputs, step, step), func(in []*Node) []*Node {
		r := ringReturns{Rows: in[0], Running: in[1], Age: in[2], Position: in[3]}
		return xla.Flatten(r.Insert(in[4], in[5], length))
	})
	var after [][]float32
	for at := 0; at < len(rewards); at += n {
		reward, done := xla.Sharded{xlatest.Tensor(rewards[at:at+n], n)},
			xla.Sharded{xlatest.Tensor(dones[at:at+n], n)}
		state = run(insert, append(state, reward, done)...)
		after = append(after, xlatest.Flat[float32](t, state[0][0]))
	}
	for _, v := range state {
		v.Free()
	}
	return after
}

// The buffer.* arrays of 08_smerl.npz: the return of each row after each step, including steps that
// overwrite others. The last stored number belongs to no row.
func TestGoldenReturns(t *testing.T) {
	data := golden.Read(t, "08_smerl.npz")
	n, length, capacity := int(data.Number("const.env_batch_size")),
		int(data.Number("const.episode_length")), int(data.Number("const.buffer_size"))
	rewards, dones := data.Float32s("buffer.rewards"), data.Float32s("buffer.dones")
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for k, got := range returnsAfter(t, p, capacity, n, length, rewards, dones) {
			name := fmt.Sprint("buffer.returns_", k)
			xlatest.Close(t, name, got, data.Float32s(name)[:capacity], 1e-6)
		}
	})
}

// A NaN return remains NaN until the episode ends, and does not affect the next episode.
func TestReturnsOfNaN(t *testing.T) {
	nan := float32(math.NaN())
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		after := returnsAfter(t, p, 4, 1, 3, []float32{1, nan, 2, 5}, []float32{0, 0, 1, 0})
		if got := after[3]; got[0] == got[0] || got[1] == got[1] || got[2] == got[2] || got[3] != 5 {
			t.Errorf("returns are %v, want three NaN and 5", got)
		}
	})
}

func TestPassiveSchedule(t *testing.T) {
	for _, c := range []struct {
		schedule algorithms.Learner
		want     []int64 // environment steps at which skills are measured, up to 300
	}{
		{algorithms.Learner{Steps: 20, Every: 100}, []int64{0, 100, 200, 300}},
		{algorithms.Learner{Steps: 20, Every: 100, Early: 30}, []int64{0, 40, 60, 100, 200, 300}},
		{algorithms.Learner{Steps: 20, Every: 100, Early: 500}, []int64{0, 100, 200, 300}},
		{algorithms.Learner{Steps: 30, Every: 70}, []int64{0, 90, 150, 210, 300}},
		{algorithms.Learner{Steps: 60, Every: 7}, []int64{0, 60, 120, 180, 240, 300}},
		{algorithms.Learner{Steps: 100, Every: 1000}, []int64{0}},
	} {
		var got []int64
		for after := int64(0); after <= 300; after += c.schedule.Steps {
			if c.schedule.Due(after / c.schedule.Steps) {
				got = append(got, after)
			}
		}
		errtest.Equal(t, fmt.Sprintf("%+v: measured at", c.schedule), got, c.want)
	}
}

// The passive repertoire changes only when skills are measured. Replaying a cell's policy from one
// of the initial states of its evaluation reproduces the cell's fitness and descriptor.
func TestPassiveRepertoire(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := startSearch(t, p, diaynReward, small()) // 6 steps per iteration, measured every 18
		repertoire := func() map[string]npz.Array {
			return must.Get(s.Repertoire(true))
		}
		changed := 0
		for i := range int64(14) {
			before := repertoire()
			o := steps(t, s, 1)[0]
			after := repertoire()
			measured, differ := i <= 2 || i%3 == 0, len(xlatest.Differ(before, after)) > 0
			if (o.Fitnesses != nil) != measured || differ && !measured {
				t.Errorf("iteration %d changes the repertoire: %v", i, differ)
			}
			if !measured {
				continue
			}
			errtest.Equal(t, fmt.Sprintf("iteration %d: fitnesses", i), o.Fitnesses, must.Get(after["fitnesses"].Float32s()))
			for cell, f := range must.Get(before["fitnesses"].Float32s()) {
				if o.Fitnesses[cell] < f {
					t.Errorf("iteration %d: cell %d fell from %g to %g", i, cell, f, o.Fitnesses[cell])
				}
			}
			if differ {
				changed++
			}
		}
		if changed < 3 {
			t.Errorf("the repertoire changed %d times: the test is vacuous", changed)
		}

		// Measuring the current skills changes nothing and is repeatable.
		held := memory(t, s)
		_, first, err := s.Evaluate()
		must.Do(err)
		_, again, err := s.Evaluate()
		if err != nil || !slices.Equal(first.Fitnesses, again.Fitnesses) || !slices.Equal(first.Descriptors,
			again.Descriptors) || len(first.Fitnesses) != 6 {
			t.Errorf("%+v and then %+v, %v", first, again, err)
		}
		if names := xlatest.Differ(held, memory(t, s)); len(names) > 0 {
			t.Errorf("an evaluation changes %v", names)
		}
		errtest.Equal(t, "numbers of positions", len(first.Records[0]), 6*8*2)
		for i, f := range first.Fitnesses { // the positions agree with the fitness and the descriptor
			path := first.Records[0][i*16 : (i+1)*16]
			last := 7
			// an episode's descriptor is the one before its last step
			for last > 0 && float64(path[2*last]) > short.Edge {
				last--
			}
			if math.IsNaN(float64(f)) || f >= 0 || last == 7 && !slices.Equal(path[14:], first.Descriptors[2*i:2*i+2]) {
				t.Errorf("episode %d: fitness %g, descriptor %v, path %v", i, f, first.Descriptors[2*i:2*i+2], path)
			}
		}

		mlp := s.it.policy(s.config.Hidden)
		evaluator, err := scoring.Task{Env: short, Policy: mlp, Length: 8}.Evaluator(p, scoring.Plan{Policies: 1, Episodes: 6})
		must.Do(err)
		defer evaluator.Free()
		last := repertoire()
		genotypes, fitnesses, descriptors := must.Get(last["genotypes"].Float32s()),
			must.Get(last["fitnesses"].Float32s()), must.Get(last["descriptors"].Float32s())
		filled := 0
		for cell, want := range fitnesses {
			if math.IsInf(float64(want), -1) {
				continue
			}
			filled++
			row := genotypes[cell*mlp.Params() : (cell+1)*mlp.Params()]
			value := p.Replicated(func() *tensors.Tensor {
				return xlatest.Tensor(slices.Clone(row), 1, len(row))
			})
			found, err := evaluator.Evaluate(value, 1, nil)
			value.Free()
			f, d := found.Fitnesses, found.Descriptors
			must.Do(err)
			near := func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-4 }
			same := func(i int) bool {
				return near(f[i], want) && near(d[2*i], descriptors[2*cell]) && near(d[2*i+1], descriptors[2*cell+1])
			}
			if !slices.ContainsFunc([]int{0, 1, 2, 3, 4, 5}, same) {
				t.Errorf("cell %d has fitness %g and descriptor %v; its policy has %v and %v", cell, want,
					descriptors[2*cell:2*cell+2], f, d)
			}
		}
		if filled < 4 {
			t.Errorf("%d cells are filled: the test is vacuous", filled)
		}
	})
}
