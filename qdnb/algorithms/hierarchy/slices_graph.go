package hierarchy

import (
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// sliceOnCPU is the number of environments stepped together on a CPU, found by measurement: the
// physics then fills vector registers, and the weights of as many skills of the paper's size nearly
// fit the cache of a core.
const sliceOnCPU = 8

// share divides n environments among workers. A slice of 0 is chosen for the backend.
func share(p *xla.Platform, n, slice int) xla.Slices {
	if slice == 0 {
		slice = (n + p.Workers - 1) / p.Workers
		if p.Kind == backend.CPU {
			// independent of the number of workers, because the slice size affects rounding
			slice = sliceOnCPU
		}
	}
	return xla.Slices{N: n, Size: min(slice, n), Workers: p.Workers}
}

// room allocates space for a value of all environments of a worker, [turns, slice, ...], given the
// value of one slice.
func room(s xla.Slices, slice *Node) *Node {
	return Zeros(slice.Graph(), shapes.Make(slice.DType(),
		append([]int{s.Turns()}, slice.Shape().Dimensions...)...))
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
