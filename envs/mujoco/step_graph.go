package mujoco

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/xla"
)

// State is the state of B copies of a system, as MuJoCo orders and measures it.
type State struct {
	QPos *Node // [nq, B]
	QVel *Node // [nv, B]
	// QAcc is the last acceleration, [nv, B]. The solver starts there; results depend on it by rounding only.
	QAcc *Node
	// Act are the activations of actuators with dynamics, [na, B]; nil if there are none.
	Act *Node
	// LateQPos and LateQVel are where QAcc was computed, if [Options].Late is set; else nil.
	LateQPos, LateQVel *Node
}

// Step advances a state by so many physics steps under controls [nu, B], which are held. Controls are nil
// for a system without actuators.
func (s *System) Step(state State, control *Node, steps int) State {
	return s.step(state, control, steps, algebra.Conditions{})
}

// step is Step under conditions.
func (s *System) step(state State, control *Node, steps int, under algebra.Conditions) State {
	m := s.model
	g, batch := state.QPos.Graph(), state.QPos.Shape().Dimensions[1]
	for _, x := range []struct {
		name string
		node *Node
		n    int
	}{{"qpos", state.QPos, m.Sizes.NQ}, {"qvel", state.QVel, m.Sizes.NV}, {"qacc", state.QAcc, m.Sizes.NV},
		{"ctrl", control, m.Sizes.NU}, {"act", state.Act, m.Sizes.NA}} {
		if x.n > 0 && (x.node == nil || x.node.Rank() != 2 || x.node.Shape().Dimensions[0] != x.n ||
			x.node.Shape().Dimensions[1] != batch) {
			panic(fmt.Errorf("%s must be a tensor [%d, %d]", x.name, x.n, batch))
		}
	}
	start := running{
		Q: split(state.QPos, s.places), V: split(state.QVel, s.dofs), A: split(state.QAcc, s.dofs),
		Inputs: s.inputs(control, state.Act), Under: s.under(under),
	}
	if s.options.Late {
		start.LateQ, start.LateV = start.Q, start.V // until the first evaluation
	}
	end := loop(s, g, steps, start, func(_ *Node, r running) running {
		if m.Opt.Integrator == RK4 {
			return s.rungeKutta(r)
		}
		return s.semiImplicit(r)
	})
	next := State{QPos: join(g, m.Sizes.NQ, batch, end.Q, s.places), QVel: join(g, m.Sizes.NV, batch, end.V, s.dofs),
		QAcc: join(g, m.Sizes.NV, batch, end.A, s.dofs)}
	if state.Act != nil {
		next.Act = end.Inputs.Act.Matrix()
	}
	if s.options.Late {
		next.LateQPos = join(g, m.Sizes.NQ, batch, end.LateQ, s.places)
		next.LateQVel = join(g, m.Sizes.NV, batch, end.LateV, s.dofs)
	}
	return next
}

// loop is [xla.For] over physics steps or their stages.
func loop[T any](s *System, g *Graph, count int, state T, body func(step *Node, state T) T) T {
	if s.parted {
		return xla.ForUnfused(g, count, state, body)
	}
	return xla.For(g, count, state, body)
}

// outlined is [xla.Outline] for systems that are compiled in parts.
func outlined[S, T any](s *System, state S, body func(S) T) T {
	if s.parted {
		return xla.Outline(state, body)
	}
	return body(state)
}

// running is a state by elements of the groups, see [split].
type running struct {
	Q, V, A      []algebra.Num
	Inputs       inputs
	LateQ, LateV []algebra.Num // where A was computed, if this is kept
	Under        conditions
}

// evaluated keeps where the acceleration is computed.
func (r *running) evaluated() {
	if r.LateQ != nil {
		r.LateQ, r.LateV = slices.Clone(r.Q), slices.Clone(r.V)
	}
}

// computed makes all numbers tensors, as loops need them.
func (r running) computed() running {
	g, batch := sizeOf(r.Q)
	for _, list := range [][]algebra.Num{r.Q, r.V, r.A, r.LateQ, r.LateV} {
		for i := range list {
			list[i] = computed(g, batch, list[i])
		}
	}
	if r.Inputs.Act.Rows > 0 {
		r.Inputs.Act = computed(g, batch, r.Inputs.Act)
	}
	return r
}

// dynamics is what a step needs of a state.
type dynamics struct {
	Kinematics   kinematics
	Motions      motions
	Solution     newton        // if there are constraints
	Acceleration []algebra.Num // in the axes of the world
	// Slopes is minus the change of forces by velocities: what implicit integration adds to the mass matrix,
	// per second.
	Slopes []slope
}

