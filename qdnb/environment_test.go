package qdnb

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/random"
)

// plane is a custom environment: a point that moves by its action and pays for it.
type plane struct{ name string }

func (p plane) Spec() envs.Spec {
	return envs.Spec{Name: p.name, Observations: 2, Actions: 2, Length: 20, Offset: 2,
		Descriptor: envs.Descriptor{
			Kind: envs.Final, Lower: []float32{-2, -2}, Upper: []float32{2, 2},
			Components: []string{"final east (m)", "final north (m)"}}}
}

func (plane) at(xy, reward *Node) envs.State {
	return envs.State{PhysicsState: []*Node{Transpose(xy, 0, 1)}, Observation: xy, Reward: reward,
		Done: ZerosLike(reward), Descriptor: xy}
}

func (p plane) Reset(keys random.Key) envs.State {
	xy := keys.Uniform(-0.1, 0.1, keys.Hi.Shape().Dimensions[0], 2)
	return p.at(xy, MulScalar(ReduceSum(xy, 1), 0))
}

func (p plane) Step(s envs.State, action *Node) envs.State {
	return p.at(Add(s.Observation, DivScalar(action, 10)), Neg(ReduceSum(Square(action), 1)))
}

// own returns the spec of a run in a custom environment.
func own(folder string, env envs.Env) Spec {
	spec := small(folder, 4)
	spec.Env, spec.Environment = "", env
	return spec
}

// svg returns a figure as SVG.
func svg(t *testing.T, figure interface{ Save(path string) error }) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "figure.svg")
	must.Do(figure.Save(file))
	return string(nb.Must(os.ReadFile(file)))
}

func TestCustomEnvironment(t *testing.T) {
	env := plane{"plane"}
	spec := own(t.TempDir(), env)
	run := train(t, spec)
	if !strings.HasPrefix(run.Name(),
		"map-elites-plane-1-") || run.Config.Env != "plane" || run.Status.Generation != 4 ||
		!(run.Status.MaxFitness <= 0) || run.Status.Observations != 2 || run.Status.Actions != 2 {
		t.Errorf("%s: %+v", run.Name(), run.Status)
	}
	if again := train(t, spec); again.Dir != run.Dir {
		t.Errorf("the same spec again is in %s", again.Dir)
	}
	if other := train(t, own(spec.Runs, plane{"plane-2"})); other.Dir == run.Dir {
		t.Error("another name is in the same folder")
	}

	repertoire := nb.Must(run.Repertoire())
	cells := repertoire.Filled()[:2]
	in := func(env envs.Env) PlaySpec { return PlaySpec{Environment: env, Seed: 3, Cells: cells} }
	played, err := Play(background, run, in(env))
	if err != nil || len(played.Results) != 2 || len(played.Results[0].Recorded[0].Path) != 20 ||
		!(played.Results[0].Fitnesses[0] < 0) {
		t.Fatalf("%+v, %v", played, err)
	}
	errtest.Want(t, errtest.Of(Play(background, run, in(nil))),
		"plane is not a built-in environment: new episodes need its code")
	errtest.Want(t, errtest.Of(Play(background, run, in(envs.AutoReset(plane{}, 5)))), "the environment has no name")
	ant := nb.Must(envs.Make("ant-uni"))
	errtest.Want(t, errtest.Of(Play(background, run, in(ant))), "for plane, which has 2 and 2")

	for _, figure := range []figures.Grid{nb.Must(trajectories(run, in(env))), nb.Must(figures.Repertoire(run)),
		nb.Must(figures.Snapshots(run, 2))} {
		errtest.Contains(t, strings.ToLower(svg(t, figure)), "east (m)", "north (m)")
	}
}

// deep is plane with other limits and with an offset that need not allow for the rewards: -0.5 each.
type deep struct {
	plane
	offset float64
	upper  float32
}

func (d deep) Spec() envs.Spec {
	spec := d.plane.Spec()
	spec.Offset, spec.Descriptor.Upper[0] = d.offset, d.upper
	return spec
}

func (d deep) Step(s envs.State, action *Node) envs.State {
	s = d.plane.Step(s, action)
	s.Reward = AddScalar(ZerosLike(s.Reward), -0.5)
	return s
}

