package hierarchy

import (
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
	"example.com/qdnb/xla/random"
)

// signs is a line on which half of the robots are rewarded for going right and the other half for
// going left. Only the part of the observation that skills do not see tells which. Episodes end
// beyond 4.
type signs struct{}

func (signs) Spec() envs.Spec {
	return envs.Spec{Name: "signs", Observations: 3, Actions: 1, Length: 12,
		Descriptor: envs.Descriptor{Kind: envs.None}}
}

func (e signs) Reset(keys random.Key) envs.State {
	n := keys.Hi.Shape().Dimensions[0]
	u := Reshape(keys.Uniform(-1, 1, n, 1), n)
	sign := Where(GreaterThan(u, ZerosLike(u)), OnesLike(u), Neg(OnesLike(u)))
	return e.state(MulScalar(u, 0.1), sign, ZerosLike(u))
}

func (signs) state(x, sign, reward *Node) envs.State {
	far := Abs(x)
	done := Where(GreaterThan(far, ConstAs(far, 4)), OnesLike(x), ZerosLike(x))
	return envs.State{PhysicsState: []*Node{x, sign},
		Observation: Stack([]*Node{x, sign, OnesLike(x)}, 1), Reward: reward, Done: done}
}

func (e signs) Step(s envs.State, action *Node) envs.State {
	a := Reshape(action, -1)
	return e.state(Add(s.PhysicsState[0], a), s.PhysicsState[1], Mul(a, s.PhysicsState[1]))
}

// signSkills returns three skills: left, stay, right. Gaussian ones have almost no noise.
func signSkills(gaussian bool) (Task, npz.Array) {
	task := Task{Env: signs{}, Unseen: 2, Skills: NewForm(1, nil, 1, gaussian), Place: [2]int{0, 1}}
	var rows []float32
	for _, bias := range []float32{-0.5, 0, 0.5} {
		if gaussian {
			rows = append(rows, bias, -20, 0, 0)
		} else {
			rows = append(rows, bias, 0)
		}
	}
	return task, npz.Of(rows, 3, len(rows)/3)
}

func small() Settings {
	s := Default()
	s.NumEnvs, s.UnrollLength, s.BatchSize, s.NumMinibatches, s.UpdateEpochs = 6, 4, 6, 4, 4
	s.DecisionLength, s.EpisodeLength, s.EvaluationEnvs, s.Slice = 3, 12, 5, 4
	s.PolicyHidden, s.ValueHidden, s.LearningRate = []int{16}, []int{16}, 3e-3
	return s
}

func newSearch(t *testing.T, p *xla.Platform, gaussian bool, settings Settings) *Search {
	t.Helper()
	task, rows := signSkills(gaussian)
	s := must.Get(New(p, task, rows, settings, 1))
	t.Cleanup(s.Close)
	return s
}

func step(t *testing.T, s *Search) Outcome {
	t.Helper()
	o := must.Get(s.Step())
	return o
}

func mean(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(len(x))
}

// The meta-controller learns which skill is rewarded. The best return is that of the best skill
// until the episode ends beyond 4, at tanh(0.5) per step.
func TestSearchLearns(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		gaussian := p.Kind == backend.Go // each kind of skill on one backend, to save time
		settings := small()
		settings.NumEnvs, settings.BatchSize, settings.EvaluationEnvs = 16, 16, 32
		s := newSearch(t, p, gaussian, settings)
		first := step(t, s)
		if first.Iteration != 0 || first.EnvSteps != 0 || first.Evaluation == nil || !math.IsNaN(
			first.Losses[0]) {
			t.Fatalf("first %+v", first)
		}
		var last Outcome
		for range 60 {
			last = step(t, s)
		}
		before, after := mean(first.Evaluation.Fitnesses), mean(last.Evaluation.Fitnesses)
		if before > 2 || after < 3.6 || last.Best > 4.6 || last.Best < 4 {
			t.Errorf("mean returns %v before and %v after learning, best %v", before, after, last.Best)
		}
		if want := int64(60 * 64 * 4 * 3); last.EnvSteps != want || last.Evaluations != 61*32 {
			t.Errorf("%d steps and %d episodes, want %d and %d", last.EnvSteps, last.Evaluations, want,
				61*32)
		}
		for i, fitness := range last.Evaluation.Fitnesses {
			e := last.Evaluation
			steps := int(e.Steps[i])
			// A trajectory in one direction is as long as its return.
			if far := math.Abs(float64(e.Position(i,
				steps-1)[0])); fitness > 4 && math.Abs(far-float64(fitness)) > 0.11 {
				t.Errorf("episode %d ends at %v after %d steps, return %v", i, far, steps, fitness)
			}
			if len(e.Chosen(i)) != 4 || slices.Max(e.Choices) > 2 || slices.Min(e.Choices) < 0 {
				t.Errorf("choices %v", e.Chosen(i))
			}
		}
	})
}

