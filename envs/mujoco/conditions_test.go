package mujoco

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
)

// Under conditions a system moves as the model with these numbers changed.
func TestConditionsAreOtherModels(t *testing.T) {
	const mass, friction, gain, damping, armature, gravity, strength = 1.7, 0.6, 1.3, 2.5, 0.4, 0.8, 0.5
	shift := [3]float64{0.03, -0.02, 0.05}
	for name, of := range map[string]struct {
		body   string // whose mass and centre change
		raised float64
		steps  int
	}{"gym_ant": {"aux_1", 0.3 - 0.75, 3}, "own_servo": {"b", 0, 20}} {
		t.Run(name, func(t *testing.T) {
			plain := must.Get(NewSystem(accepted(t, name), Options{IgnorePairs: true}))
			plain.parted = true // so that parts are told the conditions, too
			m := accepted(t, name)
			for b, part := range plain.BodyNames() {
				if part != of.body {
					continue
				}
				m.BodyMass[b] *= mass
				for axis := range shift {
					m.BodyInertia[b][axis] *= mass
					m.BodyIPos[b][axis] += shift[axis]
				}
				m.BodyInvweight0[b][0] /= mass
				for dof := range m.DofInvweight0 {
					if m.DofBodyID[dof] == b {
						m.DofInvweight0[dof] /= mass
					}
				}
			}
			for g := range m.GeomFriction {
				m.GeomFriction[g][0] *= friction
			}
			for a := range m.ActuatorGainPrm {
				for i := range 3 {
					m.ActuatorGainPrm[a][i] *= gain * strength
					m.ActuatorBiasPrm[a][i] *= gain * strength
				}
				m.ActuatorForceRange[a][0] *= strength
				m.ActuatorForceRange[a][1] *= strength
			}
			for dof := range m.DofDamping {
				m.DofDamping[dof] *= damping
				m.DofArmature[dof] *= armature
			}
			m.Opt.Gravity[2] *= gravity
			changed := must.Get(NewSystem(m, Options{IgnorePairs: true}))
			draw := rand.New(rand.NewPCG(1, 2))
			const copies = 3
			var q, v, u [][]float64
			for range copies {
				q, v, u = append(q, append([]float64{}, m.QPos0...)), append(v, make([]float64, m.Sizes.NV)),
					append(u, make([]float64, m.Sizes.NU))
				last := len(q) - 1
				if of.raised != 0 {
					q[last][2] += of.raised
				}
				for _, list := range [][]float64{v[last], u[last]} {
					for i := range list {
						list[i] = 0.5 * draw.NormFloat64()
					}
				}
			}
			touching := false
			out := xlatest.Run(t, xlatest.Quick(t), func(in []*Node) []*Node {
				by := func(x float64) *Node {
					return BroadcastToDims(Const(in[0].Graph(), float32(x)), copies)
				}
				under := algebra.Conditions{Gravity: by(gravity), Strength: MulScalar(OnesLike(in[2]), strength),
					Mass:     []algebra.Change{{Of: of.body, By: by(mass)}},
					Center:   []algebra.Offset{{Of: of.body, By: [3]*Node{by(shift[0]), by(shift[1]), by(shift[2])}}},
					Friction: []algebra.Change{{By: by(friction)}}, Gain: []algebra.Change{{By: by(gain)}},
					Damping: []algebra.Change{{By: by(damping)}}, Armature: []algebra.Change{{By: by(armature)}}}
				start := State{QPos: in[0], QVel: in[1], QAcc: ZerosLike(in[1])}
				a, b := plain.step(start, in[2], of.steps, under), changed.Step(start, in[2], of.steps)
				c := plain.Step(start, in[2], of.steps)
				before := plain.Of(start)
				before.Under = under
				one, other := plain.CenterOfMass(before), changed.CenterOfMass(changed.Of(start))
				return []*Node{Concatenate([]*Node{a.QPos, a.QVel, Stack(one[:], 0)}, 0),
					Concatenate([]*Node{b.QPos, b.QVel, Stack(other[:], 0)}, 0), Concatenate([]*Node{c.QPos, c.QVel}, 0)}
			}, batchLast(q), batchLast(v), batchLast(u))
			got, want, nominal := batchFirst(t, out[0]), batchFirst(t, out[1]), batchFirst(t, out[2])
			for i := range got {
				if off := distance(got[i], want[i]) / norm(want[i]); off > 3e-4 {
					t.Errorf("copy %d is %.1e off", i, off)
				} else if same := distance(nominal[i], want[i][:len(nominal[i])]) / norm(want[i]); same < 0.02 {
					t.Errorf("the conditions change copy %d only by %.1e", i, same)
				} else {
					t.Logf("copy %d is %.1e off, of a change of %.1e", i, off, same)
				}
				touching = touching || want[i][2] < 1
			}
			errtest.Equal(t, "something touches the floor", touching, true)
		})
	}
}

