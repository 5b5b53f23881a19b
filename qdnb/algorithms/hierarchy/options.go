package hierarchy

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Skills are policies of one architecture.
type Skills struct {
	Net nn.MLP
	// Gaussian skills are distributions over actions, see [nn.TanhGaussian]; the networks return the
	// means and raw scales. Other skills return actions.
	Gaussian bool
	Rows     npz.Array // parameters, float32 [skills, Net.Params()]
	Hidden   int       // leading observations of the environment that skills do not see
	Numbers  []int     // of the skills or cells in Rows, which name them
}

// Options is an environment whose actions are skills. A step is Every control steps of Env, in which
// the skill acts; the last one of an episode may be shorter. An action is the number of a skill, which
// has no effect, and its parameters: a row of [Options.Choices]. The reward of a step is the sum of
// the rewards of its control steps, up to and including one that ends the episode. The descriptor is
// that of the episode so far.
//
// Learners get the environment from [Options.Episodes].
type Options struct {
	Env    envs.Env
	Skills Skills
	Every  int
	// Sample lets Gaussian skills sample their actions while a meta-controller learns; otherwise they
	// act without noise.
	Sample bool
	// PublishedCredit lets a meta-controller learn from the rewards of the published code, see
	// [Options.Credit].
	PublishedCredit bool
	// Watch returns quantities to record after each control step, [B, Width]; see [Options.Recorder].
	Watch func(after envs.State) *Node
	Width int

	length   int // control steps per episode; 0: that of Env
	learning bool
}

// episodic is an environment that resets automatically.
type episodic interface{ Truncation(envs.State) *Node }

// Check returns an error if the skills do not fit the environment.
func (o Options) Check() error {
	spec, net, rows := o.Env.Spec(), o.Skills.Net, o.Skills.Rows.Shape
	switch {
	case o.Every < 1:
		return fmt.Errorf("Every, the control steps of a decision, must be at least 1, not %d", o.Every)
	case len(rows) != 2 || rows[0] < 1 || rows[1] != net.Params():
		return fmt.Errorf("skills of shape %v do not fit networks of %d parameters", rows, net.Params())
	case o.Skills.Hidden < 0 || net.Sizes[0] != spec.Observations-o.Skills.Hidden:
		return fmt.Errorf("skills expect %d observations, but %s has %d, of which %d are hidden",
			net.Sizes[0], spec.Name, spec.Observations, o.Skills.Hidden)
	}
	return nil
}

// Spec implements [envs.Env].
func (o Options) Spec() envs.Spec {
	spec := o.Env.Spec()
	spec.Name += "-options"
	spec.Actions, spec.ActionComponents = 1+o.Skills.Net.Params(), nil
	spec.Length = (o.steps() + o.Every - 1) / max(1, o.Every) // Check rejects 0
	spec.Offset *= float64(o.Every)
	spec.Objectives = nil
	if spec.Descriptor.Kind != envs.None {
		spec.Descriptor.Kind = envs.Outcome
	}
	return spec
}

// steps is the number of control steps per episode.
func (o Options) steps() int {
	if o.length > 0 {
		return o.length
	}
	return o.Env.Spec().Length
}

// ControlSteps is the number of control steps of a step.
func (o Options) ControlSteps() int { return o.Every }

// Choices returns the actions: the number and the parameters of each skill, [skills, 1 + N].
func (o Options) Choices() npz.Array {
	rows, _ := o.Skills.Rows.Float32s()
	n, params := o.Skills.Rows.Shape[0], o.Skills.Net.Params()
	flat := make([]float32, 0, n*(1+params))
	for k := range n {
		flat = append(append(flat, float32(k)), rows[k*params:(k+1)*params]...)
	}
	return npz.Of(flat, n, 1+params)
}

// Episodes returns the environment with episodes of a number of control steps; for learning, they
// restart as [envs.AutoReset] says. The skill then keeps acting in the next episode, but earns nothing.
func (o Options) Episodes(length int, learning bool) envs.Env {
	o.length, o.learning = length, learning
	if learning {
		o.Env, o.Watch, o.Width = envs.AutoReset(o.Env, length), nil, 0
	}
	return o
}

// memory is the physics state of [Options]: a pytree. The batch is the last axis.
type memory struct {
	Inner      []*Node    // physics state of Env
	Descriptor *Node      // [d, B], state descriptor of Env; nil if it has none
	Sum        *Node      // [d, B], that of the episode so far, or the sum of them; nil without Descriptor
	Length     *Node      // [B], control steps in Sum
	Key        random.Key // [B], of the noise of skills
	Steps      *Node      // int32 [B], steps so far
	Last       ending     // of the newest control step
	Truncation *Node      // [B]
	Seen       *Node      // [Every * Width, B], see [Options.Watch]; nil if nothing is recorded
	Taken      *Node      // [B], control steps of the newest step up to the end of the episode
}

// ending is what a control step earned, and how it ended: a pytree.
type ending struct{ Reward, Done, Truncation *Node } // [B]

