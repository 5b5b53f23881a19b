package hierarchy

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Task is what decisions are made in.
type Task struct {
	Env    envs.Env
	Unseen int // leading observations that skills do not see: where the robot is
	Skills Form
	// the observations that evaluations keep of every step: where the robot is, and how high
	Place [2]int
	// Look reads what else they keep of the state after every step, [B, Looks]; nil for nothing.
	Look  func(after envs.State) *Node
	Looks int

	length   int // environment steps of an episode
	decision int // environment steps for which a chosen skill acts
}

// with is the task with the lengths of some settings.
func (t Task) with(s Settings) Task {
	t.length, t.decision = s.EpisodeLength, s.DecisionLength
	return t
}

// check tells why skills, rows [skills, N], do not fit the task.
func (t Task) check(skills []int) error {
	spec := t.Env.Spec()
	switch sizes := t.Skills.Net.Sizes; {
	case len(skills) != 2 || skills[0] < 1 || skills[1] != t.Skills.Net.Params():
		return errors.Errorf("skills of shape %v do not fit networks of %d parameters", skills,
			t.Skills.Net.Params())
	case t.Unseen < 0 || sizes[0] != spec.Observations-t.Unseen:
		return errors.Errorf("skills see %d observations, %s has %d, of which they do not see %d",
			sizes[0], spec.Name, spec.Observations, t.Unseen)
	case max(t.Place[0], t.Place[1]) >= spec.Observations || min(t.Place[0], t.Place[1]) < 0:
		return errors.Errorf("%s has no observations %v", spec.Name, t.Place)
	}
	return nil
}

// axes names the sizes of the task for environments that are shared among workers.
func (t Task) axes(s Settings, shared shared) []xla.Axis {
	return append([]xla.Axis{
		{Size: shared.slice, Meaning: "environments of a slice"},
		{Size: shared.n, Meaning: "environments"},
		{Size: s.UnrollLength, Meaning: "decisions of a sequence"},
		{Size: t.decision, Meaning: "steps of a decision"},
		{Size: t.length, Meaning: "steps of an episode"},
		{Size: t.Skills.Net.Params(), Meaning: "parameters of a skill"},
	}, t.Env.Spec().Axes()...)
}

// Form is what skills look like: networks of one form, a row each.
type Form struct {
	Net nn.MLP
	// Gaussian skills are distributions over actions, see [nn.TanhGaussian], whose means and raw
	// scales the networks give. Others give actions.
	Gaussian bool
}

// NewForm is the form of skills for a task of some sizes.
func NewForm(observations int, hidden []int, actions int, gaussian bool) Form {
	net := nn.Policy(observations, hidden, actions)
	if gaussian {
		net = nn.Policy(observations, hidden, 2*actions)
		net.Output = nil
	}
	return Form{net, gaussian}
}

// decisions is how many decisions an episode has, the last of which may be cut short.
func (t Task) decisions() int { return (t.length + t.decision - 1) / t.decision }

// action is what skills [B] do at observations [B, observations] of the task. keys are those of the
// step; without any, nothing is drawn.
func (t Task) action(skills nn.Net, obs *Node, keys xla.Key) *Node {
	out := skills.Apply(Slice(obs, AxisRange(), AxisRange(t.Unseen)))
	if !t.Skills.Gaussian {
		return out
	}
	d := nn.NewTanhGaussian(out)
	if keys.Hi == nil {
		return d.Mode()
	}
	action, _ := d.Sample(keys.Normal(d.Mean.Shape().Dimensions...))
	return action
}

// episodic is an environment that restarts by itself, as [envs.AutoReset] makes them.
type episodic interface {
	envs.Env
	Truncation(envs.State) *Node
}

// Credit is what a decision is worth: a tree. Reward is the sum of its steps' rewards up to and
// including the one that ends an episode, if one does; Done and Truncation are those of that end. A
// skill goes on acting in the next episode, for nothing.
//
// In the published code the window of a decision begins one step earlier, with the last step before
// it, and the decision gets the window of the next one; the last decision of a sequence gets the
// reward of the step before the end alone. Where a decision ends an episode the next window so
// holds no more than that step's reward, and counts as an end again.
type Credit struct {
	Reward, Done, Truncation *Node // [B]
	Alive                    *Node // [B], 1 until an episode ends
}

