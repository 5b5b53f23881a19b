package qdnb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/random"
)

// drift is a point that moves by its action. Its descriptor is its initial position, so that plain
// Go can compute the same trajectory.
type drift struct{ name string }

func (d drift) Spec() envs.Spec {
	return envs.Spec{Name: d.name, Observations: 2, Actions: 2, Length: 100,
		Descriptor: envs.Descriptor{
			Kind: envs.Final, Lower: []float32{-1, -1}, Upper: []float32{1, 1},
			Components: []string{"start x", "start y"}}}
}

func (drift) state(xy, start, reward *Node) envs.State {
	return envs.State{PhysicsState: []*Node{Transpose(start, 0, 1)}, Observation: xy, Reward: reward,
		Done: ZerosLike(reward), Descriptor: start}
}

func (d drift) Reset(keys random.Key) envs.State {
	xy := keys.Uniform(-1, 1, keys.Hi.Shape().Dimensions[0], 2)
	return d.state(xy, xy, MulScalar(ReduceSum(xy, 1), 0))
}

// Step moves the point. The reward is the dot product of the action and the new position.
func (d drift) Step(s envs.State, action *Node) envs.State {
	xy := Add(s.Observation, DivScalar(action, 10))
	return d.state(xy, s.Descriptor, ReduceSum(Mul(action, xy), 1))
}

// driftFitness computes the fitness of a skill from an initial position. The network is conditioned
// on the skill, and the action is the tanh of its first two outputs.
func driftFitness(s *runs.Skills, skill int, start []float32, steps int) float64 {
	x, y, fitness := float64(start[0]), float64(start[1]), 0.0
	for range steps {
		input := append([]float64{x, y}, make([]float64, s.Count)...)
		if s.Count > 0 {
			input[2+skill] = 1
		}
		row, sizes := s.Policy, s.Sizes()
		for layer := range len(sizes) - 1 {
			out := make([]float64, sizes[layer+1])
			for j := range out {
				out[j] = float64(row[j])
				for i, in := range input {
					out[j] += in * float64(row[len(out)+i*len(out)+j])
				}
				if layer < len(sizes)-2 {
					out[j] = max(0, out[j])
				}
			}
			row = row[len(out)+len(input)*len(out):]
			input = out
		}
		east, north := math.Tanh(input[0]), math.Tanh(input[1])
		x, y = x+east/10, y+north/10
		fitness += east*x + north*y
	}
	return fitness
}

// madeUp returns a run on drift with a made-up policy and episodes of 12 steps.
func madeUp(t *testing.T, count int) (*runs.Run, *runs.Skills) {
	t.Helper()
	return madeUpOn(t, "drift", count)
}

// madeUpOn is [madeUp] in an environment with two observations and actions.
func madeUpOn(t *testing.T, env string, count int) (*runs.Run, *runs.Skills) {
	t.Helper()
	s := &runs.Skills{Observations: 2, Actions: 2, Count: count, Hidden: []int{6, 5}}
	random := rand.New(rand.NewPCG(7, uint64(count)))
	for range runs.Row(s.Sizes()) {
		s.Policy = append(s.Policy, float32(random.NormFloat64()))
	}
	config := nb.Must(runs.NewConfig("dads", env, 0, map[string]any{"hidden": []int{1}, "episode_length": 12}))
	run := must.Get(runs.Import(t.TempDir(), config, func(w *runs.Writer) error {
		if err := w.SaveSkills(s); err != nil {
			return err
		}
		return w.SaveStatus(runs.Status{Finished: true})
	}))
	return run, s
}

// Evaluated skills act as the network conditioned on the skill. Every episode has another initial
// state, which all skills share, and the results of a skill do not depend on the others.
func TestEvaluateDoesWhatTheNetworkDoes(t *testing.T) {
	for _, c := range []struct {
		backend         string
		count, episodes int
	}{{device(), 3, 7}, {device(), 0, 7}, {"go", 3, 7}, {"go", 0, 7},
		{device(), 2, 2051}} { // a call of the program computes 2048
		run, skills := madeUp(t, c.count)
		spec := PlaySpec{Environment: drift{"drift"}, Episodes: c.episodes, Seed: 5, Backend: c.backend}
		found := nb.Must(Play(background, run, spec))
		if found.Env != "drift" || found.Episodes != c.episodes || found.Steps != 12 || found.Backend == "" ||
			len(found.Results) != max(1, c.count) {
			t.Fatalf("%+v", found)
		}
		for k, r := range found.Results {
			if r.Cell || r.Number != k || len(r.Fitnesses) != c.episodes || !slices.Equal(r.Descriptors,
				found.Results[0].Descriptors) {
				t.Fatalf("skill %d: %+v", k, r)
			}
			starts, sum, square := map[string]bool{}, 0.0, 0.0
			for i, fitness := range r.Fitnesses {
				start := r.Descriptors[2*i : 2*i+2]
				starts[fmt.Sprint(start)] = true
				want := driftFitness(skills, k, start, 12)
				if math.Abs(float64(fitness)-want) > 1e-5*(1+math.Abs(want)) {
					t.Fatalf("%+v: skill %d from %v has fitness %g, want %g", c, k, start, fitness, want)
				}
				sum, square = sum+want, square+want*want
			}
			errtest.Equal(t, "starts", len(starts), c.episodes)
			n := float64(c.episodes)
			std := math.Sqrt(square/n - sum/n*sum/n)
			if math.Abs(r.Mean()-sum/n) > 1e-5 || math.Abs(r.Std()-std) > 1e-4 ||
				r.Median() != float64(slices.Sorted(slices.Values(r.Fitnesses))[c.episodes/2]) {
				t.Errorf("mean %g, std %g, median %g of %v", r.Mean(), r.Std(), r.Median(), r.Fitnesses)
			}
		}
		last := len(found.Results) - 1
		spec.Skills = []int{last}
		alone := nb.Must(Play(background, run, spec)).Results
		if len(alone) != 1 || !slices.Equal(alone[0].Fitnesses, found.Results[last].Fitnesses) {
			t.Errorf("skill %d alone: %+v, not %+v", last, alone, found.Results[last])
		}
	}
}

