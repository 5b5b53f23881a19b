package envs

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Score accumulates the return and the descriptor of an episode, up to and including the step that
// ends it. The zero value is not useful; see [NewScore].
type Score struct {
	Alive       *Node // [B], 1 until the first end of the episode
	Return      *Node // [B], undiscounted sum of the valid steps' rewards
	Length      *Node // [B], number of valid steps
	Descriptor  *Node // [B, d], last valid state descriptor, or the sum of them
	Objectives  *Node // [B, objectives], sums of the parts of the valid rewards; nil if not recorded
	Kind        DescriptorKind
	Descriptors int
}

// NewScore returns the initial scores of a batch. If descriptors is 0 they have no descriptor.
func NewScore(g *Graph, batch int, kind DescriptorKind, descriptors int) Score {
	one := Ones(g, shapes.Make(dtypes.Float32, batch))
	zero := ZerosLike(one)
	score := Score{Alive: one, Return: zero, Length: zero, Kind: kind, Descriptors: descriptors}
	if descriptors > 0 {
		score.Descriptor = Zeros(g, shapes.Make(dtypes.Float32, batch, descriptors))
	}
	return score
}

// AddStep accumulates a step between two states, with the descriptor of the state before it, unless
// that is an [Outcome]. Steps after the first end of the episode are masked; the step that ends it
// counts (QDax, tasks/brax_envs.py).
func (s Score) AddStep(before, after State) Score {
	descriptor := before.Descriptor
	if s.Kind == Outcome {
		descriptor = after.Descriptor
	}
	if s.Objectives != nil {
		sum := Add(s.Objectives, after.Objectives)
		valid := InsertAxes(GreaterThan(s.Alive, ZerosLike(s.Alive)), -1)
		s.Objectives = Where(BroadcastToDims(valid, sum.Shape().Dimensions...), sum, s.Objectives)
	}
	valid := GreaterThan(s.Alive, ZerosLike(s.Alive))
	s.Return = Where(valid, Add(s.Return, after.Reward), s.Return)
	s.Length = Add(s.Length, s.Alive)
	if s.Descriptors > 0 {
		wide := BroadcastToDims(InsertAxes(valid, -1), descriptor.Shape().Dimensions...)
		if s.Kind == Mean {
			descriptor = Add(s.Descriptor, descriptor)
		}
		s.Descriptor = Where(wide, descriptor, s.Descriptor)
	}
	s.Alive = Where(GreaterThan(after.Done, ZerosLike(after.Done)), ZerosLike(s.Alive), s.Alive)
	return s
}

// Result returns the fitness [B] and the descriptor [B, d] of the episode; the descriptor is nil if
// the task has none. The fitness is -Inf if a valid step was not finite: see [Step].
func (s Score) Result() (fitness, descriptor *Node) {
	fitness, descriptor = s.Return, s.descriptor()
	limit := ConstAs(fitness, math.MaxFloat32)
	finite := LessOrEqual(Abs(fitness), limit) // false for NaN
	for k := range s.Descriptors {
		finite = And(finite, LessOrEqual(Abs(Reshape(Slice(descriptor, AxisRange(), AxisElem(k)), -1)), limit))
	}
	return Where(finite, fitness, ConstAs(fitness, math.Inf(-1))), descriptor
}

// descriptor returns the descriptor of the episode so far.
func (s Score) descriptor() *Node {
	if s.Descriptors > 0 && s.Kind == Mean {
		return Div(s.Descriptor, InsertAxes(s.Length, -1))
	}
	return s.Descriptor
}

// Rollout runs one policy per copy from start for steps control steps and returns fitness [B] and
// descriptor [B, d].
func Rollout[P nn.Policy](env Env, policy P, start State, steps int) (fitness, descriptor *Node) {
	score, _ := Record(env, policy, start, steps)
	return score.Result()
}

// Recorder records a row of numbers every few steps of an episode.
type Recorder struct {
	Every int // steps between rows; the first row is of step 0
	Width int // numbers per row
	// Row returns the rows [B, Width] of a step, from the state before it, the action [B, actions]
	// and the state after it. Inputs that it does not use cost nothing.
	Row func(before State, action *Node, after State) *Node
}

// Rows is the number of rows recorded in an episode of steps control steps.
func (r Recorder) Rows(steps int) int { return (steps + r.Every - 1) / r.Every }

