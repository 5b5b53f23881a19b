package physics

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Steps of position based dynamics compute contacts only with the walls near a body. One comparison
// per wall finds them. A loop has as many rounds as there are walls near any one body, in any copy;
// usually none. Each round computes one contact per body, with that body's next near wall. Effects
// are summed in the order of the walls, and a wall that is not touched would add zeros, so skipping
// it does not change a bit of the motion.
//
// Far walls matter because of a quirk of the source: it does not mask the normal multipliers of
// contacts with walls. Their sum bounds the friction of all contacts of a body, including the
// ground's, so walls that are metres away let friction stop slips of more than a hundred m/s. A
// step therefore uses a lower bound on their multipliers, and is repeated with all walls if the
// bound was too low for some slip.

// nearWalls says which walls bodies may touch, one row per row of the sets of [walls].
type nearWalls struct {
	bits   num   // the sum of 2^w over the near walls w
	rounds *Node // the largest number of near walls of a row, an int32 scalar
	// far is a lower bound on the absolute sum of the normal multipliers of all other walls. They are
	// negative.
	far num
}

// margin is the distance in m, beyond their reach, at which bodies still count as near a wall. It
// covers rounding.
const margin = 0.01

// near finds the walls that bodies may touch: those whose bounding box is within reach. every is an
// int32 scalar; unless it is 0, all walls count as near.
func (w *walls) near(all limbs, every *Node) nearWalls {
	a := &w.sets[0].a
	of := func(component int) num { return a.gather(all.component(component)) }
	at := vector{of(0), of(1), of(2)}
	turn := quaternion{of(3), of(4), of(5), of(6)}
	stretch := turn.w.square().plus(turn.x.square()).plus(turn.y.square()).plus(turn.z.square())
	size := turn.w.node.Shape().Size()
	look := mask{num{rows: at.z.rows, node: BroadcastToDims(NotEqual(every, ConstAs(every, int32(0))),
		size)}}
	look = look.or(constant(stretch.rows, maxStretch).less(stretch))
	materializeVectors(&at)
	materialize(&stretch)
	arm := w.arm.times(stretch)

	zero := at.z.zero()
	near := nearWalls{bits: zero, far: zero}
	for i, set := range w.sets {
		apart := at.minus(set.otherCenter)
		outside := func(x, box num) num { return x.abs().minus(box) }
		gap := outside(apart.x, w.box[i].x).max(outside(apart.y, w.box[i].y)).max(outside(apart.z,
			w.box[i].z)).minus(arm.plus(w.reach[i]))
		close := look.or(gap.below(margin)).and(set.present)
		materialize(&gap, &close.num)
		near.bits = near.bits.plus(close.choose(constant(gap.rows, float64(int(1)<<i)), zero))
		near.far = near.far.plus(close.choose(zero,
			set.present.choose(gap.over(w.inverseMass[i]), zero)))
	}
	materialize(&near.bits, &near.far)
	near.rounds = ReduceAllMax(BitCount(ConvertDType(near.bits.node, dtypes.Int32)))
	return near
}

// nearWalls finds the walls that bodies may touch; nil if steps compute all contacts at once. If
// every is nil, all walls count as near.
func (s *System) nearWalls(all limbs, every *Node) *nearWalls {
	g := all[0].rot.w.graph()
	if !s.skipsWalls() || accelerated(g) {
		return nil
	}
	if every == nil {
		every = Const(g, int32(1))
	}
	near := s.contacts[0].walls.near(all, every)
	return &near
}

// boundMultipliers adds the far walls to the normal multipliers of the near walls and the ground,
// by level. Where walls are skipped it replaces the sum by the negative of a lower bound on its
// absolute value. It returns 1 for bodies with skipped walls, else 0.
func (s *System) boundMultipliers(near nearWalls, multipliers []num) (skipped []num) {
	far := make([][]addend, len(s.levels))
	for l, parts := range s.contacts[0].walls.sets[0].a.addends(len(s.levels), near.far) {
		far[l] = append(far[l], parts...)
	}
	for l, level := range s.levels {
		total := sum(len(level.body), far[l]...)
		some := total.above(0)
		multipliers[l] = some.choose(multipliers[l].minus(total).min(total.zero()), multipliers[l])
		skipped = append(skipped, some.number())
	}
	return skipped
}