// slope is a change of the force on a dof by the motion of another, or of the same: an entry of a block.
type slope struct {
	Dofs [2]int
	By   algebra.Num
}

// listed lists blocks in order: a pytree has no maps.
func listed(blocks map[[2]int]algebra.Num) (list []slope) {
	for _, key := range keysOf(blocks) {
		list = append(list, slope{key, blocks[key]})
	}
	return list
}

// smooth is what accelerations under constraints depend on, in the axes of the world.
type smooth struct {
	Dynamics dynamics // its acceleration is the guess
	Position []algebra.Num
	Velocity []algebra.Num
	Residual []algebra.Num // the mass matrix times the guess, less Force
	Force    []algebra.Num // on the dofs
}

// accelerate computes the accelerations of a state, whose A is the guess.
func (s *System) accelerate(r running) dynamics {
	k := outlined(s, r, func(r running) kinematics { return s.kinematics(r.Q, r.Under) })
	p := outlined(s, posed{r, k}, s.smooth)
	if len(s.rows)+len(s.equal)+len(s.contacts) == 0 {
		return p.Dynamics
	}
	d := p.Dynamics
	if begin := s.begin(p); s.finely {
		d.Solution = s.minimize(begin)
	} else {
		d.Solution = outlined(s, begin, s.minimize)
	}
	d.Acceleration = d.Solution.At.Acceleration
	return d
}

// posed is a state with the poses of its links.
type posed struct {
	State      running
	Kinematics kinematics
}

// smooth computes accelerations without constraints, or what minimize starts from.
func (s *System) smooth(of posed) (p smooth) {
	m, r, k := s.model, of.State, of.Kinematics
	v, guess := s.toWorld(k, r.V), s.toWorld(k, r.A)
	motions, forces := s.inverseDynamics(k, v, guess)
	passive, lift := s.passive(k, r.Q, v, motions.Drifting)
	actuator, slopes := s.actuation(k, r.Q, v, r.Inputs, lift)
	p.Residual, p.Force = s.noForce(), s.noForce()
	for c := range p.Residual {
		applied := passive[c].Plus(actuator[c])
		momentum := s.armature(k, c).Times(guess[c])
		p.Residual[c] = forces[c].Plus(momentum).Minus(applied).Materialize()
		p.Force[c] = applied
	}
	for _, key := range keysOf(slopes) {
		slopes[key] = slopes[key].Neg()
	}
	for c := range s.dofs {
		if damping := s.damping(k.Under, c); m.Opt.DisableFlags&DisableDamper == 0 && !damping.Is(0) {
			slopes[[2]int{c, c}] = sumOr(slopes, [2]int{c, c}, damping)
		}
	}
	for i, damping := range m.TendonDamping {
		if m.Opt.DisableFlags&DisableDamper != 0 || damping == 0 {
			continue
		}
		for _, share := range s.tendon(i).shares { // of joints of which none moves another
			by := sumRows(len(s.dofs[share.column].index), algebra.Known(damping*share.by*share.by), []int{share.row})
			slopes[[2]int{share.column, share.column}] = sumOr(slopes, [2]int{share.column, share.column}, by)
		}
	}
	d := &p.Dynamics
	d.Kinematics, d.Motions = k, motions
	d.Slopes = listed(slopes)
	p.Position, p.Velocity, d.Acceleration = r.Q, v, guess
	if len(s.rows)+len(s.equal)+len(s.contacts) == 0 {
		step := s.solve(k, s.factorize(k, s.links(k), s.armatures(k)), p.Residual)
		for c := range step {
			d.Acceleration[c] = guess[c].Minus(step[c]).Materialize()
		}
	}
	return p
}

// constrained is a state with its contacts and constraints.
type constrained struct {
	Smooth      smooth
	Contacts    []contact
	Selected    []found
	Constraints constraints
}

// begin returns the state in which minimize starts.
func (s *System) begin(p smooth) newton {
	of := constrained{Smooth: p}
	of.Contacts = outlined(s, p.Dynamics.Kinematics, s.collisions)
	if s.searchesFaces() { // in several parts
		for _, set := range s.selected {
			of.Selected = append(of.Selected, s.found(p.Dynamics.Kinematics, of.Contacts, set))
		}
	}
	of.Constraints = outlined(s, of, func(of constrained) constraints {
		p := of.Smooth
		return s.constrain(p.Dynamics.Kinematics, of.Contacts, of.Selected, p.Position, p.Velocity, p.Dynamics.Motions.Drifting)
	})
	return outlined(s, of, func(of constrained) newton {
		p := of.Smooth
		return s.newton(p.Dynamics.Kinematics, of.Constraints, p.Dynamics.Acceleration, p.Residual, p.Force)
	})
}

