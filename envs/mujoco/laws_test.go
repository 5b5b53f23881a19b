package mujoco

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// lawModel reads a model of testdata.
func lawModel(name string) Model {
	file := must.Get(os.Open("testdata/" + name + "_law.json"))
	defer file.Close()
	return must.Get(ReadModel(file))
}

func lawSystem(name string) *System { return must.Get(NewSystem(lawModel(name), Options{})) }

// roll advances one copy and returns its qpos, qvel and qacc.
func roll(t *testing.T, s *System, q, v, u []float64, steps int) (qpos, qvel, qacc []float64) {
	t.Helper()
	inputs := []*tensors.Tensor{batchLast([][]float64{q}), batchLast([][]float64{v})}
	if len(u) > 0 {
		inputs = append(inputs, batchLast([][]float64{u}))
	}
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
		in = append(in, nil)
		end := s.Step(State{QPos: in[0], QVel: in[1], QAcc: graph.ZerosLike(in[1])}, in[2], steps)
		return []*graph.Node{end.QPos, end.QVel, end.QAcc}
	}, inputs...)
	return batchFirst(t, out[0])[0], batchFirst(t, out[1])[0], batchFirst(t, out[2])[0]
}

// A double pendulum on a ball joint keeps its energy for ten seconds: to 1e-3 of what it swings with.
func TestPendulumKeepsItsEnergy(t *testing.T) {
	s := lawSystem("pendulum")
	energy := func(q, v []float64) float64 {
		out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
			q, v := split(in[0], s.places), split(in[1], s.dofs)
			k := s.kinematics(q, conditions{})
			v = s.toWorld(k, v)
			kinetic := s.dots(v, s.multiply(k, v, s.forward(k, v))).Scale(0.5)
			for i, g := range s.groups { // First is relative to the reference
				height := k.Origin[i].Plus(s.reference(k, i)).Z
				kinetic = kinetic.Plus(s.ofGroup(k.Inertia.First.Z, i).Plus(height.Times(g.mass)).Scale(9.81))
			}
			return []*graph.Node{graph.Reshape(kinetic.Node, 1, 1)}
		}, batchLast([][]float64{q}), batchLast([][]float64{v}))
		return batchFirst(t, out[0])[0][0]
	}
	q := []float64{math.Cos(0.5), 0, math.Sin(0.5), 0, 0.7}
	v := []float64{1, -1, 2, 3}
	start := energy(q, v)
	rest := energy([]float64{1, 0, 0, 0, 0}, make([]float64, 4))
	qpos, qvel, _ := roll(t, s, q, v, nil, 2000)
	if end := energy(qpos, qvel); math.Abs(end-start) > 1e-3*math.Abs(start-rest) {
		t.Errorf("the energy is %v J at first and %v J after ten seconds; at rest %v J", start, end, rest)
	}
}

// Bodies that slide on one, four and eight contacts lose speed by their friction.
func TestSlidingBodiesLoseSpeedByFriction(t *testing.T) {
	s := lawSystem("sliding")
	q, v := s.model.QPos0, make([]float64, s.model.Sizes.NV)
	q, v, _ = roll(t, s, q, v, nil, 200) // to rest
	dofs, friction := []int{0, 2, 8}, []float64{0.4, 0.5, 0.6}
	for _, dof := range dofs {
		v[dof] = 2
	}
	_, end, _ := roll(t, s, q, v, nil, 150)
	for i, dof := range dofs {
		if lost, want := 2-end[dof], friction[i]*9.81*0.3; math.Abs(lost-want) > 0.03*want {
			t.Errorf("body %d with friction %v lost %.3f m/s, want %.3f", i, friction[i], lost, want)
		}
	}
}

// Most numbers of bodies on slide joints are known while the program is built, also of their contacts. Without friction
// a puck and a top on a plane keep their velocities, and masses that collide keep their momentum.
func TestSlideJointsKeepMomentum(t *testing.T) {
	for cone, most := range map[Cone]int{Pyramidal: 0, Elliptic: 2} { // contacts between links that act
		m := lawModel("slides")
		m.Opt.Cone = cone
		s := must.Get(NewSystem(m, Options{LinkContacts: most}))
		_, v, _ := roll(t, s, m.QPos0, []float64{1, -0.5, 3, 1, 0}, nil, 40)
		for i, want := range []float64{1, -0.5, 3} {
			if math.Abs(v[i]-want) > 1e-5 {
				t.Errorf("cone %v: dof %d has velocity %v, want %v", cone, i, v[i], want)
			}
		}
		if momentum := v[3] + 2*v[4]; math.Abs(momentum-1) > 1e-4 || v[4] < max(v[3], 0.1) {
			t.Errorf("cone %v: masses of 1 and 2 kg move at %v after their collision", cone, v[3:])
		}
	}
}

