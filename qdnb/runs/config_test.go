package runs

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/protobuf/protobuftest"
)

// settings is an example of an algorithm's typed settings.
type settings struct {
	Batch     int     `json:"batch"`
	IsoSigma  float64 `json:"iso_sigma"`
	LineSigma float32 `json:"line_sigma"`
	Hidden    []int   `json:"hidden"`
	Name      string  `json:"name"`
	Reward    bool    `json:"reward"`
	Small     int8    `json:"small"`
	Count     uint    `json:"count"`
	Critic    struct {
		Rate   float64 `json:"rate"`
		Layers []struct {
			Size int `json:"size"`
		} `json:"layers"`
	} `json:"critic"`
	Limit  *float64 `json:"limit"`
	Budget Budget   `json:"budget"` // a type with custom JSON
	common
	secret int
}

type common struct {
	Slice int `json:"slice"`
}

func defaults() settings {
	s := settings{Batch: 1000, IsoSigma: 0.005, LineSigma: 0.05, Hidden: []int{256, 256}, Name: "a", secret: 1}
	s.Critic.Rate = 3e-4
	return s
}

func testConfig(t testing.TB) Config {
	return must.Get(NewConfig("map-elites", "pointmaze", 0, defaults()))
}

// Runs are found by this hash: changing it orphans all existing runs.
func TestHashIsStable(t *testing.T) {
	c := Config{Algorithm: "map-elites", Env: "pointmaze", Seed: 0,
		Hyperparameters: json.RawMessage(
			`{"batch":1000,"hidden":[256,256],"iso_sigma":0.005,"line_sigma":0.05}`)}
	// printf '%s' '{"algorithm":"map-elites","env":"pointmaze","hyperparameters":{...},"seed":0}' | sha256sum
	const want = "map-elites-pointmaze-0-a4996ef0"
	errtest.Equal(t, "the name", c.Name(), want)
	for _, same := range []string{
		`{"line_sigma":0.05, "iso_sigma":5e-3, "hidden":[256.0,2.56e2], "batch":1e3}`,
		"{\n\t\"iso_sigma\": 0.0050, \"batch\": 1000.0, \"line_sigma\": 0.05,\n\t\"hidden\": [256, 256]\n}",
	} {
		other := c
		other.Hyperparameters = json.RawMessage(same)
		errtest.Equal(t, fmt.Sprintf("the hash of %s", same), other.Hash(), c.Hash())
	}
	seen := map[string]string{c.Hash(): "the first"}
	for name, change := range map[string]func(c *Config){
		"algorithm": func(c *Config) { c.Algorithm = "pga-map-elites" },
		"env":       func(c *Config) { c.Env = "ant-uni" },
		"seed":      func(c *Config) { c.Seed = 1 },
		"batch":     func(c *Config) { c.Hyperparameters = json.RawMessage(`{"batch":1001}`) },
		"order":     func(c *Config) { c.Hyperparameters = json.RawMessage(`{"hidden":[1,2]}`) },
		"order 2":   func(c *Config) { c.Hyperparameters = json.RawMessage(`{"hidden":[2,1]}`) },
		"large":     func(c *Config) { c.Hyperparameters = json.RawMessage(`{"a":9007199254740993}`) },
		"large 2":   func(c *Config) { c.Hyperparameters = json.RawMessage(`{"a":9007199254740992}`) },
		"text":      func(c *Config) { c.Hyperparameters = json.RawMessage(`{"a":"1"}`) },
		"broken":    func(c *Config) { c.Hyperparameters = json.RawMessage(`{"a":`) },
	} {
		other := c
		change(&other)
		if twin, ok := seen[other.Hash()]; ok {
			t.Errorf("%s and %s have the same hash", name, twin)
		}
		seen[other.Hash()] = name
	}
}

func TestConfigFileRoundTrip(t *testing.T) {
	c := testConfig(t)
	file := must.Get(c.file())
	back := must.Get(parseConfig(file))
	errtest.Equal(t, c.Name(), back.Name(), c.Name())
	got := settings{secret: 1}
	must.Do(back.Settings(&got))
	errtest.Equal(t, "settings", got, defaults())
	none := Config{Algorithm: "a", Env: "b"}
	must.Do(none.Validate())
}