// read splits the physics state.
func (o Options) read(s envs.State) memory {
	one := s.Reward // placeholders, which Unflatten replaces
	m := memory{Length: one, Key: random.Key{Hi: one, Lo: one}, Steps: one, Last: ending{one, one, one},
		Truncation: one, Taken: one}
	if s.Descriptor != nil {
		m.Descriptor, m.Sum = one, one
	}
	if o.Watch != nil {
		m.Seen = one
	}
	m.Inner = s.PhysicsState[:len(s.PhysicsState)-len(xla.Flatten(m))]
	return xla.Unflatten(m, s.PhysicsState)
}

// Truncation is 1 where the newest step ended an episode by its length only, [B].
func (o Options) Truncation(s envs.State) *Node { return o.read(s).Truncation }

// Reset implements [envs.Env].
func (o Options) Reset(keys random.Key) envs.State {
	s := envs.Reset(o.Env, keys)
	zero := ZerosLike(s.Reward)
	m := memory{Inner: s.PhysicsState, Length: zero, Key: keys.FoldIn(streamNoise),
		Steps: ConvertDType(zero, dtypes.Int32), Last: o.ending(s), Truncation: zero, Taken: zero}
	if s.Descriptor != nil {
		m.Descriptor = Transpose(s.Descriptor, 0, 1)
		m.Sum = ZerosLike(m.Descriptor)
		s.Descriptor = ZerosLike(s.Descriptor)
	}
	if o.Watch != nil {
		m.Seen = Zeros(zero.Graph(), shapes.Make(dtypes.Float32, o.Every*o.Width, zero.Shape().Size()))
	}
	s.PhysicsState = xla.Flatten(m)
	return s
}

// streamNoise is the random stream of the noise of skills.
const streamNoise = 2

func (o Options) ending(s envs.State) ending {
	e := ending{s.Reward, s.Done, ZerosLike(s.Done)}
	if env, ok := o.Env.(episodic); ok {
		e.Truncation = env.Truncation(s)
	}
	return e
}

// window is what the control steps of a step earn: a pytree.
type window struct {
	Sum   ending
	Alive *Node // [B], 1 until an episode ends
}

// add adds a control step.
func (w window) add(e ending, published bool) window {
	counts := w.Alive
	w.Sum.Reward = Add(w.Sum.Reward, where(counts, e.Reward, ZerosLike(e.Reward)))
	if published { // any end of the window counts
		counts = OnesLike(counts)
	}
	w.Sum.Done = Max(w.Sum.Done, Mul(counts, e.Done))
	w.Sum.Truncation = Max(w.Sum.Truncation, Mul(counts, e.Truncation))
	w.Alive = Mul(w.Alive, OneMinus(e.Done))
	return w
}

// acting is the state of the loop over the control steps of a step: a pytree.
type acting struct {
	Skills      nn.Net
	State       envs.State // of Env, packed
	Window      window
	Key         random.Key
	First       *Node // int32 [B], control steps before
	Sum, Length *Node // see memory
	Over        *Node // [B], 1 where the episode ended before this step
	Seen, Taken *Node
	Last        ending
}

// Step implements [envs.Env].
func (o Options) Step(s envs.State, action *Node) envs.State {
	g, batch := action.Graph(), action.Shape().Dimensions[0]
	m, zero := o.read(s), ZerosLike(s.Reward)
	inner := envs.State{PhysicsState: m.Inner, Observation: s.Observation, Reward: zero, Done: zero}
	if m.Descriptor != nil {
		inner.Descriptor = Transpose(m.Descriptor, 0, 1)
		m.Sum = fresh(s.Done, m.Sum)
	}
	a := acting{Skills: o.Skills.Net.View(Slice(action, AxisRange(), AxisRange(1))),
		Window: window{ending{zero, zero, zero}, OnesLike(zero)}, Key: m.Key.FoldInEach(m.Steps),
		First: MulScalar(m.Steps, int32(o.Every)), Sum: m.Sum, Length: fresh(s.Done, m.Length),
		Seen: m.Seen, Taken: zero, Last: m.Last}
	if o.publishes() {
		a.Window = window{m.Last, OneMinus(m.Last.Done)}
	}
	form := envs.FormOf(inner, o.Env)
	a.State = form.Pack(inner)
	a = xla.For(g, o.Every, a, func(step *Node, a acting) acting {
		before := form.Unpack(a.State)
		after := envs.Step(o.Env, before, o.act(a.Skills, before.Observation, a.Key, step))
		a.Last = o.ending(after)
		if _, ok := o.Env.(episodic); !ok {
			over := GreaterOrEqual(AddScalar(Add(a.First, step), 1), ConstAs(a.First, int32(o.steps())))
			a.Last.Done = Max(a.Last.Done, ConvertDType(over, dtypes.Float32))
		}
		alive := a.Window.Alive
		a.Taken = Add(a.Taken, alive)
		if a.Sum != nil {
			a.Sum, a.Length = o.describe(a, before.Descriptor, after.Descriptor), Add(a.Length, alive)
		}
		if o.Watch != nil {
			look := o.Watch(after)
			xla.CheckShape(o.Watch, "", "quantities to record", look, dtypes.Float32, batch, o.Width)
			a.Seen = xla.SetRows(a.Seen, MulScalar(step, int32(o.Width)), Transpose(look, 0, 1))
		}
		a.Window = a.Window.add(a.Last, o.publishes())
		a.State = form.Pack(after)
		return a
	})
	inner = form.Unpack(a.State)
	m.Inner, m.Sum, m.Length, m.Seen, m.Taken, m.Last = inner.PhysicsState, a.Sum, a.Length, a.Seen,
		a.Taken, a.Last
	m.Steps, m.Truncation = AddScalar(m.Steps, int32(1)), a.Window.Sum.Truncation
	next := envs.State{Observation: inner.Observation, Reward: a.Window.Sum.Reward, Done: a.Window.Sum.Done}
	if m.Descriptor != nil {
		m.Descriptor, next.Descriptor = Transpose(inner.Descriptor, 0, 1), Transpose(m.Sum, 0, 1)
		if o.Env.Spec().Descriptor.Kind == envs.Mean {
			next.Descriptor = Div(next.Descriptor, InsertAxes(m.Length, -1))
		}
	}
	next.PhysicsState = xla.Flatten(m)
	return next
}

