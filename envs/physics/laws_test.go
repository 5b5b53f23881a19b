package physics_test

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// coordinates holds the coordinates of B copies of a system, [B][bodies], as in Brax's QP.
type coordinates struct{ pos, rot, vel, ang *tensors.Tensor }

// at puts bodies of one copy at positions, upright and at rest, then lets change set more.
func at(bodies int, change func(pos, rot, vel, ang []float32)) coordinates {
	pos, rot, vel, ang := make([]float32, 3*bodies), make([]float32, 4*bodies),
		make([]float32, 3*bodies), make([]float32, 3*bodies)
	for i := range bodies {
		rot[4*i] = 1
	}
	change(pos, rot, vel, ang)
	return load([4][]float32{pos, rot, vel, ang}, bodies)
}

// posed is a state made from joint angles and velocities (nil: 0), [Angles][B].
func posed(t *testing.T, s *physics.System, angles, velocities []float32) coordinates {
	t.Helper()
	if velocities == nil {
		velocities = make([]float32, len(angles))
	}
	batch := len(angles) / s.Angles()
	out := xlatest.Run(t, xlatest.Quick(t), func(in []*Node) []*Node {
		pos, rot, vel, ang := s.Export(s.Pose(in[0], in[1]))
		return []*Node{pos, rot, vel, ang}
	}, xlatest.Tensor(angles, s.Angles(), batch), xlatest.Tensor(velocities, s.Angles(), batch))
	return coordinates{out[0], out[1], out[2], out[3]}
}

// flat returns positions, rotations, velocities and angular velocities, [B * bodies * components] each.
func (c coordinates) flat(t *testing.T) (flat [4][]float32) {
	t.Helper()
	for i, array := range []*tensors.Tensor{c.pos, c.rot, c.vel, c.ang} {
		flat[i] = xlatest.Flat[float32](t, array)
	}
	return flat
}

// load is the inverse of flat.
func load(flat [4][]float32, bodies int) coordinates {
	batch := len(flat[0]) / bodies / 3
	return coordinates{xlatest.Tensor(flat[0], batch, bodies, 3), xlatest.Tensor(flat[1], batch, bodies, 4),
		xlatest.Tensor(flat[2], batch, bodies, 3), xlatest.Tensor(flat[3], batch, bodies, 3)}
}

func system(t *testing.T, m physics.Model) *physics.System {
	return must.Get(physics.NewSystem(m))
}

// run advances a state by control steps under constant actions [Actions][B] and returns positions,
// rotations, velocities and angular velocities, [B * bodies * components] each.
func run(t *testing.T, p *xla.Platform, s *physics.System, c coordinates, actions []float32, steps int) [4][]float32 {
	t.Helper()
	batch := c.pos.Shape().Dimensions[0]
	inputs := []*tensors.Tensor{c.pos, c.rot, c.vel, c.ang}
	if s.Actions() > 0 {
		inputs = append(inputs, xlatest.Tensor(actions, s.Actions(), batch))
	}
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		type running struct {
			State  physics.State
			Action *Node
		}
		r := running{State: s.Import(in[0], in[1], in[2], in[3])}
		if s.Actions() > 0 {
			r.Action = in[4]
		} else {
			r.Action = Zeros(in[0].Graph(), in[0].Shape())
		}
		r = xla.For(in[0].Graph(), steps, r, func(_ *Node, r running) running {
			action := r.Action
			if s.Actions() == 0 {
				action = nil
			}
			r.State, _ = s.Step(r.State, action)
			return r
		})
		pos, rot, vel, ang := s.Export(r.State)
		return []*Node{pos, rot, vel, ang}
	}, inputs...)
	return coordinates{out[0], out[1], out[2], out[3]}.flat(t)
}

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > tolerance {
		t.Errorf("%s is %g, want %g +- %g", what, got, want, tolerance)
	}
}

var dynamics = map[string]physics.Dynamics{"spring": physics.Spring, "position based": physics.PositionBased}

// both runs a test in both dynamics.
func both(t *testing.T, test func(t *testing.T, d physics.Dynamics)) {
	for name, d := range dynamics {
		t.Run(name, func(t *testing.T) { test(t, d) })
	}
}