// Settings that only one of two configurations has are differences, too.
func TestDifferences(t *testing.T) {
	a := Config{Hyperparameters: json.RawMessage(`{"batch":8}`)}
	b := Config{Hyperparameters: json.RawMessage(`{"batch":4,"memory":2}`)}
	errtest.Equal(t, "of a", strings.Join(a.Differences(b), ", "), "batch=8, not 4, without memory=2")
	errtest.Equal(t, "of b", strings.Join(b.Differences(a), ", "), "batch=4, not 8, memory=2")
}

func TestConfigIsValidated(t *testing.T) {
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Env: "a"}, "algorithm"},
		{Config{Algorithm: "a", Env: "../b"}, "env"},
		{Config{Algorithm: "a", Env: "b c"}, "env"},
		{Config{Algorithm: strings.Repeat("a", 101), Env: "b"}, "algorithm"},
		{Config{Algorithm: "a", Env: "b", Hyperparameters: json.RawMessage(`[1]`)}, "object"},
		{Config{Algorithm: "a", Env: "b", Hyperparameters: json.RawMessage(`{"a"`)}, "JSON"},
		{Config{Algorithm: "a", Env: "b", Hyperparameters: json.RawMessage(`{} {}`)}, "JSON"},
		{Config{Algorithm: "a", Env: "b", Hyperparameters: json.RawMessage(`{"a":1e999}`)}, "64-bit"},
	} {
		errtest.Want(t, c.config.Validate(), c.want)
	}
}

func TestSet(t *testing.T) {
	s := defaults()
	must.Do(Set(&s, "batch=1e3", "iso_sigma=0.01", "line_sigma= 0.5", "hidden=64, 32", "name=x=\"y\" ", "reward=true",
		"critic.rate=1", "slice=8", "limit=2.5", "small=-128", "count=7", `budget={"generations":5}`))
	limit := 2.5
	want := settings{Batch: 1000, IsoSigma: 0.01, LineSigma: 0.5, Hidden: []int{64, 32}, Name: `x="y" `, Reward: true,
		Small: -128, Count: 7, Limit: &limit, Budget: Budget{Generations: 5}, common: common{8}, secret: 1}
	want.Critic.Rate = 1
	errtest.Equal(t, "settings", s, want)
	must.Do(Set(&s, "hidden=[1,2,3]", "limit=null"))
	want.Hidden, want.Limit = []int{1, 2, 3}, nil
	errtest.Equal(t, "a list as JSON and no limit", s, want)
	must.Do(Set(&s, "hidden="))
	errtest.Equal(t, "an empty list", s.Hidden, nil)
}

func TestSetRefuses(t *testing.T) {
	for assignment, want := range map[string]string{
		"bach=3":                     `unknown field "bach"; did you mean "batch"? known: batch, `,
		"Batch=3":                    `did you mean "batch"?`,
		"xyz=3":                      `unknown field "xyz"; known: batch, budget`,
		"secret=3":                   `unknown field "secret"`,
		"batch":                      `"batch" is not an assignment`,
		"batch=abc":                  `batch: "abc" is not an integer`,
		"batch=":                     `batch: "" is not an integer`,
		"batch=1.5":                  `batch: 1.5 is not an integer`,
		"batch=1 2":                  `is not an integer`,
		"batch=5]":                   `batch: "5]" is not an integer`,
		"batch=null":                 `batch: null is not an integer`,
		"batch=99999999999999999999": `is not an integer`,
		"small=128":                  `small: 128 is not an integer`,
		"count=-1":                   `count: -1 is not a non-negative integer`,
		"iso_sigma=x":                `iso_sigma: "x" is not a number`,
		"iso_sigma=NaN":              `iso_sigma: "NaN" is not a number`,
		"line_sigma=1e300":           `is not a number`,
		"reward=1":                   `reward: 1 is not true or false`,
		"hidden=3,x":                 `hidden: "[3,x]" is not a list, each item an integer`,
		"hidden=3;4":                 `is not a list`,
		"critic=3":                   `critic is a group of fields; set one of critic.{layers, rate}`,
		"critic.rat=3":               `critic: unknown field "rat"; did you mean "rate"?`,
		"batch.x=3":                  `unknown field "batch.x": batch has no fields`,
		`critic.layers=[{"x":1}]`:    `unknown field "x"`,
		`budget={"generations":-1}`:  `negative`,
	} {
		s := defaults()
		errtest.Want(t, Set(&s, "slice=8", assignment), want)
		errtest.Equal(t, assignment+", which is refused", s, defaults())
	}
	for _, target := range []any{nil, settings{}, (*settings)(nil), new(int)} {
		errtest.Want(t, Set(target, "a=1"), "pointer to a struct")
	}
}

