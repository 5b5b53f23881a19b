package skills

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// 20_csf.npz: rewards, losses and three updates, by the published losses in PyTorch
// (tools/golden_csf.py).
func TestGoldenCSF(t *testing.T) {
	f := golden.Read(t, "20_csf.npz")
	columns := []string{"obs", "next_obs", "options", "actions", "actor_actions", "next_actions",
		"negatives", "dones"}
	results := []string{"reward", "encoder_loss", "features_loss", "actor_loss", "phi", "psi", "targets"}
	observations, size, actions := f.Shape("obs_1")[1], f.Shape("options_1")[1], f.Shape("actions_1")[1]
	const steps, hidden = 3, 6
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		in := []*tensors.Tensor{xlatest.Tensor(f.Float32s("phi_0"), 1, f.Shape("phi_0")[0]), array(f, "psi_0"),
			array(f, "targets_0")}
		for i := range steps {
			for _, name := range columns {
				in = append(in, array(f, fmt.Sprint(name, "_", i+1)))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) (out []*Node) {
			units := []int{hidden, hidden}
			phi, psi := nn.NewMLP(observations, units, size), nn.NewMLP(observations+size+actions, units, size)
			rate := f.Number("const.learning_rate")
			c := CSF{Discount: f.Number("const.discount"), Components: size, Weight: f.Number("const.weight"),
				Encoder:  nn.NewTrainable(phi.Network(in[0], 0), rate),
				Features: nn.NewTargeted(psi.Networks(in[1]), rate, f.Number("const.tau"))}
			c.Features.Target = psi.Networks(in[2])
			for i := range steps {
				x := in[3+len(columns)*i:]
				with := func(obs *Node) *Node { return Concatenate([]*Node{obs, x[2]}, 1) }
				b := Batch{Transitions: replay.Transitions{Obs: with(x[0]), NextObs: with(x[1]), Action: x[3], Done: x[7],
					Truncation: x[7]}, Skill: x[2], Now: x[0], Next: x[1], NextActorAction: x[5]}
				next, loss := c.learn(b, x[6])
				out = append(out, c.Reward(b), loss, c.featuresLoss(b, next.step(b)),
					Neg(ReduceAllMean(c.ActorObjective(b, x[4], nil, nil))), next.Encoder.Params.Join(),
					nn.JoinNetworks(next.Features.Params), nn.JoinNetworks(next.Features.Target))
				c = next
			}
			return out
		}, in...)
		for i, x := range out {
			name := fmt.Sprint(results[i%len(results)], "_", i/len(results)+1)
			xlatest.Close(t, name, xlatest.Flat[float32](t, x), f.Float32s(name), 5e-5)
		}
	})
}

// Skills end at different positions, along the directions of a learned space.
func TestCSFSpreadsSkills(t *testing.T) {
	config := quick(16)
	config.SAC.Discount, config.SAC.FixAlpha = 0.8, false
	config.EvaluationInterval = 1 << 20
	csf := CSF{LearningRate: 3e-3, Discount: 0.8, Tau: config.Tau, Hidden: []int{32, 32}, Components: 2,
		Negatives: 64, Weight: 5}
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		s := startSearch(t, p, methodOf(endless, 8, csf, DiversityOnly{}), config)
		first := spread(t, s)
		steps(t, s, 101)
		if last := spread(t, s); !(last > 2*first) {
			t.Errorf("the distance of skills from their mean changed from %g to %g", first, last)
		}
	})
}

// spread evaluates the skills of a search in the plane, and returns the mean distance of their ends from
// their mean.
func spread(t *testing.T, s *search) (distance float64) {
	t.Helper()
	_, e, err := s.Evaluate()
	must.Do(err)
	var x, y float64
	n := float64(len(e.Fitnesses))
	for i := range e.Fitnesses {
		x, y = x+float64(e.Descriptors[2*i])/n, y+float64(e.Descriptors[2*i+1])/n
	}
	for i := range e.Fitnesses {
		distance += math.Hypot(float64(e.Descriptors[2*i])-x, float64(e.Descriptors[2*i+1])-y) / n
	}
	return distance
}