// ground is the spheres of a model on a terrain.
func ground(t *testing.T, terrain Terrain) *System { return must.Get(grounded(t, terrain)) }

func grounded(t *testing.T, terrain Terrain) (*System, error) {
	return NewSystem(accepted(t, "own_spheres"), Options{Terrain: &terrain,
		Contacts: [][2]string{{"floor", "a"}, {"floor", "b"}, {"floor", "c"}}})
}

// A terrain is a grid of finite heights.
func TestTerrainErrors(t *testing.T) {
	for want, terrain := range map[string]Terrain{
		"cells of a width above 0":   {Cell: math.Inf(1), Heights: [][]float64{{0}}},
		"at least one height":        RoughGround(-1, 0.1, 1, 0),
		"make Cell larger":           {Cell: 0.02, Heights: [][]float64{{0}}},
		"the same length":            {Cell: 1, Heights: [][]float64{{0}, {0, 0}}},
		"height NaN m: it must be":   {Cell: 1, Heights: [][]float64{{0, math.NaN()}}},
		"height -Inf m: it must be ": {Cell: 1, Heights: [][]float64{{math.Inf(-1)}}},
	} {
		errtest.Want(t, errtest.Of(grounded(t, terrain)), want)
	}
}

// Balls rest on the height of their cell, and lean against a step that they roll to. A capsule lies across a step.
func TestTerrain(t *testing.T) {
	s := ground(t, Terrain{Cell: 1, Heights: [][]float64{{0, 0.1, 0}, {0.2, 0.3, 0.1}, {0, 0.05, 0.4}}})
	q, v := append([]float64{}, s.model.QPos0...), make([]float64, s.model.Sizes.NV)
	place := func(ball int, x, y float64) { q[7*ball], q[7*ball+1], q[7*ball+2] = x, y, 5 }
	place(0, 0.1, -0.2)                            // the cell in the middle: 0.3 m
	place(1, -2.8, 0.7)                            // beyond the edge, as the cell of (0, 2): 0
	place(2, 1.2, -0.5)                            // across the step between (2, 0) and (2, 1): 0 and 0.05 m
	q[17], q[18] = math.Sqrt(0.5), -math.Sqrt(0.5) // along y
	out := xlatest.Run(t, xlatest.Best(t), func(in []*Node) []*Node {
		landed := s.Land(s.Of(State{QPos: in[0], QVel: in[1], QAcc: in[1]}))
		rest := s.Step(s.State(landed), nil, 500)
		pushed := s.Push(s.Of(rest), "a", [3]*Node{OnesLike(Reshape(Slice(in[0], AxisRange(0, 1)), -1)),
			MulScalar(OnesLike(Reshape(Slice(in[0], AxisRange(0, 1)), -1)), 0.5),
			ZerosLike(Reshape(Slice(in[0], AxisRange(0, 1)), -1))})
		return []*Node{landed.Parts[0], rest.QPos, Sub(pushed.Parts[1], rest.QVel)}
	}, batchLast([][]float64{q}), batchLast([][]float64{v}))
	landed, rest, jump := batchFirst(t, out[0])[0], batchFirst(t, out[1])[0], batchFirst(t, out[2])[0]
	for ball, want := range []float64{0.3 + 0.1, 0.12} {
		if z := landed[7*ball+2]; math.Abs(z-want) > 1e-5 {
			t.Errorf("ball %d lands at %.4f m, want %.4f", ball, z, want)
		}
		if z := rest[7*ball+2]; math.Abs(z-want) > 2e-3 || math.Abs(rest[7*ball]-q[7*ball]) > 1e-3 {
			t.Errorf("ball %d rests at %.4f m, want %.4f", ball, rest[7*ball:7*ball+3], want)
		}
	}
	if apart := math.Hypot(rest[15]+0.51128, rest[16]-0.11907); apart > 1e-4 { // where it is in MuJoCo, with boxes
		t.Errorf("the capsule rests at %.5f m", rest[14:17])
	}
	for i, x := range jump {
		if want := append([]float64{1, 0.5}, make([]float64, len(jump))...)[i]; math.Abs(x-want) > 1e-6 {
			t.Errorf("a push changes velocity %d by %g, want %g", i, x, want)
		}
	}
}