func TestDecodeIsStrict(t *testing.T) {
	for data, want := range map[string]string{
		`{"bach":3}`:           `unknown field "bach"; did you mean "batch"?`,
		`{"BATCH":3}`:          `did you mean "batch"?`,
		`{"critic":{"rat":1}}`: `critic: unknown field "rat"; did you mean "rate"?`,
		`{"critic":3}`:         `critic: 3 is not an object`,
		`{"batch":"3"}`:        `batch: "3" is not an integer`,
		`{"batch":{"a":1}}`:    `batch: {"a":1} is not an integer`,
		`[]`:                   `[] is not an object`,
		`null`:                 `null is not an object`,
		``:                     `it ends too early`,
		`{"batch":`:            `it ends too early`,
		`{"batch":1} x`:        `not valid JSON`,
		`{batch:1}`:            `not valid JSON`,
		`{"hidden":[1,"` + strings.Repeat("long", 100) + `"]}`: `...`,
	} {
		s := defaults()
		err := Decode([]byte(data), &s)
		if errtest.Want(t, err, want); err != nil && len(err.Error()) > 300 {
			t.Errorf("%s: %v", data, err)
		}
		errtest.Equal(t, data+", which is refused", s, defaults())
	}
	s := defaults()
	must.Do(Decode([]byte(`{"batch":5.0,"slice":2}`), &s))
	want := defaults()
	want.Batch, want.Slice = 5, 2
	errtest.Equal(t, "settings", s, want)
}

func ExampleSet() {
	hyperparameters := struct {
		Batch    int     `json:"batch"`
		IsoSigma float64 `json:"iso_sigma"`
	}{Batch: 1000, IsoSigma: 0.005}
	fmt.Println(Set(&hyperparameters, "batch=500", "iso_sigma=0.01"), hyperparameters.Batch)
	fmt.Println(Set(&hyperparameters, "bach=100"))
	fmt.Println(Set(&hyperparameters, "batch=abc"))
	// Output:
	// <nil> 500
	// unknown field "bach"; did you mean "batch"? known: batch, iso_sigma
	// batch: "abc" is not an integer
}

func TestBudgetEndsAtTheFirstLimit(t *testing.T) {
	b := Budget{Generations: 100, Time: time.Hour}
	for _, c := range []struct {
		budget   Budget
		progress Progress
		fraction float64
		done     bool
	}{
		{b, Progress{}, 0, false},
		{b, Progress{Generation: 50}, 0.5, false},
		{b, Progress{Generation: 50, Seconds: 2700}, 0.75, false},
		{b, Progress{Generation: 99, Seconds: 3600}, 1, true},
		{b, Progress{Generation: 100}, 1, true},
		{b, Progress{Generation: 200}, 1, true},
		{Budget{EnvSteps: 1000}, Progress{Generation: 9, EnvSteps: 999}, 0.999, false},
		{Budget{Evaluations: 10}, Progress{Evaluations: 10}, 1, true},
		{Budget{CPU: 8 * time.Second}, Progress{Seconds: 100, CPUSeconds: 6}, 0.75, false},
		{Budget{CPU: 8 * time.Second}, Progress{Seconds: 1, CPUSeconds: 8}, 1, true},
		{Budget{}, Progress{Generation: math.MaxInt64}, 0, false},
	} {
		errtest.Equal(t, fmt.Sprintf("%v at %+v", c.budget, c.progress), c.budget.Fraction(c.progress), c.fraction)
		errtest.Equal(t, fmt.Sprintf("%v at %+v: done", c.budget, c.progress), c.budget.Done(c.progress), c.done)
	}
}