// opened is the credit of a window that begins with a state.
func opened(env episodic, s envs.State) Credit {
	return Credit{s.Reward, s.Done, env.Truncation(s), OneMinus(s.Done)}
}

// noCredit is that of a window without steps.
func noCredit(s envs.State) Credit {
	zero := ZerosLike(s.Reward)
	return Credit{zero, zero, zero, OnesLike(s.Reward)}
}

// add counts a step that led to a state.
func (c Credit) add(env episodic, s envs.State, published bool) Credit {
	c.Reward = Add(c.Reward, Where(GreaterThan(c.Alive, ZerosLike(c.Alive)), s.Reward,
		ZerosLike(s.Reward)))
	counts := c.Alive
	if published { // any end of the window counts
		counts = OnesLike(counts)
	}
	c.Done, c.Truncation = Max(c.Done, Mul(counts, s.Done)),
		Max(c.Truncation, Mul(counts, env.Truncation(s)))
	c.Alive = Mul(c.Alive, OneMinus(s.Done))
	return c
}

// The purposes of a decision's streams.
const (
	streamChoice = iota
	streamNoise
)

// playing is what a slice of environments plays with: a tree.
type playing struct {
	Acting ppo.Acting
	Rows   *Node // [skills, N]
	Worlds envs.State
	Keys   xla.Key // [B], of the environments
}

// choose makes the decision of a number (int32 scalar) and cuts the chosen skills out.
func (t Task) choose(p playing, number *Node) (choice, logProb *Node, skills nn.Net, keys xla.Key) {
	keys = p.Keys.FoldInEach(number)
	choices := p.Acting.Choices(p.Worlds.Observation)
	choice = choices.Sample(keys.FoldIn(streamChoice))
	skills = t.Skills.Net.View(Gather(p.Rows, InsertAxes(choice, -1)))
	return choice, choices.LogProb(choice), skills, keys.FoldIn(streamNoise)
}

// unroll plays steps decisions, the first of which has a number, and returns the worlds after them
// and the sequences that they make.
func (t Task) unroll(env episodic, p playing, first *Node, steps int, sampled,
	published bool) (envs.State, ppo.Data) {
	type state struct {
		Playing playing
		First   *Node
		Data    ppo.Data // time-major
	}
	g := first.Graph()
	batch, observations := p.Worlds.Reward.Shape().Dimensions[0], env.Spec().Observations
	zeros := func(steps int) *Node { return Zeros(g, shapes.Make(dtypes.Float32, steps, batch)) }
	rows := steps
	if published {
		rows++
	}
	start := state{p, first, ppo.Data{
		Obs:     Zeros(g, shapes.Make(dtypes.Float32, steps+1, batch, observations)),
		Choice:  Zeros(g, shapes.Make(dtypes.Int32, steps, batch)),
		LogProb: zeros(steps), Reward: zeros(rows), Done: zeros(rows), Truncation: zeros(rows),
	}}
	credited := func(d *ppo.Data, at *Node, c Credit) {
		set := func(x **Node, value *Node) { *x = xla.SetRows(*x, at, InsertAxes(value, 0)) }
		set(&d.Reward, c.Reward)
		set(&d.Done, c.Done)
		set(&d.Truncation, c.Truncation)
	}
	end := xla.For(g, steps, start, func(step *Node, s state) state {
		choice, logProb, skills, keys := t.choose(s.Playing, Add(s.First, step))
		s.Data.Obs = xla.SetRows(s.Data.Obs, step, InsertAxes(s.Playing.Worlds.Observation, 0))
		s.Data.Choice = xla.SetRows(s.Data.Choice, step, InsertAxes(choice, 0))
		s.Data.LogProb = xla.SetRows(s.Data.LogProb, step, InsertAxes(logProb, 0))
		credit := noCredit(s.Playing.Worlds)
		if published {
			credit = opened(env, s.Playing.Worlds)
		}
		s.Playing.Worlds, credit = t.act(env, skills, s.Playing.Worlds, keys, credit, sampled, published)
		credited(&s.Data, step, credit)
		return s
	})
	worlds, d := end.Playing.Worlds, end.Data
	last := Const(g, int32(steps))
	d.Obs = xla.SetRows(d.Obs, last, InsertAxes(worlds.Observation, 0))
	if published {
		credited(&d, last, opened(env, worlds))
		next := func(x *Node) *Node { return Slice(x, AxisRange(1)) }
		d.Reward, d.Done, d.Truncation = next(d.Reward), next(d.Done), next(d.Truncation)
	}
	return worlds, xla.Map(d, swapped)
}