// arraysOf returns the arrays of a search.
func arraysOf(t *testing.T, s *Search) map[string]npz.Array {
	t.Helper()
	arrays := must.Get(s.Arrays())
	return arrays
}

func same(t *testing.T, what string, a, b map[string]npz.Array) {
	t.Helper()
	if !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) {
		t.Fatalf("%s: other arrays", what)
	}
	for name := range a {
		if !reflect.DeepEqual(a[name], b[name]) {
			t.Errorf("%s: %s differs", what, name)
		}
	}
}

// A search resumed from arrays equals the uninterrupted one bit for bit, also in the middle of
// episodes and between two evaluations.
func TestRestore(t *testing.T) {
	settings := small()
	settings.EvaluationInterval, settings.NormalizeObservations = 2, true
	settings.DecisionLength = 5 // episodes end within decisions
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		s := newSearch(t, p, true, settings)
		for range 4 {
			step(t, s)
		}
		saved := arraysOf(t, s)
		var outcomes []Outcome
		for range 3 {
			outcomes = append(outcomes, step(t, s))
		}
		other := newSearch(t, p, true, settings)
		must.Do(other.Restore(3, saved))
		same(t, "restored", arraysOf(t, other), saved)
		for i := range outcomes {
			if got := step(t, other); !reflect.DeepEqual(got, outcomes[i]) {
				t.Errorf("step %d: %+v, want %+v", i, got, outcomes[i])
			}
		}
		same(t, "later", arraysOf(t, other), arraysOf(t, s))
		task, rows := signSkills(true)
		policy, err := s.Policy()
		if err != nil || policy.Chooses(rows) != nil {
			t.Error(err, policy.Chooses(rows))
		}
		rows.Data.([]float32)[0]++
		errtest.Want(t, policy.Chooses(rows), "trained with other skills")
		if p.Kind == backend.Go {
			strange := must.Get(New(p, task, rows, settings, 1))
			defer strange.Close()
			errtest.Want(t, strange.Restore(3, saved), "trained with other skills")
		}
		delete(saved, "worlds.reward")
		errtest.Want(t, other.Restore(3, saved), "worlds.reward")
	})
}

// The division among slices and workers does not change the results.
func TestShares(t *testing.T) {
	p := xlatest.Best(t)
	var want map[string]npz.Array
	for slice, workers := range map[int]int{1: p.Workers, 6: 1} {
		limited := *p
		limited.Workers = workers
		settings := small()
		settings.Slice = slice
		s := newSearch(t, &limited, false, settings)
		for range 2 {
			step(t, s)
		}
		arrays := arraysOf(t, s)
		if want == nil {
			want = arrays
		}
		for name := range want {
			got, _ := arrays[name].Float64s()
			expected, _ := want[name].Float64s()
			for i := range expected {
				if math.Abs(got[i]-expected[i]) > 1e-4 && !math.IsInf(expected[i], -1) {
					t.Fatalf("slices of %d on %d workers: %s[%d] is %v, want %v", slice, workers, name, i, got[i],
						expected[i])
				}
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	p := xlatest.Pure(t)
	task, rows := signSkills(false)
	for want, spoil := range map[string]func(*Task, *npz.Array, *Settings){
		"skills of shape": func(_ *Task, rows *npz.Array,
			_ *Settings) {
			*rows = npz.Of([]float32{1, 2, 3}, 1, 3)
		},
		"skills expect": func(task *Task, _ *npz.Array, _ *Settings) { task.Unseen = 1 },
		"no observations": func(task *Task, _ *npz.Array,
			_ *Settings) {
			task.Place = [2]int{0, 3}
		},
		"multiple of num_envs":   func(_ *Task, _ *npz.Array, s *Settings) { s.NumEnvs = 5 },
		"decision_length must":   func(_ *Task, _ *npz.Array, s *Settings) { s.DecisionLength = 0 },
		"evaluation_envs must":   func(_ *Task, _ *npz.Array, s *Settings) { s.EvaluationEnvs = 0 },
		"learning_rate must be ": func(_ *Task, _ *npz.Array, s *Settings) { s.LearningRate = 2 },
	} {
		task, rows, settings := task, rows, small()
		spoil(&task, &rows, &settings)
		if s, err := New(p, task, rows, settings, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
			if s != nil {
				s.Close()
			}
		}
	}
}