// Where no contact can ever act, as of a puck far above a plane, bodies keep their velocities.
func TestBodiesThatNeverTouchKeepTheirVelocities(t *testing.T) {
	for _, cone := range []Cone{Pyramidal, Elliptic} {
		m := lawModel("slides")
		m.Opt.Cone, m.BodyPos[1][2] = cone, 5
		for i, body := range m.GeomBodyID {
			if body > 1 {
				m.GeomConType[i], m.GeomConAffinity[i] = 0, 0
			}
		}
		want := []float64{1, -0.5, 3, 1, 0}
		if _, v, _ := roll(t, must.Get(NewSystem(m, Options{})), m.QPos0, want, nil, 3); distance(v, want) > 1e-6 {
			t.Errorf("cone %v: the velocities are %v, want %v", cone, v, want)
		}
	}
}

// The limit of a tendon that is the only constraint across joints turns them back.
func TestLoneTendonLimit(t *testing.T) {
	m := compiled("accepted/own_tendons")
	clear(m.TendonFrictionLoss)
	m.TendonLimited[2] = false
	s := must.Get(NewSystem(m, Options{}))
	errtest.Equal(t, "equalities", s.equalities(), 1)
	_, _, a := roll(t, s, []float64{0, 0.6, 0.6, 0}, make([]float64, 4), make([]float64, 3), 1)
	if a[1]+0.5*a[2] > -100 {
		t.Errorf("the joints accelerate by %v beyond the limit", a)
	}
}

// Actuators of disabled groups exert no forces.
func TestDisabledActuators(t *testing.T) {
	disabled, without := compiled("accepted/own_servo"), compiled("accepted/own_servo")
	disabled.Opt.DisableActuator, disabled.ActuatorGroup[0] = 1<<3, 3
	without.ActuatorGainPrm[0], without.ActuatorBiasPrm[0] = [10]float64{}, [10]float64{}
	var v [2][]float64
	for i, m := range []Model{disabled, without} {
		u := slices.Repeat([]float64{1}, m.Sizes.NU)
		_, v[i], _ = roll(t, must.Get(NewSystem(m, Options{})), m.QPos0, make([]float64, m.Sizes.NV), u, 3)
	}
	if norm(v[0]) == 0 || distance(v[0], v[1]) > 1e-6*norm(v[1]) {
		t.Errorf("the joints move at %v, without the actuator at %v", v[0], v[1])
	}
}

// The inertia of a rotor resists its own joint only: base and wheel turn as if it had none.
func TestRotorActsOnItsJointOnly(t *testing.T) {
	s := lawSystem("rotor")
	_, _, a := roll(t, s, s.model.QPos0, make([]float64, 7), []float64{1}, 1)
	base, wheel := s.model.BodyInertia[1][2], s.model.BodyInertia[2][2]
	if want := -wheel / (base + wheel); math.Abs(a[5]/a[6]-want) > 1e-5 {
		t.Errorf("the base turns by %v of the wheel, want %v", a[5]/a[6], want)
	}
	if want := 1 / (s.model.DofArmature[6] + wheel - wheel*wheel/(base+wheel)); math.Abs(a[6]-want) > 1e-5*want {
		t.Errorf("the joint accelerates by %v, want %v", a[6], want)
	}
}

// Constraints whose impedance is nearly 1, such as the contacts of most quadrupeds' feet, are as stiff as in float64: 1 - d
// is not a difference of rounded numbers.
func TestImpedancesNearOne(t *testing.T) {
	s := must.Get(NewSystem(compiled("accepted/go2"), Options{IgnorePairs: true}))
	l := lawOf(s, []int{0}, func(int) [2]float64 { return [2]float64{0.02, 1} },
		func(int) [5]float64 { return [5]float64{0.015, 1, 0.031, 0.5, 2} })
	var violations [][]float64
	for i := range 200 {
		violations = append(violations, []float64{float64(float32(-0.0002 * float64(i)))})
	}
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
		r := algebra.Num{Rows: 1, Node: graph.Reshape(in[0], -1)}
		return []*graph.Node{stiffnessOf(l.impedance(r), algebra.Constant(1, 1)).Matrix()}
	}, batchLast(violations))
	for i, got := range batchFirst(t, out[0]) {
		x := min(-violations[i][0]/0.031, 1)
		y := 2 * x * x
		if x > 0.5 {
			y = 1 - 2*(1-x)*(1-x)
		}
		d := 0.015 + y*(0.9999-0.015)
		if want := d / (1 - d); math.Abs(got[0]-want) > 2e-5*want {
			t.Errorf("at %g m the stiffness is %g, want %g", violations[i][0], got[0], want)
		}
	}
}

