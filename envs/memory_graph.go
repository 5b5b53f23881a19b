package envs

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// Variable is a quantity that a [Rigid] task remembers along with the state of its system, such as a command or
// the previous action. [StepView.Recall] returns its value.
type Variable struct {
	Name string
	Size int // numbers of each copy
	// Start returns the value at the start of an episode, [Size, B]; nil: zeros. It may draw, see
	// [StepView.Uniform].
	Start func(m StepView) *Node
	// Next returns the value after a step, [Size, B]; nil: it stays. Both views recall what was remembered
	// before the step.
	Next func(before, after StepView, action *Node) *Node

	wrong func(r *Rigid) string // what is wrong with it in a task, or ""; nil: nothing
}

// Command is a variable that is drawn uniformly between lower and upper, at the start of an episode and then
// after every period; 0 s: never.
func Command(name string, lower, upper []float64, period float64) Variable {
	draw := func(m StepView) *Node {
		var parts []*Node
		for i := range lower {
			parts = append(parts, m.Uniform(lower[i], upper[i], 1))
		}
		return Concatenate(parts, 0)
	}
	v := Variable{Name: name, Size: len(lower), Start: draw, wrong: func(*Rigid) string {
		ordered := len(lower) == len(upper)
		for i := range min(len(lower), len(upper)) {
			ordered = ordered && lower[i] <= upper[i] && upper[i]-lower[i] < math.MaxFloat32
		}
		if ordered && period >= 0 {
			return ""
		}
		return fmt.Sprintf("Command(%q, %v, %v, %g): want as many lower limits as upper ones, all finite, none above "+
			"its upper one, and a period of at least 0 s", name, lower, upper, period)
	}}
	if period > 0 {
		v.Next = func(before, after StepView, _ *Node) *Node {
			count := func(t *Node) *Node { return Floor(AddScalar(DivScalar(t, period), 1e-3)) }
			due := GreaterThan(count(after.Time()), count(before.Time()))
			fresh := draw(after)
			return Where(BroadcastToDims(InsertAxes(due, 0), fresh.Shape().Dimensions...), fresh, before.Recall(name))
		}
	}
	return v
}

// LastAction is a variable that holds the action of the step before, of a number of components, at first 0.
func LastAction(name string, actions int) Variable {
	return Variable{Name: name, Size: actions, Next: func(_, _ StepView, action *Node) *Node { return action },
		wrong: func(r *Rigid) string {
			if n := r.Spec().Actions; n != actions {
				return fmt.Sprintf("LastAction(%q, %d): the number of actions is %d", name, actions, n)
			}
			return ""
		}}
}

// AirTime is a variable that says how long each body has not touched anything, s; 0 where it does.
func AirTime(name string, bodies ...string) Variable {
	return Variable{Name: name, Size: len(bodies), Next: func(before, after StepView, _ *Node) *Node {
		longer := AddScalar(before.Recall(name), after.System.ControlStep())
		return Mul(longer, OneMinus(after.Touching(bodies...)))
	}}
}

// Phase is a variable that holds the cosine and the sine of an angle that grows by some turns a second, from one
// that is drawn.
func Phase(name string, turnsPerSecond float64) Variable {
	return Variable{Name: name, Size: 2,
		Start: func(m StepView) *Node {
			angle := m.Uniform(-math.Pi, math.Pi, 1)
			return rows(Cos(angle), Sin(angle))
		},
		Next: func(before, after StepView, _ *Node) *Node {
			sin, cos := math.Sincos(2 * math.Pi * turnsPerSecond * after.System.ControlStep())
			now := before.Recall(name)
			x, y := Slice(now, AxisRange(0, 1)), Slice(now, AxisRange(1, 2))
			x, y = Sub(MulScalar(x, cos), MulScalar(y, sin)), Add(MulScalar(x, sin), MulScalar(y, cos))
			length := Sqrt(Add(Square(x), Square(y)))
			return rows(Div(x, length), Div(y, length))
		},
		wrong: func(*Rigid) string {
			if math.Abs(turnsPerSecond) <= math.MaxFloat32 {
				return ""
			}
			return fmt.Sprintf("Phase(%q, %g): want a finite number of turns a second", name, turnsPerSecond)
		}}
}