// A ball that rolls against a step stays before it, or climbs it if it is fast, as in MuJoCo.
func TestSteps(t *testing.T) {
	heights := make([][]float64, 8)
	for i := range heights {
		heights[i] = []float64{0, 0}
		if i >= 4 { // x > 0
			heights[i] = []float64{0.05, 0.05}
		}
	}
	s := ground(t, Terrain{Cell: 0.5, Heights: heights})
	var q, v [][]float64
	for _, speed := range []float64{0.3, 3} {
		q, v = append(q, append([]float64{}, s.model.QPos0...)), append(v, make([]float64, s.model.Sizes.NV))
		i := len(q) - 1
		q[i][0], q[i][1], q[i][2] = -0.3, 0.1, 0.1
		v[i][0], v[i][4] = speed, speed/0.1 // rolls
	}
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*Node) []*Node {
		return []*Node{s.Step(State{QPos: in[0], QVel: in[1], QAcc: ZerosLike(in[1])}, nil, 500).QPos}
	}, batchLast(q), batchLast(v))
	slow, fast := batchFirst(t, out[0])[0], batchFirst(t, out[0])[1]
	// Where they are in MuJoCo, with boxes: the slow one rolls back down, the fast one jumps.
	xlatest.Close(t, "the slow ball", []float32{float32(slow[0]), float32(slow[2])}, []float32{-0.0832, 0.1055}, 2e-3)
	xlatest.Close(t, "the fast ball", []float32{float32(fast[0]), float32(fast[2])}, []float32{0.9409, 0.7939}, 2e-3)
}

// accepted reads a model of testdata/accepted.
func accepted(t *testing.T, name string) Model {
	t.Helper()
	file := must.Get(os.Open("testdata/accepted/" + name + "_model.json"))
	defer file.Close()
	return must.Get(ReadModel(file))
}

// What an accelerometer shows is the rate at which the velocity of its site changes, less gravity: on a tumbling
// ant, for a body and a site in another place of a link.
func TestAccelerometer(t *testing.T) {
	m := accepted(t, "gym_ant")
	m.Opt.TimeStep = 2e-4
	m.Names.Site, m.SiteBodyID = []string{"sole"}, []int{4} // of the first ankle
	m.SitePos, m.SiteQuat = [][3]float64{{0.2, 0.1, -0.3}}, [][4]float64{{0.5, 0.5, -0.5, 0.5}}
	m.Sizes.NSite = 1
	s := must.Get(NewSystem(m, Options{Contacts: [][2]string{}}))
	draw := rand.New(rand.NewPCG(1, 2))
	q, v, u := append([]float64{}, m.QPos0...), make([]float64, m.Sizes.NV), make([]float64, m.Sizes.NU)
	for i := range q[7:] {
		q[7+i] += 0.2 * draw.NormFloat64()
	}
	for _, list := range [][]float64{v, u} {
		for i := range list {
			list[i] = draw.NormFloat64()
		}
	}
	names := []string{"torso", "aux_1", "sole"}
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) (out []*Node) {
		before := s.Of(State{QPos: in[0], QVel: in[1], QAcc: ZerosLike(in[1])})
		after := s.Of(s.Step(s.State(before), in[2], 1))
		for _, name := range names {
			a := s.Acceleration(before, in[2], name)
			f, g := s.Frame(before, name), s.Frame(after, name)
			var rate [3]*Node
			for i := range rate {
				rate[i] = DivScalar(Sub(g.Velocity[i], f.Velocity[i]), m.Opt.TimeStep)
			}
			out = append(out, Stack(a[:], 0), Stack(rate[:], 0))
		}
		return out
	}, batchLast([][]float64{q}), batchLast([][]float64{v}), batchLast([][]float64{u}))
	for i, name := range names {
		a, rate := batchFirst(t, out[2*i])[0], batchFirst(t, out[2*i+1])[0]
		rate[2] += 9.81
		if off := distance(a, rate); off > 0.01*norm(rate) {
			t.Errorf("the accelerometer of %s shows %.3f, but the velocity changes by %.3f", name, a, rate)
		}
	}
}

