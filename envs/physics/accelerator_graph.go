package physics

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// On a GPU or TPU the speed of a rollout depends on the number of kernels and copies in its loops,
// not on what they compute: launching one takes longer than running it. So substeps are unrolled
// there, and small systems keep each row in an array of its own, so that XLA fuses a substep
// without joining and cutting rows between kernels. docs/reference/set-up.md counts the kernels.

// maxSplit is the largest number of arrays [B] that make up a state with split rows. A kernel of
// XLA has at most 96 arguments.
const maxSplit = 64

// maxSplitContacts is the largest number of possible contacts of a system with split rows: each is
// code of its own, which XLA must compile.
const maxSplitContacts = 24

// splits reports whether graphs keep the rows of a state in arrays of their own.
func (s *System) splits(g *Graph) bool {
	arrays, contacts := 0, 0
	for _, varies := range s.varies {
		if varies {
			arrays += len(s.place)
		}
	}
	for _, group := range s.contacts {
		for _, set := range group.sets {
			contacts += set.radius.Rows
		}
	}
	return accelerated(g) && arrays <= maxSplit && contacts <= maxSplitContacts
}

// accelerated reports whether a graph is for a GPU or a TPU.
func accelerated(g *Graph) bool { return xla.KindOf(g).Accelerator() }

// SplitRows tells a loop over control steps how it should carry states: for each of [State].Parts,
// each row's index, or that of an earlier row which always has the same values. It is nil if a loop
// should carry the parts whole.
func (s *System) SplitRows(g *Graph) (layout [][]int) {
	if !s.splits(g) {
		return nil
	}
	for _, level := range s.levels {
		sources := make([]int, len(level.body))
		for row := range sources {
			sources[row] = s.firstRow(level, row)
		}
		for _, varies := range s.varies {
			if varies {
				layout = append(layout, sources)
			}
		}
	}
	return layout
}

// unrolled returns how many substeps of count an iteration of the loop makes: on GPUs and TPUs two, if
// possible, which need no copies from one to the other. More take XLA too long to compile.
func unrolled(g *Graph, count int) int {
	if accelerated(g) && count%2 == 0 {
		return 2
	}
	return 1
}

// zeros returns zeros [rows * B] that differ from those of other numbers i in a way that XLA cannot
// see. Equal ones would be one array, which a loop would copy for each of its uses.
func zeros(like *Node, i, rows, batch int) *Node {
	x := Slice(like, AxisRange(0, batch))
	never := LessThan(x, ConstAs(x, math.Inf(-1)))
	zero := Where(never, ConstAs(x, float32(i+1)), ConstAs(x, float32(0)))
	return Reshape(BroadcastToDims(InsertAxes(zero, 0), rows, batch), rows*batch)
}

// splitLimbs returns the coordinates of a state with split rows. Copies of a body share the rows of
// the first one.
func (s *System) splitLimbs(state State) limbs {
	var rows []*Node
	parts := state.Parts
	s.eachVarying(s.rest, func(l level, _ algebra.Num) {
		for row, first := range l.first {
			if first {
				rows = append(rows, Reshape(Slice(parts[0], AxisElem(row)), state.Batch()))
			}
		}
		parts = parts[1:]
	})
	return s.carried(rows, true)
}

// joined is the inverse of splitLimbs.
func (s *System) joined(g *Graph, batch int, all limbs) (state State) {
	s.eachVarying(all, func(_ level, c algebra.Num) {
		var rows []*Node
		for _, row := range c.SplitRows().Split {
			rows = append(rows, InsertAxes(row.Spread(g, batch), 0))
		}
		state.Parts = append(state.Parts, algebra.Join(rows))
	})
	return state
}

// carry returns the parts of a state that can change, as a loop carries them: [limbs * B], or [B]
// for each body if the rows are split.
func (s *System) carry(g *Graph, batch int, all limbs, split bool) (parts []*Node) {
	if !split {
		return s.varyingParts(g, batch, all)
	}
	s.eachVarying(all, func(l level, c algebra.Num) {
		for row, first := range l.first {
			if first {
				parts = append(parts, c.SplitRows().Split[row].Spread(g, batch))
			}
		}
	})
	return parts
}

// carried is the inverse of carry.
func (s *System) carried(parts []*Node, split bool) limbs {
	return s.rest.update(func(l int, b bodies) bodies {
		level := s.levels[l]
		for i, c := range b.components() {
			if !s.varies[i] {
				continue
			}
			*c = algebra.Num{Rows: len(level.body)}
			if !split {
				c.Node, parts = parts[0], parts[1:]
				continue
			}
			for row := range level.body {
				if level.first[row] {
					c.Split, parts = append(c.Split, algebra.Num{Rows: 1, Node: parts[0]}), parts[1:]
				} else {
					c.Split = append(c.Split, c.Split[s.firstRow(level, row)])
				}
			}
		}
		return b
	})
}

// firstRow is the row of the first copy of a row's body.
func (s *System) firstRow(l level, row int) int { return s.place[s.model.Bodies[l.body[row]].Name].row }

// storePositions makes XLA store the positions of the bodies that can have contacts. The kernels of
// the contacts would otherwise compute them again from the state that the loop carries; it would
// have to keep, and thus copy, that state while its successor is written.
func (s *System) storePositions(states ...limbs) {
	touching := make([]bool, len(s.levels))
	for i := range s.contacts {
		for _, set := range s.contacts[i].sets {
			for _, part := range set.parts() {
				touching[part.level] = true
			}
		}
	}
	var stored []*algebra.Num
	var nodes []*Node
	for _, all := range states {
		for l := range all {
			pos := &all[l].pos
			for _, c := range []*algebra.Num{&pos.X, &pos.Y, &pos.Z} {
				if touching[l] && c.Node != nil {
					stored, nodes = append(stored, c), append(nodes, c.Node)
				}
			}
		}
	}
	for i, node := range OptimizationBarriers(nodes...) {
		stored[i].Node = node
	}
}
