package physics

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
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

// walls holds the contacts with the capsules of one fixed body, here called walls: a set per wall,
// with a row per moving body. The moving bodies are the same in all sets.
type walls struct {
	sets  []contactSet
	box   []algebra.Vector // for each wall: half the extents of its axis along the world axes
	reach []algebra.Num    // for each wall: the sum of both radii
	arm   algebra.Num      // the largest distance from the body's centre to a point of its axis
	// inverseMass is an upper bound on the generalised inverse mass of the contacts with each wall.
	inverseMass []algebra.Num
}

// maxWalls is the largest number of walls: a float32 holds a bit for each.
const maxWalls = 24

// maxStretch is the largest squared length of a quaternion for which inverseMass holds. Joint
// corrections leave quaternions that are not normalised, which stretches bodies by this factor.
const maxStretch = 2

// prepareWalls returns nil if the contacts are too many or belong to several fixed bodies.
func (s *System) prepareWalls(list []contact) *walls {
	for _, c := range list {
		if c.b != list[0].b {
			return nil
		}
	}
	levels := s.roundsByLevel(list)
	most := 0
	for _, rounds := range levels {
		most = max(most, len(rounds))
	}
	for _, rounds := range levels {
		if len(rounds) < most || most > maxWalls {
			return nil
		}
	}
	w, arm := &walls{}, []float64(nil)
	for n := range most {
		var round []round
		var contacts []contact
		for _, rounds := range levels {
			round, contacts = append(round, rounds[n]), append(contacts, rounds[n].contacts...)
		}
		set := s.roundSet(round...)
		var box []Vec
		var reach, inverse []float64
		for row, c := range contacts {
			box = append(box, Vec{math.Abs(c.other[0]), math.Abs(c.other[1]), math.Abs(c.other[2])})
			far := c.center.length() + c.half.length()
			if n == 0 {
				arm = append(arm, 0)
			}
			arm[row], reach = max(arm[row], far), append(reach, c.radius+c.otherRadius)
			inverse = append(inverse, set.a.weights.bound(row, maxStretch*far)+set.otherWeights.bound(row, c.otherReach(s)))
		}
		w.sets, w.box, w.reach = append(w.sets, set), append(w.box, algebra.Vectors(box...)),
			append(w.reach, algebra.Known(reach...))
		w.inverseMass = append(w.inverseMass, algebra.Known(inverse...))
	}
	w.arm = algebra.Known(arm...)
	return w
}

func (v Vec) length() float64 { return math.Hypot(math.Hypot(v[0], v[1]), v[2]) }

// otherReach is the distance from the centre of the wall's body to the farthest point of the wall's
// axis.
func (c contact) otherReach(s *System) float64 {
	if c.b < 0 {
		return 0
	}
	from := c.otherCenter.plus(s.fixed[c.b].position.scaled(-1))
	return max(from.plus(c.other).length(), from.plus(c.other.scaled(-1)).length())
}

// bound returns an upper bound on the generalised inverse mass of a body at a lever of at most the
// given length.
func (w weights) bound(row int, lever float64) float64 {
	inertia := slices.Max([]float64{w.inertia.X.Known[row], w.inertia.Y.Known[row], w.inertia.Z.Known[row]})
	return 1.01 * (w.mass.Known[row] + lever*lever*inertia + 1e-6)
}

// nearWalls says which walls bodies may touch, one row per row of the sets of [walls].
type nearWalls struct {
	bits   algebra.Num // the sum of 2^w over the near walls w
	rounds *Node       // the largest number of near walls of a row, an int32 scalar
	// far is a lower bound on the absolute sum of the normal multipliers of all other walls. They are
	// negative.
	far algebra.Num
}

// batch is the number of copies.
func (n *nearWalls) batch() int { return n.bits.Node.Shape().Size() / n.bits.Rows }

// margin is the distance in m, beyond their reach, at which bodies still count as near a wall. It
// covers rounding.
const margin = 0.01

// near finds the walls that bodies may touch: those whose bounding box is within reach. every is an
// int32 scalar; unless it is 0, all walls count as near.
func (w *walls) near(all limbs, every *Node) *nearWalls {
	a := &w.sets[0].a
	of := func(component int) algebra.Num { return a.gather(all.component(component)) }
	stretch := algebra.Quaternion{W: of(3), X: of(4), Y: of(5), Z: of(6)}.SquaredLength()
	size := stretch.Node.Shape().Size()
	look := algebra.Mask{Num: algebra.Num{Rows: stretch.Rows,
		Node: BroadcastToDims(NotEqual(every, ConstAs(every, int32(0))), size)}}
	look = look.Or(stretch.Above(maxStretch))
	at, arm := algebra.Vector{X: of(0), Y: of(1), Z: of(2)}.Materialize(), w.arm.Times(stretch.Materialize())

	zero := at.Z.Zero()
	near := &nearWalls{bits: zero, far: zero}
	for i, set := range w.sets {
		apart := at.Minus(set.otherCenter)
		outside := func(x, box algebra.Num) algebra.Num { return x.Abs().Minus(box) }
		gap := outside(apart.X, w.box[i].X).Max(outside(apart.Y, w.box[i].Y)).Max(outside(apart.Z,
			w.box[i].Z)).Minus(arm.Plus(w.reach[i]))
		close := algebra.Mask{Num: look.Or(gap.Below(margin)).And(set.present).Materialize()}
		gap = gap.Materialize()
		near.bits = near.bits.Plus(close.Choose(algebra.Constant(gap.Rows, float64(int(1)<<i)), zero))
		near.far = near.far.Plus(close.Choose(zero, set.present.Choose(gap.Over(w.inverseMass[i]), zero)))
	}
	near.bits, near.far = near.bits.Materialize(), near.far.Materialize()
	near.rounds = ReduceAllMax(BitCount(ConvertDType(near.bits.Node, dtypes.Int32)))
	return near
}

