package envs_test

import (
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// After one and two steps from random states observations, rewards and ends agree with Gymnasium's, each part of an
// observation in relation to its norm: to 1e-5 in the median, 1e-4 in 99 of 100 states and 1e-3 at worst, or twenty
// times what rounding the state changes there. QDNB_GOLDEN names a folder with the 1000 states of each task that
// tools/golden_gymnasium.py writes; 12 of each are here.
func TestGymnasium(t *testing.T) {
	p := xlatest.Pure(t)
	if os.Getenv("QDNB_LONG") != "" || os.Getenv(golden.FolderEnv) != "" {
		p = xlatest.Best(t)
	}
	for _, name := range []string{"Ant-v5", "HalfCheetah-v5", "Hopper-v5", "Humanoid-v5", "Swimmer-v5", "Walker2d-v5"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			compareWithGymnasium(t, p, name)
		})
	}
}

func compareWithGymnasium(t *testing.T, p *xla.Platform, name string) {
	file := golden.Read(t, "gymnasium_"+name+".npz")
	env := must.Get(envs.Make(name)).(*envs.Rigid)
	system := env.System.(*mujoco.System)
	input := func(name string) *tensors.Tensor { return xlatest.Tensor(file.Float32s(name), file.Shape(name)...) }
	out := xlatest.Run(t, p, func(in []*Node) (out []*Node) {
		velocity := Transpose(in[1], 0, 1)
		s := env.Begin(random.Key{}, system.Of(mujoco.State{QPos: Transpose(in[0], 0, 1), QVel: velocity, QAcc: ZerosLike(velocity)}))
		for step := range 2 {
			s = env.Step(s, Squeeze(Slice(in[2], AxisRange(), AxisElem(step)), 1))
			out = append(out, s.Observation, s.Reward, s.Done)
		}
		return out
	}, input("qpos"), input("qvel"), input("actions"))
	sizes, n := append(file.Int32s("parts"), 1), file.Shape("rewards")[0]
	row := func(flat []float32, i, rows int) []float32 { return flat[i*len(flat)/rows : (i+1)*len(flat)/rows] }
	wanted, rewards, ends, noise := file.Float32s("observations"), file.Float32s("rewards"), file.Float32s("terminated"),
		file.Float32s("noise")
	for step := range 2 {
		observed, reward, done := xlatest.Flat[float32](t, out[3*step]), xlatest.Flat[float32](t, out[3*step+1]),
			xlatest.Flat[float32](t, out[3*step+2])
		errors, beyond := make([][]float64, len(sizes)), make([]int, len(sizes))
		for i := range n {
			k := 2*i + step
			got := append(slices.Clone(row(observed, i, n)), reward[i])
			want := append(slices.Clone(row(wanted, k, 2*n)), rewards[k])
			at := 0
			for part, size := range sizes {
				e := relativeError(got[at:at+int(size)], want[at:at+int(size)])
				at += int(size)
				errors[part] = append(errors[part], e)
				rounding := 20 * float64(row(noise, k, 2*n)[part])
				if !(e <= max(1e-4, rounding)) {
					beyond[part]++
				}
				if !(e <= max(1e-3, rounding)) {
					t.Errorf("step %d of state %d: part %d is off by %.1e; twenty times rounding is %.1e", step+1, i, part, e, rounding)
				}
			}
			if done[i] != ends[k] {
				t.Errorf("step %d of state %d: done is %g", step+1, i, done[i])
			}
		}
		line := fmt.Sprintf("step %d of %d states, each part's median, 99 %%, worst:", step+1, n)
		for part, list := range errors {
			slices.Sort(list)
			line += fmt.Sprintf("  %.1e %.1e %.1e", list[n/2], list[n*99/100], list[n-1])
			if beyond[part] > (n+99)/100 {
				t.Errorf("part %d is off by more than 1e-4 after step %d of %d states", part, step+1, beyond[part])
			}
			if list[n/2] > 1e-5 {
				t.Errorf("the median error of part %d after step %d is %.1e", part, step+1, list[n/2])
			}
		}
		t.Log(line)
	}
}

// relativeError is the norm of a difference over that of what is wanted, or over 1.
func relativeError(got, want []float32) float64 {
	difference, norm := 0.0, 0.0
	for i, w := range want {
		difference += math.Pow(float64(got[i])-float64(w), 2)
		norm += float64(w) * float64(w)
	}
	return math.Sqrt(difference) / max(1, math.Sqrt(norm))
}
