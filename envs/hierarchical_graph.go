package envs

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Discrete is an environment whose actions are the rows of a matrix. Its policies return the logits
// of a distribution over the rows, from which learners and evaluations draw.
type Discrete interface {
	Env
	Choices() npz.Array // float32 [choices, Spec().Actions]
}

// Skills are policies of one architecture.
type Skills struct {
	Net nn.MLP
	// Gaussian skills are distributions over actions, see [nn.TanhGaussian]; the networks return
	// the means and raw scales. Other skills return actions.
	Gaussian bool
	Rows     npz.Array // parameters, float32 [skills, Net.Params()]
	Hidden   int       // leading observations of the environment that skills do not see
	Numbers  []int     // of the skills or cells in Rows, which name them
}

// Hierarchical is a [Discrete] environment whose actions are skills: options in the sense of Sutton
// et al. (1999). In a step the chosen skill acts for Every control steps of Env, or until the
// episode ends. An action is the number of a skill, which has no effect, and its parameters. The
// reward of a step is the sum of the rewards of its control steps, and the descriptor is that of
// the episode so far.
type Hierarchical struct {
	Env    Env
	Skills Skills
	Every  int
	// Explore lets Gaussian skills sample their actions while a meta-controller learns. In
	// evaluations they act without noise.
	Explore bool
	// Watch returns quantities to record after each control step, [B, Width]; see
	// [Hierarchical.Recorder].
	Watch func(after State) *Node
	Width int
}

// Check returns an error if the skills do not fit the environment.
func (h Hierarchical) Check() error {
	spec, net, rows := h.Env.Spec(), h.Skills.Net, h.Skills.Rows.Shape
	switch {
	case h.Every < 1:
		return fmt.Errorf("Every, the control steps of a decision, must be at least 1, not %d", h.Every)
	case len(rows) != 2 || rows[0] < 1 || rows[1] != net.Params():
		return fmt.Errorf("skills of shape %v do not fit networks of %d parameters", rows, net.Params())
	case h.Skills.Hidden < 0 || net.Sizes[0] != spec.Observations-h.Skills.Hidden:
		return fmt.Errorf("skills expect %d observations, but %s has %d, of which %d are hidden",
			net.Sizes[0], spec.Name, spec.Observations, h.Skills.Hidden)
	}
	return nil
}

// Spec implements [Env].
func (h Hierarchical) Spec() Spec {
	spec := h.Env.Spec()
	spec.Name += "-options"
	spec.Actions, spec.ActionComponents = 1+h.Skills.Net.Params(), nil
	spec.Every = h.Every
	spec.Length = spec.Steps(spec.Length)
	spec.Offset *= float64(h.Every)
	spec.Objectives = nil
	if spec.Descriptor.Kind != None {
		spec.Descriptor.Kind = Outcome
	}
	return spec
}

// Choices returns the actions: the number and the parameters of each skill, [skills, 1 + N].
func (h Hierarchical) Choices() npz.Array {
	rows, _ := h.Skills.Rows.Float32s()
	n, params := h.Skills.Rows.Shape[0], h.Skills.Net.Params()
	flat := make([]float32, 0, n*(1+params))
	for k := range n {
		flat = append(append(flat, float32(k)), rows[k*params:(k+1)*params]...)
	}
	return npz.Of(flat, n, 1+params)
}

// decided is the physics state of [Hierarchical]: a pytree. The batch is the last axis.
type decided struct {
	Task       []*Node // physics state of Env
	Descriptor *Node   // [d, B], of that state; nil if Env has none
	Sum        *Node   // [d, B], descriptor of the episode so far, or the sum of them; nil without Descriptor
	Length     *Node   // [B], control steps in Sum
	Taken      *Node   // [B], control steps of the newest step up to the end of the episode
	Seen       *Node   // [Every * Width, B], see [Hierarchical.Watch]; nil if nothing is recorded
}

// read splits the physics state.
func (h Hierarchical) read(s State) decided {
	one := s.Reward // placeholders, which Unflatten replaces
	d := decided{Length: one, Taken: one}
	if s.Descriptor != nil {
		d.Descriptor, d.Sum = one, one
	}
	if h.Watch != nil {
		d.Seen = one
	}
	d.Task = s.PhysicsState[:len(s.PhysicsState)-len(xla.Flatten(d))]
	return xla.Unflatten(d, s.PhysicsState)
}

// streamNoise is the random stream of the noise of skills.
const streamNoise = 2

