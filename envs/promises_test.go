package envs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/envtest"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

func environment(t *testing.T, name string, options ...envs.Option) envs.Env {
	return must.Get(envs.Make(name, options...))
}

// All environments keep the promises of package envtest. Environments that take XLA fifteen seconds
// to compile run on pure Go only, except in the long tests.
func TestPromises(t *testing.T) {
	for _, name := range envs.Names() {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // nearly all of the time is compilation, which uses one core
			var suite envtest.Suite
			slow := name == "ant-trap" || name == "ant-maze" || name == "halfcheetah-hurdles" ||
				strings.HasPrefix(name, "humanoid")
			if slow && os.Getenv("QDNB_LONG") == "" {
				suite = envtest.Suite{Platforms: []*xla.Platform{xlatest.Pure(t)}, Steps: 3}
			}
			env := environment(t, name)
			_, suite.FixedStart = env.(*envs.BlackBox)
			suite.Run(t, env)
		})
	}
}

// The state after a reset depends on the seed of a fixed start, and not on the keys.
func TestFixedStart(t *testing.T) {
	for _, name := range envs.Names() {
		if _, ok := environment(t, name).(*envs.BlackBox); ok {
			continue // nothing to draw
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			states := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
				g := in[0].Graph()
				keys := random.KeyOf(in[0]).FoldInEach(Iota(g, shapes.Make(dtypes.Int32, 3), 0))
				var out []*Node
				for seed := range int64(2) {
					s := environment(t, name, envs.FixedStart(seed)).Reset(keys)
					out = append(out, Concatenate([]*Node{s.Observation,
						Transpose(Reshape(s.PhysicsState[0], -1, 3), 0, 1)}, 1))
				}
				return out
			}, xlatest.Tensor(random.SeedWords(5), 2))
			one, two := xlatest.Flat[float32](t, states[0]), xlatest.Flat[float32](t, states[1])
			n := len(one) / 3
			for k := range 2 {
				xlatest.Close(t, "the start of another key", one[(k+1)*n:(k+2)*n], one[:n], 1e-6)
			}
			if near(one, two) {
				t.Error("two seeds give the same start")
			}
		})
	}
}

func near(a, b []float32) bool {
	for i := range a {
		if d := a[i] - b[i]; d > 1e-4 || d < -1e-4 {
			return false
		}
	}
	return true
}

// Position descriptors are clipped to their limits, wherever the body is.
func TestPositionsAreClipped(t *testing.T) {
	for _, name := range []string{"ant-omni", "ant-trap", "ant-maze"} {
		env := environment(t, name).(*envs.Rigid)
		n := len(env.System.(*physics.System).Model().Bodies)
		pos, rot, still := make([]float32, 2*n*3), make([]float32, 2*n*4), make([]float32, 2*n*3)
		for i := range n {
			pos[3*i], pos[3*i+1] = 100, -200
			pos[3*(n+i)], pos[3*(n+i)+1] = 3, 4
		}
		for i := range 2 * n {
			rot[4*i] = 1
		}
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
			return []*Node{env.At(env.System.(*physics.System).Import(in[0], in[1], in[2], in[2])).Descriptor}
		}, xlatest.Tensor(pos, 2, n, 3), xlatest.Tensor(rot, 2, n, 4), xlatest.Tensor(still, 2, n, 3))
		limits := env.Spec().Descriptor
		xlatest.Close(t, name, xlatest.Flat[float32](t, out[0]),
			[]float32{limits.Upper[0], limits.Lower[1], 3, 4}, 0)
	}
}
