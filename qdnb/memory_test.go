package qdnb

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/exchange"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// tMaze is sixteen walks through a T-shaped maze. A cue, -1 or 1, is seen in the first step of a walk and
// names the side to turn to at the junction, in its last step. Eight of the cues are -1: policies
// that do not remember the cue turn to the same side in all walks, and their return is exactly 8.
type tMaze struct{ walk int } // steps of a walk

const walks = 16

func (m tMaze) Spec() envs.Spec {
	return envs.Spec{Name: "t-maze", Observations: 2, Actions: 2, Length: walks * m.walk,
		Descriptor: envs.Descriptor{Kind: envs.Mean, Lower: []float32{-1}, Upper: []float32{1}, Components: []string{"waving"}}}
}

// at returns the state before a step, float32 [B], with the cues of the walks, [walks, B].
func (m tMaze) at(step, cues, reward, waving *Node) envs.State {
	number := Floor(DivScalar(AddScalar(step, 0.5), float64(m.walk)))
	within := Sub(step, MulScalar(number, float64(m.walk)))
	if reward == nil {
		reward, waving = ZerosLike(step), ZerosLike(step)
	}
	first := LessThan(within, ConstAs(within, 0.5))
	last := GreaterThan(within, ConstAs(within, float64(m.walk)-1.5))
	cue := Where(first, m.cue(number, cues), ZerosLike(step))
	junction := Where(last, OnesLike(step), ZerosLike(step))
	return envs.State{PhysicsState: []*Node{step, cues}, Observation: Stack([]*Node{cue, junction}, 1),
		Reward: reward, Done: ZerosLike(step), Descriptor: InsertAxes(waving, 1)}
}

// cue returns that of each copy's walk.
func (tMaze) cue(number, cues *Node) *Node {
	each := Iota(number.Graph(), cues.Shape(), 0)
	return ReduceSum(Where(Equal(each, BroadcastToShape(InsertAxes(number, 0), cues.Shape())), cues, ZerosLike(cues)), 0)
}

func (m tMaze) Reset(keys random.Key) envs.State {
	sides := keys.Uniform(-1, 1, keys.Hi.Shape().Dimensions[0], walks/2)
	sides = Transpose(Where(GreaterThan(sides, ZerosLike(sides)), OnesLike(sides), Neg(OnesLike(sides))), 0, 1)
	cues := Concatenate([]*Node{sides, Neg(sides)}, 0)
	return m.at(ZerosLike(Reshape(Slice(sides, AxisElem(0)), -1)), cues, nil, nil)
}

func (m tMaze) Step(s envs.State, action *Node) envs.State {
	step, cues := s.PhysicsState[0], s.PhysicsState[1]
	component := func(x *Node, i int) *Node { return Reshape(Slice(x, AxisRange(), AxisElem(i)), -1) }
	junction := component(s.Observation, 1)
	number := Floor(DivScalar(AddScalar(step, 0.5), float64(m.walk)))
	right := GreaterThan(Mul(component(action, 0), m.cue(number, cues)), ZerosLike(step))
	reward := Where(right, junction, ZerosLike(junction))
	return m.at(AddScalar(step, 1), cues, reward, component(action, 1))
}

// inMaze returns the spec of a run in a maze.
func inMaze(folder string, generations int, set ...string) Spec {
	return Spec{Algorithm: "cma-mae", Environment: tMaze{5}, Runs: folder, Budget: Generations(generations), Quiet: true,
		Backend: device(),
		Tune: Tuning(runs.Assign(append([]string{"batch=128", "emitters=2", "hidden=[]", "cells=16",
			"cvt_samples=160", "sigma0=0.5"}, set...)...))}
}

// A gated recurrent unit turns to the side that it was shown, which no policy without memory can.
func TestMemoryIsLearnt(t *testing.T) {
	run := train(t, inMaze(t.TempDir(), 200, "memory=6"))
	played := nb.Must(Play(background, run, PlaySpec{Environment: tMaze{5}, Episodes: 64}))
	if mean := played.Results[0].Mean(); mean < 14 {
		t.Errorf("with a memory, %g of %d walks end at the right side", mean, walks)
	}
	for _, name := range []string{"policy.onnx", "policy.npz"} {
		errtest.Want(t, errtest.Of(exchange.Export(run, exchange.ExportSpec{Out: filepath.Join(t.TempDir(), name)})),
			"not multilayer perceptrons", "layers [2 2] with a memory of 6 units")
	}
	errtest.Equal(t, "the best fitness without memory", train(t, inMaze(t.TempDir(), 20, "hidden=[8]")).Status.MaxFitness,
		walks/2)
}

