package sweep

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/runs"
)

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

func statuses(states []State) (list []Status) {
	for _, s := range states {
		list = append(list, s.Status)
	}
	return list
}

func TestInspect(t *testing.T) {
	root := t.TempDir()
	lines := plan(t)
	check := func(when string, want ...Status) []State {
		t.Helper()
		states := Inspect(root, lines)
		errtest.Equal(t, when, statuses(states), want)
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

	edited := strings.Replace(read(t, root, lines[1].Run), `"seed": 0`, `"seed": 7`, 1)
	write(t, root, lines[1].Run, "config.json", edited)
	write(t, root, lines[0].Run, "status.json", "{")
	states = check("folders that were edited", Broken, Broken, Ready, Waiting)
	for i, want := range []string{"damaged", "edited"} {
		if err := states[i].Err; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("line %d: %v; want %q", i, err, want)
		}
	}
	before, err := os.ReadDir(root)
	if err != nil || len(before) != 2 {
		t.Errorf("after inspection there are %d folders, want 2 (%v)", len(before), err)
	}
}

func read(t *testing.T, root string, c runs.Config) string {
	data := must.Get(os.ReadFile(filepath.Join(root, c.Name(), "config.json")))
	return string(data)
}

func write(t *testing.T, root string, c runs.Config, name, text string) {
	must.Do(os.WriteFile(filepath.Join(root, c.Name(), name), []byte(text), 0o666))
}

// Estimates of processor time replace unknown times and are divided by the number of cores. A run
// named by two lines counts once.
func TestTotalOfProcessorTime(t *testing.T) {
	root := t.TempDir()
	line := func(experiment, algorithm string, seed int64, b runs.Budget) Line {
		return Line{Experiment: experiment, Label: algorithm, Run: config(t, algorithm, seed, `{}`),
			Budget: b, CPUSeconds: 800}
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
	if want := (360 + 800 + 800 + 800) / float64(runtime.NumCPU()); math.Abs(left.Seconds-want) > 1 ||
		left.Unknown != 0 {
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
	if total.EnvSteps != 1250 || total.Seconds != 65 {
		t.Errorf("so far %d steps and %v s, want 1250 and 65", total.EnvSteps, total.Seconds)
	}
	errtest.Equal(t, "left", total.Left.Unknown, 1)
	if want := 30. + 30 + 60 + 30; math.Abs(total.Left.Seconds-want) > 1 ||
		total.Left.Time.Seconds() != total.Left.Seconds {
		t.Errorf("left: %v s, want %v", total.Left.Seconds, want)
	}
}