// perCopy sums the rows of a num to one row.
func perCopy(x num) num { return sum(1, addend{x, each(make([]int, x.rows))}) }

// eachWall sums the results of solve over the near walls. solve gets one contact per row, and may
// use only its arguments: the contacts, the states, and the inputs, one row per contact.
func (s *System) eachWall(w *walls, near nearWalls, sums int, states []limbs, inputs []num,
	solve func(set *contactSet, states []limbs, inputs []num) []num) []num {
	type running struct {
		Left         *Node // the remaining near walls, bits of int32
		Parts        [][]*Node
		Inputs, Sums []*Node
	}
	g, size := near.bits.node.Graph(), near.bits.node.Shape().Size()
	rows := near.bits.rows
	batch := size / rows
	run := running{Left: ConvertDType(near.bits.node, dtypes.Int32)}
	for _, all := range states {
		run.Parts = append(run.Parts, s.varyingParts(g, batch, all))
	}
	for _, x := range inputs {
		run.Inputs = append(run.Inputs, x.spread(g, batch))
	}
	for range sums {
		run.Sums = append(run.Sums, constant(rows, 0).spread(g, batch))
	}
	run = xla.Repeat(near.rounds, run, func(_ *Node, r running) running {
		chosen := BitwiseAnd(r.Left, Neg(r.Left)) // the lowest bit
		var states []limbs
		for _, parts := range r.Parts {
			states = append(states, s.complete(parts))
		}
		var inputs []num
		for _, x := range r.Inputs {
			inputs = append(inputs, num{rows: rows, node: x})
		}
		set := w.chosen(chosen)
		for i, x := range solve(&set, states, inputs) {
			r.Sums[i] = num{rows: rows, node: r.Sums[i]}.plus(x).spread(r.Left.Graph(), batch)
		}
		r.Left = Sub(r.Left, chosen)
		return r
	})
	out := make([]num, sums)
	for i, x := range run.Sums {
		out[i] = num{rows: rows, node: x}
	}
	return out
}

// chosen returns the contact of each row with the wall whose bit is set in bits, int32 [rows * B].
// Where bits is 0, there is no contact.
func (w *walls) chosen(bits *Node) contactSet {
	out := w.sets[0]
	rows := out.a.rows()
	axis := out.axis()
	out.chosen = &axis
	fields := out.numbers()
	for i, set := range w.sets[1:] {
		axis := set.axis()
		set.chosen = &axis
		here := mask{num{rows: rows, node: Equal(bits, ConstAs(bits, int32(2<<i)))}}
		for k, field := range set.numbers() {
			*fields[k] = here.choose(*field, *fields[k])
		}
	}
	materialize(fields...)
	out.present = mask{num{rows: rows, node: NotEqual(bits, ConstAs(bits, int32(0)))}}
	return out
}

// axis is the axis of the other capsule, which is on a fixed body.
func (c *contactSet) axis() segment {
	s := segmentOf(c.otherCenter.plus(c.otherHalf), c.otherCenter.minus(c.otherHalf))
	s.inverse = constant(s.square.rows, 1).over(s.square)
	return s
}

// numbers returns the quantities of contacts with a chosen wall.
func (c *contactSet) numbers() []*num {
	all := []*num{&c.radius, &c.otherRadius, &c.friction, &c.elasticity, &c.otherWeights.mass,
		&c.chosen.inverse}
	for _, v := range []*vector{&c.center, &c.half, &c.otherPosition, &c.otherWeights.inertia,
		&c.chosen.from, &c.chosen.to, &c.chosen.along} {
		all = append(all, v.components()...)
	}
	return all
}

// positionNear sums [System.solveContactPosition] over the near walls: the effects, and the normal
// multipliers.
func (s *System) positionNear(g *contactGroup, near nearWalls, all, before limbs) (sums wallSums,
	multiplier num) {
	out := s.eachWall(g.walls, near, 14, []limbs{all, before}, nil,
		func(set *contactSet, states []limbs, _ []num) []num {
			m := set.findContacts(states[0])
			materialize(m.components(true)...)
			pressed := s.solveContactPosition(g, m, states[1])
			return append(pressed.sums(), pressed.multiplier)
		})
	return wallSumsOf(out), out[13]
}

