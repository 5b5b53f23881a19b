package verify

import (
	"math"
	"math/rand/v2"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
)

// Drift measures how episodes of the same policies from the same states diverge between two
// backends. Backends agree to a few units in the last place, but contacts amplify rounding with
// every step. Nudged is the scale of this effect: the first backend compared with itself, from
// states whose numbers are a millionth larger.
type Drift struct {
	Env      string `json:"env"`
	Episodes int    `json:"episodes"`
	Steps    []int  `json:"steps"` // steps after which positions are compared
	// Other and Nudged summarise, for each of Steps, the largest difference of a body coordinate in
	// an episode.
	Other  []Distance `json:"other"`
	Nudged []Distance `json:"nudged"`
	Return float64    `json:"return"` // median absolute return of the first backend's episodes
	// ReturnOther and ReturnNudged summarise the differences of returns.
	ReturnOther  Distance `json:"return_other"`
	ReturnNudged Distance `json:"return_nudged"`
}

const (
	policiesPerStart = 4
	nudge            = 1e-6
)

var (
	driftHidden = []int{32}
	driftSteps  = []int{1, 10, 50, 100, 250}
)

// driftBetween rolls out policies with random weights from the starts of a trajectory file.
// Episodes do not stop when the task is done.
func driftBetween(found [2]examined) (Drift, error) {
	s, stored := found[0].subject, found[0].stored
	starts, err := stored.all(at(s.state, "init_", "", samples))
	if err != nil {
		return Drift{}, err
	}
	spec := s.env.Spec()
	policy := nn.Policy(spec.Observations, driftHidden, spec.Actions)
	episodes := stored.sizes[samples] * policiesPerStart
	for i := range starts {
		starts[i] = starts[i].repeated(policiesPerStart)
	}
	weights := randomPolicies(policy, episodes)
	program := func(in []*Node) []*Node {
		last := len(in) - 1
		return s.episodes(policy.View(in[last]), s.start(in[:last]))
	}
	nudged := make([]array, len(starts))
	for i, a := range starts {
		nudged[i] = array{make([]float32, len(a.flat)), a.shape}
		for k, x := range a.flat {
			nudged[i].flat[k] = x * (1 + nudge)
		}
	}
	var runs [3][][]float32
	for i, run := range []struct {
		on     subject
		starts []array
	}{{s, starts}, {s, nudged}, {found[1].subject, starts}} {
		if runs[i], err = run.on.run(append(run.starts, weights), program); err != nil {
			return Drift{}, err
		}
	}
	own, moved, other := runs[0], runs[1], runs[2]

	d := Drift{Env: spec.Name, Episodes: episodes, Steps: driftSteps}
	d.Other, d.ReturnOther = divergence(own, other, episodes)
	d.Nudged, d.ReturnNudged = divergence(own, moved, episodes)
	sizes := make([]float64, episodes)
	for i, x := range own[1] {
		sizes[i] = math.Abs(float64(x))
	}
	d.Return = distance(sizes).Median
	return d, nil
}

// divergence compares the positions [steps, episodes, ...] and the returns of two runs.
func divergence(a, b [][]float32, episodes int) (positions []Distance, returns Distance) {
	last := driftSteps[len(driftSteps)-1]
	width := len(a[0]) / last / episodes
	for _, step := range driftSteps {
		worst := make([]float64, episodes)
		for e := range worst {
			from := ((step-1)*episodes + e) * width
			for i := from; i < from+width; i++ {
				worst[e] = max(worst[e], off(a[0][i], b[0][i]))
			}
		}
		positions = append(positions, distance(worst))
	}
	differences := make([]float64, episodes)
	for e := range differences {
		differences[e] = off(a[1][e], b[1][e])
	}
	return positions, distance(differences)
}

// episodes returns the positions [steps, B, ...] after each step of policies, and the returns [B].
func (s subject) episodes(policies nn.Net, start envs.State) []*Node {
	type running struct {
		Policies  nn.Net
		State     envs.State
		Return    *Node
		Positions *Node
	}
	g, steps := start.Reward.Graph(), driftSteps[len(driftSteps)-1]
	place := func(state envs.State) *Node { return s.read(state)[0] } // pos, or xy
	run := running{policies, start, ZerosLike(start.Reward), nil}
	run.Positions = Zeros(g, shapes.Make(dtypes.Float32,
		append([]int{steps}, place(start).Shape().Dimensions...)...))
	run = xla.For(g, steps, run, func(step *Node, r running) running {
		r.State = s.env.Step(r.State, r.Policies.Apply(r.State.Observation))
		r.Return = Add(r.Return, r.State.Reward)
		r.Positions = xla.SetRow(r.Positions, step, place(r.State))
		return r
	})
	return []*Node{run.Positions, run.Return}
}

// repeated repeats an array along its first axis.
func (a array) repeated(times int) array {
	out := array{shape: append([]int{a.shape[0] * times}, a.shape[1:]...)}
	for range times {
		out.flat = append(out.flat, a.flat...)
	}
	return out
}

// randomPolicies draws initial policy weights, the same for all backends.
func randomPolicies(policy nn.MLP, count int) array {
	random := rand.New(rand.NewPCG(1, 0))
	weights := array{make([]float32, count*policy.Params()), []int{count, policy.Params()}}
	for row := range count {
		for _, leaf := range policy.Layout() {
			if !leaf.Kernel {
				continue
			}
			limit, from := math.Sqrt(3/float64(leaf.Shape[0])), row*policy.Params()+leaf.Offset
			for i := range leaf.Shape[0] * leaf.Shape[1] {
				weights.flat[from+i] = float32(limit * (2*random.Float64() - 1))
			}
		}
	}
	return weights
}
