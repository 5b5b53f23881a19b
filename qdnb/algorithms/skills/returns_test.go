package skills

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// returnsAfter returns the rows after each step of rewards and ends [steps, n], flat. The state is
// donated from step to step.
func returnsAfter(t *testing.T, p *xla.Platform, capacity, n, length int, rewards,
	dones []float32) [][]float32 {
	t.Helper()
	compile := func(name string, inputs []shapes.Shape,
		build func(in []*Node) []*Node) *xlatest.Program {
		program := must.Get(xlatest.Compile(p, name, inputs, build))
		t.Cleanup(program.Free)
		return program
	}
	run := func(program *xlatest.Program, values ...xla.Sharded) []xla.Sharded {
		return must.Get(program.Run(values...))
	}
	start := compile("start", []shapes.Shape{shapes.Make(dtypes.Float32)},
		func(in []*Node) []*Node {
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

// episodes is a random history of n environments: rewards, ends [steps, n], and the episode number
// of each step and environment. Rewards are integers, so that sums are exact.
func episodes(rng *rand.Rand, steps, n, length int) (rewards, dones []float32, episode []int) {
	age, number := make([]int, n), make([]int, n)
	for range steps {
		for e := range n {
			rewards, episode = append(rewards, float32(rng.IntN(21)-10)), append(episode, number[e])
			age[e]++
			if age[e] == length || rng.IntN(4) == 0 {
				dones = append(dones, 1)
				age[e], number[e] = 0, number[e]+1
			} else {
				dones = append(dones, 0)
			}
		}
	}
	return rewards, dones, episode
}

// oracle returns the return of each row after a step: the sum of all rewards so far of the same
// environment and episode, including those no longer in the ring.
func oracle(rewards []float32, episode []int, last, capacity, n int) []float32 {
	rows := make([]float32, capacity)
	for i := range rows {
		rows[i] = float32(math.Inf(-1))
	}
	for step := max(0, last+1-capacity/n); step <= last; step++ {
		for e := range n {
			sum := float32(0)
			for other := range last + 1 {
				if episode[other*n+e] == episode[step*n+e] {
					sum += rewards[other*n+e]
				}
			}
			rows[(step*n+e)%capacity] = sum
		}
	}
	return rows
}

// Episodes end at random, and rings of all sizes wrap several times.
func TestReturnsOracle(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for _, c := range []struct{ n, length, ring int }{{1, 1, 1}, {2, 3, 3}, {3, 4, 5}, {2, 5, 11},
			{4, 1, 6}, {3, 6, 7}} {
			rng := rand.New(rand.NewPCG(uint64(c.ring), uint64(c.length)))
			rewards, dones, episode := episodes(rng, 4*c.ring+3, c.n, c.length)
			for step, got := range returnsAfter(t, p, c.ring*c.n, c.n, c.length, rewards, dones) {
				if want := oracle(rewards, episode, step, c.ring*c.n, c.n); !slices.Equal(got, want) {
					t.Fatalf("%+v, step %d: %v, want %v", c, step, got, want)
				}
			}
		}
	})
}

// A loop can carry returns together with the buffer, and draws from both match.
func TestReturnsInLoop(t *testing.T) {
	const n, length, ring, steps, draws = 3, 4, 5, 13, 40
	rewards, dones, episode := episodes(rand.New(rand.NewPCG(5, 6)), steps, n, length)
	want := oracle(rewards, episode, steps-1, ring*n, n)
	number := make([]float32, ring*n) // number of the row written last
	for i := range steps * n {
		number[i%len(number)] = float32(i)
	}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			type state struct {
				Buffer         replay.Buffer
				Returns        ringReturns
				Rewards, Dones *Node
			}
			g := in[0].Graph()
			start := state{replay.Buffer{Rows: Zeros(g, shapes.Make(dtypes.Float32, ring*n, 1)), Size: Const(g, int32(0)),
				Position: Const(g, int32(0))}, newReturns(g, ring*n, n), in[0], in[1]}
			end := xla.For(g, steps, start, func(step *Node, s state) state {
				reward, done := Reshape(xla.Rows(s.Rewards, step, 1), n), Reshape(xla.Rows(s.Dones, step, 1), n)
				s.Returns = s.Returns.Insert(reward, done, length)
				rows := Add(Iota(g, shapes.Make(dtypes.Float32, n, 1), 0),
					ConvertDType(MulScalar(step, n), dtypes.Float32))
				s.Buffer = s.Buffer.Insert(rows)
				return s
			})
			index := end.Buffer.Draw(random.KeyOf(in[2]), draws)
			return []*Node{end.Returns.Rows, index, end.Buffer.At(index), end.Returns.At(index),
				end.Buffer.Sample(random.KeyOf(in[2]), draws)}
		}, xlatest.Tensor(rewards, steps, n), xlatest.Tensor(dones, steps, n),
			xlatest.Tensor(random.SeedWords(7), 2))
		if got := xlatest.Flat[float32](t, out[0]); !slices.Equal(got, want) {
			t.Errorf("rows are %v, want %v", got, want)
		}
		rows, returns := xlatest.Flat[float32](t, out[2]), xlatest.Flat[float32](t, out[3])
		for i, row := range xlatest.Flat[int32](t, out[1]) {
			if rows[i] != number[row] || returns[i] != want[row] {
				t.Errorf("row %d is %v with return %v, want %v with %v", row, rows[i], returns[i], number[row],
					want[row])
			}
		}
		if rank := out[3].Shape().Rank(); rank != 1 {
			t.Errorf("returns have %d axes", rank)
		}
		if sampled := xlatest.Flat[float32](t, out[4]); !slices.Equal(sampled, rows) {
			t.Errorf("a sample is %v, the rows of a draw are %v", sampled, rows)
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

// Inputs that do not fit are rejected when the program is built.
func TestReturnsMisfits(t *testing.T) {
	for name, build := range map[string]func(g *Graph, x *Node) ringReturns{
		"capacity": func(g *Graph, x *Node) ringReturns { return newReturns(g, 10, 3) },
		"reward": func(g *Graph, x *Node) ringReturns {
			return newReturns(g, 12, 3).Insert(x, x, 4)
		},
		"length": func(g *Graph, x *Node) ringReturns {
			return newReturns(g, 12, 4).Insert(x, x, 4)
		},
	} {
		_, err := xlatest.Compile(xlatest.Pure(t), name,
			[]shapes.Shape{shapes.Make(dtypes.Float32, 4)},
			func(in []*Node) []*Node {
				return xla.Flatten(build(in[0].Graph(), in[0]))
			})
		if err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}
