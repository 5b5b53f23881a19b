package skills

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/sac"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// point is a task that plain Go computes exactly: a point in the plane moves by a quarter of its
// action and pays its distance |x-1| + |y| from (1, 0). Its observation and descriptor are its
// position.
type point struct {
	Edge   float64 // an episode ends if x exceeds it
	Limit  float64 // rewards are NaN if x exceeds it
	Spread float64 // spread of the initial states around 0
}

// endless is a point whose episodes all start at 0 and end by their length.
var endless = point{Edge: math.Inf(1), Limit: math.Inf(1)}

func (point) Spec() envs.Spec {
	return envs.Spec{Name: "point", Observations: 2, Actions: 2, Length: 8,
		Descriptor: envs.Descriptor{
			Kind: envs.Final, Lower: []float32{-2, -2}, Upper: []float32{2, 2},
			Components: []string{"x", "y"}}}
}

func (p point) at(xy, reward *Node) envs.State {
	x := Reshape(Slice(xy, AxisRange(), AxisElem(0)), -1)
	return envs.State{
		PhysicsState: []*Node{Transpose(xy, 0, 1)}, Observation: xy, Descriptor: xy, Reward: reward,
		Done: ConvertDType(GreaterThan(x, ConstAs(x, p.Edge)), dtypes.Float32),
	}
}

func (p point) Reset(keys random.Key) envs.State {
	n := keys.Hi.Shape().Dimensions[0]
	return p.at(keys.Uniform(-p.Spread, p.Spread, n, 2), Zeros(keys.Hi.Graph(), shapes.Make(dtypes.Float32, n)))
}

func (p point) Step(s envs.State, action *Node) envs.State {
	xy := Add(s.Observation, MulScalar(action, 0.25))
	x, y := Reshape(Slice(xy, AxisRange(), AxisElem(0)), -1),
		Reshape(Slice(xy, AxisRange(), AxisElem(1)), -1)
	reward := Neg(Add(Abs(AddScalar(x, -1)), Abs(y)))
	return p.at(xy, Where(GreaterThan(x, ConstAs(x, p.Limit)), ConstAs(x, math.NaN()), reward))
}

// moved computes a step in plain Go.
func (p point) moved(x, y, right, up float32) (nextX, nextY, reward float32, done bool) {
	x, y = x+right/4, y+up/4
	return x, y, -(float32(math.Abs(float64(x-1))) + float32(math.Abs(float64(y)))),
		float64(x) > p.Edge
}

// Every evaluated skill as a separate policy acts like the actor conditioned on it without noise, and
// so does the actor of numbered skills.
func TestGenotypesDoWhatTheActorDoes(t *testing.T) {
	for _, skills := range []Distribution{{}, {OneHot: 1}, {OneHot: 3}, unitVectors(2, 1), unitVectors(2, 2),
		unitVectors(2, 5), cube(4, 3)} {
		for _, hidden := range [][]int{{7, 5}, {4}, nil} {
			task := Problem{Env: endless, Length: 8, Skills: skills}
			mlp, n := nn.NewMLP(2+skills.Size(), hidden, 4), max(1, skills.Count())
			what := fmt.Sprintf("%d skills of size %d, hidden layers %v", n, skills.Size(), hidden)
			xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
				out := xlatest.Run(t, p, func(in []*Node) []*Node {
					key := random.KeyOf(in[0])
					row := key.FoldIn(1).Normal(1, mlp.Params()) // biases are not 0
					actor, obs := mlp.Network(row, 0), key.FoldIn(2).Normal(n, 2)
					x := task.inputs(obs, nil)
					numbers := obs
					if skills.vectors() {
						x = task.inputs(obs, Const(obs.Graph(), skills.Evaluated))
					} else if skills.OneHot > 0 {
						x = task.inputs(obs, skills.playing(obs.Graph(), n))
					}
					if skills.Count() > 0 {
						numbers = Concatenate([]*Node{obs, oneHots(obs.Graph(), n)}, 1)
					}
					means := func(outputs *Node) *Node { return Tanh(Slice(outputs, AxisRange(), AxisRange(0, 2))) }
					numbered := task.WithOneHotSkills(actor)
					genotypes := task.Genotypes(numbered)
					return []*Node{means(actor.Apply(x)), means(numbered.Apply(numbers)),
						task.policy(hidden).View(genotypes).Apply(obs)}
				}, xlatest.Tensor(random.SeedWords(1), 2))
				want := xlatest.Flat[float32](t, out[0])
				for i, of := range []string{"numbered skills", "policies"} {
					xlatest.Close(t, what+": "+of, xlatest.Flat[float32](t, out[i+1]), want, 1e-5)
				}
			})
		}
	}
}