// semiImplicit advances a state by MuJoCo's Euler or implicitfast integration.
func (s *System) semiImplicit(r running) running {
	r.evaluated()
	type result struct {
		From     running
		Dynamics dynamics
	}
	d := s.accelerate(r)
	d.Solution, d.Motions = newton{}, motions{}
	return outlined(s, result{r, d}, func(of result) running {
		r, d := of.From, of.Dynamics
		m := s.model
		h := m.Opt.TimeStep
		slopes := d.Slopes
		if m.Opt.Integrator == Euler {
			slopes = nil
			for c := range s.dofs {
				damping := s.damping(r.Under, c)
				if m.Opt.DisableFlags&(DisableEulerDamp|DisableDamper) == 0 && !damping.Is(0) {
					slopes = append(slopes, slope{[2]int{c, c}, damping})
				}
			}
		}
		a := d.Acceleration
		r.A = s.toBody(d.Kinematics, a)
		if len(slopes) > 0 {
			// (M + h D) a' = M a, so a' is a less the solution of (M + h D) x = h D a. Where x is nearly a, their
			// difference would be rounding, and M a is computed.
			blocks, braking := s.armatures(d.Kinematics), s.noForce()
			for _, slope := range slopes {
				by, x, y := slope.By.Scale(h), slope.Dofs[0], slope.Dofs[1]
				blocks[slope.Dofs] = sumOr(blocks, slope.Dofs, by)
				braking[x] = braking[x].Plus(by.Times(a[y]))
				if x != y {
					braking[y] = braking[y].Plus(by.Times(a[x]))
				}
			}
			k := d.Kinematics
			braked := s.brakes(slopes)
			if braked {
				braking = s.multiply(k, a, s.forward(k, a))
			}
			less := s.solve(k, s.factorize(k, s.links(k), blocks), braking)
			damped := s.noForce()
			for c := range damped {
				if damped[c] = less[c]; !braked {
					damped[c] = a[c].Minus(less[c]).Materialize()
				}
			}
			a = damped
		}
		if m.Opt.Integrator == ImplicitFast {
			a = s.gyroscopic(d.Kinematics, s.toWorld(d.Kinematics, r.V), a)
		}
		for c, a := range s.toBody(d.Kinematics, a) {
			r.V[c] = r.V[c].Plus(a.Scale(h))
		}
		r.Q = s.integrate(r.Q, r.V, algebra.Constant(1, h))
		if r.Inputs.Act.Rows > 0 {
			r.Inputs.Act = s.nextActivations(r.Inputs.Act, s.activationRates(r.Inputs))
		}
		return r.computed()
	})
}

// brakes reports whether the damping of some dof, times a step, is much larger than its inertia.
func (s *System) brakes(slopes []slope) bool {
	const much = 50 // times
	return slices.ContainsFunc(slopes, func(d slope) bool {
		if d.Dofs[0] != d.Dofs[1] || d.By.Known == nil {
			return false
		}
		weight := s.knownDof(d.Dofs[0], s.model.DofInvweight0)
		return slices.Max(weight.Times(d.By).Known)*s.model.Opt.TimeStep > much
	})
}

// integrate returns positions after a time h, one row, at constant velocities.
func (s *System) integrate(q, v []algebra.Num, h algebra.Num) []algebra.Num {
	out := append([]algebra.Num{}, q...)
	for _, g := range s.groups {
		h := spread(h, g.rows())
		for _, j := range g.joints {
			c, p := j.column, j.place
			switch j.kind {
			case Slide, Hinge:
				out[p] = q[p].Plus(v[c].Times(h))
				continue
			case Free:
				for axis := range 3 {
					out[p+axis] = q[p+axis].Plus(v[c+axis].Times(h))
				}
				c, p = c+3, p+3
			}
			turn := algebra.Vector{X: v[c], Y: v[c+1], Z: v[c+2]}.By(h).Materialize()
			angle := turn.Dot(turn).Sqrt().Materialize()
			sin, cos := algebra.SinCos(angle.Scale(0.5))
			axis := turn.By(sin.Over(angle.Max(algebra.Constant(angle.Rows, 1e-20)))).Materialize()
			next := quaternionAt(q[p:]).Normalized().Times(algebra.Quaternion{W: cos, X: axis.X, Y: axis.Y, Z: axis.Z}).
				Materialize().Normalized().Materialize()
			out[p], out[p+1], out[p+2], out[p+3] = next.W, next.X, next.Y, next.Z
		}
	}
	return out
}

