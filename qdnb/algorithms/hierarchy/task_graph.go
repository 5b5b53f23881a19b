package hierarchy

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/ppo"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Task is the environment and the architecture of the skills for a meta-controller.
type Task struct {
	Env    envs.Env
	Unseen int // number of leading observations that skills do not see: the robot's position
	Skills Form
	// Place holds the indices of two observations that evaluations record after every step: the
	// robot's position and height.
	Place [2]int
	// Look returns additional quantities to record after every step, [B, Looks]; nil for none.
	Look  func(after envs.State) *Node
	Looks int

	length   int // environment steps per episode
	decision int // environment steps per decision
}

// with returns the task with the lengths from the settings.
func (t Task) with(s Settings) Task {
	t.length, t.decision = s.EpisodeLength, s.DecisionLength
	return t
}

// check returns an error if skills of shape [skills, N] do not fit the task.
func (t Task) check(skills []int) error {
	spec := t.Env.Spec()
	switch sizes := t.Skills.Net.Sizes; {
	case len(skills) != 2 || skills[0] < 1 || skills[1] != t.Skills.Net.Params():
		return fmt.Errorf("skills of shape %v do not fit networks of %d parameters", skills,
			t.Skills.Net.Params())
	case t.Unseen < 0 || sizes[0] != spec.Observations-t.Unseen:
		return fmt.Errorf("skills expect %d observations, but %s has %d, of which %d are hidden",
			sizes[0], spec.Name, spec.Observations, t.Unseen)
	case max(t.Place[0], t.Place[1]) >= spec.Observations || min(t.Place[0], t.Place[1]) < 0:
		return fmt.Errorf("%s has no observations %v", spec.Name, t.Place)
	}
	return nil
}

// axes names the axis sizes of the task for environments that are divided among workers.
func (t Task) axes(s Settings, shared xla.Slices) []xla.Axis {
	return append([]xla.Axis{
		{Size: shared.Size, Meaning: "environments of a slice"},
		{Size: shared.N, Meaning: "environments"},
		{Size: s.UnrollLength, Meaning: "decisions of a sequence"},
		{Size: t.decision, Meaning: "steps of a decision"},
		{Size: t.length, Meaning: "steps of an episode"},
		{Size: t.Skills.Net.Params(), Meaning: "parameters of a skill"},
	}, envs.Axes(t.Env.Spec())...)
}

// Form is the architecture that all skills share; each skill is one row of parameters.
type Form struct {
	Net nn.MLP
	// Gaussian skills are distributions over actions, see [nn.TanhGaussian]; the networks return the
	// means and raw scales. Other skills return actions.
	Gaussian bool
}

// NewForm returns the form of skills for the given sizes.
func NewForm(observations int, hidden []int, actions int, gaussian bool) Form {
	if gaussian {
		return Form{nn.NewMLP(observations, hidden, 2*actions), true}
	}
	return Form{nn.Policy(observations, hidden, actions), false}
}

// decisions is the number of decisions per episode; the last one may be cut short.
func (t Task) decisions() int { return (t.length + t.decision - 1) / t.decision }

// action returns the actions of skills [B] at observations [B, observations] of the task. keys are
// the keys of the step; with a zero Key the mode is used.
func (t Task) action(skills nn.Net, obs *Node, keys random.Key) *Node {
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

// episodic is an environment that restarts automatically, as returned by [envs.AutoReset].
type episodic interface {
	envs.Env
	Truncation(envs.State) *Node
}

// Credit is the return of a decision: a pytree. Reward is the sum of the rewards of its steps, up
// to and including a step that ends an episode. Done and Truncation are those of that step. The
// skill keeps acting in the next episode, but earns nothing.
//
// In the published code, the window of a decision starts one step earlier, with the last step
// before the decision, and each decision receives the window of the next one. The last decision of
// a sequence receives only the reward of the sequence's last step. So if a decision ends an
// episode, the next window contains only that step's reward and counts as a second end.
type Credit struct {
	Reward, Done, Truncation *Node // [B]
	Alive                    *Node // [B], 1 until an episode ends
}

// opened returns the credit of a window that starts with state s.
func opened(env episodic, s envs.State) Credit {
	return Credit{s.Reward, s.Done, env.Truncation(s), OneMinus(s.Done)}
}

// noCredit returns the credit of an empty window.
func noCredit(s envs.State) Credit {
	zero := ZerosLike(s.Reward)
	return Credit{zero, zero, zero, OnesLike(s.Reward)}
}

// add adds a step that led to state s.
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

// Random streams of a decision.
const (
	streamChoice = iota
	streamNoise
)

// playing is the input for a slice of environments: a pytree.
type playing struct {
	Acting ppo.Acting
	Rows   *Node // [skills, N]
	States envs.State
	Keys   random.Key // [B], one per environment
}

// choose makes decision number (int32 scalar) and slices out the chosen skills.
func (t Task) choose(p playing, number *Node) (choice, logProb *Node, skills nn.Net, keys random.Key) {
	keys = p.Keys.FoldInEach(number)
	choices := p.Acting.Choices(p.States.Observation)
	choice = choices.Sample(keys.FoldIn(streamChoice))
	skills = t.Skills.Net.View(Gather(p.Rows, InsertAxes(choice, -1)))
	return choice, choices.LogProb(choice), skills, keys.FoldIn(streamNoise)
}

// unroll plays the given number of decisions, starting with decision first. It returns the final
// environment states and the sequences.
func (t Task) unroll(env episodic, p playing, first *Node, steps int, sampled,
	published bool) (envs.State, ppo.Data) {
	type state struct {
		Playing playing
		First   *Node
		Data    ppo.Data // time-major
	}
	g := first.Graph()
	batch, observations := p.States.Reward.Shape().Dimensions[0], env.Spec().Observations
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
		set := func(x **Node, value *Node) { *x = xla.SetRow(*x, at, value) }
		set(&d.Reward, c.Reward)
		set(&d.Done, c.Done)
		set(&d.Truncation, c.Truncation)
	}
	end := xla.For(g, steps, start, func(step *Node, s state) state {
		choice, logProb, skills, keys := t.choose(s.Playing, Add(s.First, step))
		s.Data.Obs = xla.SetRow(s.Data.Obs, step, s.Playing.States.Observation)
		s.Data.Choice = xla.SetRow(s.Data.Choice, step, choice)
		s.Data.LogProb = xla.SetRow(s.Data.LogProb, step, logProb)
		credit := noCredit(s.Playing.States)
		if published {
			credit = opened(env, s.Playing.States)
		}
		s.Playing.States, credit = t.act(env, skills, s.Playing.States, keys, credit, sampled, published)
		credited(&s.Data, step, credit)
		return s
	})
	states, d := end.Playing.States, end.Data
	last := Const(g, int32(steps))
	d.Obs = xla.SetRow(d.Obs, last, states.Observation)
	if published {
		credited(&d, last, opened(env, states))
		next := func(x *Node) *Node { return Slice(x, AxisRange(1)) }
		d.Reward, d.Done, d.Truncation = next(d.Reward), next(d.Done), next(d.Truncation)
	}
	return states, xla.Map(d, swapped)
}