// remembered is what a task keeps along with the physics state of its system: a pytree.
type remembered struct {
	Keys      random.Key // of the episode, [B]
	Steps     *Node      // of the episode so far, int32 [B]
	Delay     *Node      // of the episode, int32 [B]; nil: the same in all
	Actions   *Node      // the newest actions, the newest first, [n * actions, B]; nil without Latency
	Variables []*Node
	Pushes    []*Node // the step of the next one, int32 [B] each
	// Conditions are the values of [Rigid.Vary], [Width, B]; nil without.
	Conditions *Node
}

// remembers reports whether a task has a memory, with a key and a time.
func (r *Rigid) remembers() bool {
	drawn := len(r.Vary) > 0 && !r.Adjustable()
	return len(r.Memory) > 0 || r.Latency[1] > 0 || r.Stochastic || drawn || r.varies(PushSpeed)
}

// recall splits a physics state into that of the system and the memory.
func (r *Rigid) recall(s State) (system []*Node, k remembered) {
	one := s.Reward // a placeholder, which Unflatten replaces
	if r.remembers() {
		k = remembered{Keys: random.Key{Hi: one, Lo: one}, Steps: one, Variables: slices.Repeat([]*Node{one}, len(r.Memory))}
	}
	for _, v := range r.Vary {
		k.Conditions = one
		if v.Quantity == PushSpeed {
			k.Pushes = append(k.Pushes, one)
		}
	}
	if r.Latency[1] > 0 {
		k.Actions = one
	}
	if r.Latency[0] != r.Latency[1] {
		k.Delay = one
	}
	n := len(s.PhysicsState) - len(xla.Flatten(k))
	return s.PhysicsState[:n], xla.Unflatten(k, s.PhysicsState[n:])
}

// Streams of the random numbers of an episode; a reset uses those before, and functions of steps those after
// streamSteps.
const (
	streamStart = 3 + iota
	streamDelay
	streamEpisode
	streamSteps
	streamObserve
	streamReward
	streamDone
	streamDescribe
	streamPush
	streamVariables // and the next ones
)

// remember draws the memory at the start of an episode in a state of the system, but for the conditions.
func (r *Rigid) remember(keys random.Key, m StepView) (k remembered) {
	k.Conditions = m.memory.Conditions
	if !r.remembers() {
		return k
	}
	g, b := m.State.Graph(), m.State.Batch()
	k.Keys, k.Steps = keys, Zeros(g, shapes.Make(dtypes.Int32, b))
	m.keys, m.memory = keys, k
	if low, high := r.Latency[0], r.Latency[1]; high > 0 {
		k.Actions = Zeros(g, shapes.Make(dtypes.Float32, high*r.Spec().Actions, b))
		if low < high {
			k.Delay = ConvertDType(keys.FoldIn(streamDelay).Uniform(float64(low), float64(high+1), b), dtypes.Int32)
		}
	}
	for _, v := range r.Vary {
		if v.Quantity == PushSpeed {
			k.Pushes = append(k.Pushes, r.untilPush(m.on(streamPush), v))
		}
	}
	for i, v := range r.Memory {
		start := Zeros(g, shapes.Make(dtypes.Float32, v.Size, b))
		if v.Start != nil {
			start = v.Start(m.on(streamVariables + i))
			xla.CheckShape(v.Start, "", v.Name, start, dtypes.Float32, v.Size, b)
		}
		k.Variables = append(k.Variables, start)
	}
	return k
}

// advance returns the memory after a step, except for the actions.
func (r *Rigid) advance(k remembered, before, after StepView, action *Node) remembered {
	variables := slices.Clone(k.Variables)
	for i, v := range r.Memory {
		if v.Next != nil {
			variables[i] = v.Next(before, after.on(streamVariables+i), action)
			xla.CheckShape(v.Next, "", v.Name, variables[i], dtypes.Float32, k.Variables[i].Shape().Dimensions...)
		}
	}
	k.Variables = variables
	return k
}