// Reset implements [Env].
func (h Hierarchical) Reset(keys random.Key) State {
	s := Reset(h.Env, keys)
	zero := ZerosLike(s.Reward)
	d := decided{Task: s.PhysicsState, Length: zero, Taken: zero}
	if s.Descriptor != nil {
		d.Descriptor = Transpose(s.Descriptor, 0, 1)
		d.Sum = ZerosLike(d.Descriptor)
		s.Descriptor = ZerosLike(s.Descriptor)
	}
	if h.Watch != nil {
		d.Seen = Zeros(zero.Graph(), shapes.Make(dtypes.Float32, h.Every*h.Width, zero.Shape().Size()))
	}
	if h.Explore && h.Skills.Gaussian {
		s.Noise = Noise{keys.FoldIn(streamNoise), ConvertDType(zero, dtypes.Int32)}
	}
	s.PhysicsState = xla.Flatten(d)
	return s
}

// Step implements [Env].
func (h Hierarchical) Step(s State, action *Node) State {
	type acting struct {
		Skills nn.Net
		Keys   random.Key // of the noise of this step; none without noise
		State  State      // of Env, packed
		Score  Score      // its Return is of this step alone
		Taken  *Node
		Seen   *Node
	}
	batch, zero := action.Shape().Dimensions[0], ZerosLike(s.Reward)
	d, spec := h.read(s), h.Env.Spec()
	inner := State{PhysicsState: d.Task, Observation: s.Observation, Reward: zero, Done: zero}
	score := NewScore(action.Graph(), batch, spec.Descriptor.Kind, len(spec.Descriptor.Lower))
	score.Length = d.Length
	if d.Descriptor != nil {
		inner.Descriptor, score.Descriptor = Transpose(d.Descriptor, 0, 1), Transpose(d.Sum, 0, 1)
	}
	layout := LoopLayoutOf(inner, h.Env)
	a := xla.For(action.Graph(), h.Every, acting{h.Skills.Net.View(Slice(action, AxisRange(), AxisRange(1))),
		s.Noise.Now(), layout.Pack(inner), score, zero, d.Seen}, func(step *Node, a acting) acting {
		before := layout.Unpack(a.State)
		after := Step(h.Env, before, h.act(a.Skills, before.Observation, a.Keys, step))
		if h.Watch != nil {
			look := h.Watch(after)
			xla.CheckShape(h.Watch, "", "quantities to record", look, dtypes.Float32, batch, h.Width)
			a.Seen = xla.SetRows(a.Seen, MulScalar(step, int32(h.Width)), Transpose(look, 0, 1))
		}
		a.Taken = Add(a.Taken, a.Score.Alive)
		a.Score, a.State = a.Score.AddStep(before, after), layout.Pack(after)
		return a
	})
	inner = layout.Unpack(a.State)
	next := State{Observation: inner.Observation, Reward: a.Score.Return, Done: OneMinus(a.Score.Alive), Noise: s.Noise.Next()}
	d = decided{Task: inner.PhysicsState, Length: a.Score.Length, Taken: a.Taken, Seen: a.Seen}
	if inner.Descriptor != nil {
		d.Descriptor, d.Sum = Transpose(inner.Descriptor, 0, 1), Transpose(a.Score.Descriptor, 0, 1)
		next.Descriptor = a.Score.descriptor()
	}
	next.PhysicsState = xla.Flatten(d)
	return next
}

// act returns the actions of skills [B] in a control step.
func (h Hierarchical) act(skills nn.Net, obs *Node, keys random.Key, step *Node) *Node {
	out := skills.Apply(Slice(obs, AxisRange(), AxisRange(h.Skills.Hidden)))
	if !h.Skills.Gaussian {
		return out
	}
	d := nn.NewTanhGaussian(out)
	if keys.Hi == nil {
		return d.Mode()
	}
	action, _ := d.Sample(keys.FoldInEach(step).Normal(d.Mean.Shape().Dimensions...))
	return action
}

// Recorder records the steps of an episode, for [Hierarchical.Played].
func (h Hierarchical) Recorder() Recorder {
	return Recorder{Every: 1, Width: 3 + h.Every*h.Width,
		Row: func(_ State, action *Node, after State) *Node {
			d := h.read(after)
			row := []*Node{Slice(action, AxisRange(), AxisElem(0)), InsertAxes(d.Taken, -1), InsertAxes(after.Done, -1)}
			if h.Watch != nil {
				row = append(row, Transpose(d.Seen, 0, 1))
			}
			return Concatenate(row, 1)
		}}
}

// Played reads what the recorder recorded in an episode: the numbers of the chosen skills, and what
// Watch returned after each control step, one after the other, [steps * Width].
func (h Hierarchical) Played(record []float32) (chosen []int, seen []float32) {
	for width := 3 + h.Every*h.Width; len(record) >= width; record = record[width:] {
		chosen = append(chosen, int(record[0]))
		seen = append(seen, record[3:3+int(record[1])*h.Width]...)
		if record[2] > 0 {
			break
		}
	}
	return chosen, seen
}
