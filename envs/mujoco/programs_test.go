package mujoco

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

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