// A run that shared a time limit completes the whole budget, but not one whose share is larger.
func TestCompletes(t *testing.T) {
	half := Progress{Generation: 9, Seconds: 1800}
	hours := func(n int) Budget { return Budget{Time: time.Duration(n) * time.Hour} }
	for _, c := range []struct {
		status Status
		budget Budget
		seeds  int
		want   bool
	}{
		{Status{Progress: half, Finished: true, Seeds: 4}, hours(2), 1, true},
		{Status{Progress: half, Finished: true, Seeds: 4}, hours(2), 4, true},
		{Status{Progress: half, Finished: true, Seeds: 4}, hours(4), 1, false},
		{Status{Progress: half, Finished: true, Seeds: 4}, hours(4), 4, false},
		{Status{Progress: half, Finished: true, Seeds: 4}, hours(4), 8, true},
		{Status{Progress: half, Finished: true, Seeds: 4}, Budget{Generations: 10}, 1, false},
		{Status{Progress: half, Finished: true}, hours(2), 1, false},
		{Status{Progress: half, Finished: true}, hours(2), 4, true},
		{Status{Progress: half, Finished: true}, Budget{}, 0, true},
		{Status{Progress: half, Seeds: 4}, hours(2), 1, false},
	} {
		errtest.Equal(t, fmt.Sprintf("%+v completes %v of %d", c.status, c.budget, c.seeds),
			c.status.Completes(c.budget, c.seeds), c.want)
	}
}

func TestBudgetInWordsAndJSON(t *testing.T) {
	for budget, words := range map[Budget]string{
		{}:                 "no limit",
		{Generations: 100}: "100 generations",
		{EnvSteps: 150_000_000, Time: 2 * time.Hour}:  "1.5e8 environment steps or 2h",
		{Evaluations: 200_001, CPU: 12 * time.Minute}: "200001 evaluations or 12m of processor time",
		{Time: 10 * time.Second}:                      "10s",
	} {
		errtest.Equal(t, "in words", budget.String(), words)
		data := must.Get(json.Marshal(budget))
		var back Budget
		must.Do(json.Unmarshal(data, &back))
		errtest.Equal(t, string(data), back, budget)
	}
	for bad, want := range map[string]string{`{"time":"2 hours"}`: "unknown unit", `{"cpu":"720"}`: "missing unit",
		`{"cpu":"-1s"}`: "negative", `{"generations":-1}`: "negative", `{"generations":"a"}`: "not an integer"} {
		errtest.Want(t, json.Unmarshal([]byte(bad), new(Budget)), want)
	}
}

func TestSnapshotsAreNineInTheFirstHalfAndTheEnd(t *testing.T) {
	collect := func(b Budget, step int64) (due []int64) {
		for g := int64(0); g < 36; g += step {
			if SnapshotDue(b, Progress{Generation: g}, Progress{Generation: g + step}) {
				due = append(due, g+step)
			}
		}
		return due
	}
	b := Budget{Generations: 36}
	errtest.Equal(t, "in single steps", collect(b, 1), []int64{2, 4, 6, 8, 10, 12, 14, 16, 18, 36})
	errtest.Equal(t, "in large steps", collect(b, 12), []int64{12, 24, 36})
	errtest.Equal(t, "without a budget", collect(Budget{}, 1), nil)
}

