package qdnb

import (
	"math"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"

	"example.com/qdnb/qdnb/replay"
	"example.com/qdnb/qdnb/td3"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// UpdatesTiming is what [BenchUpdates] measures.
type UpdatesTiming struct {
	Learner          string  `json:"learner"`
	Backend          string  `json:"backend"`
	Steps            int     `json:"steps"`
	Buffer           int     `json:"buffer"` // transitions to draw from
	BestSeconds      float64 `json:"best_s"` // best of the repeats
	UpdatesPerSecond float64 `json:"updates_per_s"`
	CompileSeconds   float64 `json:"compile_seconds"`
}

// UpdatesSpec says what [BenchUpdates] times.
type UpdatesSpec struct {
	Learner string // td3
	Steps   int
	Buffer  int
	Repeats int
	Backend string // see [xla.Open]
}

// The sizes of ant-uni.
const (
	benchObservations = 87
	benchActions      = 8
)

// BenchUpdates times the gradient updates of a learner, all in one program, with the paper's sizes on ant-uni: 87 observations, 8
// actions, batches of 256 drawn from a buffer that is full of random transitions, networks of two hidden layers of 256 units.
//
// An update of td3 is one of the critics, and every other time one of the actor.
func BenchUpdates(s UpdatesSpec) (UpdatesTiming, error) {
	switch {
	case s.Learner != "td3":
		return UpdatesTiming{}, errors.Errorf("there is no learner %q: there is td3", s.Learner)
	case s.Steps < 1 || s.Buffer < 1:
		return UpdatesTiming{}, errors.Errorf("steps and buffer must be 1 or more, not %d and %d", s.Steps, s.Buffer)
	}
	platform, err := xla.Open(s.Backend)
	if err != nil {
		return UpdatesTiming{}, err
	}
	algorithm := td3.New(td3.Default(), nn.Policy(benchObservations, []int{256, 256}, benchActions))
	form, state, err := benchLearner(platform, algorithm, s.Buffer)
	if err != nil {
		return UpdatesTiming{}, err
	}
	defer func() {
		for _, v := range state {
			v.Free()
		}
	}()
	var inputs []xla.Input
	for _, v := range state {
		inputs = append(inputs, xla.Input{Shape: v[0].Shape(), Donate: true})
	}
	type whole struct {
		Learner td3.Learner
		Buffer  replay.Buffer
	}
	program, err := platform.Compile("updates", inputs, func(in []*graph.Node) []*graph.Node {
		w := xla.WithLeaves(whole(form), in)
		learner, losses := algorithm.Train(w.Learner, w.Buffer, xla.NewKey(in[0].Graph(), 1), s.Steps)
		return append(xla.Leaves(whole{learner, w.Buffer}), losses.Critic, losses.Actor)
	})
	if err != nil {
		return UpdatesTiming{}, err
	}
	defer program.Free()
	best := math.Inf(1)
	for range max(1, s.Repeats) + 1 { // the first one warms up
		start := time.Now()
		out, err := program.Run(state...)
		if err != nil {
			return UpdatesTiming{}, err
		}
		best = min(best, time.Since(start).Seconds())
		n := len(state)
		state = out[:n]
		for _, loss := range out[n:] {
			value := float64(tensors.ToScalar[float32](loss[0]))
			loss.Free()
			if math.IsNaN(value) {
				return UpdatesTiming{}, errors.New("a loss is not a number")
			}
		}
	}
	return UpdatesTiming{
		Learner: s.Learner, Backend: platform.Name(), Steps: s.Steps, Buffer: s.Buffer, BestSeconds: best,
		UpdatesPerSecond: math.Round(10*float64(s.Steps)/best) / 10, CompileSeconds: program.CompileTime.Seconds(),
	}, nil
}

// benchLearner makes a new learner and a buffer full of random transitions, none of which ends an episode.
func benchLearner(p *xla.Platform, algorithm td3.TD3, rows int) (form struct {
	Learner td3.Learner
	Buffer  replay.Buffer
}, state []xla.Value, err error) {
	program, err := p.Compile("random transitions", []xla.Input{{Shape: shapes.Make(dtypes.Uint32, 2)}}, func(in []*graph.Node) []*graph.Node {
		g, key := in[0].Graph(), xla.KeyOf(in[0])
		one := key.Fold(graph.Const(g, []int32{0}))
		form.Learner = algorithm.Start(algorithm.Actor.Init(one), key.FoldInt(1))
		zeros := graph.Zeros(g, shapes.Make(dtypes.Float32, rows))
		full := graph.Const(g, int32(rows))
		form.Buffer = replay.Buffer{Rows: algorithm.Layout().Join(replay.Batch{
			Obs: key.FoldInt(2).Normal(rows, benchObservations), NextObs: key.FoldInt(3).Normal(rows, benchObservations),
			Action: key.FoldInt(4).Uniform(-1, 1, rows, benchActions), Reward: key.FoldInt(5).Normal(rows), Done: zeros, Truncation: zeros,
		}), Size: full, Position: graph.ZerosLike(full)}
		return xla.Leaves(form)
	})
	if err != nil {
		return form, nil, err
	}
	defer program.Free()
	seed := xla.Value{tensors.FromValue(xla.SeedWords(0))}
	defer seed.Free()
	state, err = program.Run(seed)
	return form, state, err
}
