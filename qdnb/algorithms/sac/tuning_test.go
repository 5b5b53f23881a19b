package sac

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// With the published parameters bound as inputs, an algorithm with other parameters of its own
// reproduces the published results.
func TestNumbersAreTakenFromTheInputs(t *testing.T) {
	f := readPublished(t)
	numbers := xla.ParamsOf(f.sac)
	others := f.sac
	others.RewardScaling, others.AlphaInit = f.sac.RewardScaling+3, f.sac.AlphaInit/2
	p := xlatest.Pure(t)
	given := numbers.Array(1).Value()[0]
	out := xlatest.Run(t, p, func(in []*Node) []*Node {
		given, in := xla.Scalars(in[0]), in[1:]
		s := xla.Bind(others, given)
		start := s.Start(xla.NewKey(in[0].Graph(), 1))
		batch := f.layout.Split(in[4])
		target := s.target(s.Critic.Networks(in[1]), s.Actor.Network(in[2], 0), in[3], batch, in[5])
		return []*Node{criticLoss(s.Critic.Networks(in[0]), target, batch), start.LogAlpha}
	}, given, f.rows("critic.flat", f.sac.Critic), f.rows("target_critic.flat", f.sac.Critic),
		f.rows("policy.flat", f.sac.Actor), f.logAlpha(),
		f.batch(f.Int32s("one.idx")), f.tensor("one.eps_critic"))
	xlatest.Close(t, "critic loss", xlatest.Flat[float32](t, out[0]), f.Float32s("one.critic_loss"),
		2e-5)
	if got, want := tensors.ToScalar[float32](out[1]), float32(numbers[1]); got != want {
		t.Errorf("the logarithm of the entropy coefficient starts at %g, not %g", got, want)
	}
}