// The lowest rows of each column are selected in order. Of five and more contacts between spheres, the two deepest act:
// the accelerations are those of MuJoCo if only these pairs may touch.
func TestDeepestContactsAreSelected(t *testing.T) {
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.ConvertDType(lowest(in[0], 3), dtypes.Float32)}
	}, batchLast([][]float64{{3, -1, 2, -5, 0, 9, 8, 7, 6, 5, -2}, {1, 1, 4, 4, 4, 4, 4, 4, 4, 4, 0}}))
	if got := batchFirst(t, out[0]); !slices.Equal(got[0], []float64{3, 10, 1}) || !slices.Equal(got[1], []float64{10, 0, 1}) {
		t.Errorf("selected %v", got)
	}
	c := comparison{System: must.Get(NewSystem(compiled("accepted/own_spheres"), Options{LinkContacts: 2})),
		reference: must.Get(npz.Read("testdata/deepest_contacts.npz"))}
	q, v, want := c.rows("qpos"), c.rows("qvel"), c.rows("qacc")
	out = xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{c.Step(State{QPos: in[0], QVel: in[1], QAcc: graph.ZerosLike(in[1])}, nil, 1).QAcc}
	}, batchLast(q), batchLast(v))
	for i, got := range batchFirst(t, out[0]) {
		if off := distance(got, want[i]) / norm(want[i]); !(off < 1e-4) {
			t.Errorf("state %d: the accelerations are off by %.1e", i, off)
		}
	}
}

// If a link has many possible contacts with what cannot move, the deepest of all contacts act.
func TestManyContactsOfALink(t *testing.T) {
	few := must.Get(NewSystem(compiled("accepted/go2"), Options{IgnorePairs: true, worldContacts: 6}))
	acceleratesAsGolden(t, few, "go2")

	// One end of each finger is in the floor, and their links have references of their own.
	m := compiled("accepted/own_fingers")
	start := slices.Clone(m.QPos0)
	start[0] = 0.53
	var ends [2][]float64
	for i, s := range []*System{must.Get(NewSystem(m, Options{})), must.Get(NewSystem(m, Options{worldContacts: 1}))} {
		errtest.Equal(t, "visited", s.crowded, i == 1)
		out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
			none := graph.ZerosLike(in[1])
			return []*graph.Node{s.Step(State{QPos: in[0], QVel: none, QAcc: none}, in[2], 1).QAcc}
		}, batchLast([][]float64{start}), batchLast([][]float64{make([]float64, m.Sizes.NV)}),
			batchLast([][]float64{make([]float64, m.Sizes.NU)}))
		ends[i] = batchFirst(t, out[0])[0]
	}
	if off := distance(ends[0], ends[1]) / norm(ends[0]); !(off < 1e-4) || norm(ends[0]) < 1e3 {
		t.Errorf("accelerations of fingers are off by %.1e of %.1e", off, norm(ends[0]))
	}
}

// Where contacts between links have far more rows than there are dofs, the solver takes a dense matrix, and contacts with
// what cannot move are among the deepest.
func TestCrowdedContacts(t *testing.T) {
	for _, name := range []string{"own_turning_pyramidal", "own_turning"} {
		acceleratesAsGolden(t, must.Get(NewSystem(compiled("accepted/"+name), Options{crowded: true})), name)
	}
}

// acceleratesAsGolden compares the accelerations of a system under contacts with MuJoCo's.
func acceleratesAsGolden(t *testing.T, s *System, name string) {
	t.Helper()
	c := comparison{System: s, reference: must.Get(npz.Read("testdata/accepted/" + name + ".npz"))}
	var in []*tensors.Tensor
	for _, x := range []string{"touch_qpos", "touch_qvel", "touch_ctrl"} {
		in = append(in, batchLast(c.rows(x)))
	}
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
		start := State{QPos: in[0], QVel: in[1], QAcc: graph.ZerosLike(in[1])}
		return []*graph.Node{s.Step(start, in[2], 1).QAcc}
	}, in...)
	want := c.rows("touch_qacc")
	for i, got := range batchFirst(t, out[0]) {
		if off := distance(got, want[i]) / norm(want[i]); !(off < 1e-4) {
			t.Errorf("%s, state %d: the accelerations are off by %.1e", name, i, off)
		}
	}
}