// rungeKutta advances a state by the Runge-Kutta method of fourth order.
func (s *System) rungeKutta(r running) running {
	type stages struct {
		Start, At running
		Turned    []algebra.Num // the rotations from the start to the stage
		Rates     []algebra.Num // the weighted sum of rates of change of positions
		Accels    []algebra.Num // of accelerations
		Drives    algebra.Num   // of rates of change of activations, if there are any
	}
	g, batch := sizeOf(r.Q)
	zeros := func() (out []algebra.Num) {
		for _, dof := range s.dofs {
			out = append(out, computed(g, batch, algebra.Constant(len(dof.index), 0)))
		}
		return out
	}
	h := s.model.Opt.TimeStep
	start := stages{Start: r, At: r, Turned: zeros(), Rates: zeros(), Accels: zeros()}
	activations := r.Inputs.Act.Rows
	if activations > 0 {
		start.Drives = computed(g, batch, algebra.Constant(activations, 0))
	}
	end := loop(s, g, 4, start, func(stage *Node, s4 stages) stages {
		g := stage.Graph()
		scalar := func(outer, inner float64, isOuter *Node) algebra.Num {
			x := Where(isOuter, Const(g, float32(outer)), Const(g, float32(inner)))
			return algebra.Num{Rows: 1, Node: BroadcastToDims(x, batch)}.Store()
		}
		ends := Or(Equal(stage, Const(g, int32(0))), Equal(stage, Const(g, int32(3))))
		weight := scalar(1.0/6, 1.0/3, ends)
		ahead := scalar(h, h/2, GreaterOrEqual(stage, Const(g, int32(2)))) // to the next stage
		s4.At.evaluated()
		d := s.accelerate(s4.At)
		d.Solution, d.Motions = newton{}, motions{}
		type result struct {
			Stages        stages
			Dynamics      dynamics
			Weight, Ahead algebra.Num
		}
		return outlined(s, result{s4, d, weight, ahead}, func(of result) stages {
			s4, d, weight, ahead := of.Stages, of.Dynamics, of.Weight, of.Ahead
			a := s.toBody(d.Kinematics, d.Acceleration)
			rates := s.rates(s4.Turned, s4.At.V)
			for c := range rates {
				n := rates[c].Rows
				s4.Rates[c] = s4.Rates[c].Plus(spread(weight, n).Times(rates[c]))
				s4.Accels[c] = s4.Accels[c].Plus(spread(weight, n).Times(a[c]))
				s4.Turned[c] = computed(g, batch, spread(ahead, n).Times(rates[c]))
				s4.At.V[c] = s4.Start.V[c].Plus(spread(ahead, n).Times(a[c]))
			}
			if activations > 0 {
				drives := s.activationRates(s4.At.Inputs)
				s4.Drives = s4.Drives.Plus(spread(weight, activations).Times(drives))
				s4.At.Inputs.Act = s4.Start.Inputs.Act.Plus(spread(ahead, activations).Times(drives))
			}
			s4.At.Q = s.integrate(s4.Start.Q, rates, ahead)
			s4.At.A = a
			s4.At = s4.At.computed()
			return s4
		})
	})
	for c := range r.V {
		r.V[c] = r.V[c].Plus(end.Accels[c].Scale(h))
	}
	r.Q, r.A = s.integrate(r.Q, end.Rates, algebra.Constant(1, h)), end.At.A
	if activations > 0 {
		r.Inputs.Act = s.nextActivations(r.Inputs.Act, end.Drives)
	}
	r.LateQ, r.LateV = end.At.LateQ, end.At.LateV
	return r.computed()
}

// rates returns the rates of change of rotations from a start, from which turned has led, at angular
// velocities v (the inverse of the derivative of the exponential map); other velocities are rates as they
// are.
func (s *System) rates(turned, v []algebra.Num) []algebra.Num {
	out := append([]algebra.Num{}, v...)
	for _, g := range s.groups {
		for _, j := range g.joints {
			at, ok := j.turns()
			if !ok {
				continue
			}
			turn := algebra.Vector{X: turned[at], Y: turned[at+1], Z: turned[at+2]}
			w := algebra.Vector{X: v[at], Y: v[at+1], Z: v[at+2]}
			once := turn.Cross(w).Materialize()
			// 1/n^2 - (1 + cos n)/(2 n sin n) as a series, exact to 1e-6 below 2 rad
			square := turn.Dot(turn).Materialize()
			series := algebra.Constant(square.Rows, 1.0/47900160)
			for _, term := range []float64{1.0 / 1209600, 1.0 / 30240, 1.0 / 720, 1.0 / 12} {
				series = series.Times(square).Add(term)
			}
			w = w.Plus(once.Scale(0.5)).Plus(turn.Cross(once).By(series)).Materialize()
			out[at], out[at+1], out[at+2] = w.X, w.Y, w.Z
		}
	}
	return out
}