func ball(d physics.Dynamics) physics.Model {
	m := physics.Model{
		Dynamics: d, TimeStep: 0.05, Substeps: 10, Gravity: physics.Vec{0, 0, -9.8},
		Bodies: []physics.Body{
			{Name: "ball", Mass: 2, Colliders: []physics.Collider{{Radius: 0.25, Length: 0.5, End: 1, Friction: 1}}},
			{Name: "ground", Fixed: true, Colliders: []physics.Collider{{Shape: physics.Plane, Friction: 1}}},
		},
		Collide: [][2]string{{"ball", "ground"}},
	}
	if d == physics.Spring {
		m.Baumgarte = 0.1
	}
	return m
}

// A body falls as semi-implicit Euler predicts, whatever its mass. Doubling gravity doubles the fall.
func TestFreeFall(t *testing.T) {
	both(t, func(t *testing.T, d physics.Dynamics) {
		fall := func(gravity float64) (float64, float64) {
			m := ball(d)
			m.Gravity[2] = -gravity
			out := run(t, xlatest.Quick(t), system(t, m), at(2, func(pos, _, vel, _ []float32) { pos[2], vel[0] = 10, 3 }), nil, 10)
			near(t, "x", float64(out[0][0]), 1.5, 1e-2)
			return 10 - float64(out[0][2]), -float64(out[2][2])
		}
		const n, h = 100, 0.005
		ends := map[physics.Dynamics]float64{physics.Spring: n - 1, physics.PositionBased: n + 1}
		drop, speed := fall(9.8)
		near(t, "speed", speed, 9.8*n*h, 5e-3)
		near(t, "drop", drop, 9.8*h*h*n*ends[d]/2, 5e-3)
		double, _ := fall(19.6)
		near(t, "drop under twice the gravity", double, 2*drop, 1e-2)
	})
}

// A ball on the ground stays there.
func TestRest(t *testing.T) {
	both(t, func(t *testing.T, d physics.Dynamics) {
		out := run(t, xlatest.Quick(t), system(t, ball(d)), at(2, func(pos, _, _, _ []float32) { pos[2] = 0.25 }), nil, 100)
		near(t, "x", float64(out[0][0]), 0, 1e-5)
		near(t, "height", float64(out[0][2]), 0.25, 2e-3)
		// the contact cancels a substep's gravity in the same substep or in the next
		near(t, "speed", float64(out[2][2]), 0, 0.06)
	})
}

// A sphere meets a plane once, whichever of its ends collide, as in Brax.
func TestASphereHasOneEnd(t *testing.T) {
	for name, d := range dynamics {
		end := func(end int) [4][]float32 {
			m := ball(d)
			m.Bodies[0].Colliders[0].End = end
			for i := range m.Bodies {
				m.Bodies[i].Colliders[0].Elastic = 0.9
			}
			return run(t, xlatest.Pure(t), system(t, m), at(2, func(pos, _, vel, _ []float32) {
				pos[2], vel[0], vel[2] = 0.3, 10, -1
			}), nil, 4)
		}
		got, want := end(0), end(1)
		for k, component := range []string{"position", "rotation", "velocity", "angular velocity"} {
			xlatest.Close(t, name+": "+component, got[k], want[k], 0)
		}
	}
}

// pendulum hangs a bob from a fixed body.
func pendulum(d physics.Dynamics, length float64) physics.Model {
	return physics.Model{
		Dynamics: d, TimeStep: 0.01, Substeps: 20, Gravity: physics.Vec{0, 0, -9.8},
		Bodies: []physics.Body{{Name: "pivot", Fixed: true},
			{Name: "bob", Mass: 1, Inertia: physics.Vec{0.01, 0.01, 0.01}}},
		Joints: []physics.Joint{{
			Name: "hinge", Parent: "pivot", Child: "bob", ChildOffset: physics.Vec{0, 0, length},
			Rotation: physics.Vec{0, 0, 90},
			Limits:   [][2]float64{{-170, 170}}, Stiffness: 20000, SpringDamping: 10,
		}},
		Pose: map[string]physics.Vec{"pivot": {0, 0, 5}},
	}
}

