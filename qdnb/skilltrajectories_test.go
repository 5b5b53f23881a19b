package qdnb

import (
	"bytes"
	"image/png"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/npz"
	"example.com/qdnb/qdnb/figures"
	"example.com/qdnb/qdnb/runs"
)

// smallSkills is a run of the reinforcement-learning family of seconds.
func smallSkills(folder string) Spec {
	return Spec{
		Algorithm: "diayn-reward", Env: "pointmaze", Seed: 1, Budget: Generations(2), Runs: folder, Backend: "go", Quiet: true,
		Set: []string{"env_batch_size=10", "replay_buffer_size=200", "cells=32", "cvt_samples=500", "hidden=[8,8]", "episode_length=20",
			"batch_size=8", "grad_updates_per_step=0.1", "evaluation_states=3"},
	}
}

// The end of an episode is where its descriptor is, or the step into the goal that follows.
func TestFirstEpisode(t *testing.T) {
	nan := float32(math.NaN())
	goal := &figures.Rect{X0: 0.5, Y0: 0.5, X1: 0.6, Y1: 0.6}
	for name, c := range map[string]struct {
		positions, descriptor []float32
		goal                  *figures.Rect
		want                  int
	}{
		"to the end":              {[]float32{0, 0, 1, 0, 2, 0}, []float32{2, 0}, nil, 3},
		"ended before":            {[]float32{0, 0, 1, 0, 2, 0}, []float32{1, 0}, nil, 2},
		"waits":                   {[]float32{0, 0, 1, 0, 1, 0}, []float32{1, 0}, goal, 3},
		"into the goal":           {[]float32{0, 0, 0.4, 0.5, 0.5, 0.6, 2, 2}, []float32{0.4, 0.5}, goal, 3},
		"around the goal":         {[]float32{0, 0, 0.4, 0.5, 0.5, 0.6, 0.4, 0.5, 0.5, 0.6}, []float32{0.4, 0.5}, goal, 3},
		"goal in the last step":   {[]float32{0, 0, 0.4, 0.5}, []float32{0.4, 0.5}, goal, 2},
		"there is no goal":        {[]float32{0, 0, 0.4, 0.5, 0.5, 0.6, 2, 2}, []float32{0.4, 0.5}, nil, 2},
		"one coordinate is equal": {[]float32{0, 0, 0, 1, 1, 1}, []float32{0, 1}, nil, 2},
		"not a number":            {[]float32{0, 0, nan, 0, nan, 0}, []float32{nan, 0}, nil, 3},
	} {
		if got := firstEpisode(c.positions, c.descriptor, c.goal); got != c.want {
			t.Errorf("%s: %d positions, want %d", name, got, c.want)
		}
	}
}

// ledge is a plane off which one falls: an episode ends where x is beyond the edge, and the point would move on.
type ledge struct{ plane }

const edge = 0.3

func (l ledge) Step(s envs.State, action *Node) envs.State {
	s = l.plane.Step(s, action)
	x := Reshape(Slice(s.Observation, AxisRange(), AxisElem(0)), -1)
	s.Done = ConvertDType(GreaterThan(Abs(x), ConstAs(x, edge)), x.DType())
	return s
}

// Of what the evaluation of a run stored, the steps before the edge are the first episode, whether or not the environment restarts.
func TestFirstEpisodeOfARun(t *testing.T) {
	for name, env := range map[string]envs.Env{"ledge": ledge{plane{"ledge"}}, "restarting": envs.AutoReset(ledge{plane{"restarting"}}, 20)} {
		spec := smallSkills(t.TempDir())
		spec.Env, spec.Environment = "", env
		run := train(t, spec)
		s := Must(run.Skills())
		early := 0
		for i := range s.Which {
			positions := s.Trajectories[2*i*s.Steps() : 2*(i+1)*s.Steps()]
			// The edge is crossed at once by the position after the end, or by the jump back to the start.
			want := 1
			for want < s.Steps() && math.Abs(float64(positions[2*want])) <= edge && math.Abs(float64(positions[2*want]-positions[2*want-2])) < 0.11 {
				want++
			}
			if want < s.Steps() {
				early++
			}
			if got := firstEpisode(positions, s.Descriptors[2*i:2*i+2], nil); got != want {
				t.Errorf("%s: episode %d has %d positions, want %d", name, i, got, want)
			}
		}
		if early == 0 {
			t.Errorf("%s: no episode ends early: nothing was tested", name)
		}
		if _, err := SkillTrajectoriesIn(env, run); err != nil {
			t.Error(err)
		}
	}
}

func TestSkillTrajectories(t *testing.T) {
	run := train(t, smallSkills(t.TempDir()))
	figure := Must(SkillTrajectories(run))
	data := Must(figure.PNG(figures.Resolution))
	if _, err := png.Decode(bytes.NewReader(data)); err != nil || len(data) > 60e3 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
	s := Must(run.Skills())
	text := svg(t, figure)
	for _, want := range append(skillLabels(s), "DIAYN+REWARD on pointmaze, 15 episodes", "start", "end", "goal") {
		if !strings.Contains(text, ">"+want+"<") {
			t.Errorf("the figure does not say %q", want)
		}
	}
}

func TestSkillLabels(t *testing.T) {
	s := &runs.Skills{Count: 3, Which: []int{0, 2, 1, 0, 2}, Fitnesses: []float32{-100, 3, float32(math.Inf(-1)), -201, 4}}
	if got, want := skillLabels(s), []string{"skill 0: −150", "skill 1: −Inf", "skill 2: 3.5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s = &runs.Skills{Which: []int{0, 0}, Fitnesses: []float32{1, 2}}
	if got, want := skillLabels(s), []string{"policy: 1.5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestSkillTrajectoriesSayWhatIsMissing(t *testing.T) {
	imported := Must(Import(importPolicy(t, writeFile(t, filepath.Join(t.TempDir(), "policy.npy"), npz.Of(numbers(mazePolicy))))))
	evolved := train(t, small(t.TempDir(), 1))
	trained := train(t, smallSkills(t.TempDir()))
	contacts := *trained
	contacts.Config.Env = "walker-uni"
	own := *trained
	own.Config.Env = "moon"
	for want, run := range map[string]*runs.Run{
		"were not evaluated":             imported,
		"has no skills.npz":              evolved,
		"walker-uni has no positions":    &contacts,
		"give it to SkillTrajectoriesIn": &own,
		"kept no positions to draw":      withoutPositions(t),
	} {
		if _, err := SkillTrajectories(run); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// withoutPositions is a run whose evaluation has fitnesses and descriptors alone.
func withoutPositions(t *testing.T) *runs.Run {
	run := train(t, smallSkills(t.TempDir()))
	path := filepath.Join(run.Dir, "skills.npz")
	arrays := Must(npz.Read(path))
	delete(arrays, "trajectories")
	Check(npz.Write(path, arrays))
	return run
}