// Record is [Rollout] that also returns the rows of each recorder, [B, Rows(steps), Width]. If the
// environment resets automatically ([AutoReset]), rows after the end of an episode are of the next
// one. The score has Objectives if start has.
func Record[P nn.Policy](env Env, policy P, start State, steps int, recorders ...Recorder) (score Score, records []*Node) {
	type running struct {
		Policy  P
		Memory  []*Node
		State   State
		Score   Score
		Records []*Node // [rows + 1, B, width]; steps that are not recorded go to the last row
	}
	g := start.Reward.Graph()
	batch, spec := start.Reward.Shape().Dimensions[0], env.Spec()
	run := running{Policy: policy, Memory: policy.Memory(), State: start,
		Score: NewScore(g, batch, spec.Descriptor.Kind, len(spec.Descriptor.Lower))}
	run.Score.Objectives = start.Objectives
	run.Score.Return = Where(start.valid(env), run.Score.Return, ConstAs(run.Score.Return, math.NaN()))
	for _, r := range recorders {
		if r.Every < 1 {
			panic(fmt.Errorf("a Recorder needs Every of at least 1 step, not %d", r.Every))
		}
		run.Records = append(run.Records, Zeros(g, shapes.Make(dtypes.Float32, r.Rows(steps)+1, batch, r.Width)))
	}
	layout := LoopLayoutOf(start, env)
	run.State = layout.Pack(run.State)
	run = xla.For(g, steps, run, func(step *Node, r running) running {
		r.State = layout.Unpack(r.State)
		memory, action := r.Policy.Act(r.Memory, r.State.Observation)
		xla.CheckLike(r.Policy, "Act", "the memory", memory, r.Memory)
		xla.CheckShape(r.Policy, "Act", "actions", action, dtypes.Float32, batch, spec.Actions)
		next := Step(env, r.State, action)
		r.Score = r.Score.AddStep(r.State, next)
		for i, recorder := range recorders {
			row := recorder.Row(r.State, action, next)
			xla.CheckShape(recorder.Row, "", "rows", row, dtypes.Float32, batch, recorder.Width)
			r.Records[i] = xla.SetRow(r.Records[i], recorder.at(step, steps), row)
		}
		r.Memory, r.State = memory, layout.Pack(next)
		return r
	})
	for i, recorder := range recorders {
		kept := Slice(run.Records[i], AxisRange(0, recorder.Rows(steps)))
		records = append(records, TransposeAllAxes(kept, 1, 0, 2))
	}
	return run.Score, records
}

// LoopLayout says how a loop carries the states of a task on a GPU or TPU, where each array that it
// carries may cost a kernel. What Pack removes or cuts, Unpack restores from what is carried, and
// in a loop both cancel out. The zero value changes nothing.
type LoopLayout struct {
	// rows has an entry for the first parts of the physics state, which are carried as an array [1,
	// B] for each of their distinct rows: see [physics.System.SplitRows]. Parts with a nil entry are
	// carried whole.
	rows [][]int
	// observe computes observation and descriptor from the physics state, so that the loop carries
	// neither; nil if it carries them.
	observe func(State) State
}

// LoopLayoutOf returns the layout in which loops carry the states of a task, of which s is one.
func LoopLayoutOf(s State, env Env) LoopLayout {
	if !xla.KindOf(s.Reward.Graph()).Accelerator() {
		return LoopLayout{}
	}
	switch env := env.(type) {
	case Pointmaze:
		return LoopLayout{observe: observePoints}
	case *Rigid:
		if brax, ok := env.System.(*physics.System); ok {
			return LoopLayout{rows: brax.SplitRows(s.Reward.Graph())}
		}
	case Episodes: // the state has the task's parts twice
		s.PhysicsState = env.read(s).PhysicsState
		parts := make([][]int, len(s.PhysicsState))
		copy(parts, LoopLayoutOf(s, env.env).rows)
		return LoopLayout{rows: slices.Concat(parts, parts)}
	case fixedStart:
		return LoopLayoutOf(s, env.Env)
	case interface{ Unwrap() Env }: // it may observe something else, and append parts of its own
		if _, ok := env.Unwrap().(*Rigid); ok {
			return LoopLayoutOf(s, env.Unwrap())
		}
	}
	return LoopLayout{}
}

// Pack returns a state as a loop carries it.
func (l LoopLayout) Pack(s State) State {
	if l.observe != nil {
		s.Observation, s.Descriptor = nil, nil
	}
	parts := s.PhysicsState
	s.PhysicsState = nil
	for i, sources := range l.rows {
		if sources == nil {
			s.PhysicsState = append(s.PhysicsState, parts[i])
		}
		for row, source := range sources {
			if row == source {
				s.PhysicsState = append(s.PhysicsState, Slice(parts[i], AxisElem(row)))
			}
		}
	}
	s.PhysicsState = append(s.PhysicsState, parts[len(l.rows):]...)
	return s
}

// Unpack is the inverse of [LoopLayout.Pack].
func (l LoopLayout) Unpack(s State) State {
	rows := s.PhysicsState
	s.PhysicsState = nil
	for _, sources := range l.rows {
		if sources == nil {
			s.PhysicsState, rows = append(s.PhysicsState, rows[0]), rows[1:]
			continue
		}
		var all []*Node
		for row, source := range sources {
			if row == source {
				all, rows = append(all, rows[0]), rows[1:]
			} else {
				all = append(all, all[source])
			}
		}
		s.PhysicsState = append(s.PhysicsState, Concatenate(all, 0))
	}
	s.PhysicsState = append(s.PhysicsState, rows...)
	if l.observe != nil {
		s = l.observe(s)
	}
	return s
}

// at is the row index of a step in an episode of steps control steps.
func (r Recorder) at(step *Node, steps int) *Node {
	if r.Every == 1 {
		return step
	}
	row := Div(step, ConstAs(step, int32(r.Every)))
	kept := Equal(MulScalar(row, int32(r.Every)), step)
	return Where(kept, row, ConstAs(step, int32(r.Rows(steps))))
}
