package runs

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
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
	// printf '%s' '{"algorithm":"map-elites","env":"pointmaze","hyperparameters":{...},"seed":0}' |
	// sha256sum
	const want = "map-elites-pointmaze-0-a4996ef0"
	errtest.Equal(t, "the name", c.Name(), want)
	for _, same := range []string{
		`{"line_sigma":0.05, "iso_sigma":5e-3, "hidden":[256.0,2.56e2], "batch":1e3}`,
		"{\n\t\"iso_sigma\": 0.0050, \"batch\": 1000.0, \"line_sigma\": 0.05,\n\t\"hidden\": [256, " +
			"256]\n}",
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
	err := Set(&s, "batch=1e3", "iso_sigma=0.01", "line_sigma= 0.5", "hidden=64, 32", "name=x=\"y\" ",
		"reward=true",
		"critic.rate=1", "slice=8", "limit=2.5", "small=-128", "count=7", `budget={"generations":5}`)
	if err != nil {
		t.Fatal(err)
	}
	want := defaults()
	want.Batch, want.IsoSigma, want.LineSigma, want.Hidden, want.Name, want.Reward = 1000, 0.01, 0.5,
		[]int{64, 32}, `x="y" `, true
	limit := 2.5
	want.Critic.Rate, want.Slice, want.Limit, want.Small, want.Count, want.Budget = 1, 8, &limit, -128,
		7, Budget{Generations: 5}
	errtest.Equal(t, "settings", s, want)
	if err := Set(&s, "hidden=[1,2,3]", "limit=null"); err != nil || !reflect.DeepEqual(s.Hidden,
		[]int{1, 2, 3}) || s.Limit != nil {
		t.Errorf("hidden %v, limit %v, %v", s.Hidden, s.Limit, err)
	}
	if err := Set(&s, "hidden="); err != nil || len(s.Hidden) != 0 {
		t.Errorf("hidden %v, %v", s.Hidden, err)
	}
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
	if err := Decode([]byte(`{"batch":5.0,"slice":2}`),
		&s); err != nil || s.Batch != 5 || s.Slice != 2 || s.IsoSigma != 0.005 {
		t.Errorf("%+v, %v", s, err)
	}
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
	if err := (Budget{Generations: -1}).Validate(); err == nil {
		t.Error("a negative budget is valid")
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
		if err := json.Unmarshal(data, &back); err != nil || back != budget {
			t.Errorf("%s came back as %+v, %v", data, back, err)
		}
	}
	for _, bad := range []string{`{"time":"2 hours"}`, `{"cpu":"720"}`, `{"cpu":"-1s"}`,
		`{"generations":-1}`, `{"generations":"a"}`} {
		var b Budget
		if err := json.Unmarshal([]byte(bad), &b); err == nil {
			t.Errorf("%s was read as %v", bad, b)
		}
	}
}

func TestSnapshotsAreNineInTheFirstHalfAndTheEnd(t *testing.T) {
	collect := func(b Budget, last, step int64) (due []int64) {
		for g := int64(0); g < last; g += step {
			if SnapshotDue(b, Progress{Generation: g}, Progress{Generation: g + step}) {
				due = append(due, g+step)
			}
		}
		return due
	}
	b := Budget{Generations: 36}
	errtest.Equal(t, "in large steps", collect(b, 36, 12), []int64{12, 24, 36})
	errtest.Equal(t, "without a budget", collect(Budget{}, 36, 1), nil)
}

func TestStatusRoundTrip(t *testing.T) {
	s := Status{Progress: Progress{100, 100_000, 25_000_000, 41.5, 80.25}, CompileSeconds: 4,
		MaxFitness: -128, Coverage: 73.7,
		QDScore: 2.51e5, Backend: "xla:cpu",
		Budget:   Budget{Generations: 100},
		Finished: true, Version: "1", Updated: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)}
	for _, fitness := range []float64{-128, math.Inf(-1)} {
		s.MaxFitness = fitness
		data := must.Get(json.Marshal(s))
		var back Status
		err := json.Unmarshal(data, &back)
		if err != nil || !reflect.DeepEqual(back, s) {
			t.Errorf("%s came back as %+v, %v", data, back, err)
		}
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
		if strings.Join(got, ", ") != c.want || differs != c.differs || s.Backend != c.backend {
			t.Errorf("%v: the history is %q, differs %v", c, got, differs)
		}
	}
}

func TestNumbersComeBackAsTheyWere(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1e6: "1000000", -128: "-128", 0.1: "0.1", 1.0 / 3: "0.3333333333333333", 1e300: "1e+300",
		5e-324:       "5e-324",
		math.Inf(-1): "-inf", math.Inf(1): "inf", 251000.25: "251000.25",
		1 << 53:              "9.007199254740992e+15",
		math.Copysign(0, -1): "-0",
	} {
		if got := FormatNumber(v); got != want && !(v == 0) {
			t.Errorf("%v is written as %s, want %s", v, got, want)
		}
		table, err := parseTable([]byte("a\n" + FormatNumber(v) + "\n"))
		if err != nil || table.Rows[0][0] != v || math.Signbit(table.Rows[0][0]) != math.Signbit(v) {
			t.Errorf("%v came back as %v, %v", v, table, err)
		}
	}
	if table, err := parseTable([]byte("a\n" + FormatNumber(math.NaN()) +
		"\n")); err != nil || !math.IsNaN(table.Rows[0][0]) {
		t.Errorf("NaN came back as %v, %v", table, err)
	}
}

func TestTable(t *testing.T) {
	// the last row is incomplete
	table := must.Get(parseTable([]byte("generation,qd_score\n1,2.5\n2,-inf\n3,4")))
	if column, err := table.Column("qd_score"); err != nil || !reflect.DeepEqual(column,
		[]float64{2.5, math.Inf(-1)}) {
		t.Errorf("qd_score is %v, %v", column, err)
	}
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
		same := score == want.score || math.IsNaN(score) && math.IsNaN(want.score)
		if v.Index != i || v.X != want.x || !math.IsNaN(v.Y) || !reflect.DeepEqual(v.Skills,
			want.skills) || best != want.best || !same {
			t.Errorf("value %d: %+v, best %d with %g; want %+v", i, v, best, score, want)
		}
	}
	if v := a.Values[1]; v.Score(9) != 5 || !math.IsNaN(v.Score(3)) || !math.IsNaN(v.Score(8)) {
		t.Errorf("scores of skills 9, 3 and 8: %g, %g, %g", v.Score(9), v.Score(3), v.Score(8))
	}
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