// A physical pendulum passes its lowest point after a quarter of its period, 2 pi sqrt((I + m l^2) / (m g l)).
func TestPendulumPeriod(t *testing.T) {
	const length, angle = 1.0, 0.1
	both(t, func(t *testing.T, d physics.Dynamics) {
		m := pendulum(d, length)
		m.Pose["pivot"] = physics.Vec{0, 0, length} // the bob swings near 0, where positions have digits for its small steps
		s := system(t, m)
		period := 2 * math.Pi * math.Sqrt((0.01+length*length)/(9.8*length))
		start := at(2, func(pos, rot, _, _ []float32) {
			pos[2] = length
			pos[3], pos[5] = float32(-length*math.Sin(angle)), float32(length-length*math.Cos(angle))
			rot[4], rot[6] = float32(math.Cos(angle/2)), float32(math.Sin(angle/2)) // about y
		})
		sway := func(share float64) float64 {
			out := run(t, xlatest.Quick(t), s, start, nil, int(math.Round(share*period/0.01)))
			near(t, "pivot", float64(out[0][2]), length, 0)
			return float64(out[0][3])
		}
		amplitude := length * math.Sin(angle)
		near(t, "x after a quarter of a period", sway(0.25)/amplitude, 0, 0.06)
		near(t, "x after half a period", sway(0.5)/amplitude, 1, 0.06)
	})
}

// A fixed body without a mass is as heavy as any: a heavy bob hangs from it as from a mountain.
func TestImmovablePivot(t *testing.T) {
	both(t, func(t *testing.T, d physics.Dynamics) {
		hang := func(pivot physics.Body) float64 {
			m := pendulum(d, 1)
			m.Bodies[0], m.Bodies[1].Mass = pivot, 10
			return float64(run(t, xlatest.Quick(t), system(t, m), at(2, func(pos, _, _, _ []float32) {
				pos[2], pos[5] = 5, 4
			}), nil, 100)[0][5])
		}
		got := hang(physics.Body{Name: "pivot", Fixed: true})
		want := hang(physics.Body{Name: "pivot", Fixed: true, Mass: 1e9, Inertia: physics.Vec{1e9, 1e9, 1e9}})
		near(t, "height", got, want, 1e-5)
		near(t, "height", got, 4, 0.02)
	})
}

// The system keeps what the model was when it was made, and hands out copies.
func TestSystemCopiesItsModel(t *testing.T) {
	build := func() physics.Model {
		m := pendulum(physics.Spring, 1)
		m.Angles = map[string]physics.Vec{"hinge": {10}}
		return m
	}
	given := build()
	s := system(t, given)
	for _, m := range []physics.Model{given, s.Model()} {
		m.Angles["hinge"], m.Pose["pivot"], m.Bodies[1].Mass = physics.Vec{20}, physics.Vec{}, 9
		m.Joints[0].Limits[0][1] = 90
		errtest.Equal(t, "the model", s.Model(), build())
	}
}

// Without gravity and contacts, actuators do not move the centre of mass.
func TestMomentum(t *testing.T) {
	both(t, func(t *testing.T, d physics.Dynamics) {
		m := robots.Ant(d)
		m.Gravity, m.Collide = physics.Vec{}, nil
		for i := range m.Bodies {
			m.Bodies[i].Visual = true
		}
		s := system(t, m)
		start := posed(t, s, []float32{0, 0.9, 0.1, -0.9, 0, -0.8, -0.1, 0.7}, nil)
		out := run(t, xlatest.Quick(t), s, start, []float32{1, -1, 0.5, 0.3, -1, 1, 0.2, -0.7}, 5)
		moved := 0.0
		for axis := range 3 {
			total := 0.0
			for i, b := range m.Bodies {
				if !b.Fixed {
					total += b.Mass * float64(out[2][3*i+axis])
					moved = max(moved, math.Abs(float64(out[2][3*i+axis])))
				}
			}
			near(t, "momentum", total, 0, 2e-3)
		}
		if moved < 0.1 {
			t.Errorf("nothing moves faster than %g", moved)
		}
	})
}

