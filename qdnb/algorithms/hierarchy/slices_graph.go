package hierarchy

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
)

// shared divides n environments among workers: in slices of a fixed size, dealt to the workers in
// rounds. Environments beyond n are padding.
type shared struct{ n, slice, workers int }

// sliceOnCPU is the number of environments stepped together on a CPU, found by measurement: the
// physics then fills vector registers, and the weights of as many skills of the paper's size nearly
// fit the cache of a core.
const sliceOnCPU = 8

func share(p *xla.Platform, n, slice int) shared {
	if slice == 0 {
		slice = (n + p.Workers - 1) / p.Workers
		if p.Kind == xla.CPU {
			// independent of the number of workers, because the slice size affects rounding
			slice = sliceOnCPU
		}
	}
	return shared{n, min(slice, n), p.Workers}
}

// turns is the number of slices per worker.
func (s shared) turns() int {
	perTurn := s.slice * s.workers
	return (s.n + perTurn - 1) / perTurn
}

// numbers returns the numbers of the environments in a worker's slice, int32 [slice].
func (s shared) numbers(turn, worker *Node) *Node {
	first := MulScalar(Add(MulScalar(turn, s.workers), worker), s.slice)
	return Add(Iota(turn.Graph(), shapes.Make(dtypes.Int32, s.slice), 0), first)
}

// index returns the location of an environment on the host: its worker and its row there.
func (s shared) index(number int) (worker, row int) {
	slice, k := number/s.slice, number%s.slice
	return slice % s.workers, slice/s.workers*s.slice + k
}

// joined gathers the workers' values of each environment, [turns, slice, ...], in order: [n, ...].
func (s shared) joined(x, worker *Node) *Node {
	all := xla.AllGather(x, worker, s.workers) // [workers, turns, slice, ...]
	dims := all.Shape().Dimensions
	return Slice(Reshape(swapped(all), append([]int{s.turns() * s.workers * s.slice}, dims[3:]...)...),
		AxisRange(0, s.n))
}

// kept allocates space for a value of all environments of a worker, [turns, slice, ...], given the
// value of one slice.
func (s shared) kept(slice *Node) *Node {
	return Zeros(slice.Graph(), shapes.Make(slice.DType(),
		append([]int{s.turns()}, slice.Shape().Dimensions...)...))
}

// packed returns the leaves of a slice's state with the batch on the first axis.
func packed(s envs.State) []*Node {
	leaves := xla.Flatten(s)
	for i := range s.PhysicsState {
		leaves[i] = moved(leaves[i], leaves[i].Rank()-1, 0)
	}
	return leaves
}

// unpacked is the inverse of packed, for a state of the given form.
func unpacked(form envs.State, leaves []*Node) envs.State {
	leaves = append([]*Node{}, leaves...)
	for i := range form.PhysicsState {
		leaves[i] = moved(leaves[i], 0, leaves[i].Rank()-1)
	}
	return xla.Unflatten(form, leaves)
}

// moved moves an axis to another position.
func moved(x *Node, from, to int) *Node {
	if from == to {
		return x
	}
	var axes []int
	for i := range x.Rank() {
		if i != from {
			axes = append(axes, i)
		}
	}
	axes = append(axes[:to], append([]int{from}, axes[to:]...)...)
	return TransposeAllAxes(x, axes...)
}