// Of pairs of boxes the nearest are found, with all their contacts.
func TestNearestBoxesAreFound(t *testing.T) {
	s := must.Get(NewSystem(compiled("accepted/own_sliding"), Options{}))
	set := s.contacts[slices.IndexFunc(s.contacts, func(c *contactSet) bool { return c.boxes() })]
	set.near = 6
	random, states := rand.New(rand.NewPCG(1, 2)), make([][]float64, 20)
	for i := range states { // boxes near each other
		states[i] = slices.Clone(s.model.QPos0)
		for _, at := range s.model.JntQPosAdr {
			for k := range 7 {
				if states[i][at+k] = 0.25 * random.NormFloat64(); k >= 3 {
					states[i][at+k] = random.NormFloat64()
				}
			}
		}
	}
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
		k := s.kinematics(split(in[0], s.places), conditions{})
		f := s.found(k, s.collisions(k), &contactSet{parts: []*contactSet{set}})
		return []*graph.Node{s.collide(k, set).Distance.Minus(set.margin).Matrix(), f.Violation,
			graph.ConvertDType(f.Of, dtypes.Float32)}
	}, batchLast(states))
	all, found, rows := batchFirst(t, out[0]), batchFirst(t, out[1]), batchFirst(t, out[2])
	touching := 0
	for i, distances := range all {
		for at, row := range rows[i] {
			if got, want := found[i][at], distances[int(row)]; math.Abs(got-want) > 1e-6 {
				t.Errorf("state %d: contact %v is at %v, want %v", i, row, got, want)
			} else if want < 0 {
				touching++
			}
			distances[int(row)] = far
		}
		if len(rows[i]) != set.near*set.points || slices.Min(distances) < 0 {
			t.Errorf("state %d: %d contacts are found, and another is at %v", i, len(rows[i]), slices.Min(distances))
		}
	}
	if len(set.geoms) <= set.near || touching == 0 {
		t.Errorf("%d pairs, and %d contacts: this tests nothing", len(set.geoms), touching)
	}
	accelerations := func(s *System) [][]float64 {
		out := xlatest.Run(t, xlatest.Quick(t), func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{s.Step(State{QPos: in[0], QVel: in[1], QAcc: in[1]}, nil, 1).QAcc}
		}, batchLast(states), batchLast(slices.Repeat([][]float64{make([]float64, s.model.Sizes.NV)}, len(states))))
		return batchFirst(t, out[0])
	}
	want := accelerations(must.Get(NewSystem(s.model, Options{})))
	for i, got := range accelerations(s) {
		if off := distance(got, want[i]) / norm(want[i]); !(off < 1e-3) {
			t.Errorf("state %d: accelerations are off by %.1e", i, off)
		}
	}
}

// Where rounding alone keeps two centres apart, the normal is perpendicular to both axes, or along x if these are parallel.
func TestCentresThatCoincide(t *testing.T) {
	for axis, want := range [][]float64{{1, 0, 0}, {0, 0, 1}, {0, -1, 0}} { // by the second axis; the first is x
		out := xlatest.Run(t, xlatest.Best(t), func(in []*graph.Node) (out []*graph.Node) {
			radius := algebra.Constant(1, 0.02)
			n := balls(zeroVector(1), vectorFrom(in[0], 0), unit(1, 0), unit(1, axis), radius, radius).normal
			return []*graph.Node{graph.Stack([]*graph.Node{n.X.Node, n.Y.Node, n.Z.Node}, 0)}
		}, batchLast([][]float64{{0, 0, 0}, {2e-8, -4e-8, 1e-8}}))
		for _, got := range batchFirst(t, out[0]) {
			if distance(got, want) > 1e-6 {
				t.Errorf("axes x and %c: normal %v, want %v", "xyz"[axis], got, want)
			}
		}
	}
}