// A copy with NaN coordinates does not affect the other copies.
func TestCopiesAreIndependent(t *testing.T) {
	s := system(t, robots.Trap(robots.Ant(physics.PositionBased)))
	n := len(s.Model().Bodies)
	start := posed(t, s, []float32{0, 0, 0.9, 0.9, 0.1, 0.1, -0.9, -0.9, 0, 0, -0.8, -0.8, 0, 0, 0.7, 0.7}, nil)
	nan := start.flat(t)
	for i := range 3 * n {
		nan[0][3*n+i] = float32(math.NaN())
	}
	actions := make([]float32, 16)
	for i := range actions {
		actions[i] = float32(i/2%3) - 1
	}
	healthy, spoiled := run(t, xlatest.Quick(t), s, start, actions, 3),
		run(t, xlatest.Quick(t), s, load(nan, n), actions, 3)
	for i := range 3 * n {
		if healthy[0][i] != spoiled[0][i] {
			t.Fatalf("coordinate %d of the first copy is %g next to a finite copy and %g next to one that "+
				"is not", i, healthy[0][i], spoiled[0][i])
		}
	}
	if x := spoiled[0][3*n]; x == x {
		t.Errorf("the copy with NaN coordinates is at %g", x)
	}
}

// An obstacle without a mass is as immovable as one of a huge mass.
func TestImmovableObstacles(t *testing.T) {
	for name, d := range dynamics {
		end := func(obstacle physics.Body) [4][]float32 {
			m := ball(d)
			obstacle.Name, obstacle.Fixed = "post", true
			obstacle.Colliders = []physics.Collider{{Position: physics.Vec{2, 0, 0},
				Rotation: physics.Vec{90, 0, 0}, Radius: 0.1, Length: 2, Friction: 1}}
			m.Bodies = append(m.Bodies, obstacle)
			m.Collide = append(m.Collide, [2]string{"ball", "post"})
			return run(t, xlatest.Pure(t), system(t, m), at(3, func(pos, _, vel, _ []float32) {
				pos[0], pos[2], vel[0] = 1, 0.25, 5
			}), nil, 10)
		}
		got := end(physics.Body{})
		want := end(physics.Body{Mass: 1e9, Inertia: physics.Vec{1e9, 1e9, 1e9}})
		if x := got[0][0]; !(x < 2) {
			t.Errorf("%s: a ball goes through an immovable post, to %g", name, x)
		}
		xlatest.Close(t, name, got[0][:3], want[0][:3], 1e-4)
	}
}

// Bodies that move and turn in a plane, seen from above.
func TestFrozenHeight(t *testing.T) {
	for name, d := range dynamics {
		m := ball(d)
		m.Frozen = physics.Frozen{Position: [3]bool{2: true}, Rotation: [3]bool{0: true, 1: true}}
		xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
			got := run(t, p, system(t, m), at(2, func(pos, _, vel, _ []float32) {
				pos[2], vel[0], vel[2] = 7, 2, 3
			}), nil, 4)
			xlatest.Close(t, name, got[0][:3], []float32{0.4, 0, 0.25}, 1e-4) // it rests on the ground
		})
	}
}

// Of equal obstacles in a row, a body only looks at the nearest. The result is the same as with
// obstacles in another order, which are not recognised as a row.
func TestRepeatedObstacles(t *testing.T) {
	posts := func(places ...float64) *physics.System {
		m := ball(physics.Spring)
		row := physics.Body{Name: "posts", Fixed: true, Mass: 1, Inertia: physics.Vec{1, 1, 1}}
		for _, x := range places {
			row.Colliders = append(row.Colliders, physics.Collider{
				Position: physics.Vec{x, 0, 0}, Rotation: physics.Vec{90, 0, 0}, Radius: 0.1, Length: 2,
				Friction: 1})
		}
		m.Bodies = append(m.Bodies, row)
		m.Collide = append(m.Collide, [2]string{"ball", "posts"})
		return system(t, m)
	}
	row, mixed := posts(2, 6, 10), posts(2, 10, 6)
	for _, x := range []float32{-20, 2.06, 4, 5.9, 7, 10.06, 50} {
		end := func(s *physics.System) [4][]float32 {
			return run(t, xlatest.Pure(t), s, at(3, func(pos, _, _, _ []float32) {
				pos[0], pos[2] = x, 1
			}), nil, 10)
		}
		got, want := end(row), end(mixed)
		for k, component := range []string{"position", "rotation", "velocity", "angular velocity"} {
			xlatest.Close(t, fmt.Sprintf("ball at %g: %s", x, component), got[k], want[k], 1e-6)
		}
		touches := x == 2.06 || x == 5.9 || x == 10.06
		errtest.Equal(t, fmt.Sprintf("a ball at %g moves", x), math.Abs(float64(got[0][0]-x)) > 0.001, touches)
	}
}
