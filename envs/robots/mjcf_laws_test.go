package robots_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// simulation steps copies of a system, one control step at a time.
type simulation struct {
	t       *testing.T
	system  *physics.System
	copies  int
	program *xlatest.Program
	state   [4][]float32 // positions, rotations, velocities, angular velocities
}

var components = [4]int{3, 4, 3, 3}

func simulate(t *testing.T, m physics.Model, copies int) *simulation {
	s := &simulation{t: t, system: must.Get(physics.NewSystem(m)), copies: copies}
	bodies := len(m.Bodies)
	places := must.Get(s.system.Places())
	for range copies {
		for _, p := range places {
			for _, x := range p.Position {
				s.state[0] = append(s.state[0], float32(x))
			}
			for _, x := range p.Rotation {
				s.state[1] = append(s.state[1], float32(x))
			}
		}
	}
	s.state[2], s.state[3] = make([]float32, 3*bodies*copies), make([]float32, 3*bodies*copies)
	var inputs []shapes.Shape
	for i, k := range components {
		inputs = append(inputs, xlatest.Tensor(s.state[i], copies, bodies, k).Shape())
	}
	inputs = append(inputs, shapes.Make(dtypes.Float32, 1+s.system.Actions(), copies))
	s.program = must.Get(xlatest.Compile(xlatest.Best(t), "robot", inputs, func(in []*Node) []*Node {
		var action *Node
		if n := s.system.Actions(); n > 0 {
			action = Slice(in[4], AxisRange(0, n))
		}
		next, _ := s.system.Step(s.system.Import(in[0], in[1], in[2], in[3]), action)
		pos, rot, vel, ang := s.system.Export(next)
		return []*Node{pos, rot, vel, ang}
	}))
	t.Cleanup(s.program.Free)
	return s
}

// step advances by a control step; action gives the actions of each copy.
func (s *simulation) step(action func(copy, i int) float64) {
	actions := make([]float32, (1+s.system.Actions())*s.copies)
	for i := range s.system.Actions() {
		for copy := range s.copies {
			actions[i*s.copies+copy] = float32(action(copy, i))
		}
	}
	bodies := len(s.system.Model().Bodies)
	var in []xla.Sharded
	for i, k := range components {
		in = append(in, xla.Sharded{xlatest.Tensor(s.state[i], s.copies, bodies, k)})
	}
	in = append(in, xla.Sharded{xlatest.Tensor(actions, 1+s.system.Actions(), s.copies)})
	out := must.Get(s.program.Run(in...))
	for i, x := range out {
		s.state[i] = tensors.MustCopyFlatData[float32](x[0])
		x.Free()
	}
}

// energy is the kinetic and potential energy of a copy, in J, and speed the largest of its bodies', m/s.
func (s *simulation) energy(copy int) (energy, speed float64) {
	m := s.system.Model()
	at := func(i, body, k int) float64 { return float64(s.state[i][(copy*len(m.Bodies)+body)*components[i]+k]) }
	for b, body := range m.Bodies {
		if body.Fixed {
			continue
		}
		square := 0.0
		for k := range 3 {
			square += at(2, b, k) * at(2, b, k)
			energy -= body.Mass * m.Gravity[k] * at(0, b, k)
		}
		toBody := quat.Conj(quat.Number{Real: at(1, b, 0), Imag: at(1, b, 1), Jmag: at(1, b, 2), Kmag: at(1, b, 3)})
		w := r3.Rotation(toBody).Rotate(r3.Vec{X: at(3, b, 0), Y: at(3, b, 1), Z: at(3, b, 2)})
		inertia := s.system.Inertia(b)
		energy += (body.Mass*square + inertia[0]*w.X*w.X + inertia[1]*w.Y*w.Y + inertia[2]*w.Z*w.Z) / 2
		speed = max(speed, math.Sqrt(square))
	}
	return energy, speed
}

// Robots come to rest and stay there for ten seconds, gain no energy from nothing, and do not explode
// under random full actions. Go1 stands on its legs.
func TestMJCFLaws(t *testing.T) {
	for _, test := range []struct {
		name     string
		dynamics physics.Dynamics
	}{
		{"ant", physics.PositionBased}, {"half_cheetah", physics.PositionBased},
		{"hopper", physics.PositionBased}, {"humanoid", physics.PositionBased},
		{"walker2d", physics.PositionBased}, {"swimmer", physics.PositionBased},
		{"go1_mjx_fullcollisions", physics.PositionBased}, {"ant", physics.Spring},
		{"go1_mjx_fullcollisions", physics.Spring},
	} {
		t.Run(fmt.Sprintf("%s with dynamics %d", test.name, test.dynamics), func(t *testing.T) {
			m, _, err := robots.ReadFile("testdata/mjcf/mjcf_" + test.name + ".xml")
			must.Do(err)
			m = must.Get(m.Tuned(test.dynamics))
			// Servos do work: Go1 holds the pose of its home position.
			hold, stands := make([]float64, 36), m.Body("trunk") >= 0
			if stands {
				m.Pose["trunk"] = physics.Vec{0, 0, 0.3}
				for i, j := range m.Joints {
					angle := [3]float64{0, 0.9, -1.8}[i%3] * 180 / math.Pi
					m.Angles[j.Name] = physics.Vec{angle}
					middle, half := (j.Limits[0][0]+j.Limits[0][1])/2, (j.Limits[0][1]-j.Limits[0][0])/2
					hold[i] = (angle - middle) / half
				}
			}
			const copies, seconds = 8, 10
			s := simulate(t, m, copies)
			r := rand.New(rand.NewPCG(1, 2))
			start, _ := s.energy(0)
			scale := math.Abs(start) + 1
			var settled []float32
			for i := range seconds * 50 {
				s.step(func(copy, i int) float64 {
					switch {
					case copy == 0:
						return hold[i]
					case copy < 5:
						return float64(2*r.IntN(2) - 1)
					}
					return 2*r.Float64() - 1
				})
				if now, _ := s.energy(0); !stands && now > start+0.01*scale {
					t.Fatalf("after %d steps the energy is %g J, at the start it was %g", i+1, now, start)
				}
				for copy := range copies {
					if _, speed := s.energy(copy); !(speed < 50) {
						t.Fatalf("after %d steps of copy %d a body has %g m/s", i+1, copy, speed)
					}
				}
				if i == seconds*50/2 {
					settled = s.state[0][:3*len(m.Bodies)]
				}
			}
			for i, x := range settled {
				if moved := math.Abs(float64(s.state[0][i] - x)); moved > 0.01 {
					t.Errorf("body %s still moved %g m", m.Bodies[i/3].Name, moved)
				}
			}
			if at := s.state[0][3*max(0, m.Body("trunk"))+2]; stands && at < 0.2 {
				t.Errorf("Go1's trunk is at %g m: it does not stand", at)
			}
		})
	}
}

// The other models stay finite under random full actions.
func TestMJCFStaysFinite(t *testing.T) {
	for _, name := range []string{"inverted_pendulum", "inverted_double_pendulum", "point", "pusher", "reacher"} {
		m, _, err := robots.ReadFile("testdata/mjcf/mjcf_" + name + ".xml")
		must.Do(err)
		s, r := simulate(t, m, 4), rand.New(rand.NewPCG(1, 2))
		for i := range 100 {
			s.step(func(int, int) float64 { return float64(2*r.IntN(2) - 1) })
			for copy := range 4 {
				if _, speed := s.energy(copy); !(speed < 200) {
					t.Fatalf("%s: after %d steps a body has %g m/s", name, i+1, speed)
				}
			}
		}
	}
}