// A fitness that the offset does not allow for, and descriptors outside of their limits, are
// reported once: by each algorithm, and for all seeds together.
func TestEvaluationsBeyondTheSpecAreReportedOnce(t *testing.T) {
	const tooLow = "fitness -10 in generation 0 is below -8, the lowest that the Offset of plane " +
		"allows: it lowers the QD score, and CMA-MAE and DCRL-MAP-Elites ignore it; Offset must be at " +
		"least 0.5 (per step)\n"
	const outside = "16 of 16 evaluations in generation 0 have descriptors outside of the limits of " +
		"plane, \"final east (m)\" from -2 to -1.5: they enter cells at the border; "
	for _, algorithm := range []string{"map-elites", "cma-mae", "diayn-reward"} {
		for _, c := range []struct {
			offset float64
			upper  float32
			want   string
		}{{0.5, 2, ""}, {0.4, 2, tooLow}, {0.5, -1.5, outside}} {
			spec := own(t.TempDir(), deep{plane{"plane"}, c.offset, c.upper})
			count := int64(16 * 5)
			switch algorithm {
			case "cma-mae":
				spec.Tune = more(spec.Tune, "emitters=2")
			case "diayn-reward":
				spec.Tune, count = smallDiscovery(algorithm, spec.Runs, 1).Tune, 6*3
				c.want = strings.Replace(c.want, "16 of 16", "6 of 6", 1)
			}
			spec.Algorithm = algorithm
			var found []*runs.Run
			said := stderr(t, func() { found = nb.Must(TrainSeeds(background, spec, 1, 2)) })
			if (c.want == "") != (said == "") || strings.Count(said, "\n") > 1 &&
				algorithm != "diayn-reward" || !strings.Contains(said, c.want) {
				t.Errorf("%s, offset %g: said %q, want %q", algorithm, c.offset, said, c.want)
			}
			if c.upper > 0 {
				count = 0
			}
			errtest.Equal(t, algorithm, found[0].Status.Outside, count)
		}
	}
}

// Nobody can raise the offset of a built-in environment, so nothing is said about it.
func TestOffsetsOfBuiltInEnvironmentsAreNotReported(t *testing.T) {
	training := nb.Must(own(t.TempDir(), plane{"plane"}).Training())
	training.Env = deep{plane{"ant-omni"}, 0.4, 2}
	said := stderr(t, func() { nb.Must(training.Run(background)) })
	errtest.Equal(t, "said", said, "")
}

// lags has two objectives, one of which is below its Lowest reward.
func TestReturnsBelowTheReferencePointAreReportedOnce(t *testing.T) {
	task := nb.Must(envs.Make("rastrigin-multi")).(*envs.BlackBox)
	task.Facts.Name = "lags"
	task.Facts.Objectives[1].Lowest = -1
	spec := solving("mome", "", t.TempDir(), 3)
	spec.Environment = task
	said := stderr(t, func() { train(t, spec) })
	if want := ` in objective "fitness at lag 2.2" in generation 0 is below -1, which the Lowest reward ` +
		"of lags allows: hypervolumes leave it out; Lowest must be at most -"; strings.Count(said,
		"\n") != 1 || !strings.Contains(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	var needed float64
	last := said[strings.LastIndex(said, "at most ")+len("at most "):]
	must.Get(fmt.Sscan(last, &needed))
	task.Facts.Objectives[1].Lowest, spec.Runs, spec.Budget = needed, t.TempDir(), Generations(1)
	errtest.Equal(t, "with the reward that was asked for", stderr(t, func() { train(t, spec) }), "")
}

// The lowest thresholds of annealed archives follow the episode length, unless they are set, and the
// configuration shows them.
func TestLowestThresholdFollowsTheEpisodeLength(t *testing.T) {
	for _, algorithm := range []string{"cma-mae", "dms", "ppga"} {
		for want, assignments := range map[string][]string{
			"threshold_min=-585.775": nil, "threshold_min=-46.862": {"episode_length=20"},
			"threshold_min=-2343.1": {"episode_length=1000"},
			"threshold_min=-7":      {"episode_length=20", "threshold_min=-7"},
		} {
			spec := Spec{Algorithm: algorithm, Env: "pointmaze", Tune: runs.Assign(assignments...)}
			if got := nb.Must(nb.Must(spec.Config()).Assignments()); !slices.Contains(got, want) {
				t.Errorf("%s, %v: %v lacks %s", algorithm, assignments, got, want)
			}
		}
	}
	spec := Spec{Algorithm: "cma-maega", Env: "sphere"}
	if got := nb.Must(nb.Must(spec.Config()).Assignments()); !slices.Contains(got, "threshold_min=0") {
		t.Errorf("%v lacks threshold_min", got)
	}
}
