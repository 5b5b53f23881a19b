package skills

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/npz"
	"example.com/qdnb/qdnb/evolution"
	"example.com/qdnb/qdnb/sac"
	"example.com/qdnb/xla"
)

// grid is a repertoire of n x n cells between -2 and 2.
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

// small is a search of milliseconds.
func small() Config {
	algorithm := sac.Default()
	algorithm.Hidden, algorithm.BatchSize, algorithm.LearningRate = []int{8, 8}, 16, 1e-2
	return Config{
		SAC: algorithm, Environments: 6, Updates: 2, Capacity: 6 * 10, Seed: 1,
		Passive: Passive{States: 2, Every: 18, Early: 6}, Centroids: grid(5),
	}
}

var (
	smallDIAYN = DIAYN{LearningRate: 1e-2, Hidden: []int{8}}
	smallDADS  = DADS{LearningRate: 1e-2, Hidden: []int{8}, Components: 2}
)

// quick is a search that learns something in a second.
func quick(environments int) Config {
	config := small()
	config.SAC.Hidden, config.SAC.BatchSize, config.SAC.LearningRate, config.SAC.Tau, config.SAC.AlphaInit = []int{32, 32}, 64, 3e-3, 0.02, 0.02
	config.Environments, config.Updates, config.Capacity = environments, environments, environments*300
	config.Passive = Passive{States: 6, Every: int64(4 * environments)}
	return config
}

// short is a point whose episodes end by themselves, or by their length.
var short = point{Edge: 1, Limit: math.Inf(1), Spread: 0.5}

// kind is a search of some method.
type kind struct {
	name   string
	env    point
	method Method
	config func(xla.Kind) Config
}

func smallFor(xla.Kind) Config { return small() }

// One of each kind; SAC alone learns its entropy coefficient, and, where updates are fast, the task.
var (
	diaynReward = kind{"diayn-reward", short, Method{smallDIAYN, PlusReward{2}}, smallFor}
	smerlDADS   = kind{"smerl-dads", short, Method{smallDADS, SMERL{Target: -8, Margin: 1, Scale: 2}}, smallFor}
	sacAlone    = kind{"sac", point{Edge: math.Inf(1), Limit: math.Inf(1), Spread: 0.1}, Method{}, func(backend xla.Kind) Config {
		config := small()
		if backend != xla.Go {
			config = quick(16)
		}
		config.SAC.FixAlpha = false
		return config
	}}
)

