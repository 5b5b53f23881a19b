package bench

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/algorithms/replay"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/algorithms/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// Updates times the gradient updates of a learner in one program, with the paper's sizes on
// ant-uni: 87 observations, 8 actions, batches of 256 transitions from a full buffer of random
// transitions, and networks with two hidden layers of 256 units.
//
// An update of td3 updates the critics, and every second one also the actor. An update of sac
// updates the discriminator, the critics and the actor, as in DIAYN+REWARD with five skills. An
// update of variation is a policy-gradient step of each of PGA-MAP-Elites' individuals.
type Updates struct {
	Learner     string `json:"learner" default:"td3"`
	Individuals int    `json:"-" default:"50"`
	Steps       int    `json:"steps" default:"300"`
	Buffer      int    `json:"buffer" default:"100000"`
	Repeats     int    `json:"-" default:"3"`
}

// UpdatesTiming is the result of [Updates].
type UpdatesTiming struct {
	Updates
	Backend          string  `json:"backend"`
	BestSeconds      float64 `json:"best_s"` // best of the repeats
	UpdatesPerSecond float64 `json:"updates_per_s"`
	CompileSeconds   float64 `json:"compile_seconds"`
}

// Measure implements [Benchmark].
func (b Updates) Measure(p *xla.Platform) (any, error) {
	learner, ok := learners[b.Learner]
	if !ok {
		return nil, names.Unknown("learner", b.Learner, slices.Sorted(maps.Keys(learners)))
	}
	if b.Steps < 1 || b.Buffer < 1 {
		return nil, fmt.Errorf("steps and buffer must be 1 or more, not %d and %d", b.Steps, b.Buffer)
	}
	u, err := learner(p, b)
	if err != nil {
		return nil, err
	}
	defer u.free()
	_, fastest, err := best(b.Repeats, u.run)
	if err != nil {
		return nil, err
	}
	return UpdatesTiming{Updates: b, Backend: p.Name(), BestSeconds: fastest,
		UpdatesPerSecond: math.Round(10*float64(b.Steps)/fastest) / 10,
		CompileSeconds:   u.compileTime.Seconds()}, nil
}

// learners are the learners of [Updates] by name.
var learners = map[string]func(p *xla.Platform, s Updates) (updates, error){
	"td3":       benchTD3,
	"sac":       benchSAC,
	"variation": benchVariation,
}

// updates is a compiled learner. run runs the updates; a NaN loss is an error.
type updates struct {
	compileTime time.Duration
	run         func() error
	free        func()
}

// newUpdates compiles a learner. start makes its state, a pytree, from a key. train maps a state to
// the next state and the losses.
func newUpdates[T any](p *xla.Platform, start func(random.Key) T,
	train func(T, random.Key) (T, []*graph.Node)) (updates, error) {
	type in struct {
		State xla.State[T] `xla:"donate"`
	}
	type out struct {
		State  xla.State[T]
		Losses xla.State[[]*graph.Node]
	}
	seed := p.Seed(0).First()
	defer seed.Free()
	first, err := xla.Compile(p, "start", seed, func(seed xla.Array) in {
		return in{xla.Out(start(random.KeyOf(seed.Tree)))}
	})
	if err != nil {
		return updates{}, err
	}
	defer first.Free()
	held, err := first.Run(seed)
	if err != nil {
		return updates{}, err
	}
	program, err := xla.Compile(p, "updates", held, func(in in) out {
		g := xla.Flatten(in.State.Tree)[0].Graph()
		after, losses := train(in.State.Tree, random.NewKey(g, 1))
		return out{xla.Out(after), xla.Out(losses)}
	})
	if err != nil {
		held.State.Free()
		return updates{}, err
	}
	return updates{
		compileTime: program.CompileTime,
		run: func() error {
			found, err := program.Run(held)
			if err != nil {
				return err
			}
			held.State = found.State
			if slices.ContainsFunc(found.Losses.Scalars(), math.IsNaN) {
				return errors.New("a loss is NaN")
			}
			return nil
		},
		free: func() {
			held.State.Free()
			program.Free()
		},
	}, nil
}

func benchTD3(p *xla.Platform, s Updates) (updates, error) {
	const observations, actions = 87, 8
	type whole struct {
		Learner td3.TrainingState
		Buffer  replay.Buffer
	}
	algorithm := td3.New(td3.Default(), nn.NewPolicy(observations, []int{256, 256}, actions))
	return newUpdates(p, func(key random.Key) whole {
		g := key.Hi.Graph()
		one := key.FoldInEach(graph.Const(g, []int32{0}))
		zeros := graph.Zeros(g, shapes.Make(dtypes.Float32, s.Buffer))
		full := graph.Const(g, int32(s.Buffer))
		rows := algorithm.Layout().Join(replay.Transitions{
			Obs:     key.FoldIn(2).Normal(s.Buffer, observations),
			NextObs: key.FoldIn(3).Normal(s.Buffer, observations),
			Action:  key.FoldIn(4).Uniform(-1, 1, s.Buffer, actions), Reward: key.FoldIn(5).Normal(s.Buffer),
			Done: zeros, Truncation: zeros,
		})
		return whole{algorithm.Start(algorithm.Actor.Init(one), key.FoldIn(1)),
			replay.Buffer{Rows: rows, Size: full, Position: graph.ZerosLike(full)}}
	}, func(w whole, key random.Key) (whole, []*graph.Node) {
		learner, critic, actor := algorithm.Train(w.Learner, w.Buffer, key, s.Steps)
		return whole{learner, w.Buffer}, []*graph.Node{critic, actor}
	})
}