// delayed returns the memory with an action [actions, B] in it, and the action that takes effect now.
func (r *Rigid) delayed(k remembered, action *Node) (remembered, *Node) {
	n := action.Shape().Dimensions[0]
	old := k.Actions
	if old == nil {
		return k, action
	}
	k.Actions = Slice(Concatenate([]*Node{action, old}, 0), AxisRange(0, r.Latency[1]*n))
	ago := func(steps int) *Node {
		if steps == 0 {
			return action
		}
		return Slice(old, AxisRange((steps-1)*n, steps*n))
	}
	late := ago(r.Latency[1])
	for steps := r.Latency[1] - 1; steps >= r.Latency[0]; steps-- {
		now := Equal(k.Delay, ConstAs(k.Delay, int32(steps)))
		late = Where(BroadcastToDims(InsertAxes(now, 0), late.Shape().Dimensions...), ago(steps), late)
	}
	return k, late
}

// checkMemory returns what is wrong with the memory of a task, or "".
func (r *Rigid) checkMemory() string {
	low, high := r.Latency[0], r.Latency[1]
	if low < 0 || high < low {
		return fmt.Sprintf("its Latency is %d to %d control steps: want 0 or more, the least first", low, high)
	}
	if length := r.Settings.Length; high >= length {
		return fmt.Sprintf("its Latency is up to %d control steps, but an episode has %d: want less", high, length)
	}
	var known []string
	for _, v := range r.Memory {
		switch {
		case v.Name == "" || v.Size < 1:
			return fmt.Sprintf("its Memory has a Variable %q of %d numbers: want a name and at least 1", v.Name, v.Size)
		case slices.Contains(known, v.Name) || senses[v.Name].build != nil:
			return fmt.Sprintf("its Memory has the name %q twice, or it is that of a sense: choose another one", v.Name)
		}
		if v.wrong != nil && v.wrong(r) != "" {
			return "its Memory: " + v.wrong(r)
		}
		known = append(known, v.Name)
	}
	return ""
}

// Recall returns a variable of the task's memory, [Size, B]. It panics if there is none of this name.
func (m StepView) Recall(name string) *Node {
	var known []string
	if m.task != nil {
		for i, v := range m.task.Memory {
			if v.Name == name && i < len(m.memory.Variables) {
				return m.memory.Variables[i]
			}
			known = append(known, v.Name)
		}
	}
	panic(names.Unknown("variable", name, known))
}

// Time is how long the episode has lasted, s [B]. The task needs a memory; see [Rigid.Stochastic].
func (m StepView) Time() *Node {
	m.needsMemory("Time")
	return MulScalar(ConvertDType(m.memory.Steps, dtypes.Float32), m.System.ControlStep())
}

// Uniform draws numbers [n, B] uniformly in [low, high), others in each step and copy and at each call. The task
// needs a memory; see [Rigid.Stochastic].
func (m StepView) Uniform(low, high float64, n int) *Node {
	return Transpose(m.draw("Uniform").Uniform(low, high, m.State.Batch(), n), 0, 1)
}

// Normal draws standard normal numbers [n, B]; see [StepView.Uniform].
func (m StepView) Normal(n int) *Node {
	return Transpose(m.draw("Normal").Normal(m.State.Batch(), n), 0, 1)
}

func (m StepView) draw(method string) random.Key {
	m.needsMemory(method)
	*m.draws++
	return m.keys.FoldIn(streamSteps).FoldInEach(m.memory.Steps).FoldIn(m.stream).FoldIn(*m.draws)
}

func (m StepView) needsMemory(method string) {
	if m.keys.Hi == nil {
		panic(fmt.Errorf("a task without memory has no %s: set Stochastic", method))
	}
}

// on returns a view that draws from another stream.
func (m StepView) on(stream int) StepView {
	m.stream, m.draws = stream, new(int)
	return m
}
