package physics_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// Skipping the walls that are far changes no bit of the motion: in contact with walls, at their
// ends and in corners, at any height, and at speeds at which far walls bound the friction.
func TestFarWalls(t *testing.T) {
	const batch, steps = 96, 2
	for name, model := range map[string]physics.Model{
		"trap": robots.Trap(robots.Ant(physics.PositionBased)),
		"maze": robots.Maze(robots.Ant(physics.PositionBased), [2]float64{35, 35}),
	} {
		s := system(t, model)
		for _, speed := range []float64{2, 300} {
			t.Run(fmt.Sprintf("%s at %g m per s", name, speed), func(t *testing.T) {
				random := rand.New(rand.NewPCG(1, uint64(speed)))
				start := antsNearWalls(t, s, random, batch, speed)
				actions := make([]float32, 8*batch)
				for i := range actions {
					actions[i] = float32(random.Float64()*2 - 1)
				}
				p := xlatest.Pure(t)
				got, want := run(t, p, s, start, actions, steps), run(t, p, s.EveryWall(), start, actions,
					steps)
				for k, component := range []string{"positions", "rotations", "velocities",
					"angular velocities"} {
					same(t, component, got[k], want[k])
				}
				if n := touching(t, p, s, start, actions); n < batch/8 {
					t.Errorf("only %d of %d ants touch a wall", n, batch)
				}
			})
		}
	}
}

// Bodies at the same depth of the tree may touch different numbers of walls.
func TestWallsThatOneBodyTouches(t *testing.T) {
	m := robots.Trap(robots.Ant(physics.PositionBased))
	m.Collide = slices.DeleteFunc(m.Collide, func(pair [2]string) bool {
		return slices.Contains(pair[:], "Trap") && !slices.Contains(pair[:], "$ Body 4")
	})
	s := system(t, m)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		angles := xlatest.Tensor(make([]float32, s.Angles()), s.Angles(), 1)
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			state := s.Pose(in[0], ZerosLike(in[0]))
			return []*Node{ReduceAllSum(s.Contact(state).Velocity[0])}
		}, angles)
		if v := xlatest.Flat[float32](t, out[0])[0]; v != v {
			t.Errorf("the contact is %g", v)
		}
	})
}

// antsNearWalls places ants next to walls, their ends and their corners, in any direction, each
// with a velocity of up to speed along each axis.
func antsNearWalls(t *testing.T, s *physics.System, random *rand.Rand, batch int,
	speed float64) coordinates {
	var walls []physics.Collider
	for _, b := range s.Model().Bodies {
		for _, c := range b.Colliders {
			if b.Fixed && c.Shape == physics.Capsule && c.Length > 2 {
				walls = append(walls, c)
			}
		}
	}
	angles := make([]float32, 8*batch)
	for i := range angles {
		angles[i] = float32(s.DefaultAngles()[i/batch] + random.NormFloat64()/4)
	}
	flat := posed(t, s, angles, nil).flat(t)
	bodies := s.Model().Bodies
	uniform := func(half float64) float64 { return half * (2*random.Float64() - 1) }
	for i := range batch {
		wall := walls[random.IntN(len(walls))]
		from, to := wall.Segment()
		along := random.Float64()
		if i%2 == 0 { // at an end, which is a corner where two walls meet
			along = float64(random.IntN(2))
		}
		x := from[0] + along*(to[0]-from[0]) + uniform(1.3)
		y := from[1] + along*(to[1]-from[1]) + uniform(1.3)
		up, turn := math.Abs(uniform(0.8)), uniform(math.Pi)
		sin, cos := math.Sincos(turn)
		half, whole := math.Sincos(turn / 2)
		vx, vy, vz := uniform(speed), uniform(speed), uniform(speed)
		for b := range bodies {
			if bodies[b].Fixed {
				continue
			}
			p, q := flat[0][3*(i*len(bodies)+b):][:3], flat[1][4*(i*len(bodies)+b):][:4]
			px, py := float64(p[0]), float64(p[1])
			p[0], p[1] = float32(x+cos*px-sin*py), float32(y+sin*px+cos*py)
			p[2] += float32(up)
			w, qx, qy, qz := float64(q[0]), float64(q[1]), float64(q[2]), float64(q[3])
			q[0], q[1] = float32(whole*w-half*qz), float32(whole*qx-half*qy)
			q[2], q[3] = float32(whole*qy+half*qx), float32(whole*qz+half*w)
			v := flat[2][3*(i*len(bodies)+b):][:3]
			v[0], v[1], v[2] = float32(vx), float32(vy), float32(vz)
		}
	}
	return load(flat, len(bodies))
}

// touching counts the copies that touch a wall in a control step.
func touching(t *testing.T, p *xla.Platform, s *physics.System, c coordinates,
	actions []float32) (n int) {
	t.Helper()
	batch := len(actions) / s.Actions()
	walls := slices.IndexFunc(s.Model().Bodies, func(b physics.Body) bool {
		return b.Fixed && len(b.Colliders) > 1
	})
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		_, contact := s.Step(s.Import(in[0], in[1], in[2], in[3]), in[4])
		return []*Node{Slice(contact.Velocity[0], AxisElem(walls))}
	}, c.pos, c.rot, c.vel, c.ang, xlatest.Tensor(actions, s.Actions(), batch))
	for _, v := range xlatest.Flat[float32](t, out[0]) {
		if v != 0 {
			n++
		}
	}
	return n
}

func same(t *testing.T, what string, got, want []float32) {
	t.Helper()
	differ := 0
	for i := range want {
		if got[i] != want[i] && (got[i] == got[i] || want[i] == want[i]) {
			differ++
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d %s differ", differ, len(want), what)
	}
}