func newSearch(t *testing.T, p *xla.Platform, env point, method Method, config Config) *Search {
	t.Helper()
	task := Task{Env: env, Length: 8}
	if method.Diversity != nil {
		task.Skills = 3
	}
	s, err := New(p, task, method, config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// begun gives a search of a kind before its first iteration. XLA takes seconds to compile one: there, tests take turns with it.
func begun(t *testing.T, p *xla.Platform, k kind) *Search {
	t.Helper()
	if p.Kind == xla.Go {
		s := newSearch(t, p, k.env, k.method, k.config(p.Kind))
		t.Cleanup(s.Close)
		return s
	}
	if _, ok := compiled[k.name]; !ok {
		s := newSearch(t, p, k.env, k.method, k.config(p.Kind))
		compiled[k.name] = beginning{s, memory(t, s)}
	}
	b := compiled[k.name]
	restore(t, b.search, -1, b.held)
	return b.search
}

type beginning struct {
	search *Search
	held   map[string]npz.Array
}

var compiled = map[string]beginning{}

func steps(t *testing.T, s *Search, n int) (outcomes []Outcome) {
	t.Helper()
	for range n {
		outcome, err := s.Step()
		if err != nil {
			t.Fatal(err)
		}
		outcomes = append(outcomes, outcome)
	}
	return outcomes
}

// memory is all that a search holds: what goes into checkpoints, and the rows of its replay buffer.
func memory(t *testing.T, s *Search) map[string]npz.Array {
	t.Helper()
	arrays, err := s.Arrays()
	if err != nil {
		t.Fatal(err)
	}
	capacity, width, total := s.ReplayShape()
	first := max(0, total-capacity)
	rows, err := s.ReplayRows(first, total)
	if err != nil {
		t.Fatal(err)
	}
	arrays["replay"] = npz.Of(rows, int(total-first), width)
	return arrays
}

// differ names the arrays that are not the same to the bit.
func differ(a, b map[string]npz.Array) (names []string) {
	bits := func(x npz.Array) any {
		if data, ok := x.Data.([]float32); ok { // NaN is not equal to itself
			words := make([]uint32, len(data))
			for i, v := range data {
				words[i] = math.Float32bits(v)
			}
			return words
		}
		return x.Data
	}
	for name := range a {
		if !slices.Equal(a[name].Shape, b[name].Shape) || !reflect.DeepEqual(bits(a[name]), bits(b[name])) {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// restore puts a search where memory was taken.
func restore(t *testing.T, s *Search, iteration int64, held map[string]npz.Array) {
	t.Helper()
	arrays := maps.Clone(held)
	delete(arrays, "replay")
	if err := s.Restore(iteration, arrays); err != nil {
		t.Fatal(err)
	}
	_, _, total := s.ReplayShape()
	rows := held["replay"]
	err := s.SetReplay(func(put func(from int64, rows []float32) error) error {
		return put(total-int64(rows.Shape[0]), rows.Data.([]float32))
	})
	if err != nil {
		t.Fatal(err)
	}
}

func floatsOf(t *testing.T, arrays map[string]npz.Array, name string) []float32 {
	t.Helper()
	flat, err := arrays[name].Float32s()
	if err != nil {
		t.Fatal(err)
	}
	return flat
}

// The rows of the replay buffer are the transitions in their order, to the bit: also where episodes end by themselves or by their
// length, and where the ring begins again.
func TestReplayHoldsTheTransitions(t *testing.T) {
	const n, width = 6, 14
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		s := begun(t, p, diaynReward)
		type place struct{ x, y float32 }
		var first, now [n]place
		var age [n]int
		ended, cut := 0, 0
		steps(t, s, 1)
		for step := range 3 { // of ten iterations: the ring begins again with each
			steps(t, s, 10)
			total := s.envSteps(s.Iteration())
			rows, err := s.ReplayRows(total-10*n, total)
			if err != nil || len(rows) != 10*n*width {
				t.Fatalf("%d numbers, %v", len(rows), err)
			}
			for i := range 10 * n {
				k, row := i%n, rows[i*width:(i+1)*width]
				if step == 0 && i < n {
					first[k] = place{row[0], row[1]}
					now[k] = first[k]
				}
				x, y, reward, done := short.moved(now[k].x, now[k].y, row[4], row[5])
				age[k]++
				next, over, truncated := place{x, y}, float32(0), float32(0)
				if done || age[k] == 8 {
					next, over, age[k] = first[k], 1, 0
					ended++
					if !done {
						truncated = 1
						cut++
					}
				}
				want := []float32{now[k].x, now[k].y, next.x, next.y, row[4], row[5], reward, over, truncated, float32(k % 3), now[k].x, now[k].y, next.x, next.y}
				if !slices.Equal(row, want) {
					t.Fatalf("row %d is\n%v, want\n%v", i, row, want)
				}
				if math.Abs(float64(row[4])) >= 1 || k > 0 && row[4] == rows[(i-1)*width+4] {
					t.Fatalf("row %d has the action %v", i, row[4:6])
				}
				now[k] = next
			}
		}
		if ended == cut || cut == 0 {
			t.Errorf("%d episodes ended, %d by their length: the test tells nothing", ended, cut)
		}
		if first[0] == first[3] {
			t.Error("two environments of one skill begin at the same place")
		}
		if _, err := s.ReplayRows(0, 1); err == nil {
			t.Error("the first row is still there")
		}
	})
}

func TestPassiveSchedule(t *testing.T) {
	for _, c := range []struct {
		passive Passive
		step    int64
		want    []int64 // environment steps at which skills are measured, up to 300
	}{
		{Passive{Every: 100}, 20, []int64{0, 100, 200, 300}},
		{Passive{Every: 100, Early: 30}, 20, []int64{0, 40, 60, 100, 200, 300}},
		{Passive{Every: 100, Early: 500}, 20, []int64{0, 100, 200, 300}},
		{Passive{Every: 70}, 30, []int64{0, 90, 150, 210, 300}},
		{Passive{Every: 7}, 60, []int64{0, 60, 120, 180, 240, 300}},
		{Passive{Every: 1000}, 100, []int64{0}},
	} {
		var got []int64
		for after := int64(0); after <= 300; after += c.step {
			if c.passive.due(max(0, after-c.step), after) {
				got = append(got, after)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v in steps of %d: measured at %v, want %v", c.passive, c.step, got, c.want)
		}
	}
}

// The passive repertoire changes where it is measured and nowhere else, and its cells hold policies that do again what the cells say,
// from one of the initial states in which their skill was evaluated.
func TestPassiveRepertoire(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		s := begun(t, p, diaynReward) // 6 steps an iteration, measured every 18
		repertoire := func() map[string]npz.Array {
			arrays, err := s.Repertoire(true)
			if err != nil {
				t.Fatal(err)
			}
			return arrays
		}
		empty := floatsOf(t, repertoire(), "fitnesses")
		if len(empty) != 25 || slices.ContainsFunc(empty, func(f float32) bool { return f != float32(negativeInfinity) }) {
			t.Errorf("before anything was measured there is %v", empty)
		}
		evaluations, changed := int64(0), 0
		for i := range int64(14) {
			before := repertoire()
			o := steps(t, s, 1)[0]
			after := repertoire()
			measured := i <= 2 || i%3 == 0
			if measured {
				evaluations += 6
			}
			if o.Iteration != i || s.Iteration() != i || o.EnvSteps != 6*i || o.Evaluations != evaluations || o.Invalid != 0 || (o.Fitnesses != nil) != measured {
				t.Errorf("outcome %+v, want %d evaluations", o, evaluations)
			}
			if len(o.Extra) != len(s.Columns()) || math.IsNaN(o.Extra[0]) != (i == 0) {
				t.Errorf("iteration %d: %v are %v", i, s.Columns(), o.Extra)
			}
			switch names := differ(before, after); {
			case !measured && len(names) > 0:
				t.Errorf("iteration %d, unmeasured, changes %v", i, names)
			case measured:
				if !slices.Equal(o.Fitnesses, floatsOf(t, after, "fitnesses")) {
					t.Errorf("iteration %d: fitnesses %v", i, o.Fitnesses)
				}
				for cell, f := range floatsOf(t, before, "fitnesses") {
					if o.Fitnesses[cell] < f {
						t.Errorf("iteration %d: cell %d fell from %g to %g", i, cell, f, o.Fitnesses[cell])
					}
				}
				if len(names) > 0 {
					changed++
				}
			}
		}
		if changed < 3 {
			t.Errorf("the repertoire changed %d times: the test tells nothing", changed)
		}

		// The skills as they are now: measuring changes nothing, and is the same every time.
		held := memory(t, s)
		first, err := s.Evaluate()
		if err != nil {
			t.Fatal(err)
		}
		again, err := s.Evaluate()
		if err != nil || !slices.Equal(first.Fitnesses, again.Fitnesses) || !slices.Equal(first.Descriptors, again.Descriptors) || len(first.Fitnesses) != 6 {
			t.Errorf("%+v and then %+v, %v", first, again, err)
		}
		if names := differ(held, memory(t, s)); len(names) > 0 {
			t.Errorf("an evaluation changes %v", names)
		}
		if len(first.Positions) != 6*8*2 {
			t.Errorf("%d numbers of positions", len(first.Positions))
		}
		for i, f := range first.Fitnesses { // the positions say the same
			path := first.Positions[i*16 : (i+1)*16]
			last := 7
			for last > 0 && float64(path[2*last]) > short.Edge { // an episode's descriptor is from before its last step
				last--
			}
			if math.IsNaN(float64(f)) || f >= 0 || last == 7 && !slices.Equal(path[14:], first.Descriptors[2*i:2*i+2]) {
				t.Errorf("episode %d: fitness %g, descriptor %v, path %v", i, f, first.Descriptors[2*i:2*i+2], path)
			}
		}

		form := s.it.task.policy(s.config.SAC.Hidden)
		evaluator, err := evolution.NewRepeatedEvaluator(p, evolution.Task{Env: short, Policy: form, Length: 8}, 1, 6, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer evaluator.Free()
		last := repertoire()
		genotypes, fitnesses, descriptors := floatsOf(t, last, "genotypes"), floatsOf(t, last, "fitnesses"), floatsOf(t, last, "descriptors")
		filled := 0
		for cell, want := range fitnesses {
			if math.IsInf(float64(want), -1) {
				continue
			}
			filled++
			row := genotypes[cell*form.Params() : (cell+1)*form.Params()]
			value := p.Replicated(func() *tensors.Tensor { return xlatest.Tensor(slices.Clone(row), 1, len(row)) })
			f, d, err := evaluator.Evaluate(value, s.config.Seed)
			value.Free()
			if err != nil {
				t.Fatal(err)
			}
			near := func(a, b float32) bool { return math.Abs(float64(a-b)) < 1e-4 }
			same := func(i int) bool {
				return near(f[i], want) && near(d[2*i], descriptors[2*cell]) && near(d[2*i+1], descriptors[2*cell+1])
			}
			if !slices.ContainsFunc([]int{0, 1, 2, 3, 4, 5}, same) {
				t.Errorf("cell %d has fitness %g and descriptor %v; its policy has %v and %v", cell, want, descriptors[2*cell:2*cell+2], f, d)
			}
		}
		if filled < 4 {
			t.Errorf("%d cells are filled: the test tells nothing", filled)
		}
	})
}

// A search that is restored goes on to the same bytes; so does one that begins again with the same seed, and none with another one.
func TestSearchGoesOnBitForBit(t *testing.T) {
	const stop, end = 7, 13 // the ring of ten steps begins again in between
	for _, k := range []kind{diaynReward, smerlDADS, sacAlone} {
		t.Run(k.name, func(t *testing.T) {
			xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
				s := begun(t, p, k)
				start := memory(t, s)
				first := steps(t, s, 1+stop)
				stopped := memory(t, s)
				rest := steps(t, s, end-stop)
				want := memory(t, s)
				if names := differ(stopped, want); !slices.Contains(names, "Learner.Actor") || slices.Contains(names, "Learner.LogAlpha") == s.config.SAC.FixAlpha {
					t.Errorf("on the way only %v change: the test tells nothing", names)
				}
				same := func(what string, outcomes, wanted []Outcome, held map[string]npz.Array) {
					t.Helper()
					if a, b := fmt.Sprint(outcomes), fmt.Sprint(wanted); a != b {
						t.Errorf("%s: outcomes\n%s, want\n%s", what, a, b)
					}
					if names := differ(held, want); len(names) > 0 {
						t.Errorf("%s: %v differ", what, names)
					}
				}

				other := s
				if k.name != "sac" || p.Kind == xla.Go { // one program of XLA's less to compile
					other = newSearch(t, p, k.env, k.method, k.config(p.Kind))
					defer other.Close()
				} else {
					restore(t, s, -1, start)
				}
				if names := differ(start, memory(t, other)); len(names) > 0 {
					t.Errorf("with the same seed %v begin elsewhere", names)
				}
				fresh := memory(t, other)
				restore(t, other, stop, stopped)
				if got := other.Iteration(); got != stop {
					t.Errorf("restored at iteration %d", got)
				}
				same("restored", steps(t, other, end-stop), rest, memory(t, other))
				restore(t, other, -1, fresh)
				same("from the beginning", steps(t, other, 1+end), append(slices.Clone(first), rest...), memory(t, other))

				if p.Kind == xla.Go {
					config := k.config(p.Kind)
					config.Seed = 2
					another := newSearch(t, p, k.env, k.method, config)
					defer another.Close()
					names := differ(start, memory(t, another))
					steps(t, another, 1+end)
					later := differ(want, memory(t, another))
					for _, name := range []string{"Learner.Actor", "Learner.Critic", "Worlds.Observation"} {
						if !slices.Contains(names, name) || !slices.Contains(later, name) {
							t.Errorf("seed 2 has the same %s", name)
						}
					}
				}
			})
		})
	}
}

func TestRestoreMistakesGiveOneLine(t *testing.T) {
	s := begun(t, xlatest.Pure(t), diaynReward)
	good := memory(t, s)
	for want, change := range map[string]func(map[string]npz.Array){
		"does not say how many evaluations there were":          func(a map[string]npz.Array) { delete(a, evaluationsName) },
		"Learner.Actor have shape [1, 3], this run":             func(a map[string]npz.Array) { a["Learner.Actor"] = npz.Of([]float32{1, 2, 3}, 1, 3) },
		"Known.0 have shape [], this run":                       func(a map[string]npz.Array) { delete(a, "Known.0") },
		"Learner.LogAlpha are of Int32, this run needs Float32": func(a map[string]npz.Array) { a["Learner.LogAlpha"] = npz.Scalar(int32(1)) },
	} {
		arrays := maps.Clone(good)
		change(arrays)
		err := s.Restore(3, arrays)
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "[1 3]", "[1, 3]"), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v; want one line with %q", err, want)
		}
		if s.Iteration() != -1 || len(differ(good, memory(t, s))) > 0 {
			t.Errorf("%q: the search is changed", want)
		}
	}
}