// A skill that is a vector is drawn for an episode, lasts until it ends, and is stored with each of
// its transitions, as are the features of the step.
func TestVectorsLastAnEpisode(t *testing.T) {
	qdac := QDAC{LearningRate: 1e-2, Discount: 0.9, Tau: 0.1, Hidden: []int{8}, Distance: 0.1,
		Smooth: 1e-3}
	changes := qdac
	changes.Changes = true
	type feature func(start, now, next float32, done bool) float32
	for _, c := range []struct {
		diversity Diversity
		unit      bool
		want      feature
	}{
		{METRA{LearningRate: 1e-2, Hidden: []int{8}, Multiplier: 30, Slack: 1e-3, Components: 2}, true,
			func(_, now, _ float32, _ bool) float32 { return now }},
		{qdac, false, func(_, now, _ float32, _ bool) float32 { return now / 2 }},
		{changes, false, func(start, now, next float32, done bool) float32 {
			if done {
				return start / 2
			}
			return (start + 8*(next-now)) / 2
		}},
	} {
		s := startSearch(t, xlatest.Pure(t), methodOf(short, 3, c.diversity, TaskOnly{}), small())
		steps(t, s, 11) // the first only measures
		rows, width := stored(t, s)
		const n = 6
		row := func(step, k int) []float32 { return rows[(step*n+k)*width:][:width] }
		ended := 0
		for i := range 10 * n {
			step, k := i/n, i%n
			now := row(step, k)
			done, skill, features := now[7] == 1, now[9:11], now[11:13]
			square := math.Hypot(float64(skill[0]), float64(skill[1]))
			if c.unit && math.Abs(square-1) > 1e-5 || slices.Max(skill) > 1 || slices.Min(skill) < -1 {
				t.Errorf("%T, step %d: the skill is %v", c.diversity, step, skill)
			}
			for i, start := range row(0, k)[:2] {
				if want := c.want(start, now[i], now[2+i], done); math.Abs(float64(features[i]-want)) > 1e-5 {
					t.Errorf("%T, step %d: %v has features %v, want %g", c.diversity, step, now, features, want)
				}
			}
			if done {
				ended++
			}
			if step < 9 && done == slices.Equal(skill, row(step+1, k)[9:11]) {
				t.Errorf("%T: step %d of environment %d ends its episode: %v; skills %v and then %v",
					c.diversity, step, k, done, skill, row(step+1, k)[9:11])
			}
		}
		if ended < n || slices.Equal(row(0, 0)[9:11], row(0, 1)[9:11]) {
			t.Errorf("%T: %d episodes ended; the first two skills are %v and %v", c.diversity, ended,
				row(0, 0)[9:11], row(0, 1)[9:11])
		}
	}
}

