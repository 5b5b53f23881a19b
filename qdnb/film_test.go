package qdnb

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/watch"
)

// A film shows the evaluated episode: its rewards sum to the fitness, and the followed body ends at
// the descriptor.
func TestFilmOfARun(t *testing.T) {
	run := train(t, small(t.TempDir(), 5))
	cells := nb.Must(run.Repertoire()).Filled()[:2]
	shown, err := films(run, PlaySpec{Seed: 3, Cells: cells})
	if err != nil || len(shown) != 2 {
		t.Fatalf("%d films, %v", len(shown), err)
	}
	evaluated := nb.Must(Play(background, run, PlaySpec{Cells: cells, Seed: 3, Episodes: 1}))
	for i, film := range shown {
		if len(film.Frames) != 21 {
			t.Errorf("%d frames of an episode of 20 steps", len(film.Frames))
		}
		sumsTo(t, film, evaluated.Results[i].Fitnesses[0])
		// The descriptor is that of the state before the last step.
		before := film.Frames[19][film.Follow].Position
		for k, want := range evaluated.Results[i].Descriptors {
			if math.Abs(before[k]-float64(want)) > 1e-6 {
				t.Errorf("the film ends at %v, the descriptor is %v", before, evaluated.Results[i].Descriptors)
			}
		}
		if want := "MAP-Elites on pointmaze, " + evaluated.Results[i].String(); film.Title != want ||
			!strings.HasPrefix(film.Subtitle, "fitness −") {
			t.Errorf("%q, %q", film.Title, film.Subtitle)
		}
	}
	if shown[0].Frames[0][0] != shown[1].Frames[0][0] {
		t.Error("two films begin at different positions")
	}
	alone := nb.Must(films(run, PlaySpec{Seed: 3, Cells: cells[1:]}))[0]
	if !slices.EqualFunc(alone.Frames, shown[1].Frames, func(a, b []scene.Pose) bool { return slices.Equal(a, b) }) {
		t.Error("a film depends on the others")
	}
	other := nb.Must(films(run, PlaySpec{Seed: 4, Cells: cells[1:]}))[0]
	if other.Frames[0][0] == alone.Frames[0][0] {
		t.Error("another seed begins at the same position")
	}
}

// sumsTo checks that the rewards of a film sum to the fitness of its episode.
func sumsTo(t *testing.T, film *scene.Film, fitness float32) {
	t.Helper()
	sum := 0.0
	for _, r := range film.Rewards {
		sum += r
	}
	if math.Abs(sum-float64(fitness)) > 1e-5*(10+math.Abs(sum)) {
		t.Errorf("rewards sum to %g, the fitness is %g", sum, fitness)
	}
}

// From the archived initial state, a film shows the very episode whose results are in the
// repertoire.
func TestFilmFromTheArchivedState(t *testing.T) {
	for _, algorithm := range []string{"map-elites", "pga-map-elites", "aurora",
		"map-elites starts=7", "mome starts=7"} {
		algorithm, starts, _ := strings.Cut(algorithm, " ")
		spec := smallOf(algorithm, t.TempDir(), 3)
		if starts != "" {
			spec.Tune = more(spec.Tune, starts)
		}
		run := train(t, spec)
		r := nb.Must(run.Repertoire())
		cells := r.Filled()[:3]
		for _, archived := range []bool{true, false} {
			spec := PlaySpec{Cells: cells, Seed: 3, Episodes: 1, Record: true, Archived: archived}
			found := nb.Must(Play(background, run, spec))
			drawing := filepath.Join(t.TempDir(), "trajectories.svg")
			nb.Check(nb.Must(found.Trajectories()).Save(drawing))
			errtest.Contains(t, string(nb.Must(os.ReadFile(drawing))), ">Goal<")
			for i, film := range nb.Must(films(run, spec)) {
				same := math.Abs(film.Outcome.Fitness-float64(r.Fitnesses[cells[i]])) < 1e-4
				for d, x := range r.Descriptor(cells[i]) {
					same = same && math.Abs(film.Outcome.Descriptor[d]-float64(x)) < 1e-5
				}
				if same != archived || film.Outcome.Archived != archived || found.Results[i].Number != cells[i] ||
					float64(found.Results[i].Fitnesses[0]) != film.Outcome.Fitness {
					t.Errorf("%s, archived %v: %+v and %+v, in the repertoire %g at %g", algorithm, archived,
						film.Outcome, found.Results[i], r.Fitnesses[cells[i]], r.Descriptor(cells[i]))
				}
			}
		}
	}
}