// A buffer that was dropped is filled anew, to the same size, with transitions of the actor as it is; the returns that SMERL looks at are
// those of its rows.
// While a search warms up it acts and remembers, and what it knows stays as it is.
func TestWarmup(t *testing.T) {
	p := xlatest.Pure(t)
	config := diaynReward.config(p.Kind)
	n := config.Environments
	config.Warmup = int64(3 * n)
	s := newSearch(t, p, diaynReward.env, diaynReward.method, config)
	defer s.Close()
	steps(t, s, 1)
	first := memory(t, s)
	outcomes := steps(t, s, 3)
	warm := memory(t, s)
	for _, name := range differ(first, warm) {
		if !strings.HasPrefix(name, "Worlds.") && !strings.HasPrefix(name, "passive_") && name != "replay" {
			t.Errorf("warming up changes %s", name)
		}
	}
	if warm["replay"].Shape[0] != 3*n || outcomes[2].EnvSteps != int64(3*n) {
		t.Errorf("after the warm-up: %d rows, %+v", warm["replay"].Shape[0], outcomes[2])
	}
	steps(t, s, 1)
	end := memory(t, s)

	// What it does has nothing to do with the actor, whose first networks may all lean to one side.
	other := newSearch(t, p, diaynReward.env, diaynReward.method, config)
	defer other.Close()
	held := memory(t, other)
	leaning := slices.Clone(floatsOf(t, held, "Learner.Actor"))
	for i := range leaning {
		leaning[i] = 3
	}
	held["Learner.Actor"] = npz.Of(leaning, held["Learner.Actor"].Shape...)
	restore(t, other, -1, held)
	steps(t, other, 4)
	if !slices.Equal(floatsOf(t, memory(t, other), "replay"), floatsOf(t, warm, "replay")) {
		t.Error("another actor warms up otherwise")
	}
	if changed := differ(warm, end); !slices.Contains(changed, "Learner.Actor") || !slices.Contains(changed, "Learner.Critic") {
		t.Errorf("the first update changes %v", changed)
	}
}

