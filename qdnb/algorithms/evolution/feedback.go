package evolution

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// learn inserts the transitions of a generation into the buffer, updates the emitters, and returns
// the losses.
func (p *proposing) learn(s *search, number xla.Array, feedback xla.State[feedback]) ([]float64, error) {
	out, err := p.update.Run(p.updating(s, number, feedback))
	if err != nil {
		return nil, err
	}
	p.state, p.buffer.State = out.State, out.Buffer
	return out.Losses.Scalars(), nil
}

// compileUpdate builds the program that learns from what the insertion of a generation returns.
func (p *proposing) compileUpdate(s *search) (err error) {
	in := p.updating(s, xla.Declare(dtypes.Int32), s.insert.Out.Feedback)
	p.update, err = xla.Compile(s.programs, "learner", in, func(in updateIn) updateOut {
		root, number := random.KeyOf(in.Seed.Tree), in.Number.Tree
		after := in.Archive.Tree
		g := Generation{Task: s.task, Number: number, Found: in.Feedback.Tree.Found,
			Insertion: in.Feedback.Tree.Insertion, Before: in.Feedback.Tree.Before,
			Parents: s.gen.parents(after.Genotypes, after.Cells, root.FoldInEach(number))}
		g.Buffer = p.store(in.Buffer.Tree, in.State.Tree, g, root.FoldIn(streamPropose).FoldInEach(number))
		var state []assignment
		var losses []Metric
		for _, a := range in.State.Tree {
			var more []Metric
			a, more = a.update(g, root.FoldIn(streamUpdate).FoldInEach(number))
			state, losses = append(state, a), append(losses, more...)
		}
		var values []*graph.Node
		p.losses, values = split(losses)
		return updateOut{proposingOut{xla.Out(state), xla.Out(g.Buffer)}, xla.Out(values)}
	}, s.axes()...)
	return err
}

// store inserts the transitions of a generation into the buffer, with the columns of an [Observer].
// Those that are not finite are replaced, see [replay.Buffer.KeepFinite].
func (p *proposing) store(buffer replay.Buffer, assigned []assignment, g Generation, key random.Key) replay.Buffer {
	rows := g.Found.Transitions
	if rows == nil {
		return buffer
	}
	if a := observer(assigned); a != nil {
		o := a.Emitter.(Observer)
		g.Parents = g.Parents.of(*a)
		columns := o.Observe(g, a.key(key).FoldIn(0))
		xla.CheckCount(o, "Observe", "the columns", columns, len(p.layout.More))
		for i, column := range columns {
			xla.CheckShape(o, "Observe", "a column", column, dtypes.Float32, rows.Shape().Dimensions[0], p.layout.More[i])
		}
		rows = graph.Concatenate(append([]*graph.Node{rows}, columns...), 1)
	}
	rows, _ = buffer.KeepFinite(rows)
	return buffer.Insert(rows)
}

// updating are the inputs of the program that updates.
func (p *proposing) updating(s *search, number xla.Array, feedback xla.State[feedback]) updateIn {
	return updateIn{s.seed.First(), number.First(), feedback.First(), s.parents().First(), p.state, p.buffer.State}
}

// Replay returns the replay buffer and the number of rows written so far. The buffer is nil if no
// emitter needs one.
func (s *search) Replay() (buffer *replay.Store, total int64) {
	if s.capacity() == 0 {
		return nil, 0
	}
	return &s.proposing.buffer, (s.generation + 1) * int64(s.replayStep())
}

// replayStep is the number of transitions per generation.
func (s *search) replayStep() int { return s.settings.Batch * s.task.Length }

// layoutOf is the layout of a task's transitions.
func layoutOf(task scoring.Task) replay.Layout {
	spec := task.Env.Spec()
	return replay.Layout{Obs: spec.Observations, Actions: spec.Actions}
}

// recordTransitions records every step of episodes that restart automatically.
func recordTransitions(layout replay.Layout, episodes envs.Episodes) envs.Recorder {
	return envs.Recorder{Every: 1, Width: layout.Width(),
		Row: func(before envs.State, action *graph.Node, after envs.State) *graph.Node {
			return layout.Join(replay.Transitions{
				Obs: before.Observation, NextObs: after.Observation, Action: action,
				Reward: after.Reward, Done: after.Done, Truncation: episodes.Truncation(after),
			})
		}}
}

// capacity is the number of transitions in the replay buffer: the most that an emitter asks for.
func (s *search) capacity() (rows int) {
	for _, a := range s.assigned {
		if p, ok := a.Emitter.(Proposer); ok {
			rows = max(rows, p.Capacity(s.replayStep()))
		}
	}
	return rows
}

// observer returns the emitter that adds columns to the transitions; nil if there is none.
func observer(assigned []assignment) (found *assignment) {
	for _, a := range assigned {
		if _, ok := a.Emitter.(Observer); ok {
			found = &a
		}
	}
	return found
}