// A cylinder that stands on a plane, all but upright, touches it at three points of the rim of its cap.
func TestStandingCylinder(t *testing.T) {
	const radius, half = 0.1, 0.2
	set := &contactSet{sizes: [2]algebra.Vector{{}, algebra.Vectors([3]float64{radius, half, 0})}}
	tilts := []float64{0, 3e-6, 1e-5, 2e-4, 0.01}
	var states [][]float64
	for _, tilt := range tilts {
		sine, cosine := math.Sincos(tilt)
		x, z := []float64{cosine, 0, -sine}, []float64{sine, 0, cosine}
		states = append(states, slices.Concat(x, []float64{0, 1, 0}, z))
	}
	out := xlatest.Run(t, xlatest.Best(t), func(in []*graph.Node) []*graph.Node {
		flat := place{zeroVector(1), algebra.Rotation{X: unit(1, 0), Y: unit(1, 1), Z: unit(1, 2)}}
		turn := algebra.Rotation{X: vectorFrom(in[0], 0), Y: vectorFrom(in[0], 3), Z: vectorFrom(in[0], 6)}
		var all []*graph.Node
		for _, x := range planeCylinder(set, flat, place{algebra.Vectors([3]float64{0, 0, half}), turn}) {
			all = append(all, x.distance.Node)
		}
		return []*graph.Node{graph.Stack(all, 0)}
	}, batchLast(states))
	for i, got := range batchFirst(t, out[0]) {
		sine, cosine := math.Sincos(tilts[i])
		for point, share := range map[int]float64{0: 1, 2: -0.5, 3: -0.5} {
			if want := half - half*cosine - share*radius*sine; math.Abs(got[point]-want) > 1e-7 {
				t.Errorf("tilt %g: point %d is %g m above the plane, want %g", tilts[i], point, got[point], want)
			}
		}
	}
}

// The second contact of a capsule over the edge of a box exists where the axis is perpendicular to the edge, even if its
// component is -0, of which the pure Go backend keeps the sign.
func TestCapsuleAcrossAnEdge(t *testing.T) {
	set := &contactSet{sizes: [2]algebra.Vector{algebra.Vectors([3]float64{0.012, 0.02, 0}),
		algebra.Vectors([3]float64{0.03, 0.02, 0.04})}}
	var states [][]float64
	for _, along := range []float64{1e-9, 0, math.Copysign(0, -1)} {
		states = append(states, []float64{0.01, 0.028, 0.042, along, -0.8, 0.6})
	}
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*graph.Node) []*graph.Node {
		flat := algebra.Rotation{X: unit(1, 0), Y: unit(1, 1), Z: unit(1, 2)}
		capsule := place{vectorFrom(in[0], 0), algebra.Rotation{X: unit(1, 0), Y: unit(1, 1), Z: vectorFrom(in[0], 3)}}
		touches := capsuleBox(set, capsule, place{zeroVector(1), flat})
		return []*graph.Node{graph.Stack([]*graph.Node{touches[0].distance.Node, touches[1].distance.Node}, 0)}
	}, batchLast(states))
	for i, got := range batchFirst(t, out[0]) {
		if want := []float64{-0.0056, 0.002}; !(distance(got, want) < 1e-6) {
			t.Errorf("component %g: distances %v, want %v", states[i][3], got, want)
		}
	}
}

// vectorFrom is a vector whose components are rows of an input from a given one on.
func vectorFrom(in *graph.Node, first int) algebra.Vector {
	row := func(i int) algebra.Num {
		return algebra.Num{Rows: 1, Node: graph.Reshape(xla.Row(in, graph.Const(in.Graph(), int32(first+i))), -1)}
	}
	return algebra.Vector{X: row(0), Y: row(1), Z: row(2)}
}