func TestRefill(t *testing.T) {
	const n, capacity = 6, 60
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		ends := []int{5, 10, 23} // a buffer that is filled in part, just full, and in the middle of the ring
		if p.Kind != xla.Go {
			ends = ends[2:]
		}
		for _, end := range ends {
			s := begun(t, p, smerlDADS)
			steps(t, s, 1+end)
			before := memory(t, s)
			episodes, err := s.Refill()
			if err != nil {
				t.Fatal(err)
			}
			after := memory(t, s)
			filled := min(end, 10)
			if want := int64(filled * n / 8); episodes != want {
				t.Errorf("after %d steps: %d episodes, want %d", end, episodes, want)
			}
			for _, name := range differ(before, after) {
				if !strings.HasPrefix(name, "Worlds.") && !strings.HasPrefix(name, "Returns.") && name != "replay" {
					t.Errorf("filling the buffer changes %s", name)
				}
			}
			if before["replay"].Shape[0] != filled*n || !slices.Contains(differ(before, after), "replay") {
				t.Errorf("after %d steps: the buffer had %v rows and is not filled anew", end, before["replay"].Shape)
			}
			for i, want := range []int32{int32(filled * n), int32(end * n % capacity)} {
				if got := tensors.ToScalar[int32](s.buffer.Leaves[1+i][0]); got != want {
					t.Errorf("after %d steps: counter %d of the buffer is %d, want %d", end, i, got, want)
				}
			}
			checkReturns(t, fmt.Sprintf("after %d steps", end), after, end, n, 10)

			outcomes := steps(t, s, 12)
			if last := outcomes[11]; last.Iteration != int64(end+12) || last.EnvSteps != int64((end+12)*n) {
				t.Errorf("it goes on to %+v", last)
			}
			// Every row was written since; those of the first episodes, which began before the buffer was filled, may be gone.
			checkReturns(t, fmt.Sprintf("%d steps and 12 more", end), memory(t, s), end+12, n, 10)
		}
	})
}