func TestStatusRoundTrip(t *testing.T) {
	s := Status{Progress: Progress{100, 100_000, 25_000_000, 41.5, 80.25}, CompileSeconds: 4, Coverage: 73.7,
		QDScore: 2.51e5, Backend: "xla:cpu", Budget: Budget{Generations: 100}, Finished: true, Version: "1",
		Updated: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, fitness := range []float64{-128, math.Inf(-1)} {
		s.MaxFitness = fitness
		data := must.Get(json.Marshal(s))
		var back Status
		must.Do(json.Unmarshal(data, &back))
		errtest.Equal(t, string(data), back, s)
		errtest.Contains(t, string(data), `"env_steps":25000000`)
	}
}

// The history has no uses of generations that are recomputed, and tells of a change of the backend.
func TestUseMachineKeepsTheHistory(t *testing.T) {
	var s Status
	for _, c := range []struct {
		machine, backend, commit string
		after                    int64
		differs                  bool
		want                     string
	}{
		{"a", "cpu", "1", -1, false, "a cpu 1 -1"},
		{"a", "cpu", "1", 50, false, "a cpu 1 -1"}, // resumed
		{"b", "cpu", "1", 60, false, "a cpu 1 -1, b cpu 1 60"},
		{"b", "cpu", "2", 70, false, "a cpu 1 -1, b cpu 1 60, b cpu 2 70"},
		{"b", "cuda", "2", 80, true, "a cpu 1 -1, b cpu 1 60, b cpu 2 70, b cuda 2 80"},
		{"b", "cuda", "2", 90, true, "a cpu 1 -1, b cpu 1 60, b cpu 2 70, b cuda 2 80"}, // once mixed, always mixed
		{"b", "cpu", "1", 65, false, "a cpu 1 -1, b cpu 1 60"},
		{"b", "go", "1", -1, false, "b go 1 -1"},
	} {
		differs := s.UseMachine(MachineUse{Machine: c.machine, Backend: c.backend, Commit: c.commit, After: c.after})
		data := must.Get(json.Marshal(s))
		s = Status{}
		must.Do(json.Unmarshal(data, &s))
		var got []string
		for _, u := range s.Machines {
			got = append(got, fmt.Sprint(u.Machine, " ", u.Backend, " ", u.Commit, " ", u.After))
		}
		errtest.Equal(t, c, fmt.Sprint(strings.Join(got, ", "), differs, s.Backend), fmt.Sprint(c.want, c.differs, c.backend))
	}
}

func TestNumbersComeBackAsTheyWere(t *testing.T) {
	for v, want := range map[float64]string{
		1e6: "1000000", -128: "-128", 0.1: "0.1", 1.0 / 3: "0.3333333333333333", 1e300: "1e+300", 5e-324: "5e-324",
		math.Inf(-1): "-inf", math.Inf(1): "inf", 251000.25: "251000.25", 1 << 53: "9.007199254740992e+15",
		math.Copysign(0, -1): "-0", math.NaN(): "nan",
	} {
		errtest.Equal(t, "a number as text", FormatNumber(v), want)
		back := must.Get(parseTable([]byte("a\n" + want + "\n"))).Rows[0][0]
		errtest.Equal(t, want, math.Float64bits(back), math.Float64bits(v))
	}
}

func TestTable(t *testing.T) {
	// the last row is incomplete
	table := must.Get(parseTable([]byte("generation,qd_score\n1,2.5\n2,-inf\n3,4")))
	errtest.Equal(t, "qd_score", must.Get(table.Column("qd_score")), []float64{2.5, math.Inf(-1)})
	errtest.Want(t, errtest.Of(table.Column("qdscore")), `did you mean "qd_score"?`)
	for data, want := range map[string]string{
		"":                "no header",
		"generation":      "no header",
		"a,a\n":           "repeated",
		"a,\n":            "empty",
		"a,b\n1\n":        "wrong number of fields",
		"a,b\n1,2\n3,x\n": `line 3: b is "x"`,
		"a\n\"\n":         "quote",
	} {
		errtest.Want(t, errtest.Of(parseTable([]byte(data))), want)
	}
}

func TestAdaptation(t *testing.T) {
	config := must.Get(NewConfig("adaptation", "ant-uni", 0,
		map[string]any{"perturbation": "gravity", "skills": "map-elites-ant-uni-0-1a2b3c4d"}))
	w := must.Get(Create(t.TempDir(), config))
	defer w.Close()
	metrics := func(text string) {
		t.Helper()
		must.Do(os.WriteFile(filepath.Join(w.Dir, "metrics.csv"), []byte(text), 0o666))
	}
	metrics("index,x,y,skill,fitness_median\n1,2,nan,3,nan\n1,2,nan,7,5\n1,2,nan,9,5\n" +
		"0,0.5,nan,3,-inf\n0,0.5,nan,7,nan\n2,3,nan,3,nan\n")
	a := must.Get(w.Adaptation())
	if a.Perturbation != "gravity" || a.Skills != "map-elites-ant-uni-0-1a2b3c4d" || len(a.Values) != 3 {
		t.Fatalf("%+v", a)
	}
	for i, want := range []struct {
		x      float64
		skills []int
		best   int
		score  float64
	}{{0.5, []int{3, 7}, 3, math.Inf(-1)}, {2, []int{3, 7, 9}, 7, 5}, {3, []int{3}, -1, math.NaN()}} {
		v := a.Values[i]
		best, score := v.Best()
		errtest.Equal(t, "index, x, y, skills and the best one", fmt.Sprint(v.Index, v.X, v.Y, v.Skills, best, score),
			fmt.Sprint(i, want.x, math.NaN(), want.skills, want.best, want.score))
	}
	errtest.Equal(t, "the best on average of an incomplete run", a.BestOnAverage(), -1)
	complete := Adaptation{Values: []AdaptedValue{{Skills: []int{3, 7}, Scores: []float64{1, 2}},
		{Skills: []int{7, 3}, Scores: []float64{-3, 0}}}}
	errtest.Equal(t, "the best on average", complete.BestOnAverage(), 3)
	v := a.Values[1]
	errtest.Equal(t, "scores of skills 9, 3 and 8", fmt.Sprint(v.Score(9), v.Score(3), v.Score(8)), "5 NaN NaN")
	controller := must.Get(NewConfig("hierarchical-control", "halfcheetah-hurdles", 0, map[string]any{"skills": "a-run"}))
	for _, config := range []Config{testConfig(t), controller} {
		other := must.Get(Create(t.TempDir(), config))
		defer other.Close()
		errtest.Want(t, errtest.Of(other.Adaptation()), "is not a run of adaptation")
	}
	for text, want := range map[string]string{
		"index,x,y,skill,fitness_median\n": "no results yet",
		"generation,max_fitness\n1,2\n":    "index",
	} {
		metrics(text)
		errtest.Want(t, errtest.Of(w.Adaptation()), want)
	}
}

// Configurations with the same name prefix are listed with their differences.
func TestLoadListsTheCandidates(t *testing.T) {
	root := t.TempDir()
	for _, batch := range []int{1000, 200} {
		s := defaults()
		s.Batch = batch
		c := must.Get(NewConfig("map-elites", "pointmaze", 0, s))
		if batch == 200 {
			c.Parts = map[string]string{"emitter": "0123456789abcdef"}
		}
		w := must.Get(Create(root, c))
		w.Close()
	}
	_, err := LoadFrom(root, "map-elites-pointmaze-0")
	if err == nil {
		t.Fatal("the first of two is loaded")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `2 runs begin with "map-elites-pointmaze-0"`) {
		t.Fatal(err)
	}
	for _, want := range []string{" (batch=1000)", " (batch=200, emitter=0123456789abcdef)"} {
		if !strings.HasSuffix(lines[1], want) && !strings.HasSuffix(lines[2], want) {
			t.Errorf("%v\nwants %q", err, want)
		}
	}
}

// A prefix that ends with a seed is that seed's run, even if it is damaged and those of other seeds are not.
func TestLoadTellsSeedsApart(t *testing.T) {
	root, dirs := t.TempDir(), map[int64]string{}
	for _, seed := range []int64{1, 10, 11} {
		w := must.Get(Create(root, must.Get(NewConfig("map-elites", "arm", seed, defaults()))))
		dirs[seed] = w.Dir
		w.Close()
	}
	for target, seed := range map[string]int64{"map-elites-arm-1": 1, "map-elites-arm-10": 10,
		filepath.Join(root, "map-elites-arm-1"):              1,
		filepath.Base(dirs[1])[:len("map-elites-arm-1-abc")]: 1, "map-elites-arm-1-": 1} {
		errtest.Equal(t, "seed of "+target, must.Get(LoadFrom(root, target)).Config.Seed, seed)
	}
	errtest.Want(t, errtest.Of(LoadFrom(root, "map-elits-arm-1-0badcafe")), "no run",
		"train it first, or did you mean map-elites-arm-1?")
	must.Do(os.Remove(filepath.Join(dirs[11], configFile)))
	must.Do(os.WriteFile(filepath.Join(dirs[1], configFile), []byte("{"), 0o666))
	// a run that cannot be read is not a missing run, which would be trained again
	name := filepath.Base(dirs[1])
	for _, target := range []string{"map-elites-arm-1", name, name[:len("map-elites-arm-1-a")]} {
		errtest.Want(t, errtest.Of(LoadFrom(root, target)), filepath.Join(dirs[1], configFile),
			"restore it or move the folder away")
	}
}

// The error of a damaged array names the file once.
func TestDamagedRepertoireIsNamedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "repertoire.npz")
	must.Do(testRepertoire().Write(path))
	data := must.Get(os.ReadFile(path))
	data[bytes.Index(data, []byte("centroids.npy"))+len("centroids.npy")+40] ^= 4
	must.Do(os.WriteFile(path, data, 0o666))
	if _, err := ReadRepertoire(path, true); err == nil || strings.Count(err.Error(), path) != 1 {
		t.Error(err)
	}
}