// Imported repertoires do not say where the evaluations of their cells started.
func TestArchivedStatesThatAreUnknown(t *testing.T) {
	run := train(t, small(t.TempDir(), 3))
	r := nb.Must(run.Repertoire())
	fails := func(want string, spec PlaySpec) {
		t.Helper()
		spec.Episodes, spec.Archived = 1, true
		_, err := Play(background, run, spec)
		if _, of := films(run, spec); err == nil || of == nil || !strings.Contains(err.Error(),
			want) || of.Error() != err.Error() {
			t.Errorf("%v, %v; want %q", err, of, want)
		}
	}
	fails("choose at most 16", PlaySpec{Cells: slices.Repeat(r.Filled()[:1], 17)})
	fails("mutually exclusive", PlaySpec{Conditions: envs.Conditions{envs.GravityMultiplier: {1}}})
	r.Origins = nil
	nb.Check(r.Write(filepath.Join(run.Dir, "repertoire.npz")))
	fails("did not store", PlaySpec{})
}

// seen is a custom environment that is [Visible].
type seen struct{ plane }

func (seen) Bodies() []scene.Body {
	rest := scene.Pose{Rotation: scene.Quat{1}}
	return []scene.Body{{Name: "dot", Pose: rest, Shapes: []scene.Shape{{Radius: 0.1}}}}
}

func (seen) Poses(s envs.State) *Node {
	one := OnesLike(Slice(s.Observation, AxisRange(), AxisElem(0)))
	zero := ZerosLike(one)
	return Concatenate([]*Node{s.Observation, zero, one, zero, zero, zero}, 1)
}

func TestFilmOfACustomEnvironment(t *testing.T) {
	env := seen{plane{"seen"}}
	run := train(t, own(t.TempDir(), env))
	film := nb.Must(films(run, PlaySpec{Environment: env, Episodes: 2}))[1]
	if len(film.Frames) != 21 || !strings.HasSuffix(film.Title, "episode 2") {
		t.Errorf("%d frames of %q", len(film.Frames), film.Title)
	}
	for i := range film.Frames[1:] { // the action moves it and costs its square
		from, to := film.Frames[i][0].Position, film.Frames[i+1][0].Position
		x, y := 10*(to[0]-from[0]), 10*(to[1]-from[1])
		if want := -x*x - y*y; math.Abs(film.Rewards[i+1]-want) > 1e-4 {
			t.Fatalf("step %d: reward %g, want %g", i, film.Rewards[i+1], want)
		}
	}
	errtest.Want(t, errtest.Of(films(run, PlaySpec{})), "not a built-in environment")
}

// The bodies of a robot stay connected in every frame. Skills can be filmed as well as cells, and
// under other conditions.
func TestFilmOfARobot(t *testing.T) {
	skills := cheetahs(t, t.TempDir(), "diayn")
	all := nb.Must(films(skills, PlaySpec{Seed: 1}))
	if len(all) != 3 || !strings.HasSuffix(all[2].Title, "skill 2") {
		t.Fatalf("%d films, the last one %q", len(all), all[len(all)-1].Title)
	}
	one := nb.Must(films(skills, PlaySpec{Skills: []int{2}, Seed: 1, Episodes: 1}))[0]
	light := nb.Must(films(skills, PlaySpec{Skills: []int{2}, Seed: 1, Episodes: 1,
		Conditions: envs.Conditions{envs.GravityMultiplier: {0.25}, envs.ActuatorsMultiplier: {0}}}))[0]
	last := len(one.Frames) - 1
	if one.Frames[last][0] != all[2].Frames[last][0] || one.Frames[0][0] != light.Frames[0][0] ||
		one.Frames[last][0] == light.Frames[last][0] {
		t.Error("films of a skill are not reproducible, or do not depend on the conditions")
	}
	if want := "actuator strength multiplier 0, gravity multiplier 0.25"; !strings.HasSuffix(light.Subtitle, want) {
		t.Errorf("%q does not name its conditions", light.Subtitle)
	}
	model := nb.Must(envs.Make(halfcheetahUni)).(*envs.Rigid).System.(*physics.System).Model()
	if joints := slices.DeleteFunc(one.Joints(),
		func(j *scene.Joint) bool { return j == nil }); len(joints) != len(model.Joints) {
		t.Errorf("the film has %d of the %d joints", len(joints), len(model.Joints))
	}
	for i, poses := range one.Frames {
		at := map[string]scene.Pose{}
		for k, body := range one.Bodies {
			at[body.Name] = poses[k]
			if q := poses[k].Rotation; math.Abs(q[0]*q[0]+q[1]*q[1]+q[2]*q[2]+q[3]*q[3]-1) > 1e-3 {
				t.Errorf("frame %d: rotation %v of %s", i, q, body.Name)
			}
		}
		for _, j := range model.Joints {
			a, b := at[j.Parent].At(scene.Vec(j.ParentOffset)), at[j.Child].At(scene.Vec(j.ChildOffset))
			if d := math.Hypot(a[0]-b[0], a[2]-b[2]); d > 0.12 { // springs hold them
				t.Errorf("frame %d: the two ends of %s are %g m apart", i, j.Name, d)
			}
		}
	}
	if x := one.Frames[0][one.Follow].Position[0]; math.Abs(x) > 0.2 || one.Bodies[one.Follow].Name != "torso" {
		t.Errorf("%s is followed, from x = %g on", one.Bodies[one.Follow].Name, x)
	}
}

