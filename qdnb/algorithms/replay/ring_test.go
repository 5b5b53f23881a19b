package replay_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
)

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
		program, err := xlatest.Compile(r.p, "insert",
			[]shapes.Shape{shapes.Make(dtypes.Float32, r.capacity,
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

// column returns a column of the filled rows.
func (r *ring) column(k int) []float32 {
	var column []float32
	for i := range int(r.size) {
		column = append(column, r.rows[i*r.width+k])
	}
	return column
}