// A path is looked up in its own folder only: the runs folder may have a run of the same name.
func TestLoadDoesNotLeaveTheFolderOfAPath(t *testing.T) {
	root := t.TempDir()
	w := create(t, root)
	prefix := w.Name()[:len(w.Name())-4]
	for _, path := range []string{w.Dir, filepath.Join(root, prefix)} {
		errtest.Equal(t, path, must.Get(LoadFrom(t.TempDir(), path)).Dir, w.Dir)
	}
	elsewhere := filepath.Join(t.TempDir(), prefix)
	errtest.Want(t, errtest.Of(LoadFrom(root, elsewhere)), "no run ")
}

// The runs of notebooks are in a folder of their own, which the error names.
func TestLoadNamesTheFolderThatHasTheRun(t *testing.T) {
	root := t.TempDir()
	w := must.Get(Create(filepath.Join(root, "notebooks", "runs"), testConfig(t)))
	w.Close()
	for folder, want := range map[string]string{root: filepath.Join("notebooks", "runs", w.Name()),
		filepath.Join(root, "notebooks"): ""} {
		t.Chdir(folder)
		run, err := Load(w.Name()[:len(w.Name())-4])
		if want == "" && (err != nil || run.Name() != w.Name()) ||
			want != "" && (err == nil || !strings.HasSuffix(err.Error(), "did you mean "+want+"?")) {
			t.Errorf("in %s: %v", folder, err)
		}
	}
	must.Do(os.MkdirAll(filepath.Join(root, "docs"), 0o777))
	must.Do(os.Rename(filepath.Join(root, "notebooks", "runs"), filepath.Join(root, "runs")))
	t.Chdir(filepath.Join(root, "docs"))
	errtest.Want(t, errtest.Of(Load(w.Name())), "did you mean "+filepath.Join("..", "runs", w.Name())+"?")
}

