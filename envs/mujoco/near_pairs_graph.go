package mujoco

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// This file finds the contacts of pairs of boxes, and of pairs whose contacts are searched. Each takes long, so it looks
// only at pairs whose bounding boxes overlap.

// nearPairs are the pairs of a set whose bounding boxes overlap.
type nearPairs struct {
	Queue   queue
	Numbers []algebra.Num // the places and sizes of all pairs of the set
}

// near returns the pairs of a set that may touch.
func (s *System) near(k kinematics, part *contactSet) (n nearPairs) {
	g, batch := k.size()
	at, _ := s.relativePlaces(k, part.sides)
	sizes, bounds := part.sizes, part.sizes
	if part.convex() {
		bounds = part.bounds
	}
	var prism []algebra.Num
	if part.searchesPrisms() {
		at[0], sizes[0], prism = part.prismBoxes(at[0], at[1])
		bounds[0] = sizes[0]
	}
	if part.onTerrain > 0 {
		at, sizes = s.onBlocks(k, part, at)
		bounds[part.floor] = sizes[part.floor]
	}
	gap := facesApart(boxOf(at[0], bounds[0]), boxOf(at[1], bounds[1]), at[1].position.Minus(at[0].position))
	gap = gap.Minus(part.margin.Slice(0, len(part.geoms)))
	n.Queue = queueOf(computed(g, batch, gap).Matrix(), part.near)
	for i := range at {
		n.Numbers = append(append(n.Numbers, at[i].numbers()...), sizes[i].X, sizes[i].Y, sizes[i].Z)
	}
	n.Numbers = append(n.Numbers, prism...)
	return n
}

// taken are the pairs that a turn takes from the queue.
type taken struct {
	Near nearPairs
	Turn *Node
}

// taken returns the pairs that are taken, as a set, and the places of their geoms.
func (c *contactSet) taken(from taken, width int) (one contactSet, places [2]place) {
	pairs := from.Near.Queue.next(from.Turn, width)
	pick := func(x algebra.Num) algebra.Num { return pickAt(x, pairs) }
	one = *c
	one.margin, one.apart = pick(c.margin.Slice(0, len(c.geoms))), pick(c.apart)
	left := from.Near.Numbers
	vector := func() algebra.Vector {
		v := algebra.Vector{X: left[0], Y: left[1], Z: left[2]}.Each(pick)
		left = left[3:]
		return v
	}
	for i := range places {
		places[i].position, places[i].turn = vector(), algebra.Rotation{X: vector(), Y: vector(), Z: vector()}
		one.sizes[i] = vector()
		if c.convex() {
			shape := &one.shapes[i]
			for _, x := range []*algebra.Num{&shape.kind, &shape.radius, &shape.hull, &shape.polytope} {
				*x = pick(*x)
			}
		}
	}
	for _, x := range left {
		one.prism = append(one.prism, pick(x))
	}
	return one, places
}

// findNear finds the contacts of the pairs that near returns, and writes them from a row on. first is the row of the
// part's first possible contact among those of the whole set.
func (s *System) findNear(k kinematics, part *contactSet, all found, row, first int) found {
	type state struct {
		Near    nearPairs
		Results *Node // see [contactSet.write]
	}
	near := outlined(s, k, func(k kinematics) nearPairs { return s.near(k, part) })
	width, turns, most := near.Queue.turns()
	results := func(from taken) algebra.Num {
		one, places := part.taken(from, width)
		return stackTouches(part.collide(&one, places[0], places[1]), one.margin)
	}
	repeat := xla.Repeat[state]
	if part.polytopes != nil && s.parted { // the search and what follows it are compiled apart, see [xla.Outline]
		type searched struct {
			Overlap overlap
			Margin  algebra.Num
		}
		repeat = xla.RepeatUnfused[state]
		results = func(from taken) algebra.Num {
			return xla.Outline(xla.Outline(from, func(from taken) searched {
				one, places := part.taken(from, width)
				return searched{one.search(places[0], places[1]), one.margin}
			}), func(s searched) algebra.Num { return stackTouches(part.spread(s.Overlap).list(), s.Margin) })
		}
	}
	start := state{near, Zeros(turns.Graph(), shapes.Make(dtypes.Float32, most, touchNumbers*part.points, width))}
	end := repeat(turns, start, func(turn *Node, at state) state {
		numbers := computed(turn.Graph(), width, results(taken{at.Near, turn}))
		at.Results = xla.SetRow(at.Results, turn, numbers.Matrix())
		return at
	})
	return part.write(all, near.Queue, end.Results, row, first)
}

// touchNumbers is how many numbers stackTouches keeps of a contact.
const touchNumbers = 7

// stackTouches returns by how much contacts are deeper than a margin, then the X of all their points, and so on, then
// their normals.
func stackTouches(touches []touch, margin algebra.Num) algebra.Num {
	var numbers [touchNumbers][]algebra.Num
	for _, t := range touches {
		for i, x := range []algebra.Num{t.distance.Minus(margin), t.point.X, t.point.Y, t.point.Z, t.normal.X, t.normal.Y,
			t.normal.Z} {
			numbers[i] = append(numbers[i], x)
		}
	}
	return materializedStack(slices.Concat(numbers[:]...))
}

// write writes the results of a queue's pairs, [turns, numbers * points, pairs of a turn], to the contacts of their
// copies, as [System.findNear] says.
func (c *contactSet) write(to found, q queue, results *Node, row, first int) found {
	type writing struct {
		Queue   queue
		Results *Node
		Found   found
	}
	width, height := results.Shape().Dimensions[2], results.Shape().Dimensions[1]
	count := xla.Turns(ReduceAllMax(q.Count), c.near)
	return xla.Repeat(count, writing{q, results, to}, func(n *Node, at writing) writing {
		pair, number, exists := at.Queue.of(n)
		batch, turn := pair.Shape().Dimensions[1], DivScalar(number, width)
		begin := Add(MulScalar(turn, height*width), Sub(number, MulScalar(turn, width)))
		index := Add(BroadcastToDims(begin, height, batch),
			MulScalar(Iota(n.Graph(), shapes.Make(dtypes.Int32, height, batch), 0), width))
		numbers := xla.Store(Gather(Reshape(at.Results, -1), xla.Store(InsertAxes(index, -1))))
		of := func(i int) *Node { return Slice(numbers, AxisRange(i*c.points, (i+1)*c.points)) }
		here := AddScalar(MulScalar(n, c.points), row)
		write := func(into, of *Node) *Node { return xla.SetRows(into, here, of) }
		f, violation := &at.Found, of(0)
		f.Violation = write(f.Violation, Where(BroadcastToShape(exists, violation.Shape()), violation,
			MulScalar(OnesLike(violation), far)))
		for i := range 3 {
			f.Point[i], f.Normal[i] = write(f.Point[i], of(1+i)), write(f.Normal[i], of(4+i))
		}
		points := MulScalar(Iota(n.Graph(), shapes.Make(dtypes.Int32, c.points, batch), 0), len(c.geoms))
		f.Of = write(f.Of, xla.Store(Add(AddScalar(points, first), BroadcastToShape(pair, points.Shape()))))
		return at
	}).Found
}