// benchVariation is the policy-gradient variation of individuals on random observations.
func benchVariation(p *xla.Platform, s Updates) (updates, error) {
	const observations, actions = 87, 8
	type whole struct {
		Individuals, Observations *graph.Node
		Critic                    nn.Network
	}
	if s.Individuals < 1 {
		return updates{}, fmt.Errorf("individuals must be 1 or more, not %d", s.Individuals)
	}
	algorithm := td3.New(td3.Default(), nn.NewPolicy(observations, []int{256, 256}, actions))
	return newUpdates(p, func(key random.Key) whole {
		which := graph.Iota(key.Hi.Graph(), shapes.Make(dtypes.Int32, s.Individuals), 0)
		individuals := algorithm.Actor.Init(key.FoldInEach(which))
		first := graph.Slice(individuals, graph.AxisRange(0, 1))
		return whole{individuals, key.FoldIn(2).Normal(s.Steps*algorithm.TransitionsBatchSize, observations),
			algorithm.Start(first, key.FoldIn(1)).Critic.Params[0]}
	}, func(w whole, _ random.Key) (whole, []*graph.Node) {
		worker := graph.Const(w.Individuals.Graph(), int32(0))
		w.Individuals = algorithm.Vary(w.Individuals, w.Critic, w.Observations, worker, s.Individuals)
		return w, []*graph.Node{graph.ReduceAllMean(w.Individuals)}
	})
}

func benchSAC(p *xla.Platform, s Updates) (updates, error) {
	const observations, actions, count = 87, 8, 5
	type whole struct {
		Learner   sac.TrainingState
		Diversity skills.Diversity
		Buffer    replay.Buffer
	}
	type state struct {
		State  whole
		Key    random.Key
		Losses *graph.Node
	}
	env, err := envs.Make("ant-uni")
	if err != nil {
		return updates{}, err
	}
	config := sac.Default()
	algorithm := sac.New(config, observations+count, actions)
	layout := replay.Layout{Obs: observations + count, Actions: actions}
	task := skills.Problem{Env: env, Skills: skills.Distribution{OneHot: count}}
	diayn := skills.DIAYN{LearningRate: config.LearningRate, Hidden: config.Hidden}
	return newUpdates(p, func(key random.Key) whole {
		g := key.Hi.Graph()
		skill := graph.OneHot(graph.ModScalar(graph.Iota(g, shapes.Make(dtypes.Int32, s.Buffer), 0), int32(count)),
			count, dtypes.Float32)
		observed := func(key random.Key) *graph.Node {
			return graph.Concatenate([]*graph.Node{key.Normal(s.Buffer, observations), skill}, 1)
		}
		zeros, full := graph.Zeros(g, shapes.Make(dtypes.Float32, s.Buffer)), graph.Const(g, int32(s.Buffer))
		rows := layout.Join(replay.Transitions{Obs: observed(key.FoldIn(0)), NextObs: observed(key.FoldIn(1)),
			Action: key.FoldIn(2).Uniform(-1, 1, s.Buffer, actions), Reward: key.FoldIn(3).Normal(s.Buffer),
			Done: zeros, Truncation: zeros})
		return whole{algorithm.Start(key.FoldIn(4)), diayn.Init(task, key.FoldIn(5)),
			replay.Buffer{Rows: rows, Size: full, Position: graph.ZerosLike(full)}}
	}, func(w whole, key random.Key) (whole, []*graph.Node) {
		zero := graph.Zeros(key.Hi.Graph(), shapes.Make(dtypes.Float32))
		end := xla.ForUnfused(key.Hi.Graph(), s.Steps, state{w, key, zero}, func(step *graph.Node, u state) state {
			draw := u.Key.FoldInEach(step)
			b := layout.Split(u.State.Buffer.At(u.State.Buffer.Draw(draw.FoldIn(0), config.BatchSize)))
			part := func(x *graph.Node, from, to int) *graph.Node {
				return graph.Slice(x, graph.AxisRange(), graph.AxisRange(from, to))
			}
			of := skills.Batch{Transitions: b, Skill: part(b.Obs, observations, observations+count),
				Now: part(b.Obs, 0, observations), Next: part(b.NextObs, 0, observations)}
			b.Reward = graph.Add(b.Reward, graph.StopGradient(u.State.Diversity.Reward(of)))
			u.State.Diversity, _ = u.State.Diversity.Learn(of)
			var critic, actor *graph.Node
			u.State.Learner, critic, actor, _ = algorithm.Update(u.State.Learner, b, algorithm.NewNoise(draw.FoldIn(1)))
			u.Losses = graph.Add(u.Losses, graph.Add(critic, actor))
			return u
		})
		return end.State, []*graph.Node{end.Losses}
	})
}
