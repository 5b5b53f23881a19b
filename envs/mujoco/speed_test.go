package mujoco

import (
	"cmp"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// feetOnly lets only the feet of Go1 touch the floor.
func feetOnly(m Model) Model {
	m.GeomConType, m.GeomConAffinity = make([]int, m.Sizes.NGeom), make([]int, m.Sizes.NGeom)
	for i, name := range m.Names.Geom {
		if slices.Contains([]string{"FR", "FL", "RR", "RL"}, name) {
			m.GeomConAffinity[i] = 1
		} else if name == "floor" {
			m.GeomConType[i] = 1
		}
	}
	return m
}

// BenchmarkControlSteps measures processor time for random gaits of one second, with the models of
// QDNB_GOLDEN or testdata/accepted; QDNB_COPIES sets the number of copies. Run it on one core, with taskset.
func BenchmarkControlSteps(b *testing.B) {
	copies, _ := strconv.Atoi(cmp.Or(os.Getenv("QDNB_COPIES"), "64"))
	limit, _ := strconv.Atoi(os.Getenv("QDNB_ITERATIONS"))
	for _, c := range []struct {
		name, file string
		substeps   int
	}{{"go1_feet", "go1", 5}, {"gym_half_cheetah", "gym_half_cheetah", 5}, {"gym_ant", "gym_ant", 5},
		{"gym_humanoid", "gym_humanoid", 5}, {"gym_hopper", "gym_hopper", 4}, {"gym_walker2d", "gym_walker2d", 4}} {
		path := filepath.Join(cmp.Or(os.Getenv("QDNB_GOLDEN"), "testdata/accepted"), c.file+"_model.json")
		if c.file == "go1" {
			path = "../robots/go1.json"
		}
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		m := must.Get(ReadModel(file))
		file.Close()
		if c.name == "go1_feet" {
			m = feetOnly(m)
		}
		b.Run(c.name, func(b *testing.B) { benchmark(b, m, c.substeps, copies, limit) })
	}
}

func benchmark(b *testing.B, m Model, substeps, copies, limit int) {
	s := must.Get(NewSystem(m, Options{Iterations: limit}))
	random := rand.New(rand.NewPCG(1, 2))
	q, v := make([]float32, m.Sizes.NQ*copies), make([]float32, m.Sizes.NV*copies)
	rest, middle, swing := m.QPos0, make([]float64, m.Sizes.NU), make([]float64, m.Sizes.NU)
	for i, r := range m.ActuatorCtrlRange {
		middle[i], swing[i] = (r[0]+r[1])/2, (r[1]-r[0])/2
	}
	if m.Sizes.NKey > 0 {
		rest, middle = m.KeyQPos[0], m.KeyCtrl[0]
		for i := range swing {
			swing[i] = 0.15
		}
	}
	for i := range q {
		q[i] = float32(rest[i/copies])
	}
	for i := range v {
		v[i] = float32(0.1 * random.NormFloat64())
	}
	const seconds = 1
	steps := int(seconds / (float64(substeps) * m.Opt.TimeStep))
	controls := make([]float32, steps*m.Sizes.NU*copies)
	for i := range m.Sizes.NU * copies {
		rate, phase := 0.5+2.5*random.Float64(), 2*math.Pi*random.Float64()
		for t := range steps {
			at := float64(t*substeps) * m.Opt.TimeStep
			controls[t*m.Sizes.NU*copies+i] = float32(middle[i/copies] + swing[i/copies]*math.Sin(2*math.Pi*rate*at+phase))
		}
	}
	p := xlatest.Best(b)
	before := processorTime()
	nq, nv, nu := m.Sizes.NQ, m.Sizes.NV, m.Sizes.NU
	shape := func(dims ...int) shapes.Shape { return shapes.Make(dtypes.Float32, dims...) }
	// The second is run in parts, because the least time of a short part is hardly that of other processes.
	const parts = 10
	steps /= parts
	program, err := xlatest.Compile(p, "speed", []shapes.Shape{shape(nq, copies), shape(nv, copies), shape(nv, copies),
		shape(steps, nu, copies)}, func(in []*Node) []*Node {
		type carry struct {
			State    State
			Controls *Node
		}
		end := xla.For(in[0].Graph(), steps, carry{State{QPos: in[0], QVel: in[1], QAcc: in[2]}, in[3]},
			func(t *Node, c carry) carry {
				c.State = s.Step(c.State, xla.Row(c.Controls, t), substeps)
				return c
			})
		return []*Node{end.State.QPos, end.State.QVel, end.State.QAcc}
	})
	if err != nil {
		b.Fatal(err)
	}
	defer program.Free()
	compile := processorTime() - before
	var best [parts]float64
	for range b.N {
		state := []xla.Sharded{{xlatest.Tensor(q, nq, copies)}, {xlatest.Tensor(v, nv, copies)},
			{xlatest.Tensor(make([]float32, nv*copies), nv, copies)}}
		for part := range parts {
			n := steps * nu * copies
			control := xla.Sharded{xlatest.Tensor(controls[part*n:(part+1)*n], steps, nu, copies)}
			before := processorTime()
			out, err := program.Run(state[0], state[1], state[2], control)
			if err != nil {
				b.Fatal(err)
			}
			end := xlatest.Flat[float32](b, out[0][0])
			if took := processorTime() - before; best[part] == 0 || took < best[part] {
				best[part] = took
			}
			if slices.ContainsFunc(end, func(x float32) bool { return x != x }) {
				b.Fatal("not finite")
			}
			state = out
		}
	}
	total := 0.0
	for _, part := range best {
		total += part
	}
	steps *= parts
	b.ReportMetric(compile, "compile-s")
	b.ReportMetric(total/float64(steps*substeps*copies)*1e6, "us/substep")
	b.ReportMetric(float64(steps*copies)/total, "control-steps/s")
}

// processorTime is the user time of this process, s.
func processorTime() float64 {
	var used syscall.Rusage
	must.Do(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return float64(used.Utime.Nano()) / 1e9
}

// stepText returns the text of a program that makes a physics step of 16 copies.
func stepText(t *testing.T, m Model) (text string) {
	t.Helper()
	p := must.Get(xla.DryRun(backend.CPU, 1, func(_ string, of []byte) error {
		text += string(of)
		return nil
	}))
	s := must.Get(NewSystem(m, Options{IgnorePairs: true}))
	var inputs []shapes.Shape
	for _, n := range []int{m.Sizes.NQ, m.Sizes.NV, m.Sizes.NV, m.Sizes.NU} {
		inputs = append(inputs, shapes.Make(dtypes.Float32, max(n, 1), 16))
	}
	program := must.Get(xlatest.Compile(p, "step", inputs, func(in []*Node) []*Node {
		control := in[3]
		if m.Sizes.NU == 0 {
			control = nil
		}
		end := s.Step(State{QPos: in[0], QVel: in[1], QAcc: in[2]}, control, 1)
		return []*Node{end.QPos, end.QVel, end.QAcc}
	}))
	program.Free()
	return text
}

// A model gives the same program whenever it is built.
func TestProgramsAreTheSame(t *testing.T) {
	for _, name := range []string{"gym_half_cheetah", "own_armature_damping", "own_ball", "own_equalities", "own_servo"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := compiled("accepted/" + name)
			first := stepText(t, m)
			for range 3 {
				if stepText(t, m) != first {
					t.Fatal("the program differs from one time to the next")
				}
			}
		})
	}
}
