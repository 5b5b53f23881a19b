package envs

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/xla"
)

// Policy maps observations [B, observations] to actions [B, actions]. It is a tree, so that a
// rollout can carry its parameters: nn.Net is one.
type Policy interface {
	Apply(observation *Node) *Node
}

// Score accumulates what an episode is worth: its return and its descriptor, up to and including
// the step that ends it. The zero value is not useful; see [NewScore].
type Score struct {
	Alive       *Node // [B], 1 until the first end of the episode
	Return      *Node // [B], undiscounted sum of the valid steps' rewards
	Length      *Node // [B], number of valid steps
	Descriptor  *Node // [B, d], last valid state descriptor, or the sum of them
	Kind        DescriptorKind
	Descriptors int
}

// NewScore starts the scores of a batch. Without descriptors there is none.
func NewScore(g *Graph, batch int, kind DescriptorKind, descriptors int) Score {
	one := Ones(g, shapes.Make(dtypes.Float32, batch))
	zero := ZerosLike(one)
	score := Score{Alive: one, Return: zero, Length: zero, Kind: kind, Descriptors: descriptors}
	if descriptors > 0 {
		score.Descriptor = Zeros(g, shapes.Make(dtypes.Float32, batch, descriptors))
	}
	return score
}

// Add counts a step: the descriptor [B, d] of the state before it, its reward [B] and done [B].
// Steps after the first end of the episode do not count; the step that ends it does (QDax,
// tasks/brax_envs.py).
func (s Score) Add(descriptor, reward, done *Node) Score {
	valid := GreaterThan(s.Alive, ZerosLike(s.Alive))
	s.Return = Where(valid, Add(s.Return, reward), s.Return)
	s.Length = Add(s.Length, s.Alive)
	if s.Descriptors > 0 {
		wide := BroadcastToDims(InsertAxes(valid, -1), descriptor.Shape().Dimensions...)
		if s.Kind == Mean {
			descriptor = Add(s.Descriptor, descriptor)
		}
		s.Descriptor = Where(wide, descriptor, s.Descriptor)
	}
	s.Alive = Where(GreaterThan(done, ZerosLike(done)), ZerosLike(s.Alive), s.Alive)
	return s
}

// Result gives the fitness [B] and the descriptor [B, d] of the episode; nil where the task has
// none. Where a valid step had something that is not a number the fitness is -Inf.
func (s Score) Result() (fitness, descriptor *Node) {
	fitness, descriptor = s.Return, s.Descriptor
	if s.Descriptors > 0 && s.Kind == Mean {
		descriptor = Div(s.Descriptor, InsertAxes(s.Length, -1))
	}
	limit := ConstAs(fitness, math.MaxFloat32)
	finite := LessOrEqual(Abs(fitness), limit) // false for NaN
	for k := range s.Descriptors {
		finite = And(finite, LessOrEqual(Abs(Reshape(Slice(descriptor, AxisRange(), AxisElem(k)), -1)),
			limit))
	}
	return Where(finite, fitness, ConstAs(fitness, math.Inf(-1))), descriptor
}

// Rollout runs policies, one per copy, from start for steps control steps and returns fitness [B]
// and descriptor [B, d].
func Rollout[P Policy](env Env, policy P, start State, steps int) (fitness, descriptor *Node) {
	fitness, descriptor, _ = Record(env, policy, start, steps)
	return fitness, descriptor
}

// Recorder keeps a row of numbers of every step of an episode, or of some of the steps.
type Recorder struct {
	Every int // steps from one row to the next, the first being step 0
	Width int // of a row
	// Row gives the rows [B, Width] of a step: of the state before it, the action [B, actions], and
	// the state that it led to. What it does not use of them costs nothing.
	Row func(before State, action *Node, after State) *Node
}

// Rows is how many rows are kept of an episode of steps control steps.
func (r Recorder) Rows(steps int) int { return (steps + r.Every - 1) / r.Every }

// Record is [Rollout] that keeps, for each of the recorders, its rows: [B, Rows(steps), Width]. An
// environment that restarts by itself ([AutoReset]) goes on after the end of an episode, and rows
// are then of the next one.
func Record[P Policy](env Env, policy P, start State, steps int, recorders ...Recorder) (fitness,
	descriptor *Node, records []*Node) {
	type running struct {
		Policy  P
		State   State
		Score   Score
		Records []*Node // [rows + 1, B, width]; the last row takes the steps that are not kept
	}
	g := start.Reward.Graph()
	batch, spec := start.Reward.Shape().Dimensions[0], env.Spec()
	run := running{Policy: policy, State: start,
		Score: NewScore(g, batch, spec.Descriptor.Kind, len(spec.Descriptor.Lower))}
	for _, r := range recorders {
		if r.Every < 1 {
			panic(errors.Errorf("rows of an episode cannot be %d steps apart", r.Every))
		}
		run.Records = append(run.Records, Zeros(g,
			shapes.Make(dtypes.Float32, r.Rows(steps)+1, batch, r.Width)))
	}
	run = xla.For(g, steps, run, func(step *Node, r running) running {
		action := r.Policy.Apply(r.State.Observation)
		next := Step(env, r.State, action)
		r.Score = r.Score.Add(r.State.Descriptor, next.Reward, next.Done)
		for i, recorder := range recorders {
			row := recorder.Row(r.State, action, next)
			xla.CheckShape(recorder.Row, "", "rows", row, dtypes.Float32, batch, recorder.Width)
			r.Records[i] = xla.SetRows(r.Records[i], recorder.at(step, steps), InsertAxes(row, 0))
		}
		r.State = next
		return r
	})
	for i, recorder := range recorders {
		kept := Slice(run.Records[i], AxisRange(0, recorder.Rows(steps)))
		records = append(records, TransposeAllAxes(kept, 1, 0, 2))
	}
	fitness, descriptor = run.Score.Result()
	return fitness, descriptor, records
}

// at is the row of a step, of an episode of so many.
func (r Recorder) at(step *Node, steps int) *Node {
	if r.Every == 1 {
		return step
	}
	row := Div(step, ConstAs(step, int32(r.Every)))
	kept := Equal(MulScalar(row, int32(r.Every)), step)
	return Where(kept, row, ConstAs(step, int32(r.Rows(steps))))
}

// Trace runs policies like [Rollout] and returns what there is to see: the state descriptors
// [steps, B, d] before each step, the rewards and the done flags [steps, B] of each step.
func Trace[P Policy](env Env, policy P, start State, steps int) (descriptors, rewards,
	dones *Node) {
	type running struct {
		Policy                      P
		State                       State
		Descriptors, Rewards, Dones *Node
	}
	g := start.Reward.Graph()
	batch := start.Reward.Shape().Dimensions[0]
	flat := Zeros(g, shapes.Make(dtypes.Float32, steps, batch))
	run := running{policy, start, Zeros(g, shapes.Make(dtypes.Float32, steps, batch,
		len(env.Spec().Descriptor.Lower))), flat, flat}
	run = xla.For(g, steps, run, func(step *Node, r running) running {
		next := Step(env, r.State, r.Policy.Apply(r.State.Observation))
		r.Descriptors = xla.SetRows(r.Descriptors, step, InsertAxes(r.State.Descriptor, 0))
		r.Rewards = xla.SetRows(r.Rewards, step, InsertAxes(next.Reward, 0))
		r.Dones = xla.SetRows(r.Dones, step, InsertAxes(next.Done, 0))
		r.State = next
		return r
	})
	return run.Descriptors, run.Rewards, run.Dones
}
