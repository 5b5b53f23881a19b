package xla

import (
	"reflect"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla/backend"
)

// Slices divides a batch of N among workers: in slices of a fixed size, dealt to the workers in
// turns. Numbers of N and above are padding.
type Slices struct{ N, Size, Workers int }

// Turns is the number of slices per worker.
func (s Slices) Turns() int {
	perTurn := s.Size * s.Workers
	return (s.N + perTurn - 1) / perTurn
}

// First returns the first number of a worker's slice, int32.
func (s Slices) First(turn, worker *Node) *Node {
	return MulScalar(Add(MulScalar(turn, s.Workers), worker), s.Size)
}

// From returns the numbers of a slice by its first, Size of int32.
func (s Slices) From(first *Node) *Node {
	return Add(Iota(first.Graph(), shapes.Make(dtypes.Int32, s.Size), 0), first)
}

// Numbers returns the numbers of a worker's slice, Size of int32.
func (s Slices) Numbers(turn, worker *Node) *Node { return s.From(s.First(turn, worker)) }

// Gather gathers the values of all workers, [turns, Size, ...] each, in order: [slices * Size,
// ...].
func (s Slices) Gather(x, worker *Node) *Node {
	all := AllGather(x, worker, s.Workers) // [workers, turns, Size, ...]
	return Reshape(Transpose(all, 0, 1), append([]int{s.Turns() * s.Workers * s.Size}, all.Shape().Dimensions[3:]...)...)
}

// Join is [Slices.Gather] without the padding: [N, ...].
func (s Slices) Join(x, worker *Node) *Node {
	return Slice(s.Gather(x, worker), AxisRange(0, s.N))
}

// MapSlices stacks what f returns for each of the slices that one worker of a parallel program computes, [count,
// ...] each: with more workers each takes a smaller count. worker is the worker's index, or another int32 scalar
// of at least 0 that XLA cannot know. The loop's body compiles to the same code for any count, so results are
// bit-identical for any number of workers. XLA would inline a loop known to have one iteration, and round
// differently.
func MapSlices[S, T any](count int, worker *Node, state S, f func(slice *Node, state S) T) T {
	_, all := scan(hiddenCount(count, worker), count, state, func(slice *Node, state S) (S, T) {
		return state, f(slice, state)
	})
	return all
}

// ForSlicesUnfused is [ForUnfused] over the slices of a worker, see [MapSlices].
func ForSlicesUnfused[T any](count int, worker *Node, state T, body func(slice *Node, state T) T) T {
	return RepeatUnfused(hiddenCount(count, worker), state, body)
}

// MapGroups applies f to groups of rows and returns the rows [m, n] that it returns, in a loop as of
// [ForSlicesUnfused]. rows is a pytree of tensors [m, ...], a worker's share of all rows of a batch, and f
// also gets what it shares. The last group is shifted back inside. On XLA:CPU fewer rows than a group are
// padded, because rounding depends on the size of a group.
func MapGroups[R, S any](m, n, all int, worker *Node, rows R, shared S, f func(rows R, shared S) *Node) *Node {
	type state struct {
		Rows   R
		Shared S
		Out    *Node
	}
	size := groupSize(KindOf(worker.Graph()), m, all)
	if padding := size - m; padding > 0 {
		rows = Map(rows, func(x *Node) *Node {
			last := slices.Repeat([]*Node{Slice(x, AxisRange(m-1))}, padding)
			return Concatenate(append([]*Node{x}, last...), 0)
		})
	}
	out := Zeros(worker.Graph(), shapes.Make(dtypes.Float32, max(m, size), n))
	out = ForSlicesUnfused((m+size-1)/size, worker, state{rows, shared, out}, func(i *Node, s state) state {
		first := MulScalar(i, int32(size))
		group := Map(s.Rows, func(x *Node) *Node { return Rows(x, first, size) })
		s.Out = SetRows(s.Out, first, f(group, s.Shared))
		return s
	}).Out
	return Slice(out, AxisRange(0, m))
}

// groupSize is the number of rows of a group of [MapGroups]. On XLA:CPU it is the largest divisor of all
// rows up to 8: alone, a policy leaves gaps between its matrix products and does not share reads of
// critics; with many, their parameters and moments do not fit the cache.
func groupSize(kind backend.Kind, m, all int) int {
	if kind != backend.CPU {
		return m
	}
	size := min(all, 8)
	for all%size != 0 {
		size--
	}
	return size
}

// hiddenCount returns count as a number that XLA:CPU cannot know. On other backends it is a
// constant: how they compile loops of one iteration has not been studied.
func hiddenCount(count int, worker *Node) *Node {
	constant := Const(worker.Graph(), int32(count))
	if KindOf(worker.Graph()) != backend.CPU {
		return constant
	}
	one := Min(BitwiseOr(worker, ConstAs(worker, int32(1))), ConstAs(worker, int32(1)))
	return Mul(constant, one)
}

// index returns the worker that holds an element of the batch, and its row there.
func (s Slices) index(number int) (worker, row int) {
	slice, k := number/s.Size, number%s.Size
	return slice % s.Workers, slice/s.Workers*s.Size + k
}

// Download copies the shares of all workers, [turns, Size, ...], to the host, in order: [N, ...].
func (s Slices) Download(v Sharded) (npz.Array, error) {
	var shares []reflect.Value
	for worker := range v {
		share, err := Download(v[worker : worker+1])
		if err != nil {
			return npz.Array{}, err
		}
		shares = append(shares, reflect.ValueOf(share.Data))
	}
	width := shares[0].Len() / (s.Turns() * s.Size)
	flat := reflect.MakeSlice(shares[0].Type(), s.N*width, s.N*width)
	for number := range s.N {
		worker, row := s.index(number)
		reflect.Copy(flat.Slice(number*width, (number+1)*width), shares[worker].Slice(row*width, (row+1)*width))
	}
	shape := append([]int{s.N}, v[0].Shape().Dimensions[2:]...)
	return npz.Array{Shape: shape, Data: flat.Interface()}, nil
}

// Upload is the inverse of [Slices.Download]. The padding repeats other rows.
func (s Slices) Upload(a npz.Array) (Sharded, error) {
	flat := reflect.ValueOf(a.Data)
	width, rows := flat.Len()/s.N, s.Turns()*s.Size
	shares := make([]reflect.Value, s.Workers)
	for worker := range shares {
		shares[worker] = reflect.MakeSlice(flat.Type(), rows*width, rows*width)
	}
	for number := range rows * s.Workers {
		worker, row := s.index(number)
		from := number % s.N * width
		reflect.Copy(shares[worker].Slice(row*width, (row+1)*width), flat.Slice(from, from+width))
	}
	shape := append([]int{s.Turns(), s.Size}, a.Shape[1:]...)
	var v Sharded
	for _, share := range shares {
		tensor, err := Upload(npz.Array{Shape: shape, Data: share.Interface()})
		if err != nil {
			return nil, err
		}
		v = append(v, tensor)
	}
	return v, nil
}
