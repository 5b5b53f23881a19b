package td3

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// plain is a network in float64 on the host, with ReLU in hidden layers and the identity or tanh at
// the output.
type plain struct {
	form nn.MLP
	tanh bool
	row  []float64
}

func (n plain) at(leaf nn.Leaf, i, j int) *float64 {
	if leaf.Kernel {
		return &n.row[leaf.Offset+i*leaf.Shape[1]+j]
	}
	return &n.row[leaf.Offset+j]
}

// forward returns the values before the first layer and after each layer.
func (n plain) forward(x []float64) [][]float64 {
	values := [][]float64{x}
	leaves := n.form.Layout()
	for layer := range len(n.form.Sizes) - 1 {
		y := make([]float64, n.form.Sizes[layer+1])
		for j := range y {
			y[j] = *n.at(leaves[2*layer], 0, j)
			for i, x := range values[layer] {
				y[j] += x * *n.at(leaves[2*layer+1], i, j)
			}
			switch last := layer == len(n.form.Sizes)-2; {
			case last && n.tanh:
				y[j] = math.Tanh(y[j])
			case !last:
				y[j] = max(y[j], 0)
			}
		}
		values = append(values, y)
	}
	return values
}

func (n plain) out(x []float64) []float64 { return n.forward(x)[len(n.form.Sizes)-1] }

// backward backpropagates v, the gradient of the output: it accumulates the gradient of the
// parameters and returns the gradient of the input.
func (n plain) backward(values [][]float64, v []float64, gradient []float64) []float64 {
	g := plain{form: n.form, row: gradient}
	leaves := n.form.Layout()
	for layer := len(n.form.Sizes) - 2; layer >= 0; layer-- {
		v = slices.Clone(v)
		for j, y := range values[layer+1] {
			switch last := layer == len(n.form.Sizes)-2; {
			case last && n.tanh:
				v[j] *= 1 - y*y
			case !last && y <= 0:
				v[j] = 0
			}
		}
		before := make([]float64, n.form.Sizes[layer])
		for j := range v {
			*g.at(leaves[2*layer], 0, j) += v[j]
			for i, x := range values[layer] {
				*g.at(leaves[2*layer+1], i, j) += x * v[j]
				before[i] += v[j] * *n.at(leaves[2*layer+1], i, j)
			}
		}
		v = before
	}
	return v
}

// plainAdam updates parameters in place.
type plainAdam struct {
	rate          float64
	first, second []float64
	steps         int
}

func (a *plainAdam) step(params, gradient []float64) {
	if a.first == nil {
		a.first, a.second = make([]float64, len(params)), make([]float64, len(params))
	}
	a.steps++
	for i, g := range gradient {
		a.first[i], a.second[i] = 0.9*a.first[i]+0.1*g, 0.999*a.second[i]+0.001*g*g
		first, second := a.first[i]/(1-math.Pow(0.9, float64(a.steps))),
			a.second[i]/(1-math.Pow(0.999, float64(a.steps)))
		params[i] -= a.rate * first / (math.Sqrt(second) + 1e-8)
	}
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i := range x {
		y[i] = float64(x[i])
	}
	return y
}

func narrow(x ...[]float64) []float32 {
	var y []float32
	for _, part := range x {
		for _, v := range part {
			y = append(y, float32(v))
		}
	}
	return y
}

