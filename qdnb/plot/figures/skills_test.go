package figures

import (
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// An episode ends at its descriptor, or at the step into the goal that follows.
func TestFirstEpisode(t *testing.T) {
	nan := float32(math.NaN())
	goal := &Rect{X0: 0.5, Y0: 0.5, X1: 0.6, Y1: 0.6}
	for name, c := range map[string]struct {
		positions, descriptor []float32
		goal                  *Rect
		want                  int
	}{
		"to the end":    {[]float32{0, 0, 1, 0, 2, 0}, []float32{2, 0}, nil, 3},
		"ended before":  {[]float32{0, 0, 1, 0, 2, 0}, []float32{1, 0}, nil, 2},
		"waits":         {[]float32{0, 0, 1, 0, 1, 0}, []float32{1, 0}, goal, 3},
		"into the goal": {[]float32{0, 0, 0.4, 0.5, 0.5, 0.6, 2, 2}, []float32{0.4, 0.5}, goal, 3},
		"around the goal": {[]float32{0, 0, 0.4, 0.5, 0.5, 0.6, 0.4, 0.5, 0.5, 0.6},
			[]float32{0.4, 0.5}, goal, 3},
		"goal in the last step":   {[]float32{0, 0, 0.4, 0.5}, []float32{0.4, 0.5}, goal, 2},
		"there is no goal":        {[]float32{0, 0, 0.4, 0.5, 0.5, 0.6, 2, 2}, []float32{0.4, 0.5}, nil, 2},
		"one coordinate is equal": {[]float32{0, 0, 0, 1, 1, 1}, []float32{0, 1}, nil, 2},
		"not a number":            {[]float32{0, 0, nan, 0, nan, 0}, []float32{nan, 0}, nil, 3},
	} {
		errtest.Equal(t, name, firstEpisode(c.positions, c.descriptor, c.goal), c.want)
	}
}

func TestSkillLabels(t *testing.T) {
	s := &runs.Skills{Count: 3, Which: []int{0, 2, 1, 0, 2},
		Fitnesses: []float32{-100, 3, float32(math.Inf(-1)), -201, 4}}
	if got, want := skillLabels(s), []string{"skill 0: −150", "skill 1: −Inf",
		"skill 2: 3.5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	s = &runs.Skills{Which: []int{0, 0}, Fitnesses: []float32{1, 2}}
	if got, want := skillLabels(s), []string{"policy: 1.5"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// skilled returns a run of two skills with two episodes each, of three steps along x. The episodes
// of skill 1 end a step earlier.
func skilled(t *testing.T, env string) *runs.Run {
	t.Helper()
	config := must.Get(runs.NewConfig("diayn-reward", env, 3, map[string]any{}))
	w := must.Get(runs.Create(t.TempDir(), config))
	defer w.Close()
	s := &runs.Skills{Observations: 1, Actions: 1, Count: 2, Which: []int{0, 1, 1, 0},
		Fitnesses: []float32{1, 2, 4, 3}}
	s.Policy = make([]float32, runs.Row(s.Sizes()))
	for i, k := range s.Which {
		y := 0.1 * float32(i)
		s.Trajectories = append(s.Trajectories, 0, y, 0.1, y, 0.2, y)
		s.Descriptors = append(s.Descriptors, 0.2-0.1*float32(k), y)
	}
	// The same sums as above, rounded alike.
	for i, k := range s.Which {
		s.Descriptors[2*i] = s.Trajectories[6*i+4-2*k]
	}
	must.Do(w.SaveSkills(s))
	return w.Run
}

func TestAddSkills(t *testing.T) {
	run := skilled(t, "ant-omni")
	arena := must.Get(ArenaOf("ant-omni"))
	must.Do(arena.AddSkills(run))
	for i, want := range []struct {
		label string
		steps int
	}{{"skill 0", 3}, {"skill 1", 2}, {"skill 1", 2}, {"skill 0", 3}} {
		if p := arena.Paths[i]; p.Label != want.label || len(p.X) != want.steps || len(p.Y) != want.steps {
			t.Errorf("path %d is %+v, want %+v", i, p, want)
		}
	}
	svg := svgOf(SkillTrajectories(run))
	for _, want := range []string{"DIAYN+REWARD on ant-omni, 4 episodes", "skill 0: 2.0", "skill 1: 3.0", "x (m)"} {
		errtest.Contains(t, svg, ">"+want+"<")
	}
	errtest.Want(t, errtest.Of(SkillTrajectories(skilled(t, "walker-uni"))), "has no positions")
}

// Each arena owns its walls and goal: changing them does not affect the next arena.
func TestArenaOfIsACopy(t *testing.T) {
	for range 2 {
		a, err := ArenaOf("pointmaze")
		if err != nil || len(a.Walls) != 2 || a.Goal == nil || a.Goal.X0 != -0.55 {
			t.Fatalf("%+v, %v", a, err)
		}
		a.Walls = append(a.Walls, Rect{})
		a.Goal.X0 = 9
		a.Walls[0].X0 = 9
	}
}