// Splitting a row inverts joining it, and network inputs are conditioned on the skill.
func TestRowsAreReadAsTheyWereWritten(t *testing.T) {
	const n = 5
	before := []float32{0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5}
	after := []float32{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}
	actions := []float32{-0.5, 0.5, -0.25, 0.25, 0, 1, -1, 0.75, 0.125, 0.625}
	for _, c := range []struct {
		skills int
		full   bool
		width  int
	}{{0, false, 9}, {3, true, 10}, {3, false, 14}} {
		task := Problem{Env: endless, Length: 8, Skills: Distribution{OneHot: c.skills}}
		if !c.full {
			task.Features = task.Descriptors()
		}
		errtest.Equal(t, fmt.Sprintf("%+v: the width of rows", c), task.layout().Width(), c.width)
		xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				g := in[0].Graph()
				from, to := endless.at(in[0], ZerosLike(in[3])), endless.at(in[1], in[3])
				from.Descriptor, to.Descriptor = AddScalar(in[0], 100), AddScalar(in[1], 100)
				to.Done = Const(g, []float32{0, 1, 0, 1, 0})
				var skill *Node
				if c.skills > 0 {
					skill = task.Skills.playing(g, n)
				}
				b := task.read(task.rows(from, to, in[2], skill, Const(g, []float32{0, 0, 0, 1, 0})), nil)
				if len(b.More) > 0 || (b.Skill == nil) != (c.skills == 0) {
					t.Errorf("%+v: skills %v, and columns %v", c, b.Skill, b.More)
				}
				return xla.Flatten(b)
			}, xlatest.Tensor(before, n, 2), xlatest.Tensor(after, n, 2), xlatest.Tensor(actions, n, 2),
				xlatest.Tensor([]float32{1, 2, 3, 4, 5}, n))
			// environment k plays skill k mod 3
			hot := []float32{1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0}
			conditioned := func(x []float32) []float32 {
				if c.skills == 0 {
					return x
				}
				var out []float32
				for i := range n {
					out = append(append(out, x[2*i:2*i+2]...), hot[3*i:3*i+3]...)
				}
				return out
			}
			done := []float32{0, 1, 0, 1, 0}
			want := [][]float32{conditioned(before), conditioned(after), actions, {1, 2, 3, 4, 5}, done, {0, 0, 0, 1, 0}}
			if c.skills > 0 {
				now, next := slices.Clone(before), slices.Clone(after)
				for i := range now {
					if !c.full {
						now[i], next[i] = now[i]+100, next[i]+100
					}
				}
				want = append(want, hot, now, next)
			}
			for i, x := range out {
				errtest.Equal(t, fmt.Sprintf("%+v: part %d", c, i), xlatest.Flat[float32](t, x), want[i])
			}
		})
	}
}

// grid returns a repertoire of n x n cells between -2 and 2.
func grid(n int) npz.Array {
	var centroids []float32
	at := func(i int) float32 { return 4*(float32(i)+0.5)/float32(n) - 2 }
	for i := range n {
		for k := range n {
			centroids = append(centroids, at(i), at(k))
		}
	}
	return npz.Of(centroids, n*n, 2)
}

// small configures a search that takes milliseconds.
func small() config {
	algorithm := sac.Default()
	algorithm.Hidden, algorithm.BatchSize, algorithm.LearningRate = []int{8, 8}, 16, 1e-2
	return config{
		SAC: SAC{
			Config: algorithm, EnvBatchSize: 6, GradUpdatesPerStep: 2. / 6, ReplayBufferSize: 6 * 10,
			EpisodeLength: 8, EvaluationStates: 2, EvaluationInterval: 18, EarlyInterval: 6,
			CVT: repertoire.DefaultCVT(),
		},
		Seed: 1, Centroids: grid(5),
	}
}

var (
	smallDIAYN = DIAYN{LearningRate: 1e-2, Hidden: []int{8}}
	smallDADS  = DADS{LearningRate: 1e-2, Hidden: []int{8}, Components: 2}
)