// checkReturns compares the returns of a full buffer's rows with sums of the rewards in it, for the episodes that begin in it. ring is
// the steps that it holds.
func checkReturns(t *testing.T, what string, held map[string]npz.Array, end, n, ring int) {
	t.Helper()
	rows, returns := floatsOf(t, held, "replay"), floatsOf(t, held, "Returns.Rows")
	width, filled := held["replay"].Shape[1], held["replay"].Shape[0]/n
	compared := 0
	for k := range n {
		var sum float32
		var episode []int // steps of the running episode
		begun := filled < ring
		flush := func() {
			for _, step := range episode {
				if got := returns[(end-filled+step)%ring*n+k]; begun {
					compared++
					if got != sum {
						t.Errorf("%s: the return at step %d of environment %d is %g, its episode's rewards sum to %g", what, step, k, got, sum)
					}
				}
			}
			sum, episode, begun = 0, nil, true
		}
		for step := range filled {
			row := rows[(step*n+k)*width:]
			sum += row[6]
			episode = append(episode, step)
			if row[7] > 0 {
				flush()
			}
		}
		flush()
	}
	if compared < n {
		t.Errorf("%s: %d rows were compared", what, compared)
	}
	for i := filled * n; filled < ring && i < len(returns); i++ {
		if returns[i] != float32(negativeInfinity) {
			t.Errorf("%s: row %d was never written, and has the return %g", what, i, returns[i])
		}
	}
}

