package skills

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// qdacNumbers returns the settings of 17_qdac.npz, whose environment has 3 observations and 2
// actions.
func qdacNumbers(f golden.File) (sac.Config, QDAC) {
	number := func(name string) float64 { return f.Number("const." + name) }
	config := sac.Config{LearningRate: number("learning_rate"), Discount: number("discount"),
		Tau: number("tau"), RewardScaling: number("reward_scaling"), AlphaInit: number("alpha_init")}
	for _, units := range f.Int32s("const.hidden") {
		config.Hidden = append(config.Hidden, int(units))
	}
	return config, QDAC{LearningRate: config.LearningRate, Discount: config.Discount, Tau: config.Tau,
		Hidden: config.Hidden, Distance: number("distance"), Smooth: number("smooth"), Observations: 3,
		Actions: 2}
}

// 17_qdac.npz: losses, gradients and three updates, computed by the published losses in JAX
// (tools/golden_qdac.py).
func TestGoldenQDAC(t *testing.T) {
	f := golden.Read(t, "17_qdac.npz")
	config, qdac := qdacNumbers(f)
	const steps, components = 3, 2
	algorithm := sac.New(config, qdac.Observations+components, qdac.Actions)
	it := iteration{method: Method{qdac, TaskOnly{}}, sac: algorithm, task: Task{Skills: 1}}
	nets := []string{"actor", "critic", "target_critic", "features", "target_features", "multiplier"}
	columns := []string{"obs", "next_obs", "desc_prime", "actions", "rewards", "dones", "truncations",
		"state_desc", "noise_actor", "noise_critic", "noise_alpha"}
	losses := []string{"actor", "critic", "features", "log_alpha"}
	gradients := []string{"actor", "critic", "features", "multiplier"}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		var inputs []*tensors.Tensor
		for _, name := range nets {
			inputs = append(inputs, array(f, name))
		}
		for i := range steps {
			for _, name := range columns {
				inputs = append(inputs, array(f, fmt.Sprint(name, "_", i+1)))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) (out []*Node) {
			l := begin(algorithm, qdac, in)
			for i := range steps {
				batch, skills, noise := transitions(in[len(nets)+i*len(columns):])
				var m metrics
				l, m = it.learn(l, batch, skills, nil, noise)
				now, model := sac.Join(l.SAC), l.Model.(follower)
				known := model.Params()
				out = append(out, now.Actor, now.Critic, now.TargetCritic, known[0], known[5], known[6],
					now.LogAlpha, m.Actor, m.Critic, m.Diversity, m.Alpha)
				if i == 0 { // the first average is a tenth of the gradient
					for _, x := range []*Node{now.ActorMoments.First, now.CriticMoments.First, known[1], known[7]} {
						out = append(out, MulScalar(x, 10))
					}
				}
			}
			return out
		}, inputs...)
		compare := func(names []string, step int, form string) {
			for _, name := range names {
				array := fmt.Sprintf(form, name, step)
				xlatest.Close(t, array, xlatest.Flat[float32](t, out[0]), f.Float32s(array), 5e-5)
				out = out[1:]
			}
		}
		for step := 1; step <= steps; step++ {
			compare(append(nets, "log_alpha"), step, "%s_after_%d")
			compare(losses, step, "%s_loss_%d")
			if step == 1 {
				compare(gradients, step, "%s_gradient_%d")
			}
		}
	})
}

// begin returns what updates change, with the networks in[:6] and moments of 0.
func begin(algorithm sac.SAC, qdac QDAC, in []*Node) learning {
	g := in[0].Graph()
	adam, alpha := nn.NewAdam(algorithm.LearningRate), Log(Const(g, float32(algorithm.AlphaInit)))
	known := append(append(startLearned(in[3]), in[4]), startLearned(in[5])...)
	return learning{algorithm.Cut(sac.Learner{Actor: in[0], Critic: in[1], TargetCritic: in[2],
		LogAlpha: alpha, ActorMoments: adam.Start(in[0]), CriticMoments: adam.Start(in[1]),
		AlphaMoments: adam.Start(alpha)}), qdac.Model(known, 2, 2)}
}

// transitions returns the transitions of an update from the columns of TestGoldenQDAC.
func transitions(in []*Node) (replay.Batch, *Batch, sac.Noise) {
	skill := in[2]
	return replay.Batch{Obs: conditioned(in[0], skill), NextObs: conditioned(in[1], skill),
		Action: in[3], Reward: in[4], Done: in[5], Truncation: in[6]},
		&Batch{Skill: skill, Now: in[7], Next: in[7], Done: in[5]},
		sac.Noise{Actor: in[8], Critic: in[9], Alpha: in[10]}
}