// eachWall sums the effects of a law over the near walls, see [contactSolver.solve]. The law gets one
// contact per row, and may use only its arguments.
func (c *contactSolver) eachWall(whole bool, law contactLaw, multiplier func(a *side) algebra.Num,
	states []limbs) (sums effect) {
	type running struct {
		Left  *Node     // the remaining near walls, bits of int32
		Parts [][]*Node // of the states, found first
		Input *Node
		Drive drive
		Sums  []*Node
	}
	g, rows, batch := c.near.bits.Node.Graph(), c.near.bits.Rows, c.near.batch()
	var input algebra.Num
	if multiplier != nil {
		input = multiplier(&c.group.walls.sets[0].a)
	}
	run := running{Left: ConvertDType(c.near.bits.Node, dtypes.Int32), Drive: c.drive}
	for _, all := range append([]limbs{c.found}, states...) {
		run.Parts = append(run.Parts, c.varyingParts(g, batch, all))
	}
	if multiplier != nil {
		run.Input = input.Spread(g, batch)
	}
	components := sums.components()
	if !whole {
		components = components[:len(components)-1]
	}
	for range components {
		run.Sums = append(run.Sums, algebra.Constant(rows, 0).Spread(g, batch))
	}
	run = xla.Repeat(c.near.rounds, run, func(_ *Node, r running) running {
		chosen := BitwiseAnd(r.Left, Neg(r.Left)) // the lowest bit
		var states []limbs
		for _, parts := range r.Parts {
			states = append(states, c.complete(parts))
		}
		set := c.group.walls.chosen(chosen)
		point := set.findContacts(states[0], whole).under(r.Drive)
		e := law(point, states[1:], algebra.Num{Rows: rows, Node: r.Input}).materialize()
		for i, x := range e.components()[:len(components)] {
			r.Sums[i] = algebra.Num{Rows: rows, Node: r.Sums[i]}.Plus(*x).Spread(r.Left.Graph(), batch)
		}
		r.Left = Sub(r.Left, chosen)
		return r
	})
	for i, x := range components {
		*x = algebra.Num{Rows: rows, Node: run.Sums[i]}
	}
	return sums
}

// hidden returns a state that XLA does not know. Parts of a start pose are constants. XLA would fold
// them, and take longer to compile.
func (c *contactSolver) hidden(all limbs) limbs {
	parts := c.varyingParts(c.near.bits.Node.Graph(), c.near.batch(), all)
	for i, part := range parts {
		parts[i] = Add(part, zeros(c.near.bits.Node, i, part.Shape().Size()/c.near.batch(), c.near.batch()))
	}
	return c.complete(parts)
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
		here := algebra.Mask{Num: algebra.Num{Rows: rows, Node: Equal(bits, ConstAs(bits, int32(2<<i)))}}
		for k, field := range set.numbers() {
			*fields[k] = here.Choose(*field, *fields[k])
		}
	}
	for _, field := range fields {
		*field = field.Materialize()
	}
	out.present = algebra.Mask{Num: algebra.Num{Rows: rows, Node: NotEqual(bits, ConstAs(bits, int32(0)))}}
	return out
}

// axis is the axis of the other capsule, which is on a fixed body.
func (c *contactSet) axis() segment {
	s := segmentOf(c.otherCenter.Plus(c.otherHalf), c.otherCenter.Minus(c.otherHalf))
	s.inverse = algebra.Constant(s.square.Rows, 1).Over(s.square)
	return s
}

// numbers returns the quantities of contacts with a chosen wall.
func (c *contactSet) numbers() []*algebra.Num {
	all := []*algebra.Num{&c.radius, &c.otherRadius, &c.friction, &c.elasticity, &c.otherWeights.mass, &c.chosen.inverse}
	for _, v := range []*algebra.Vector{&c.center, &c.half, &c.otherPosition, &c.otherWeights.inertia,
		&c.chosen.from, &c.chosen.to, &c.chosen.along} {
		all = append(all, &v.X, &v.Y, &v.Z)
	}
	return all
}

// skipsWalls reports whether steps skip far walls. On accelerators they never do.
func (s *System) skipsWalls(g *Graph) bool {
	return !accelerated(g) && len(s.contacts) > 0 && s.contacts[0].walls != nil
}

// untilExact runs substeps without the far walls, and again with all walls if the last component of
// Contacts is above 0 in some copy: see [contactEffect].
func untilExact(start running, substeps func(running) running) running {
	type attempt struct {
		Tries    *Node
		From, To running
	}
	zero := Const(start.Parts[0].Graph(), int32(0))
	return xla.Loop(attempt{zero, start, start}, func(a attempt) *Node {
		unstopped := a.To.Contacts[len(a.To.Contacts)-1]
		matters := GreaterThan(ReduceAllMax(unstopped), ScalarZero(unstopped.Graph(), unstopped.DType()))
		return Or(Equal(a.Tries, ConstAs(a.Tries, int32(0))), And(Equal(a.Tries, ConstAs(a.Tries, int32(1))), matters))
	}, func(a attempt) attempt {
		from := a.From
		from.Drive.EveryWall = a.Tries
		a.To = substeps(from)
		a.To.Drive = a.From.Drive
		a.Tries = AddScalar(a.Tries, 1)
		return a
	}).To
}
