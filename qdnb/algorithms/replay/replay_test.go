package replay_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// A ring in plain Go holds the same rows in the same slots, for insertions of any size.
func TestInsertOracle(t *testing.T) {
	const width = 2
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for _, capacity := range []int{1, 7, 8} {
			rng := rand.New(rand.NewPCG(1, uint64(capacity)))
			got := newRing(t, p, capacity, width)
			want, size, position := make([]float32, capacity*width), 0, 0
			next := float32(1)
			for step := range 40 {
				n := 1 + rng.IntN(capacity+2) // sometimes more rows than the capacity
				rows := make([]float32, 0, n*width)
				for range n {
					rows = append(rows, next, -next)
					next++
				}
				got.insert(rows)
				for _, row := range slices.Collect(slices.Chunk(rows[max(0, n-capacity)*width:], width)) {
					copy(want[position*width:], row)
					position, size = (position+1)%capacity, min(size+1, capacity)
				}
				if !slices.Equal(got.rows, want) || got.size != int32(size) || got.position != int32(position) {
					t.Fatalf("capacity %d, insertion %d of %d rows: %v, size %d, position %d; want %v, %d, %d",
						capacity, step, n, got.rows, got.size, got.position, want, size, position)
				}
			}
		}
	})
}

// sample draws n rows from a buffer of 100 numbered rows, of which size are filled.
func sample(t *testing.T, p *xla.Platform, size int32, seed int64, n int) []float32 {
	t.Helper()
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		rows := Iota(in[0].Graph(), shapes.Make(dtypes.Float32, 100, 1), 0)
		buffer := replay.Buffer{Rows: AddScalar(rows, 1), Size: in[0], Position: in[0]}
		return []*Node{buffer.Sample(random.KeyOf(in[1]), n)}
	}, tensors.FromScalar(size), xlatest.Tensor(random.SeedWords(seed), 2))
	return xlatest.Flat[float32](t, out[0])
}

// Draws are uniform over the filled rows: counts are within 5 standard deviations, and chi-squared
// is within 5 of its own.
func TestSampleIsUniform(t *testing.T) {
	const n = 7000
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for _, size := range []int32{1, 3, 70, 100} {
			count := make([]float64, 100)
			for _, row := range sample(t, p, size, 5, n) {
				count[int(row)-1]++
			}
			mean, squares := n/float64(size), 0.0
			for i, c := range count {
				switch {
				case i >= int(size) && c != 0:
					t.Errorf("of %d filled rows, row %d was drawn", size, i)
				case i < int(size):
					squares += (c - mean) * (c - mean) / mean
					if (c-mean)*(c-mean) > 25*mean {
						t.Errorf("of %d filled rows, row %d was drawn %g times, want about %g", size, i, c, mean)
					}
				}
			}
			degrees := float64(size - 1)
			if off := squares - degrees; off*off > 25*2*degrees {
				t.Errorf("of %d filled rows: chi-squared is %g", size, squares)
			}
		}
	})
}

func TestSampleIsOfItsKey(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		first := sample(t, p, 100, 5, 50)
		errtest.Equal(t, "rows drawn by the same key", first, sample(t, p, 100, 5, 50))
		if other := sample(t, p, 100, 6, 50); slices.Equal(first, other) {
			t.Error("different keys draw the same rows")
		}
	})
	errtest.Equal(t, "rows drawn by XLA and by the pure Go backend", sample(t, xlatest.Best(t), 77, 5, 50),
		sample(t, xlatest.Pure(t), 77, 5, 50))
}

func TestSampleOfEmptyBuffer(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		for _, row := range sample(t, p, 0, 5, 10) {
			if row != 1 { // the content of the first row
				t.Errorf("an empty buffer gave row %v", row)
			}
		}
	})
}

func TestSplitAndJoin(t *testing.T) {
	layout := replay.Layout{Obs: 3, Actions: 2, More: []int{2}}
	n, width := 4, 3+3+2+3+2
	if layout.Width() != width {
		t.Fatalf("a row has %d numbers, want %d", layout.Width(), width)
	}
	data := make([]float32, n*width)
	for i := range data {
		data[i] = float32(i)
	}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			b := layout.Split(in[0])
			return []*Node{b.Obs, b.NextObs, b.Action, b.Reward, b.Done, b.Truncation, b.More[0], layout.Join(b)}
		}, xlatest.Tensor(data, n, width))
		start := 0
		for i, columns := range []int{3, 3, 2, 1, 1, 1, 2} {
			var want []float32
			for row := range n {
				want = append(want, data[row*width+start:row*width+start+columns]...)
			}
			errtest.Equal(t, fmt.Sprint("column ", i), xlatest.Flat[float32](t, out[i]), want)
			errtest.Equal(t, fmt.Sprintf("column %d has one axis", i), out[i].Shape().Rank() == 1, i >= 3 && i <= 5)
			start += columns
		}
		errtest.Equal(t, "joined again", xlatest.Flat[float32](t, out[7]), data)
	})
}

