package runs

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

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