// publishes reports whether steps earn what the published code credits them with.
func (o Options) publishes() bool { return o.learning && o.PublishedCredit }

// fresh returns zeros for copies whose episode ended, and x [..., B] for the others.
func fresh(done, x *Node) *Node {
	return where(done, ZerosLike(x), x)
}

// where selects for each copy, by a flag [B], from a or from b [..., B].
func where(flag, a, b *Node) *Node {
	set := GreaterThan(flag, ZerosLike(flag))
	for set.Rank() < a.Rank() {
		set = InsertAxes(set, 0)
	}
	return Where(BroadcastToDims(set, a.Shape().Dimensions...), a, b)
}

// describe adds a control step to the descriptor of the episode, [d, B].
func (o Options) describe(a acting, before, after *Node) *Node {
	kind, now := o.Env.Spec().Descriptor.Kind, before
	if kind == envs.Outcome {
		now = after
	}
	now = Transpose(now, 0, 1)
	if kind == envs.Mean {
		now = Add(a.Sum, now)
	}
	return where(a.Window.Alive, now, a.Sum)
}

// act returns the actions of skills [B] in a control step.
func (o Options) act(skills nn.Net, obs *Node, keys random.Key, step *Node) *Node {
	out := skills.Apply(Slice(obs, AxisRange(), AxisRange(o.Skills.Hidden)))
	if !o.Skills.Gaussian {
		return out
	}
	d := nn.NewTanhGaussian(out)
	if !o.learning || !o.Sample {
		return d.Mode()
	}
	action, _ := d.Sample(keys.FoldInEach(step).Normal(d.Mean.Shape().Dimensions...))
	return action
}

// Credit returns what a meta-controller learns from consecutive steps: rewards, dones and truncations
// [T, B]. last is the state after them. It returns them unchanged unless PublishedCredit is set. In the
// published code, the window of a decision starts one control step earlier, with the last one before
// the decision, and each decision receives the window of the next one. The last of them receives only
// the last control step. So if a decision ends an episode, the next window contains only that step's
// reward and counts as a second end.
func (o Options) Credit(reward, done, truncation *Node, last envs.State) (_, _, _ *Node) {
	if !o.publishes() {
		return reward, done, truncation
	}
	end := o.read(last).Last
	next := func(x, last *Node) *Node {
		return Concatenate([]*Node{Slice(x, AxisRange(1)), InsertAxes(last, 0)}, 0)
	}
	return next(reward, end.Reward), next(done, end.Done), next(truncation, end.Truncation)
}

// Recorder records the steps of an episode, for [Options.Played].
func (o Options) Recorder() envs.Recorder {
	return envs.Recorder{Every: 1, Width: 3 + o.Every*o.Width,
		Row: func(_ envs.State, action *Node, after envs.State) *Node {
			m := o.read(after)
			row := []*Node{Slice(action, AxisRange(), AxisElem(0)), InsertAxes(m.Taken, -1),
				InsertAxes(after.Done, -1)}
			if o.Watch != nil {
				row = append(row, Transpose(m.Seen, 0, 1))
			}
			return Concatenate(row, 1)
		}}
}

// Played reads what the recorder recorded in an episode: the numbers of the chosen skills, and what
// Watch returned after each control step, one after the other, [steps * Width].
func (o Options) Played(record []float32) (chosen []int, seen []float32) {
	for width := 3 + o.Every*o.Width; len(record) >= width; record = record[width:] {
		chosen = append(chosen, int(record[0]))
		seen = append(seen, record[3:3+int(record[1])*o.Width]...)
		if record[2] > 0 {
			break
		}
	}
	return chosen, seen
}