// swapped transposes the first two axes.
func swapped(x *Node) *Node { return Transpose(x, 0, 1) }

// act runs the skills for one decision.
func (t Task) act(env episodic, skills nn.Net, states envs.State, keys random.Key, credit Credit,
	sampled, published bool) (envs.State, Credit) {
	type state struct {
		Skills nn.Net
		States envs.State
		Keys   random.Key
		Credit Credit
	}
	form := envs.FormOf(states.Reward.Graph(), env)
	end := xla.For(states.Reward.Graph(), t.decision, state{skills, form.Pack(states), keys, credit},
		func(step *Node, s state) state {
			s.States = form.Unpack(s.States)
			var noise random.Key
			if sampled {
				noise = s.Keys.FoldInEach(step)
			}
			s.States = envs.Step(env, s.States, t.action(s.Skills, s.States.Observation, noise))
			s.Credit = s.Credit.add(env, s.States, published)
			s.States = form.Pack(s.States)
			return s
		})
	return form.Unpack(end.States), end.Credit
}

// episode holds the recorded episodes of B environments: a pytree.
type episode struct {
	Return    *Node // [B]
	Length    *Node // [B], in steps
	Choices   *Node // int32 [B, decisions]
	Positions *Node // [B, length, 2 + Looks], after each step; see [Task].Place
}

// evaluate plays one episode in each environment, from freshly reset states. Decisions are sampled;
// skills act without noise.
func (t Task) evaluate(p playing) episode {
	type state struct {
		Playing playing
		Score   envs.Score
		Choices *Node // [decisions, B]
		Records *Node // [decisions * Decision, B, 2 + Looks]
	}
	type acting struct {
		Skills  nn.Net
		States  envs.State
		Score   envs.Score
		Records *Node
		First   *Node // number of the first step
	}
	g, batch, decisions := p.States.Reward.Graph(), p.States.Reward.Shape().Dimensions[0],
		t.decisions()
	start := state{
		p, envs.NewScore(g, batch, envs.None, 0), Zeros(g, shapes.Make(dtypes.Int32, decisions, batch)),
		Zeros(g, shapes.Make(dtypes.Float32, decisions*t.decision, batch, 2+t.Looks)),
	}
	form := envs.FormOf(g, t.Env)
	end := xla.For(g, decisions, start, func(decision *Node, s state) state {
		choice, _, skills, _ := t.choose(s.Playing, decision)
		s.Choices = xla.SetRow(s.Choices, decision, choice)
		first := MulScalar(decision, int32(t.decision))
		packed := form.Pack(s.Playing.States)
		after := xla.For(g, t.decision, acting{skills, packed, s.Score, s.Records, first},
			func(step *Node, a acting) acting {
				a.States = form.Unpack(a.States)
				at := Add(a.First, step)
				a.States = envs.Step(t.Env, a.States, t.action(a.Skills, a.States.Observation, random.Key{}))
				over := ConvertDType(GreaterOrEqual(at, ConstAs(at, int32(t.length-1))), dtypes.Float32)
				a.Score = a.Score.Add(nil, a.States.Reward, Max(a.States.Done, BroadcastToDims(over, batch)))
				obs := a.States.Observation
				seen := []*Node{Slice(obs, AxisRange(), AxisElem(t.Place[0])),
					Slice(obs, AxisRange(), AxisElem(t.Place[1]))}
				if t.Look != nil {
					look := t.Look(a.States)
					xla.CheckShape(t.Look, "", "quantities to record", look, dtypes.Float32, batch, t.Looks)
					seen = append(seen, look)
				}
				a.Records = xla.SetRow(a.Records, at, Concatenate(seen, 1))
				a.States = form.Pack(a.States)
				return a
			})
		s.Playing.States, s.Score, s.Records = form.Unpack(after.States), after.Score, after.Records
		return s
	})
	returns, _ := end.Score.Result()
	return episode{returns, end.Score.Length, swapped(end.Choices),
		swapped(Slice(end.Records, AxisRange(0, t.length)))}
}