// Every return is above a target of -Inf, where SMERL is PlusReward, to the bit; with a target that nothing reaches it learns the task
// alone.
func TestSMERLWithoutATargetIsPlusReward(t *testing.T) {
	p := xlatest.Pure(t)
	after := func(objective Objective) map[string]npz.Array {
		s := newSearch(t, p, short, Method{smallDIAYN, objective}, small())
		defer s.Close()
		steps(t, s, 12)
		held := memory(t, s)
		// SMERL logs a figure more.
		maps.DeleteFunc(held, func(name string, _ npz.Array) bool { return strings.HasPrefix(name, "Returns.") || name == figuresName })
		return held
	}
	plus, task := after(PlusReward{2}), after(PlusReward{0})
	if len(differ(plus, task)) == 0 {
		t.Error("the diversity reward changes nothing: the test tells nothing")
	}
	if names := differ(plus, after(SMERL{Target: negativeInfinity, Scale: 2})); len(names) > 0 {
		t.Errorf("without a target %v differ", names)
	}
	if names := differ(task, after(SMERL{Target: 1e9, Margin: 1, Scale: 2})); len(names) > 0 {
		t.Errorf("below its target %v differ", names)
	}
}

func TestWhatIsNoNumberEndsTheSearch(t *testing.T) {
	nan := float32(math.NaN())
	broken := func(name string, at int) func(map[string]npz.Array) {
		return func(arrays map[string]npz.Array) {
			data := slices.Clone(arrays[name].Data.([]float32))
			data[at] = nan
			arrays[name] = npz.Of(data, arrays[name].Shape...)
		}
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, updates := range []int{2, 0} {
			s := begun(t, p, diaynReward)
			if updates == 0 {
				if p.Kind != xla.Go {
					continue
				}
				config := small()
				config.Updates = 0
				s = newSearch(t, p, short, diaynReward.method, config)
				defer s.Close()
			}
			steps(t, s, 3)
			held := memory(t, s)
			for _, c := range []struct {
				column string // that is named first; with updates it may be that of another network, which learnt from the broken one
				change func(map[string]npz.Array)
			}{
				{"critic_loss", broken("Learner.Critic", 3)}, // a unit of the first hidden layer
				{"actor_loss", broken("Learner.Actor", 3)},
				{"discriminator_loss", broken("Known.0", 3)},
				{"task_reward", broken("Worlds.Observation", 0)},
			} {
				arrays := maps.Clone(held)
				c.change(arrays)
				restore(t, s, 2, arrays)
				o, err := s.Step()
				want := "^" + c.column
				if updates > 0 {
					want = "^(critic_loss|actor_loss|discriminator_loss|training_reward|task_reward)"
				}
				if err == nil || !regexp.MustCompile(want+" is (NaN|[+-]Inf) in iteration 3: ").MatchString(err.Error()) || strings.Contains(err.Error(), "\n") || o.Fitnesses != nil {
					t.Errorf("%d updates: %v; want one line that begins with %s", updates, err, c.column)
				}
				if s.Iteration() != 2 {
					t.Errorf("the search is in iteration %d", s.Iteration())
				}
			}
		}
	})
}