// Of the stored evaluation, the steps before the edge are the first episode, whether or not the
// environment resets automatically.
func TestFirstEpisodeOfARun(t *testing.T) {
	const edge = 0.3 // in x, beyond which the point would keep moving
	ledge := func(name string) envs.Env {
		return altered{plane{name}, nil, func(s envs.State) envs.State { return beyond(edge, s) }}
	}
	for name, env := range map[string]envs.Env{"ledge": ledge("ledge"),
		"restarting": envs.AutoReset(ledge("restarting"), 20)} {
		spec := Spec{Algorithm: "diayn-reward", Environment: env, Seed: 1, Budget: Generations(2), Runs: t.TempDir(),
			Backend: "go", Quiet: true, Tune: runs.Assign("env_batch_size=10", "replay_buffer_size=200", "cells=32",
				"cvt_samples=500", "hidden=[8,8]", "episode_length=20", "batch_size=8", "grad_updates_per_step=0.1",
				"evaluation_states=3")}
		run := train(t, spec)
		s := nb.Must(run.Skills())
		arena := figures.Arena{}
		nb.Check(arena.AddSkills(run))
		early := 0
		for i := range s.Which {
			positions := s.Trajectories[2*i*s.Steps() : 2*(i+1)*s.Steps()]
			// The position after the end, or the jump back to the start, crosses the edge at once.
			want := 1
			for want < s.Steps() && math.Abs(float64(positions[2*want])) <= edge && math.Abs(float64(
				positions[2*want]-positions[2*want-2])) < 0.11 {
				want++
			}
			if want < s.Steps() {
				early++
			}
			errtest.Equal(t, fmt.Sprintf("%s: episode %d", name, i), len(arena.Paths[i].X), want)
		}
		if early == 0 {
			t.Errorf("%s: no episode ends early: nothing was tested", name)
		}
		must.Get(watch.SkillTrajectories(env, run))
	}
}

func TestSkillTrajectoriesNameWhatIsMissing(t *testing.T) {
	imported, _ := madeUpOn(t, "pointmaze", 3)
	evolved := train(t, small(t.TempDir(), 1))
	trained := train(t, smallDiscovery("diayn-reward", t.TempDir(), 2))
	without := train(t, smallDiscovery("diayn-reward", t.TempDir(), 2))
	path := filepath.Join(without.Dir, "skills.npz")
	arrays := nb.Must(npz.Read(path))
	delete(arrays, "trajectories")
	nb.Check(npz.Write(path, arrays))
	contacts := *trained
	contacts.Config.Env = "walker-uni"
	own := *trained
	own.Config.Env = "moon"
	for want, run := range map[string]*runs.Run{
		"were not evaluated":                             imported,
		"has no skills.npz":                              evolved,
		"walker-uni has no positions":                    &contacts,
		"moon has no positions to draw; for an environm": &own,
		"kept no positions to draw":                      without,
	} {
		errtest.Want(t, errtest.Of(figures.SkillTrajectories(run)), want)
	}
}
