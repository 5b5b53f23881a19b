package sweep

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
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
		lines = append(lines, Line{Experiment: "adaptation", Label: "map-elites", Run: training, Budget: budget},
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
	errtest.Equal(t, "the hash of another spelling", must.Get(line.Sealed()).Hash, sealed.Hash)
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
		{"an unknown field of the run", strings.Replace(good[1], `"seed"`, `"sed"`, 1), `plan:2: run: unknown field "sed"`},
		{"an unknown field of a need", strings.Replace(good[1], `"env_steps"`, `"envsteps"`, 1),
			`plan:2: needs: unknown field "envsteps"`},
		{"an unknown limit", strings.Replace(good[1], `"budget":{}`, `"budget":{"generation":3}`, 1),
			`did you mean "generations"?`},
		{"a negative limit", strings.Replace(good[1], `"budget":{}`, `"budget":{"generations":-3}`, 1), `negative`},
		{"a broken time", strings.Replace(good[1], `"budget":{}`, `"budget":{"time":"2 hours"}`, 1), `time of a budget`},
		{"half a line", good[1][:len(good[1])/2], `plan:2: not valid JSON: it ends too early`},
		{"two objects", good[1] + good[0], `plan:2: not valid JSON`},
		{"an edited field", strings.Replace(good[1], `"seed":0`, `"seed":7`, 1),
			`the line was edited; if that was intended, empty the hash`},
		{"the same line", good[0], `plan:2: duplicate of line 1`},
		{"no label", `{"experiment":"a","run":{"algorithm":"a","env":"b"}}`, `plan:2: it needs both "experiment" and "label"`},
		{"no run", `{"experiment":"a","label":"b"}`, `plan:2: run: the name of the algorithm or variant is ""`},
		{"a list", `[]`, `plan:2: [] is not an object`},
		{"needs that are none",
			`{"experiment":"a","label":"b","needs":3,"run":{"algorithm":"a","env":"b"}}`,
			`needs: 3 is not a list`},
		{"a need without a run",
			`{"experiment":"a","label":"b","needs":[{}],"run":{"algorithm":"a","env":"b"}}`,
			`needs[0]: the name of the algorithm`},
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
	errtest.Want(t, errtest.Of(ReadFile("no/such/plan")), "plan no/such/plan: there is no such file: write one")
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

// put writes the folder of a run with the given progress, as training would leave it.
func put(t *testing.T, root string, c runs.Config, status runs.Status) {
	t.Helper()
	w := hold(t, root, c)
	defer w.Close()
	must.Do(w.SaveStatus(status))
}

// hold locks the folder of a run.
func hold(t *testing.T, root string, c runs.Config) *runs.Writer {
	t.Helper()
	w := must.Get(runs.Create(root, c))
	must.Do(w.Begin(-1, "generation"))
	must.Do(w.SaveCheckpoint(0, map[string]npz.Array{}, nil))
	return w
}

func TestInspect(t *testing.T) {
	root := t.TempDir()
	lines := plan(t)
	check := func(when string, want ...Status) []State {
		t.Helper()
		states := Inspect(root, lines)
		errtest.Equal(t, when, lists.Map(states, func(s State) Status { return s.Status }), want)
		return states
	}
	states := check("empty folder", Ready, Waiting, Ready, Waiting)
	errtest.Equal(t, "line 1 waits for", states[1].Missing, []string{lines[0].Run.Name()})

	half := runs.Status{Progress: runs.Progress{Generation: 5, EnvSteps: 500, Seconds: 10}, Budget: lines[0].Budget}
	put(t, root, lines[0].Run, half)
	states = check("half of the first", Interrupted, Waiting, Ready, Waiting)
	errtest.Equal(t, "fraction", states[0].Fraction, 0.5)

	writer := hold(t, root, lines[0].Run)
	states = check("the first is held", Running, Waiting, Ready, Waiting)
	if !strings.HasPrefix(states[0].Holder, "process ") {
		t.Errorf("held by %q", states[0].Holder)
	}
	writer.Close()

	whole := runs.Status{Progress: runs.Progress{Generation: 10, EnvSteps: 1000, Seconds: 20},
		Budget: lines[0].Budget, Finished: true}
	put(t, root, lines[0].Run, whole)
	check("the first is done", Done, Ready, Ready, Waiting)
	put(t, root, lines[1].Run, runs.Status{Progress: runs.Progress{Seconds: 1}, Finished: true})
	check("what needs it is done, too", Done, Done, Ready, Waiting)

	// 0 is to be extended; 3 now needs an existing run
	lines[0].Budget.EnvSteps, lines[3].Needs[0].Run = 2000, lines[0].Run
	check("a larger budget", Interrupted, Done, Ready, Ready)

	config := must.Get(os.ReadFile(filepath.Join(root, lines[1].Run.Name(), "config.json")))
	write(t, root, lines[1].Run, "config.json", strings.Replace(string(config), `"seed": 0`, `"seed": 7`, 1))
	write(t, root, lines[0].Run, "status.json", "{")
	states = check("folders that were edited", Broken, Broken, Ready, Waiting)
	for i, want := range []string{"damaged", "edited"} {
		errtest.Want(t, states[i].Err, want)
	}
	before, err := os.ReadDir(root)
	if err != nil || len(before) != 2 {
		t.Errorf("after inspection there are %d folders, want 2 (%v)", len(before), err)
	}
}

func write(t *testing.T, root string, c runs.Config, name, text string) {
	must.Do(os.WriteFile(filepath.Join(root, c.Name(), name), []byte(text), 0o666))
}

// Estimates of processor time replace unknown times and are divided by the number of cores. A run
// named by two lines counts once.
func TestTotalOfProcessorTime(t *testing.T) {
	root := t.TempDir()
	line := func(experiment, algorithm string, seed int64, b runs.Budget) Line {
		return Line{Experiment: experiment, Label: algorithm, Run: config(t, algorithm, seed, `{}`), Budget: b, CPUSeconds: 800}
	}
	cpu := runs.Budget{CPU: 720 * time.Second}
	lines := []Line{
		line("training", "aurora", 0, cpu),                 // half done: 360 s are left
		line("training", "aurora", 1, cpu),                 // 800 s
		line("hurdles", "aurora", 1, cpu),                  // the same run
		line("adaptation", "adaptation", 0, runs.Budget{}), // 800 s
		line("adaptation", "adaptation", 1, runs.Budget{}), // 800 s
	}
	put(t, root, lines[0].Run, runs.Status{Progress: runs.Progress{EnvSteps: 1000, Seconds: 5000, CPUSeconds: 360}})
	left := Total(Inspect(root, lines)).Left
	if want := (360 + 800 + 800 + 800) / float64(runtime.NumCPU()); math.Abs(left.Seconds-want) > 1 || left.Unknown != 0 {
		t.Errorf("left: %v s and %d unknown, want %v", left.Seconds, left.Unknown, want)
	}
	for _, bad := range []float64{-1, math.NaN(), math.Inf(1)} {
		lines[0].CPUSeconds = bad
		errtest.Want(t, errtest.Of(lines[0].Sealed()), "cpu_seconds")
	}
}

func TestTotal(t *testing.T) {
	root := t.TempDir()
	steps := runs.Budget{EnvSteps: 1000}
	line := func(algorithm string, seed int64, b runs.Budget) Line {
		return Line{Experiment: "training", Label: algorithm, Run: config(t, algorithm, seed, `{}`), Budget: b}
	}
	lines := []Line{
		line("aurora", 0, steps), // done: 1000 steps in 20 s, plus 5 s of compilation
		// a quarter, in 10 s plus 30 s of compilation: 750 steps and 30 s are left
		line("aurora", 1, steps),
		line("aurora", 2, steps), // not started: the mean of 20 s and 40 s
		// nothing similar has started: its time is unknown
		line("diayn", 0, steps),
		line("dads", 0, runs.Budget{Time: time.Minute}), // as long as its budget
		line("aurora", 3, steps),                        // the same mean
	}
	put(t, root, lines[0].Run, runs.Status{Progress: runs.Progress{EnvSteps: 1000, Seconds: 25},
		CompileSeconds: 5, Finished: true})
	put(t, root, lines[1].Run, runs.Status{Progress: runs.Progress{EnvSteps: 250, Seconds: 40}, CompileSeconds: 30})
	total := Total(Inspect(root, lines))
	if total.Lines != 6 || total.Count[Done] != 1 || total.Count[Interrupted] != 1 || total.Count[Ready] != 4 {
		t.Errorf("counts %+v", total)
	}
	errtest.Equal(t, "steps and seconds so far", fmt.Sprint(total.EnvSteps, total.Seconds), "1250 65")
	errtest.Equal(t, "left", total.Left.Unknown, 1)
	if want := 30. + 30 + 60 + 30; math.Abs(total.Left.Seconds-want) > 1 || total.Left.Time.Seconds() != total.Left.Seconds {
		t.Errorf("left: %v s, want %v", total.Left.Seconds, want)
	}
}