// Contact forces carry the weight of bodies at rest, also on a slope that is less than their friction, and where the
// deepest contacts are selected.
func TestContactForces(t *testing.T) {
	level := lawSystem("sliding")
	m := level.model
	m.Opt.Gravity = [3]float64{2, 0, -9.81}
	few := must.Get(NewSystem(m, Options{crowded: true, LinkContacts: 1, worldContacts: 11}))
	if set := few.selected[0]; set.rows >= set.margin.Rows {
		t.Error("no contacts are selected")
	}
	crowded := must.Get(NewSystem(m, Options{crowded: true}))
	flat := must.Get(NewSystem(m, Options{Terrain: &Terrain{Cell: 1, Heights: [][]float64{{0}}}}))
	for _, s := range []*System{level, must.Get(NewSystem(m, Options{})), few, crowded, flat} {
		out := xlatest.Run(t, xlatest.Quick(t), func(in []*Node) (out []*Node) {
			rest := s.Of(s.Step(State{QPos: in[0], QVel: in[1], QAcc: in[1]}, nil, 300))
			for _, body := range []string{"one", "four", "eight"} {
				forces := s.ContactForce(rest, nil, body)
				out = append(out, Stack(forces[:], 0))
			}
			return out
		}, batchLast([][]float64{m.QPos0}), batchLast([][]float64{make([]float64, m.Sizes.NV)}))
		for i := range out {
			got, mass := batchFirst(t, out[i])[0], m.BodyMass[1+i]
			want := []float64{-s.model.Opt.Gravity[0] * mass, 0, 9.81 * mass}
			allowed := 2e-3 * mass
			if s == few { // of 13 contacts 12 act, in turns
				allowed = 0.05 * mass
			}
			if distance(got, want) > allowed {
				t.Errorf("body %d: the floor pushes with %.4f N, want %.4f", i+1, got, want)
			}
		}
	}
}

// A robot that lands touches the plane with its lowest geom.
func TestLand(t *testing.T) {
	s := lawSystem("sliding")
	q := append([]float64{}, s.model.QPos0...)
	q[4] += 0.3 // the height of the box on four contacts
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) (out []*Node) {
		state := s.Land(s.Of(State{QPos: in[0], QVel: in[1], QAcc: in[1]}))
		k := s.kinematics(split(state.Parts[0], s.places), conditions{})
		for _, set := range s.contacts {
			out = append(out, s.collide(k, set).Distance.Matrix())
		}
		return append(out, state.Parts[0])
	}, batchLast([][]float64{q}), batchLast([][]float64{make([]float64, s.model.Sizes.NV)}))
	least := map[int]float64{}
	for i, set := range s.contacts {
		for row, distance := range batchFirst(t, out[i])[0] {
			body := s.model.GeomBodyID[set.geoms[row%len(set.geoms)][1]]
			if old, ok := least[body]; !ok || distance < old {
				least[body] = distance
			}
		}
	}
	if math.Abs(least[2]) > 1e-6 || math.Abs(least[3]) > 1e-6 {
		t.Errorf("above the floor: %v", least)
	}
	if now := batchFirst(t, out[len(out)-1])[0]; math.Abs(now[1]-q[1]) > 1e-7 {
		t.Error("a body that slides was moved")
	}
}