// A run prints as a line, with and without its address.
func TestRunPrintsAsALine(t *testing.T) {
	run := &Run{Dir: "runs/a-b-0-12345678", Config: Config{Algorithm: "a", Env: "b", Hyperparameters: []byte(`{"c":1}`)}}
	for want, status := range map[string]Status{
		"runs/a-b-0-12345678: unfinished, generation 0, 0 evaluations": {MaxFitness: math.Inf(-1)},
		"runs/a-b-0-12345678: generation 7, 80 evaluations, max fitness -1.5": {
			Progress: Progress{Generation: 7, Evaluations: 80}, MaxFitness: -1.5, Finished: true},
		"runs/a-b-0-12345678: generation 7, 80 evaluations, max fitness 2, QD score 30, coverage 12.50 %": {
			Progress: Progress{Generation: 7, Evaluations: 80}, MaxFitness: 2, QDScore: 30, Coverage: 12.5,
			Finished: true},
	} {
		run.Status = status
		for _, got := range []string{fmt.Sprint(run), fmt.Sprint(*run), fmt.Sprintf("%v", run), run.String()} {
			errtest.Equal(t, "as text", got, want)
		}
	}
	if got := fmt.Sprint([]*Run{run, run}); len(got) > 250 {
		t.Errorf("a list of runs prints %s", got)
	}
	want := `{"algorithm":"a","env":"b","hyperparameters":{"c":1},"seed":0}`
	errtest.Equal(t, "the configuration prints", fmt.Sprint(run.Config), want)
	errtest.Equal(t, "no run", fmt.Sprint((*Run)(nil)), "<nil>")
}

