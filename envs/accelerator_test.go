package envs_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/verify"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// The graphs built for GPUs compute the same steps: they pass the golden files, here on the CPU.
func TestGraphsForAcceleratorsPassGoldenFiles(t *testing.T) {
	_, as := xlatest.As(t, backend.CUDA)
	names := []string{"pointmaze", "walker-uni"}
	if os.Getenv("QDNB_LONG") != "" { // XLA:CPU takes minutes for graphs that are not made for it
		names = append(names, "halfcheetah-uni", "ant-uni")
	}
	for _, name := range names {
		report := must.Get(verify.File(as, golden.Path(t, "onestep_"+name+".npz")))
		if !report.Pass {
			t.Errorf("%s as built for a GPU: %s", name, report)
		}
	}
}

// Loops carry states in another form on GPUs, which changes no result.
func TestLoopFormsAgree(t *testing.T) {
	own, as := xlatest.As(t, backend.CUDA)
	rollout := func(p *xla.Platform, name string, automatic bool) (fitness, descriptor []float32) {
		env := must.Get(envs.Make(name))
		if live, err := envs.NewPerturbable(env); err == nil && !automatic {
			env = live
		}
		if automatic {
			env = envs.AutoReset(env, 2)
		}
		const steps, batch = 5, 3
		out := xlatest.Run(t, p, func(in []*graph.Node) []*graph.Node {
			spec := env.Spec()
			keys := random.KeyOf(in[0]).FoldInEach(graph.Const(in[0].Graph(), []int32{0, 1, 2}))
			policy := nn.Policy(spec.Observations, []int{4}, spec.Actions)
			net := policy.View(policy.Init(keys.FoldIn(1)))
			fitness, descriptor := envs.Rollout(env, net, envs.Reset(env, keys), steps)
			return []*graph.Node{fitness, descriptor}
		}, xlatest.Tensor(random.SeedWords(7), 2))
		return xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1])
	}
	for _, name := range []string{"pointmaze", "walker-uni"} {
		for _, automatic := range []bool{false, true} {
			want, place := rollout(own, name, automatic)
			got, at := rollout(as, name, automatic)
			what := fmt.Sprintf("%s (automatic reset: %v)", name, automatic)
			xlatest.Close(t, what+": fitness", got, want, 1e-3)
			xlatest.Close(t, what+": descriptor", at, place, 1e-3)
		}
	}
}
