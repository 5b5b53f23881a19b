package skills

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// The rows of the replay buffer are the transitions in order, bit for bit, across both kinds of
// episode ends and where the ring wraps.
func TestReplayHoldsTheTransitions(t *testing.T) {
	const n, width = 6, 14
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := begun(t, p, diaynReward)
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
		if _, err := buffer.Rows(total, 0, 1); err == nil {
			t.Error("the first row is still there")
		}
	})
}

// While a search runs, the stored returns are those of the stored rows: in a buffer that is partly
// filled, full, and in the middle of the ring.
func TestReturnsAreOfTheStoredRows(t *testing.T) {
	const n = 6
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := begun(t, p, smerlDADS)
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
	rows, returns := floatsOf(t, held, "replay"), floatsOf(t, held, "Returns.Rows")
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