// Inputs that do not fit are rejected when the program is built, with a one-line reason.
func TestMisfits(t *testing.T) {
	layout := replay.Layout{Obs: 3, Actions: 2}
	for name, build := range map[string]func(x *Node) *Node{
		"split": func(x *Node) *Node { return layout.Split(x).Obs },
		"join": func(x *Node) *Node {
			b := layout.Split(Slice(Concatenate([]*Node{x, x, x}, 1), AxisRange(), AxisRange(0, 11)))
			b.Obs = x
			return layout.Join(b)
		},
		"more": func(x *Node) *Node {
			b := layout.Split(Slice(Concatenate([]*Node{x, x, x}, 1), AxisRange(), AxisRange(0, 11)))
			b.More = []*Node{x}
			return layout.Join(b)
		},
		"insert": func(x *Node) *Node { return layout.NewBuffer(x.Graph(), 9).Insert(x).Rows },
	} {
		_, err := xlatest.Compile(xlatest.Pure(t), name, []shapes.Shape{shapes.Make(dtypes.Float32, 5, 4)},
			func(in []*Node) []*Node {
				return []*Node{build(in[0])}
			})
		errtest.Want(t, err)
	}
}

// On TPUs rows are stored with more columns, which neither learners nor the host see.
func TestStoreOfTPU(t *testing.T) {
	p := xlatest.As(xlatest.Quick(t), backend.TPU)
	layout := replay.Layout{Obs: 1, Actions: 1}
	const width = 6
	const capacity, n = 5, 4
	store := replay.Store{Programs: &xla.Scope{Platform: p}, Width: layout.Width()}
	defer store.Programs.Free()
	type in struct{ Rows xla.Array }
	type out struct {
		Buffer    xla.State[replay.Buffer]
		Reward, X xla.Array
	}
	fill := must.Get(xla.Compile(store.Programs, "fill", in{xla.Declare(dtypes.Float32, n, width)}, func(in in) out {
		buffer := layout.NewBuffer(in.Rows.Tree.Graph(), capacity)
		buffer = buffer.Insert(in.Rows.Tree).Insert(AddScalar(in.Rows.Tree, 100))
		batch := layout.Split(buffer.At(Const(in.Rows.Tree.Graph(), [][]int32{{2}})))
		return out{xla.Out(buffer), xla.Out(batch.Reward), xla.Out(batch.Obs)}
	}))
	rows := make([]float32, n*width)
	for i := range rows {
		rows[i] = float32(i)
	}
	got := must.Get(fill.Run(in{xla.Single(xlatest.Tensor(rows, n, width))}))
	// The rows 4 to 7 were written over all but the row 3.
	reward := xlatest.Flat[float32](t, got.Reward.Value()[0])
	x := xlatest.Flat[float32](t, got.X.Value()[0])
	errtest.Equal(t, "the row in slot 2", fmt.Sprint(reward, x), fmt.Sprint([]float32{121}, []float32{118}))
	store.State = got.Buffer
	if dims := xla.Part(store.State, func(b replay.Buffer) *Node { return b.Rows }).Dims(); dims[1] != 128 {
		t.Errorf("rows are stored with %d columns, not 128", dims[1])
	}
	want := slices.Clone(rows[3*width:])
	for _, x := range rows {
		want = append(want, 100+x)
	}
	check := func(what string) {
		rows := must.Get(store.Rows(2*n, 3, 2*n))
		errtest.Equal(t, what+", the rows", rows, want)
	}
	check("after insertion")
	must.Do(store.Set(0, func(func(int64, []float32) error) error { return nil }))
	must.Do(store.Set(2*n, func(put func(int64, []float32) error) error {
		return put(3, want)
	}))
	check("after they are restored")
}

// ring is a buffer on a backend; the host reads its content after each insertion.
type ring struct {
	t               *testing.T
	p               *xla.Platform
	capacity, width int
	programs        map[int]*xlatest.Program // by number of rows
	rows            []float32
	size, position  int32
}

func newRing(t *testing.T, p *xla.Platform, capacity, width int) *ring {
	r := &ring{t: t, p: p, capacity: capacity, width: width, programs: map[int]*xlatest.Program{}}
	t.Cleanup(func() {
		for _, program := range r.programs {
			program.Free()
		}
	})
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		return xla.Flatten(replay.Layout{More: []int{width - 3}}.NewBuffer(in[0].Graph(), capacity))
	}, tensors.FromScalar(float32(0)))
	r.read(out)
	return r
}

func (r *ring) read(out []*tensors.Tensor) {
	r.rows = xlatest.Flat[float32](r.t, out[0])
	r.size, r.position = xlatest.Flat[int32](r.t, out[1])[0], xlatest.Flat[int32](r.t, out[2])[0]
}

// insert inserts rows of the ring's width.
func (r *ring) insert(rows []float32) {
	r.t.Helper()
	n := len(rows) / r.width
	if r.programs[n] == nil {
		counter := shapes.Make(dtypes.Int32)
		program, err := xlatest.Compile(r.p, "insert", []shapes.Shape{shapes.Make(dtypes.Float32, r.capacity,
			r.width), counter, counter,
			shapes.Make(dtypes.Float32, n, r.width)}, func(in []*Node) []*Node {
			return xla.Flatten(replay.Buffer{Rows: in[0], Size: in[1], Position: in[2]}.Insert(in[3]))
		})
		if err != nil {
			r.t.Fatal(err)
		}
		r.programs[n] = program
	}
	values := []xla.Sharded{{xlatest.Tensor(r.rows, r.capacity, r.width)},
		{tensors.FromScalar(r.size)}, {tensors.FromScalar(r.position)},
		{xlatest.Tensor(rows, n, r.width)}}
	out, err := r.programs[n].Run(values...)
	if err != nil {
		r.t.Fatal(err)
	}
	values[3].Free()
	r.read([]*tensors.Tensor{out[0][0], out[1][0], out[2][0]})
	for _, v := range out {
		v.Free()
	}
}