// Elman is a policy with code of the user: a simple recurrent network whose layers are sines.
type Elman struct {
	Units int `json:"units"`
}

func (e Elman) mlp() nn.MLP { return nn.MLP{Sizes: []int{2 + e.Units, e.Units + 2}} }

func (e Elman) Params() int { return e.mlp().Params() }

func (e Elman) Init(keys random.Key) *Node { return e.mlp().Init(keys) }

func (e Elman) Policies(rows *Node, _ ...int) nn.Policy {
	return ElmanPolicy{e.mlp().View(rows), e.Units}
}

type ElmanPolicy struct {
	Net   nn.Net
	units int
}

func (e ElmanPolicy) Memory() []*Node {
	bias := Slice(e.Net.Bias[0], AxisRange(), AxisRange(0, e.units))
	return []*Node{ZerosLike(bias)}
}

func (e ElmanPolicy) Act(memory []*Node, observation *Node) (next []*Node, action *Node) {
	out := Sin(e.Net.Apply(Concatenate([]*Node{observation, memory[0]}, 1)))
	return []*Node{Slice(out, AxisRange(), AxisRange(0, e.units))}, Slice(out, AxisRange(), AxisRange(e.units))
}

// Policies with code of the user are trained, resumed, corrected and played like ours.
func TestPoliciesOfTheUser(t *testing.T) {
	own := func(algorithm string) func(string, int) Spec {
		return func(folder string, generations int) Spec {
			spec := inMaze(folder, generations)
			spec.Algorithm, spec.Name, spec.Backend, spec.Corrected = algorithm, "elman", "go", 2
			spec.Tune = Tuning(runs.Assign("batch=8", "cells=64", "cvt_samples=640", "iso_sigma=0.3")).And(
				Tune(func(m *evolution.MapElites) { m.Policy = Elman{3} }))
			return spec
		}
	}
	of := own("map-elites")
	run := resumes(t, training(of), 2, 4)
	if settings := string(run.Config.Hyperparameters); !strings.Contains(settings, `"units": 3`) ||
		!strings.Contains(settings, `"hidden": null`) || len(nb.Must(run.Corrected())) == 0 {
		t.Errorf("its settings are %s", settings)
	}
	in := PlaySpec{Environment: tMaze{5}, Policy: Elman{3}}
	errtest.Equal(t, "played policies", len(must.Get(Play(background, run, in)).Results), 1)
	for _, c := range []struct {
		policy nn.Architecture
		want   string
	}{
		{nil, "have code of their own, which its folder does not hold: give it as Policy"},
		{Elman{4}, "have 42 parameters, but those of"},
	} {
		in.Policy = c.policy
		errtest.Want(t, errtest.Of(Play(background, run, in)), c.want)
	}
	errtest.Want(t, errtest.Of(exchange.Export(run, exchange.ExportSpec{Out: filepath.Join(t.TempDir(), "policy.npz")})),
		"have code of their own", "cannot be exported")
	errtest.Want(t, errtest.Of(Train(background, own("pga-map-elites")(t.TempDir(), 2))),
		"policies of qdnb.Elman are not multilayer perceptrons")
}

// An adaptation of policies with code of the user needs that code, which is part of its identity.
func TestAdaptPoliciesOfTheUser(t *testing.T) {
	sines := nn.MLP{Sizes: []int{20, 4, 6}, Hidden: Sin, Output: Tanh}
	root := t.TempDir()
	run := train(t, Spec{Algorithm: "map-elites", Name: "sines", Env: "walker-uni", Runs: root, Quiet: true,
		Budget: Generations(1), Tune: Tuning(runs.Assign("batch=8", "cells=8", "cvt_samples=80", "episode_length=20")).And(
			Tune(func(m *evolution.MapElites) { m.Policy = sines }))})
	spec := AdaptSpec{Skills: run, Perturbation: envs.GravityMultiplier, Values: [][]float64{{1}}, Episodes: 2, Runs: root,
		Quiet: true}
	errtest.Want(t, errtest.Of(Adapt(background, spec)), "have code of their own", "as Policy")
	spec.Policy = sines
	found := nb.Must(Adapt(background, spec))
	spec.Policy = nn.MLP{Sizes: sines.Sizes, Hidden: Cos, Output: Tanh}
	if other := nb.Must(Adapt(background, spec)); !found.Status.Finished || other.Name() == found.Name() {
		t.Errorf("%s and, with another activation, %s", found.Name(), other.Name())
	}
}