// quick configures a search that learns something within a second.
func quick(environments int) config {
	config := small()
	config.SAC.Hidden, config.SAC.BatchSize, config.SAC.LearningRate, config.SAC.Tau,
		config.SAC.AlphaInit = []int{32, 32}, 64, 3e-3, 0.02, 0.02
	config.EnvBatchSize, config.GradUpdatesPerStep = environments, 1
	config.ReplayBufferSize = environments * 300
	config.EvaluationStates, config.EvaluationInterval = 6, int64(4*environments)
	config.EarlyInterval = 0
	return config
}

// short is a point whose episodes end early or by their length.
var short = point{Edge: 1, Limit: math.Inf(1), Spread: 0.5}

// methodOf returns a method with one-hot skills, unless the diversity reward has others.
func methodOf(env envs.Env, skills int, d Diversity, o Objective) method {
	task := Problem{Env: env, Length: 8}
	if d != nil {
		task.Skills.OneHot, task.Features = skills, task.Descriptors()
	}
	return newMethod(task, d, o)
}

// free is a point whose episodes end by their length only.
var free = point{Edge: math.Inf(1), Limit: math.Inf(1), Spread: 0.1}

var (
	diaynReward = methodOf(short, 3, smallDIAYN, PlusReward{2})
	smerlDADS   = methodOf(short, 3, smallDADS, SMERL{Target: -8, Margin: 1, Scale: 2})
)

func startSearch(t testing.TB, p *xla.Platform, method method, config config) *search {
	t.Helper()
	s := must.Get(newSearch(p, method, config))
	t.Cleanup(s.Close)
	return s
}

func steps(t *testing.T, s *search, n int) (outcomes []scoring.Outcome) {
	t.Helper()
	for range n {
		outcome := must.Get(s.Step())
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// memory returns the whole state of a search: its checkpoint arrays and the rows of its replay
// buffer.
func memory(t *testing.T, s *search) map[string]npz.Array {
	t.Helper()
	arrays := must.Get(s.Arrays())
	buffer, total := s.Replay()
	capacity, width := buffer.Shape()
	first := max(0, total-capacity)
	rows := must.Get(buffer.Rows(total, first, total))
	arrays["replay"] = npz.Of(rows, int(total-first), width)
	return arrays
}

// restore restores the state that memory returned.
func restore(t *testing.T, s *search, iteration int64, held map[string]npz.Array) {
	t.Helper()
	arrays := maps.Clone(held)
	delete(arrays, "replay")
	must.Do(s.Restore(iteration, arrays))
	buffer, total := s.Replay()
	rows := held["replay"]
	must.Do(buffer.Set(total, func(put func(from int64, rows []float32) error) error {
		return put(total-int64(rows.Shape[0]), rows.Data.([]float32))
	}))
}

func floatsOf(t *testing.T, arrays map[string]npz.Array, name string) []float32 {
	return must.Get(arrays[name].Float32s())
}

// stored returns the rows of a replay buffer with up to capacity rows, and their width.
func stored(t *testing.T, s *search) (rows []float32, width int) {
	t.Helper()
	buffer, total := s.Replay()
	_, width = buffer.Shape()
	rows = must.Get(buffer.Rows(total, 0, total))
	return rows, width
}

// Arrays returns the state of a search, as a checkpoint holds it.
func (s *search) Arrays() (map[string]npz.Array, error) { return s.State().Arrays() }

// Restore restores the state that Arrays returned.
func (s *search) Restore(_ int64, arrays map[string]npz.Array) error {
	return s.State().Restore(arrays)
}

// counters are the host's values in checkpoints.
var counters = []string{"iteration", "evaluations", "metric_sums", "metric_count", "dropped"}

// entryOf returns an algorithm by its name.
func entryOf(name string) algorithms.Entry {
	return Algorithms[slices.IndexFunc(Algorithms, func(e algorithms.Entry) bool { return e.Name == name })]
}

// Defaults returns the hyperparameters of an algorithm of skills by its name.
func Defaults(name string, env envs.Spec) *Discovery {
	return entryOf(name).Defaults(env).(*Discovery)
}
