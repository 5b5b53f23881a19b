package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// config returns the configuration of a made-up algorithm.
func config(t testing.TB, algorithm string, seed int64, hyperparameters string) runs.Config {
	return must.Get(runs.NewConfig(algorithm, "pointmaze", seed, json.RawMessage(hyperparameters)))
}

// plan has training runs and runs that need them.
func plan(t testing.TB) []Line {
	budget := runs.Budget{EnvSteps: 1000, Time: time.Hour}
	var lines []Line
	for seed := range int64(2) {
		training := config(t, "map-elites", seed, `{"batch":10,"iso_sigma":0.005}`)
		lines = append(lines, Line{Experiment: "adaptation", Label: "map-elites", Run: training,
			Budget: budget},
			Line{Experiment: "adaptation", Label: "map-elites",
				Run:   config(t, "adaptation", seed, fmt.Sprintf(`{"skills":%q}`, training.Name())),
				Needs: []Need{{training, budget}}})
	}
	return lines
}

func text(t testing.TB, lines []Line) string {
	t.Helper()
	var out bytes.Buffer
	must.Do(Write(&out, lines))
	return out.String()
}

func TestPlanRoundTrip(t *testing.T) {
	want := plan(t)
	first := text(t, want)
	errtest.Equal(t, fmt.Sprintf("%d lines were written as", len(want)), strings.Count(first, "\n"), len(want))
	got := must.Get(Read(strings.NewReader("\n"+first), "plan"))
	for i := range want {
		if got[i].Hash == "" {
			t.Errorf("line %d has no hash", i)
		}
		want[i].Hash = got[i].Hash
	}
	errtest.Equal(t, "read back as", got, want)
	errtest.Equal(t, "rewritten", text(t, got), first)
}

// The hash ignores the spelling of a line, and depends on every field.
func TestHash(t *testing.T) {
	line := plan(t)[1]
	sealed := must.Get(line.Sealed())
	line.Needs[0].Run.Hyperparameters = json.RawMessage(` {"iso_sigma": 5e-3, "batch": 1e1} `)
	if again, err := line.Sealed(); err != nil || again.Hash != sealed.Hash {
		t.Errorf("with another spelling the hash is %s, not %s (%v)", again.Hash, sealed.Hash, err)
	}
	seen := map[string]bool{sealed.Hash: true}
	for i, change := range []func(*Line){
		func(l *Line) { l.Experiment = "other" },
		func(l *Line) { l.Label = "other" },
		func(l *Line) { l.Run.Seed++ },
		func(l *Line) { l.Budget.Generations = 1 },
		func(l *Line) { l.Needs = nil },
		func(l *Line) { l.Needs[0].Budget.EnvSteps++ },
	} {
		changed := plan(t)[1]
		change(&changed)
		got := must.Get(changed.Sealed())
		if seen[got.Hash] {
			t.Errorf("change %d does not change the hash", i)
		}
		seen[got.Hash] = true
	}
}

func TestReadRefuses(t *testing.T) {
	good := strings.Split(strings.TrimSpace(text(t, plan(t))), "\n")
	hash := good[1][strings.LastIndex(good[1], `"hash"`):]
	for _, c := range []struct{ name, line, want string }{
		{"an unknown field", strings.Replace(good[1], `"label"`, `"lable"`, 1),
			`plan:2: unknown field "lable"; did you mean "label"?`},
		{"an unknown field of the run", strings.Replace(good[1], `"seed"`, `"sed"`, 1),
			`plan:2: run: unknown field "sed"`},
		{"an unknown field of a need", strings.Replace(good[1], `"env_steps"`, `"envsteps"`, 1),
			`plan:2: needs: unknown field "envsteps"`},
		{"an unknown limit", strings.Replace(good[1], `"budget":{}`, `"budget":{"generation":3}`, 1),
			`did you mean "generations"?`},
		{"a negative limit", strings.Replace(good[1], `"budget":{}`, `"budget":{"generations":-3}`, 1),
			`negative`},
		{"a broken time", strings.Replace(good[1], `"budget":{}`, `"budget":{"time":"2 hours"}`, 1),
			`time of a budget`},
		{"half a line", good[1][:len(good[1])/2], `plan:2: not valid JSON: it ends too early`},
		{"two objects", good[1] + good[0], `plan:2: not valid JSON`},
		{"an edited field", strings.Replace(good[1], `"seed":0`, `"seed":7`, 1),
			`the line was edited; if that was intended, empty the hash`},
		{"the same line", good[0], `plan:2: duplicate of line 1`},
		{"no label", `{"experiment":"a","run":{"algorithm":"a","env":"b"}}`,
			`plan:2: it needs both "experiment" and "label"`},
		{"no run", `{"experiment":"a","label":"b"}`, `plan:2: run: algorithm "" is not a valid name`},
		{"a list", `[]`, `plan:2: [] is not an object`},
		{"needs that are none",
			`{"experiment":"a","label":"b","needs":3,"run":{"algorithm":"a","env":"b"}}`,
			`needs: 3 is not a list`},
		{"a need without a run",
			`{"experiment":"a","label":"b","needs":[{}],"run":{"algorithm":"a","env":"b"}}`,
			`needs[0]: algorithm`},
	} {
		errtest.Want(t, errtest.Of(Read(strings.NewReader(good[0]+"\n"+c.line+"\n"), "plan")), c.want)
	}
	emptied := strings.Replace(strings.Replace(good[1], hash, `"hash":""}`, 1), `"seed":0`, `"seed":7`, 1)
	lines, err := Read(strings.NewReader(emptied), "plan")
	if err != nil || len(lines) != 1 || lines[0].Hash == "" || lines[0].Run.Seed != 7 {
		t.Errorf("a line with an empty hash: %+v, %v", lines, err)
	}
	for _, empty := range []string{"", "\n\n"} {
		errtest.Want(t, errtest.Of(Read(strings.NewReader(empty), "plan")), "empty")
	}
	errtest.Want(t, errtest.Of(ReadFile("no/such/plan")), "plan no/such/plan does not exist")
}

// A plan that was read can be written, and reads back the same.
func FuzzRead(f *testing.F) {
	whole := text(f, plan(f))
	f.Add([]byte(whole))
	f.Add([]byte(whole[:len(whole)/3]))
	f.Add([]byte(`{"experiment":"a","label":"<b>","run":{"algorithm":"a","env":"b","seed":1e2,` +
		`"hyperparameters":{"x":[1,null,-0.0]}},"needs":null}`))
	f.Add([]byte(`{"experiment":"a` + "\xff" + `","label":"b","budget":{"time":"1.5h"},` +
		`"run":{"algorithm":"a","env":"b"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := Read(bytes.NewReader(data), "plan")
		if err != nil {
			if err.Error() == "" || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error %q", err)
			}
			return
		}
		again, err := Read(strings.NewReader(text(t, lines)), "again")
		if err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
		errtest.Equal(t, "read again", again, lines)
	})
}

// The canonical form of a line keeps the parts that identify variants.
func TestPartsBelongToTheRunOfALine(t *testing.T) {
	c := runs.Config{Algorithm: "mine", Env: "pointmaze", Parts: map[string]string{"emitter": "0123456789abcdef"}}
	line := must.Get(Line{Experiment: "a", Label: "b", Run: c}.Sealed())
	errtest.Equal(t, fmt.Sprintf("%s became", c.Name()), line.Run.Name(), c.Name())
}