// scalars returns what the event file of a run holds, one text per record.
func scalars(t *testing.T, run *Run) (texts []string) {
	t.Helper()
	files := must.Get(filepath.Glob(filepath.Join(run.Dir, eventsDir, eventsPattern)))
	if len(files) != 1 {
		t.Fatalf("event files %v", files)
	}
	sum := func(data []byte) uint32 {
		crc := crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
		return crc>>15 | crc<<17 + 0xa282ead8
	}
	for data := must.Get(os.ReadFile(files[0])); len(data) > 0; {
		size := binary.LittleEndian.Uint64(data)
		body := data[12:][:size]
		if sum(data[:8]) != binary.LittleEndian.Uint32(data[8:]) || sum(body) != binary.LittleEndian.Uint32(data[12+size:]) {
			t.Fatal("a checksum is wrong")
		}
		event := protobuftest.Fields(t, body)
		text := fmt.Sprint(event[2], event[3])
		for _, session := range event[7] {
			text += fmt.Sprint(" session ", protobuftest.Fields(t, session)[1])
		}
		for _, summary := range event[5] {
			for _, value := range protobuftest.Fields(t, summary)[1] {
				scalar := protobuftest.Fields(t, value)
				text += fmt.Sprint(" ", scalar[1], scalar[2])
			}
		}
		texts, data = append(texts, text), data[16+size:]
	}
	return texts
}

// An event file has the rows of metrics.csv, also of an interrupted run that resumes, and of a
// finished one that is asked for it later.
func TestEvents(t *testing.T) {
	root := t.TempDir()
	row := func(generation, score string) string {
		return fmt.Sprintf("[%s] [] [seconds] [%s] [qd_score] [%s]", generation, generation, score)
	}
	head := []string{"[] [brain.Event:2]", "[] [] session [1]"}
	w := create(t, root)
	w.TensorBoard = true
	begin := func(generation int64) {
		must.Do(w.Begin(generation, "generation", "seconds", "qd_score", "max_fitness", FinalColumn))
	}
	begin(-1)
	must.Do(w.Log(0, 0, -2.5, math.Inf(-1), 0))
	must.Do(w.Log(1, 1, 4, math.NaN(), 0))
	must.Do(w.Log(2, 2, 5, math.NaN(), 0))
	errtest.Equal(t, "scalars", scalars(t, w.Run), append(head, row("0", "-2.5"), row("1", "4"), row("2", "5")))
	begin(1)
	must.Do(w.Log(2, 2, 6, math.NaN(), 0))
	must.Do(w.Close())
	want := append(head, row("0", "-2.5"), row("1", "4"), row("2", "6"))
	errtest.Equal(t, "resumed", scalars(t, w.Run), want)
	w = create(t, root) // it resumes without events
	begin(1)
	must.Do(w.Log(2, 2, 7, math.NaN(), 0))
	must.Do(w.Close())
	want[len(want)-1] = row("2", "7")
	for range 2 {
		must.Do(w.WriteEvents())
		errtest.Equal(t, "later", scalars(t, w.Run), want)
	}
}