// Three updates, of which the first and the third update the actor, agree with the algorithm
// written out in float64.
func TestUpdateOracle(t *testing.T) {
	const obs, act, batch, steps = 4, 2, 8, 3
	config := Default()
	config.CriticHidden, config.TransitionsBatchSize = []int{7, 5}, batch
	config.CriticLearningRate, config.GreedyLearningRate, config.SoftTauUpdate,
		config.RewardScaling = 1e-2, 2e-2, 0.1, 3
	td3 := New(config, nn.Policy(obs, []int{6}, act))
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(n int, scale float64) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(scale * rng.NormFloat64())
		}
		return x
	}
	c, n, width := td3.Critic.Params(), td3.Actor.Params(), td3.Layout().Width()
	critics, targets, actor, target := draw(2*c, 0.5), draw(2*c, 0.5), draw(n, 0.5), draw(n, 0.5)
	rows, noise := draw(steps*batch*width, 1), draw(steps*batch*act, 3)
	for i := range steps * batch { // flags
		rows[(i+1)*width-2] = float32(rng.IntN(2))
		rows[(i+1)*width-1] = float32(rng.IntN(2)) * rows[(i+1)*width-2]
	}

	// The same in float64.
	q := [2]plain{{form: td3.Critic, row: wide(critics[:c])},
		{form: td3.Critic, row: wide(critics[c:])}}
	tq := [2]plain{{form: td3.Critic, row: wide(targets[:c])},
		{form: td3.Critic, row: wide(targets[c:])}}
	pi, tpi := plain{td3.Actor, true, wide(actor)}, plain{td3.Actor, true, wide(target)}
	adams := [3]*plainAdam{{rate: config.CriticLearningRate}, {rate: config.CriticLearningRate},
		{rate: config.GreedyLearningRate}}
	limit := func(x, by float64) float64 { return min(max(x, -by), by) }
	polyak := func(target, source []float64) {
		for i := range target {
			target[i] = (1-config.SoftTauUpdate)*target[i] + config.SoftTauUpdate*source[i]
		}
	}
	var criticLoss, actorLoss float64
	for step := range steps {
		gradients := [2][]float64{make([]float64, c), make([]float64, c)}
		actorGradient := make([]float64, n)
		for i := step * batch; i < (step+1)*batch; i++ {
			row := wide(rows[i*width : (i+1)*width])
			s, next, a, tail := row[:obs], row[obs:2*obs], row[2*obs:2*obs+act], row[2*obs+act:]
			then := tpi.out(next)
			for j := range then {
				then[j] = limit(then[j]+limit(config.PolicyNoise*float64(noise[i*act+j]), config.NoiseClip), 1)
			}
			in := slices.Concat(next, then)
			y := 3*tail[0] + (1-tail[1])*config.Discount*min(tq[0].out(in)[0], tq[1].out(in)[0])
			for k := range q {
				values := q[k].forward(slices.Concat(s, a))
				e := (values[len(values)-1][0] - y) * (1 - tail[2])
				criticLoss += e * e / batch / steps
				q[k].backward(values, []float64{2 * e * (1 - tail[2]) / batch}, gradients[k])
			}
			if step%config.PolicyDelay == 0 {
				acts := pi.forward(s)
				values := q[0].forward(slices.Concat(s, acts[len(acts)-1]))
				actorLoss -= values[len(values)-1][0] / batch / 2
				input := q[0].backward(values, []float64{-1.0 / batch}, make([]float64, c))
				pi.backward(acts, input[obs:], actorGradient)
			}
		}
		for k := range q {
			adams[k].step(q[k].row, gradients[k])
			polyak(tq[k].row, q[k].row)
		}
		if step%config.PolicyDelay == 0 {
			adams[2].step(pi.row, actorGradient)
			polyak(tpi.row, pi.row)
		}
	}

	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			l := Learner{
				Critic: in[0], TargetCritic: in[1], Actor: in[2], TargetActor: in[3],
				Step:          Const(in[0].Graph(), int32(0)),
				CriticMoments: nn.NewAdam(config.CriticLearningRate).Start(in[0]),
				ActorMoments:  nn.NewAdam(config.GreedyLearningRate).Start(in[2]),
			}
			zero := ScalarZero(in[0].Graph(), in[0].DType())
			type state struct {
				Learner     Learner
				Rows, Noise *Node
				Losses      Losses
			}
			end := xla.For(in[0].Graph(), steps, state{l, in[4], in[5], Losses{zero, zero}},
				func(step *Node, s state) state {
					part := func(x *Node) *Node { return xla.Rows(x, MulScalar(step, int32(batch)), batch) }
					var losses Losses
					s.Learner, losses = td3.step(s.Learner, td3.Layout().Split(part(s.Rows)), part(s.Noise))
					s.Losses = Losses{Add(s.Losses.Critic, losses.Critic), Add(s.Losses.Actor, losses.Actor)}
					return s
				})
			l = end.Learner
			return []*Node{l.Critic, l.TargetCritic, l.Actor, l.TargetActor,
				DivScalar(end.Losses.Critic, float64(steps)), DivScalar(end.Losses.Actor, 2.0)}
		}, xlatest.Tensor(critics, 2, c), xlatest.Tensor(targets, 2, c), xlatest.Tensor(actor, 1, n),
			xlatest.Tensor(target, 1, n),
			xlatest.Tensor(rows, steps*batch, width), xlatest.Tensor(noise, steps*batch, act))
		for i, want := range [][]float32{
			narrow(q[0].row, q[1].row), narrow(tq[0].row, tq[1].row), narrow(pi.row), narrow(tpi.row),
			narrow([]float64{criticLoss}), narrow([]float64{actorLoss}),
		} {
			what := []string{"critics", "target critics", "actor", "target actor", "critics' loss",
				"actor's loss"}[i]
			xlatest.Close(t, what, xlatest.Flat[float32](t, out[i]), want, 1e-4)
		}
	})
}