// A mistake in a policy of the user is one line that names its type and method.
func TestMistakesOfPolicies(t *testing.T) {
	for want, policy := range map[string]nn.Architecture{
		"Init at .*it returns rows of qdnb.lopsided of shape .*1, 20., not .*1, 19.": lopsided{params: 19},
		"Init at .*it returns nil for rows of qdnb.lopsided":                         lopsided{params: 20, without: "Init"},
		"Policies at .*it returns nil, not the policies of qdnb.lopsided":            lopsided{params: 20, without: "Policies"},
		"Params at .*it returns 0 as the number of parameters of qdnb.lopsided":      lopsided{},
		"Params at .*it returns -1 as":                                               lopsided{params: -1},
		"forgetting.Act.*the memory":                                                 lopsided{params: 20, without: "memory"},
		"forgetting.Act.*actions of shape":                                           lopsided{params: 20, without: "actions"},

		`Policy is nn.MLP with layers \[\], but policies for t-maze have 2 inputs and 2 outputs: set Sizes to`: nn.MLP{},

		`Policy is nn.MLP with layers \[3 8 2\], but`: nn.MLP{Sizes: []int{3, 8, 2}},
		`Policy is nn.MLP with layers \[2 0 2\], but`: nn.MLP{Sizes: []int{2, 0, 2}},
		`Policy is nn.GRU with layers \[\], but`:      nn.GRU{},
		"Policy is nn.GRU with a memory of 0 units":   nn.GRU{MLP: nn.NewMLP(2, nil, 2)},
	} {
		spec := inMaze(t.TempDir(), 1)
		spec.Algorithm, spec.Name, spec.Backend = "map-elites", "lopsided", "go"
		spec.Tune = Tuning(runs.Assign("batch=8", "cells=4", "cvt_samples=40")).And(
			Tune(func(m *evolution.MapElites) { m.Policy = policy }))
		err := errtest.Of(Train(background, spec))
		if errtest.Want(t, err); !regexp.MustCompile(want).MatchString(fmt.Sprint(err)) {
			t.Errorf("%v; want %s", err, want)
		}
	}
	spec := Spec{Algorithm: "map-elites", Name: "lopsided", Env: "sphere", Runs: t.TempDir(), Quiet: true, Backend: "go",
		Tune: Tune(func(m *evolution.MapElites) { m.Policy = nn.NewMLP(2, nil, 2) })}
	errtest.Want(t, errtest.Of(Train(background, spec)), "policies for sphere have 0 inputs and 100 outputs")
	in := PlaySpec{Policy: nn.GRU{}}
	errtest.Want(t, errtest.Of(Play(background, finishedRun(t, t.TempDir(), "map-elites", "pointmaze", 1, 3), in)),
		"Policy is nn.GRU with layers [], but")
}

// lopsided has a number of parameters that its rows do not have, or does without something.
type lopsided struct {
	Elman
	params  int
	without string
}

func (l lopsided) Params() int { return l.params }

func (l lopsided) Init(keys random.Key) *Node {
	if l.without == "Init" {
		return nil
	}
	return Elman{2}.Init(keys)
}

func (l lopsided) Policies(rows *Node, _ ...int) nn.Policy {
	if l.without == "Policies" {
		return nil
	}
	return forgetting{Elman{2}.Policies(rows).(ElmanPolicy), l.without}
}

// forgetting returns no memory, or actions of another shape than it should.
type forgetting struct {
	ElmanPolicy
	without string
}

func (f forgetting) Act(memory []*Node, observation *Node) (next []*Node, action *Node) {
	switch next, action = f.ElmanPolicy.Act(memory, observation); f.without {
	case "memory":
		return nil, action
	case "actions":
		return next, Slice(action, AxisRange(), AxisRange(0, 1))
	}
	return next, action
}
