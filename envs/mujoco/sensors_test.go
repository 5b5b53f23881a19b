package mujoco

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
)

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
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*graph.Node) (out []*graph.Node) {
		before := s.Of(State{QPos: in[0], QVel: in[1], QAcc: graph.ZerosLike(in[1])})
		after := s.Of(s.Step(s.State(before), in[2], 1))
		for _, name := range names {
			a := s.Acceleration(before, in[2], name)
			f, g := s.Frame(before, name), s.Frame(after, name)
			var rate [3]*graph.Node
			for i := range rate {
				rate[i] = graph.DivScalar(graph.Sub(g.Velocity[i], f.Velocity[i]), m.Opt.TimeStep)
			}
			out = append(out, graph.Stack(a[:], 0), graph.Stack(rate[:], 0))
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

// Contact forces carry the weight of bodies at rest, also on a slope that is less than their friction.
func TestContactForces(t *testing.T) {
	level := lawSystem(t, "sliding")
	m := level.model
	m.Opt.Gravity = [3]float64{2, 0, -9.81}
	for _, s := range []*System{level, must.Get(NewSystem(m, Options{}))} {
		out := xlatest.Run(t, xlatest.Best(t), func(in []*graph.Node) (out []*graph.Node) {
			rest := s.Of(s.Step(State{QPos: in[0], QVel: in[1], QAcc: in[1]}, nil, 300))
			for _, body := range []string{"one", "four", "eight"} {
				forces := s.ContactForce(rest, nil, body)
				out = append(out, graph.Stack(forces[:], 0))
			}
			return out
		}, batchLast([][]float64{m.QPos0}), batchLast([][]float64{make([]float64, m.Sizes.NV)}))
		for i := range out {
			got, mass := batchFirst(t, out[i])[0], m.BodyMass[1+i]
			want := []float64{-s.model.Opt.Gravity[0] * mass, 0, 9.81 * mass}
			if distance(got, want) > 2e-3*mass {
				t.Errorf("body %d: the floor pushes with %.4f N, want %.4f", i+1, got, want)
			}
		}
	}
}

// A robot that lands touches the plane with its lowest geom.
func TestLand(t *testing.T) {
	s := lawSystem(t, "sliding")
	q := append([]float64{}, s.model.QPos0...)
	q[4] += 0.3 // the height of the box on four contacts
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*graph.Node) (out []*graph.Node) {
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
