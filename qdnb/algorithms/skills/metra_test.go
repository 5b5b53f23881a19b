package skills

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// 13_metra.npz: rewards, losses and four updates, computed in JAX from the publication's equations
// and constants.
func TestGoldenMETRA(t *testing.T) {
	f := golden.Read(t, "13_metra.npz")
	batch, inputs := f.Shape("now_1")[0], f.Shape("now_1")[1]
	skills, params := f.Shape("skill_1")[1], f.Shape("row")[0]
	metra := METRA{LearningRate: f.Number("const.learning_rate"), Hidden: []int{6, 6},
		Multiplier: f.Number("const.multiplier"), Slack: f.Number("const.slack")}
	const steps = 4
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		in := []*tensors.Tensor{xlatest.Tensor(f.Float32s("row"), 1, params),
			xlatest.Tensor(make([]float32, batch), batch)}
		for i := 1; i <= steps; i++ {
			for _, name := range []string{"skill", "now", "next"} {
				in = append(in, array(f, fmt.Sprint(name, "_", i)))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			known := metra.Start(skills, inputs, xla.NewKey(in[0].Graph(), 1))
			known[0] = Concatenate([]*Node{in[0], Slice(known[0], AxisRange(), AxisRange(params))}, 1)
			model := metra.Model(known, skills, inputs)
			var out []*Node
			for i := range steps {
				b := Batch{in[2+3*i], in[3+3*i], in[4+3*i], in[1]}
				reward := model.Reward(b)
				var loss *Node
				model, loss = model.Learn(b)
				out = append(out, reward, loss, model.Params()[0])
			}
			return out
		}, in...)
		for i := range steps {
			flat := func(k int) []float32 { return xlatest.Flat[float32](t, out[3*i+k]) }
			stored := func(name string) []float32 { return f.Float32s(fmt.Sprint(name, "_", i+1)) }
			row := append(stored("row"), stored("log_multiplier")...)
			xlatest.Close(t, fmt.Sprint("rewards ", i), flat(0), stored("reward"), 2e-5)
			xlatest.Close(t, fmt.Sprint("loss ", i), flat(1), stored("loss"), 2e-5)
			xlatest.Close(t, fmt.Sprint("parameters ", i), flat(2), row, 2e-5)
		}
	})
}

// Skills that move in different directions are told apart, and a step has length 1 in the learned
// space. Transitions that end an episode count for nothing.
func TestMETRALearns(t *testing.T) {
	h := random(rand.New(rand.NewPCG(1, 2)), 60, 3, 3)
	for i := range h.now { // a step of length 1 along the skill's own axis, from anywhere
		h.next[i] = h.now[i]
		if z := h.skill[i/h.d]; i%h.d == z {
			h.next[i]++
		}
		if h.done[i/h.d] = 0; i/h.d%7 == 0 {
			h.done[i/h.d], h.next[i] = 1, 1000
		}
	}
	metra := METRA{LearningRate: 1e-2, Hidden: []int{16, 16}, Multiplier: 30, Slack: 1e-3}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		reward, _, last, _ := learn(t, p, metra, h, 800)
		// mean over three outputs of step^2 is 1, so |step| is at most sqrt(3), and |u| is sqrt(3/2)
		running := 1 - 9.0/60
		most := float32(running * math.Sqrt(3*1.5))
		if !(reward > 0.8*most && reward < 1.1*most) || !(last < 0) {
			t.Errorf("the mean reward is %g of at most %g, the loss %g", reward, most, last)
		}
	})
}