// Lengths are those until an episode ends, of any number of episodes.
func TestEvaluateCountsSteps(t *testing.T) {
	run, _ := madeUp(t, 2)
	brief := altered{drift{"drift"}, nil, func(s envs.State) envs.State {
		s.Reward = OnesLike(s.Reward)
		return beyond(0.7, s)
	}}
	spec := PlaySpec{Environment: brief, Episodes: 600, Backend: "go"}
	errtest.Equal(t, "lengths", len(nb.Must(Play(background, run, spec)).Results[1].Lengths), 0)
	spec.Lengths = true
	for _, r := range nb.Must(Play(background, run, spec)).Results {
		found := map[int]bool{}
		for i, length := range r.Lengths {
			if found[length] = true; float32(length) != r.Fitnesses[i] {
				t.Fatalf("episode %d of %s has %d steps, not %g", i, r.Policy, length, r.Fitnesses[i])
			}
		}
		if len(r.Lengths) != 600 || !found[1] || !found[12] || len(found) < 4 {
			t.Errorf("%d episodes of %s have %v steps", len(r.Lengths), r.Policy, found)
		}
	}
}

// The mean fitness of a cell is close to its fitness in the repertoire. Initial states differ.
func TestEvaluateCells(t *testing.T) {
	run := train(t, small(t.TempDir(), 4))
	repertoire := nb.Must(run.Repertoire())
	best := repertoire.Best()
	found := nb.Must(Play(background, run, PlaySpec{Episodes: 20}))
	r := found.Results[0]
	if len(found.Results) != 1 || !r.Cell || r.Number != best || found.Steps != 20 ||
		found.Env != "pointmaze" || !slices.Equal(r.Genotype, repertoire.Genotype(best)) {
		t.Fatalf("%+v", found)
	}
	if distance := math.Abs(r.Mean() - float64(repertoire.Fitnesses[best])); distance > 5 ||
		r.Std() == 0 || len(r.Descriptor()) != 2 {
		t.Errorf("fitness %g, std %g; it was found with %g", r.Mean(), r.Std(), repertoire.Fitnesses[best])
	}
	two := nb.Must(Play(background, run, PlaySpec{Episodes: 2, Cells: repertoire.Filled()[:2]}))
	if len(two.Results) != 2 || two.Results[1].Number != repertoire.Filled()[1] {
		t.Errorf("%+v", two)
	}

	empty := slices.IndexFunc(repertoire.Fitnesses, func(f float32) bool { return math.IsInf(float64(f), -1) })
	skilled, _ := madeUp(t, 2)
	ant, other := nb.Must(envs.Make("ant-uni")), drift{"drift"}
	for want, c := range map[string]struct {
		run  *runs.Run
		spec PlaySpec
	}{
		"episodes must be between 1 and 1048576, not -1":                {run, PlaySpec{Episodes: -1}},
		"there is no cell 32":                                           {run, PlaySpec{Cells: []int{32}}},
		"there is no cell -1":                                           {run, PlaySpec{Cells: []int{-1}}},
		fmt.Sprintf("cell %d is empty; the nearest filled cell", empty): {run, PlaySpec{Cells: []int{empty}}},
		"no skills: give a cell":                                        {run, PlaySpec{Skills: []int{0}}},
		"ant-uni has 87 observations and 8 actions":                     {run, PlaySpec{Environment: ant}},
		"has neither gravity": {run,
			PlaySpec{Conditions: envs.Conditions{envs.GravityMultiplier: {2}}}},
		"there is no skill 2":                      {skilled, PlaySpec{Skills: []int{2}, Environment: other}},
		"no repertoire: give a skill":              {skilled, PlaySpec{Cells: []int{2}, Environment: other}},
		"are mutually exclusive":                   {skilled, PlaySpec{Cells: []int{0}, Skills: []int{0}, Environment: other}},
		"drift is not a built-in environment":      {skilled, PlaySpec{}},
		"policies for ant-uni have 611 parameters": {skilled, PlaySpec{Environment: ant}},
	} {
		errtest.Want(t, errtest.Of(Play(background, c.run, c.spec)), want)
	}
	errtest.Want(t, errtest.Of(films(run, PlaySpec{Environment: plane{"plane"}})), "has no visible bodies")
}