// Rewards that are no numbers are found in the iteration in which they come.
func TestBrokenRewardsEndTheSearch(t *testing.T) {
	s := newSearch(t, xlatest.Pure(t), point{Edge: math.Inf(1), Limit: 0.6, Spread: 0.1}, Method{}, small())
	defer s.Close()
	var err error
	for i := 0; i < 100 && err == nil; i++ {
		_, err = s.Step()
	}
	if err == nil || !regexp.MustCompile(`^(critic_loss|training_reward|task_reward) is NaN in iteration \d+: `).MatchString(err.Error()) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
	capacity, _, total := s.ReplayShape()
	rows, err := s.ReplayRows(max(0, total+6-capacity), total) // the last iteration wrote over the oldest rows
	if err != nil || slices.ContainsFunc(rows, func(x float32) bool { return x != x }) {
		t.Errorf("the iterations before had rewards that are no numbers, %v", err)
	}
}

func TestMisfitsGiveOneLine(t *testing.T) {
	p := xlatest.Pure(t)
	type all struct {
		task   Task
		method Method
		config Config
	}
	together := "skills, a diversity reward and an objective go together"
	for _, c := range []struct {
		want   string
		change func(*all)
	}{
		{"a search needs at least 1 environment", func(a *all) { a.config.Environments = 0 }},
		{"updates from 0 on, not 6 and -1", func(a *all) { a.config.Updates = -1 }},
		{"2 environments do not play all of 3 skills", func(a *all) { a.config.Environments = 2 }},
		{"must hold a multiple of the 6 environments, not 61 transitions", func(a *all) { a.config.Capacity = 61 }},
		{"must hold a multiple of the 6 environments, not 0 transitions", func(a *all) { a.config.Capacity = 0 }},
		{"must hold whole episodes: at least 48 transitions, not 42", func(a *all) { a.config.Capacity, a.method.Objective = 42, SMERL{Target: 1} }},
		{together, func(a *all) { a.method.Objective = nil }},
		{together, func(a *all) { a.method.Diversity = nil }},
		{together, func(a *all) { a.task.Skills = 0 }},
		{together, func(a *all) { a.method = Method{} }},
		{"centroids of shape [2 3] do not fit descriptors of 2 components", func(a *all) { a.config.Centroids = npz.Of(make([]float32, 6), 2, 3) }},
		{"centroids of shape [4] do not fit", func(a *all) { a.config.Centroids = npz.Of(make([]float32, 4), 4) }},
		{"centroids of shape [] do not fit", func(a *all) { a.config.Centroids = npz.Array{} }},
		{"at least 1 episode", func(a *all) { a.config.Passive.States = 0 }},
		{"at least 1 step apart", func(a *all) { a.config.Passive.Every = 0 }},
		{"at least 1 step apart", func(a *all) { a.config.Passive.Early = -1 }},
	} {
		a := all{Task{Env: endless, Length: 8, Skills: 3}, diaynReward.method, small()}
		c.change(&a)
		s, err := New(p, a.task, a.method, a.config)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") || s != nil {
			t.Errorf("%v; want one line with %q", err, c.want)
		}
	}
}