// velocityNear sums [System.solveContactVelocity] over the near walls. found is the state in which
// contacts are found. short is the sum of the slips that friction did not stop.
func (s *System) velocityNear(g *contactGroup, near nearWalls, found, now, before limbs,
	multiplier num) (sums wallSums, short num) {
	out := s.eachWall(g.walls, near, 14, []limbs{found, now, before}, []num{multiplier},
		func(set *contactSet, states []limbs, inputs []num) []num {
			m := set.findContacts(states[0])
			materialize(m.components(true)...)
			e := s.solveContactVelocity(g, m, states[1], states[2], inputs[0])
			return append(e.sums(), e.short)
		})
	return wallSumsOf(out), out[13]
}

// impulsesNear computes the impulses of spring dynamics from near walls.
func (s *System) impulsesNear(g *contactGroup, all limbs) touch {
	near := g.walls.near(all, Const(all[0].rot.w.graph(), int32(0)))
	// Parts of a start pose are constants. XLA would fold them, and take longer to compile.
	batch := near.bits.node.Shape().Size() / near.bits.rows
	parts := s.varyingParts(near.bits.node.Graph(), batch, all)
	for i, part := range parts {
		parts[i] = Add(part, zeros(near.bits.node, i, part.Shape().Size()/batch, batch))
	}
	all = s.complete(parts)
	sums := s.eachWall(g.walls, near, 13, []limbs{all}, nil,
		func(set *contactSet, states []limbs, _ []num) []num {
			m := set.findContacts(states[0])
			materialize(m.components(false)...)
			speed := m.relativeVelocity(m.one, m.other)
			materializeVectors(&speed)
			return s.collide(g, m, speed).sums()
		})
	return s.shareNear(g, wallSumsOf(sums), 1e-8)
}

// wallSums is the sum of effects over walls, one row per row of the sets of [walls].
type wallSums struct {
	on, onOther push
	active      num // the number of active contacts
}

func (e effect) sums() []num {
	materialize(e.components()...)
	var out []num
	for _, c := range e.components()[:12] {
		out = append(out, *c)
	}
	return append(out, e.active.number())
}

func wallSumsOf(out []num) (sums wallSums) {
	on, other := sums.on.components(), sums.onOther.components()
	for i := range 6 {
		*on[i], *other[i] = out[i], out[6+i]
	}
	sums.active = out[12]
	return sums
}

// shareNear averages the sums over the near walls on each body, like [System.share].
func (s *System) shareNear(g *contactGroup, sums wallSums, epsilon float64) touch {
	set := &g.walls.sets[0]
	return s.average(g, epsilon, set.a.portions(len(s.levels), sums.on, sums.active),
		[]portion{{sums.onOther, set.toFixed(), sums.active}})
}

// skipsWalls reports whether steps skip far walls. On accelerators they never do.
func (s *System) skipsWalls() bool { return len(s.contacts) > 0 && s.contacts[0].walls != nil }

// untilExact runs substeps without the far walls, and again with all walls if the last component of
// Touch is above 0 in some copy: see [touch].
func untilExact(start running, substeps func(running) running) running {
	type attempt struct {
		Tries    *Node
		From, To running
	}
	zero := Const(start.Parts[0].Graph(), int32(0))
	return xla.Loop(attempt{zero, start, start}, func(a attempt) *Node {
		short := a.To.Touch[len(a.To.Touch)-1]
		matters := GreaterThan(ReduceAllMax(short), ScalarZero(short.Graph(), short.DType()))
		return Or(Equal(a.Tries, ConstAs(a.Tries, int32(0))),
			And(Equal(a.Tries, ConstAs(a.Tries, int32(1))), matters))
	}, func(a attempt) attempt {
		from := a.From
		from.Drive.EveryWall = a.Tries
		a.To = substeps(from)
		a.To.Drive = a.From.Drive
		a.Tries = AddScalar(a.Tries, 1)
		return a
	}).To
}