// swapped exchanges the first two axes.
func swapped(x *Node) *Node { return Transpose(x, 0, 1) }

// act lets skills act for a decision.
func (t Task) act(env episodic, skills nn.Net, worlds envs.State, keys xla.Key, credit Credit,
	sampled, published bool) (envs.State, Credit) {
	type state struct {
		Skills nn.Net
		Worlds envs.State
		Keys   xla.Key
		Credit Credit
	}
	end := xla.For(worlds.Reward.Graph(), t.decision, state{skills, worlds, keys, credit},
		func(step *Node, s state) state {
			var noise xla.Key
			if sampled {
				noise = s.Keys.FoldInEach(step)
			}
			s.Worlds = envs.Step(env, s.Worlds, t.action(s.Skills, s.Worlds.Observation, noise))
			s.Credit = s.Credit.add(env, s.Worlds, published)
			return s
		})
	return end.Worlds, end.Credit
}

// episode is what an evaluation keeps: a tree, of B environments.
type episode struct {
	Return    *Node // [B], of the first episode
	Length    *Node // [B], its steps
	Choices   *Node // int32 [B, decisions]
	Positions *Node // [B, Length, 2 + Looks], see [Task].Place, after each step
}

// evaluate plays an episode in each environment, from states that were just reset. Decisions are
// drawn, skills act without noise.
func (t Task) evaluate(p playing) episode {
	type state struct {
		Playing playing
		Score   envs.Score
		Choices *Node // [decisions, B]
		Records *Node // [decisions * Decision, B, 2 + Looks]
	}
	type acting struct {
		Skills  nn.Net
		Worlds  envs.State
		Score   envs.Score
		Records *Node
		First   *Node // number of the first step
	}
	g, batch, decisions := p.Worlds.Reward.Graph(), p.Worlds.Reward.Shape().Dimensions[0],
		t.decisions()
	start := state{
		p, envs.NewScore(g, batch, envs.None, 0), Zeros(g, shapes.Make(dtypes.Int32, decisions, batch)),
		Zeros(g, shapes.Make(dtypes.Float32, decisions*t.decision, batch, 2+t.Looks)),
	}
	end := xla.For(g, decisions, start, func(decision *Node, s state) state {
		choice, _, skills, _ := t.choose(s.Playing, decision)
		s.Choices = xla.SetRows(s.Choices, decision, InsertAxes(choice, 0))
		first := MulScalar(decision, int32(t.decision))
		after := xla.For(g, t.decision, acting{skills, s.Playing.Worlds, s.Score, s.Records, first},
			func(step *Node, a acting) acting {
				at := Add(a.First, step)
				a.Worlds = envs.Step(t.Env, a.Worlds, t.action(a.Skills, a.Worlds.Observation, xla.Key{}))
				over := ConvertDType(GreaterOrEqual(at, ConstAs(at, int32(t.length-1))), dtypes.Float32)
				a.Score = a.Score.Add(nil, a.Worlds.Reward, Max(a.Worlds.Done, BroadcastToDims(over, batch)))
				obs := a.Worlds.Observation
				seen := []*Node{Slice(obs, AxisRange(), AxisElem(t.Place[0])),
					Slice(obs, AxisRange(), AxisElem(t.Place[1]))}
				if t.Look != nil {
					look := t.Look(a.Worlds)
					xla.CheckShape(t.Look, "", "what it reads of a state", look, dtypes.Float32, batch, t.Looks)
					seen = append(seen, look)
				}
				a.Records = xla.SetRows(a.Records, at, InsertAxes(Concatenate(seen, 1), 0))
				return a
			})
		s.Playing.Worlds, s.Score, s.Records = after.Worlds, after.Score, after.Records
		return s
	})
	returns, _ := end.Score.Result()
	return episode{returns, end.Score.Length, swapped(end.Choices),
		swapped(Slice(end.Records, AxisRange(0, t.length)))}
}