// SAC goes where nothing has to be paid, and stays there.
func TestSACSolvesThePoint(t *testing.T) {
	s := begun(t, xlatest.Best(t), sacAlone)
	mean := func() (sum float64) {
		e, err := s.Evaluate()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range e.Fitnesses {
			sum += float64(f) / float64(len(e.Fitnesses))
		}
		return sum
	}
	untaught := mean()
	steps(t, s, 151)
	taught := mean() // the best there is: 3/4 + 1/2 + 1/4
	t.Logf("the mean return goes from %.2f to %.2f", untaught, taught)
	if untaught > -4 || taught < -2.2 {
		t.Errorf("the mean return goes from %.2f to %.2f", untaught, taught)
	}
}

// DIAYN without a task: the discriminator learns to tell skills apart, and they end in different places.
func TestDIAYNParts(t *testing.T) {
	method := Method{DIAYN{LearningRate: 3e-3, Hidden: []int{32}}, DiversityOnly{}}
	s := newSearch(t, xlatest.Best(t), sacAlone.env, method, quick(15))
	defer s.Close()
	outcomes := steps(t, s, 201)
	loss := func(outcomes []Outcome) (sum float64) {
		for _, o := range outcomes {
			sum += o.Extra[slices.Index(s.Columns(), "discriminator_loss")] / float64(len(outcomes))
		}
		return sum
	}
	first, last := loss(outcomes[1:4]), loss(outcomes[191:])
	e, err := s.Evaluate()
	if err != nil {
		t.Fatal(err)
	}
	distance := func(i, k int) float64 {
		return math.Hypot(float64(e.Descriptors[2*i]-e.Descriptors[2*k]), float64(e.Descriptors[2*i+1]-e.Descriptors[2*k+1]))
	}
	within, between := 0.0, math.Inf(1) // the farthest of one skill, the nearest of two
	for i := range e.Fitnesses {
		for k := range i {
			if i%3 == k%3 {
				within = max(within, distance(i, k))
			} else {
				between = min(between, distance(i, k))
			}
		}
	}
	t.Logf("the discriminator's loss goes from %.2f to %.2f; skills end %.2f apart, episodes of one skill %.2f", first, last, between, within)
	if first < 0.9 || last > 0.6*math.Log(3) {
		t.Errorf("the discriminator's loss goes from %.2f to %.2f; log 3 is %.2f", first, last, math.Log(3))
	}
	if between < 0.5 || between < 1.5*within {
		t.Errorf("skills end %.2f apart, episodes of one skill %.2f", between, within)
	}
}