// A capsule whose axis passes through a cylinder, even barely, is pushed out by the shortest way: through the lateral
// surface, an end or a rim.
func TestCapsuleWhoseAxisIsWithinACylinder(t *testing.T) {
	const radius, half, ball = 0.1, 0.06, 0.02
	c := &contactSet{sizes: [2]algebra.Vector{algebra.Vectors([3]float64{ball, 0.2, 0}),
		algebra.Vectors([3]float64{radius, half, 0})}}
	// way is how far a capsule must move along a unit vector to leave the cylinder.
	way := func(state, d []float64) float64 {
		most := radius*math.Hypot(d[0], d[1]) + half*math.Abs(d[2])
		dot := func(v []float64) float64 { return v[0]*d[0] + v[1]*d[1] + v[2]*d[2] }
		return most - dot(state[:3]) + math.Abs(dot(state[3:]))
	}
	random := rand.New(rand.NewPCG(1, 2))
	direction := func(about []float64, spread float64) []float64 {
		d := slices.Clone(about)
		for i := range d {
			d[i] += spread * random.NormFloat64()
		}
		size := norm(d)
		return []float64{d[0] / size, d[1] / size, d[2] / size}
	}
	var states [][]float64
	var shortest []float64
	for len(states) < 60 {
		state := []float64{0.1 * random.NormFloat64(), 0.1 * random.NormFloat64(), 0.1 * random.NormFloat64()}
		for _, x := range direction([]float64{0, 0, 0}, 1) {
			state = append(state, 0.2*x)
		}
		best := []float64{0, 0, 1}
		for k := range 3000 { // everywhere, then about the best one
			about, spread := []float64{0, 0, 0}, 1.0
			if k > 500 {
				about, spread = best, math.Exp(-float64(k-500)/220)
			}
			if d := direction(about, spread); way(state, d) < way(state, best) {
				best = d
			}
		}
		if depth := way(state, best); depth > 1e-5 && (len(states) > 30 || depth < 0.003) {
			states, shortest = append(states, state), append(shortest, depth)
		}
	}
	out := xlatest.Run(t, xlatest.Best(t), func(in []*graph.Node) []*graph.Node {
		n := nearCylinder(c, vectorFrom(in[0], 0), vectorFrom(in[0], 3))
		return []*graph.Node{graph.Stack([]*graph.Node{n.distance.Node, n.normal.X.Node, n.normal.Y.Node, n.normal.Z.Node}, 0)}
	}, batchLast(states))
	for i, got := range batchFirst(t, out[0]) {
		by := way(states[i], []float64{-got[1], -got[2], -got[3]})
		if depth := -got[0] - ball; math.Abs(depth-by) > 1e-6 || depth > shortest[i]+1e-5 {
			t.Errorf("state %d: the depth is %v, along the normal %v, want at most %v", i, depth, by, shortest[i])
		}
	}
}

// Where edges of boxes that are nearly parallel cross, MuJoCo's contacts are to 1e-3 of the boxes' size.
func TestCrossingsOfBoxesThatAreNearlyAligned(t *testing.T) {
	set := &contactSet{sizes: [2]algebra.Vector{algebra.Vectors([3]float64{1, 1, 1}), algebra.Vectors([3]float64{1, 1, 1})}}
	set.margin = algebra.Constant(1, 0)
	// A position, and the axes of a box by the quaternion 1 9.5e-5 -1.3e-5 -1.55e-4.
	pose := []float64{-0.000143067169, -3.62626379e-05, 2.00002027, 1, -3.0972601e-4, 2.580658e-5, 3.0972111e-4, 1, 1.9017e-4,
		-2.586548e-5, -1.9016193e-4, 1}
	out := xlatest.Run(t, xlatest.Best(t), func(in []*graph.Node) []*graph.Node {
		turn := algebra.Rotation{X: vectorFrom(in[0], 3), Y: vectorFrom(in[0], 6), Z: vectorFrom(in[0], 9)}
		var all []*graph.Node
		for _, x := range boxes(set, place{zeroVector(1), algebra.Rotation{X: unit(1, 0), Y: unit(1, 1), Z: unit(1, 2)}},
			place{vectorFrom(in[0], 0), turn}) {
			all = append(all, x.distance.Node, x.point.X.Node, x.point.Y.Node)
		}
		return []*graph.Node{graph.Stack(all, 0)}
	}, batchLast([][]float64{pose}))
	got := batchFirst(t, out[0])[0]
	for _, want := range [][]float64{{-1.956825e-4, -1, -0.999536}, {-1.570585e-4, 0.496674, -1},
		{-1.440508e-4, 0.999573, -1}} {
		if !slices.ContainsFunc(lists.Indices(len(got)/3), func(i int) bool { return distance(got[3*i:3*i+3], want) < 1e-3 }) {
			t.Errorf("no contact is at %v", want)
		}
	}
}

// Damping that is thousands of times what the inertia resists in a step leaves the speed at which it equals the force.
func TestStrongDamping(t *testing.T) {
	m := lawModel("slides")
	m.Opt.Gravity = [3]float64{3, 0, 0}
	last := m.Sizes.NV - 1
	m.DofDamping[last] = 1e6
	_, v, _ := roll(t, must.Get(NewSystem(m, Options{})), m.QPos0, make([]float64, m.Sizes.NV), nil, 1)
	h, mass := m.Opt.TimeStep, m.BodyMass[m.Sizes.NBody-1]
	want := h * 3 / (1 + h*m.DofDamping[last]/mass)
	if e := math.Abs(v[last]/want - 1); e > 1e-6 {
		t.Errorf("the speed is %g m/s, want %g: an error of %.1e", v[last], want, e)
	}
}
