package qdnb

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/watch"
)

// ledge is a plane with an edge in x. The episode ends beyond it, where the point would keep
// moving.
type ledge struct{ plane }

const edge = 0.3

func (l ledge) Step(s envs.State, action *Node) envs.State {
	s = l.plane.Step(s, action)
	x := Reshape(Slice(s.Observation, AxisRange(), AxisElem(0)), -1)
	s.Done = ConvertDType(GreaterThan(Abs(x), ConstAs(x, edge)), x.DType())
	return s
}

// Of the stored evaluation, the steps before the edge are the first episode, whether or not the
// environment resets automatically.
func TestFirstEpisodeOfARun(t *testing.T) {
	for name, env := range map[string]envs.Env{"ledge": ledge{plane{"ledge"}},
		"restarting": envs.AutoReset(ledge{plane{"restarting"}}, 20)} {
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
	contacts := *trained
	contacts.Config.Env = "walker-uni"
	own := *trained
	own.Config.Env = "moon"
	for want, run := range map[string]*runs.Run{
		"were not evaluated":                             imported,
		"has no skills.npz":                              evolved,
		"walker-uni has no positions":                    &contacts,
		"moon has no positions to draw; for an environm": &own,
		"kept no positions to draw":                      withoutPositions(t),
	} {
		errtest.Want(t, errtest.Of(figures.SkillTrajectories(run)), want)
	}
}

// withoutPositions returns a run whose evaluation has only fitnesses and descriptors.
func withoutPositions(t *testing.T) *runs.Run {
	run := train(t, smallDiscovery("diayn-reward", t.TempDir(), 2))
	path := filepath.Join(run.Dir, "skills.npz")
	arrays := nb.Must(npz.Read(path))
	delete(arrays, "trajectories")
	nb.Check(npz.Write(path, arrays))
	return run
}
