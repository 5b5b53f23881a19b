package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/backend"
)

// faultsEnv enables the harness, and determinismEnv its swarm on XLA alone.
const (
	faultsEnv      = "QDNB_FAULTS"
	determinismEnv = "QDNB_DETERMINISM"
)

var (
	program string // the path of a qdnb built for the tests
	plugin  string // of XLA:CPU on this machine, empty if there is none
)

func TestMain(m *testing.M) {
	if os.Getenv(faultsEnv) == "" && os.Getenv(determinismEnv) == "" {
		os.Exit(m.Run()) // all are skipped
	}
	os.Exit(prepared(m.Run))
}

// prepared builds the program and keeps its caches out of the user's cache folder.
func prepared(run func() int) int {
	dir, err := os.MkdirTemp("", "qdnb-faults-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "qdnb")
	if out, err := exec.Command("go", "build", "-o", program, "example.com/qdnb/cmd/qdnb").CombinedOutput(); err != nil {
		os.Stderr.Write(out)
		return 1
	}
	plugin = backend.FindPlugin(backend.CPU)
	for name, value := range map[string]string{
		"XDG_CACHE_HOME": filepath.Join(dir, "cache"), "QDNB_BACKEND": "go",
		"QDNB_CHECKPOINT_EVERY": "10ms", "QDNB_NO_DOWNLOAD": "1",
		"GOTRACEBACK": "single",
	} {
		os.Setenv(name, value)
	}
	return run()
}

// begin skips a test unless the harness is enabled.
func begin(t *testing.T) {
	t.Helper()
	if os.Getenv(faultsEnv) == "" {
		t.Skip("SKIPPED: it takes minutes; `make test-faults`, or QDNB_FAULTS=1, runs it")
	}
}

// ending is the result of a process.
type ending struct {
	status         int // -1 if a signal ended it
	signal         syscall.Signal
	stdout, stderr string
	took           time.Duration
}

// process is a running qdnb.
type process struct {
	t              *testing.T
	cmd            *exec.Cmd
	stdout, stderr bytes.Buffer
	start          time.Time
	ended          chan struct{} // closed at its end
}

// hung is the time after which a process is killed: hanging is a fault, too. What takes seconds may
// take many minutes on a busy machine.
const hung = 40 * time.Minute

// start starts the program with more environment variables.
func start(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	ctx, stop := context.WithTimeout(context.Background(), hung)
	p := &process{t: t, cmd: exec.CommandContext(ctx, program, args...), start: time.Now(), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	must.Do(p.cmd.Start())
	go func() {
		defer close(p.ended)
		defer stop()
		_ = p.cmd.Wait()
	}()
	return p
}

// wait waits for the process to end in any way. A panic always fails the test.
func (p *process) wait() ending {
	p.t.Helper()
	<-p.ended
	e := ending{p.cmd.ProcessState.ExitCode(), 0, p.stdout.String(), p.stderr.String(), time.Since(p.start)}
	if state, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ok && state.Signaled() {
		e.signal = state.Signal()
	}
	for _, word := range []string{"panic", "goroutine ", "SIGSEGV", "fatal error"} {
		if strings.Contains(e.stderr+e.stdout, word) {
			p.t.Errorf("qdnb %s panicked:\n%s", strings.Join(p.cmd.Args[1:], " "), e.stderr)
			break
		}
	}
	return e
}

// invoke runs the program to its end.
func invoke(t *testing.T, args ...string) ending {
	t.Helper()
	return start(t, nil, args...).wait()
}

// succeed runs a command that must succeed.
func succeed(t *testing.T, args ...string) ending {
	t.Helper()
	e := invoke(t, args...)
	if e.status != 0 {
		t.Fatalf("qdnb %s: status %d, %s", strings.Join(args, " "), e.status, e.stderr)
	}
	return e
}

// logged matches what the sweep of a plan logs about its lines, and the answer to an interrupt.
var logged = regexp.MustCompile(`^\d\d:\d\d:\d\d |^qdnb: stopping`)

// says checks the status of a process, and that the last line of its messages contains all words. Only the log of a
// sweep may stand before it.
func (e ending) says(t *testing.T, status int, words ...string) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(e.stderr), "\n")
	other := func(line string) bool { return !logged.MatchString(line) }
	if e.status != status || status != 0 && slices.ContainsFunc(lines[:len(lines)-1], other) {
		t.Errorf("status %d, want %d with one line about %q: %q", e.status, status, words, e.stderr)
	}
	errtest.Contains(t, lastLine(e.stderr), words...)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// undisturbed returns the folder that a subject makes when nothing disturbs it.
func undisturbed(t *testing.T, s subject) (root string, e ending) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "runs")
	return root, succeed(t, s.command(root)...)
}

// difference describes the first difference between the folders of two finished runs, or returns "". Files that are
// spared may differ.
func difference(got, want string, spared ...string) string {
	have, wanted := contents(got), contents(want)
	for _, name := range spared {
		delete(have, name)
		delete(wanted, name)
	}
	if a, b := slices.Sorted(maps.Keys(have)), slices.Sorted(maps.Keys(wanted)); !slices.Equal(a, b) {
		return fmt.Sprintf("there are %q, want %q", a, b)
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if have[name] != wanted[name] {
			return fmt.Sprintf("%s has %.200q, want %.200q", name, have[name], wanted[name])
		}
	}
	return ""
}

// contents returns what the files of a run contain, but for what depends on time or names the machine. Of the
// checkpoints, there is only the last one: which others are kept depends on timing.
func contents(dir string) map[string]string {
	files := map[string]string{}
	last := strings.TrimPrefix(filepath.Base(newestCheckpoint(dir)), "state")
	must.Do(filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path)
		earlier := filepath.Dir(name) == "checkpoints" && !strings.HasSuffix(name, last)
		if err == nil && !entry.IsDir() && name != "lock" && !earlier {
			files[name] = timeless(path)
		}
		return err
	}))
	return files
}

func newestCheckpoint(dir string) string {
	return slices.Max(must.Get(filepath.Glob(filepath.Join(dir, "checkpoints", "state-*.npz"))))
}

// timeless returns the contents of a file of a run without times, or why it cannot be read.
func timeless(path string) string {
	data := must.Get(os.ReadFile(path))
	switch folder := filepath.Base(filepath.Dir(path)); {
	case filepath.Base(path) == "metrics.csv":
		table, err := runs.ReadTable(path)
		if err != nil {
			return err.Error()
		}
		for _, row := range table.Rows {
			if at := slices.Index(table.Columns, "seconds"); at >= 0 {
				row[at] = 0
			}
		}
		return fmt.Sprint(table.Columns, table.Rows)
	case filepath.Base(path) == "status.json":
		var s runs.Status
		err := json.Unmarshal(data, &s)
		s.Seconds, s.CPUSeconds, s.CompileSeconds, s.Updated, s.Machines = 0, 0, 0, time.Time{}, nil
		return fmt.Sprintf("%+v %v", s, err)
	case folder == "snapshots" || folder == "checkpoints":
		arrays, err := npz.Read(path)
		text := fmt.Sprint(err)
		for _, name := range slices.Sorted(maps.Keys(arrays)) {
			// "seconds" is in snapshots; "meta" is in checkpoints, whose status is compared as status.json.
			if a := arrays[name]; name != "seconds" && name != "meta" { // as text, in which NaN equals NaN
				text += fmt.Sprintf("\n%s %s %v %x", name, a.DType(), a.Shape, a.Data)
			}
		}
		return text
	}
	return string(data)
}

// The comparison must detect a difference of one bit: otherwise the other tests prove nothing.
func TestComparisonSeesOneBit(t *testing.T) {
	begin(t)
	s := training(spec("smerl-diayn"))
	root, _ := undisturbed(t, s)
	want := filepath.Join(root, s.results()[0])
	flip := func(data []byte, at int) []byte {
		data[at] ^= 1
		return data
	}
	halve := func(data []byte) []byte { return flip(data, len(data)/2) }
	for file, change := range map[string]func([]byte) []byte{
		"repertoire.npz": halve, "skills.npz": halve, "metrics.csv": halve, "config.json": halve,
		"status.json": func(data []byte) []byte {
			return flip(data, bytes.Index(data, []byte(`"coverage": `))+len(`"coverage": `))
		},
		must.Get(filepath.Rel(want, newestCheckpoint(want))): func(data []byte) []byte {
			arrays := must.Get(must.Get(npz.NewReader(bytes.NewReader(data), int64(len(data)))).ReadAll())
			for _, array := range arrays {
				if numbers, ok := array.Data.([]float32); ok && len(numbers) > 0 {
					numbers[len(numbers)/2] = 0.123 // which may have been infinite
				}
			}
			var out bytes.Buffer
			must.Do(npz.WriteTo(&out, arrays))
			return out.Bytes()
		},
	} {
		got := filepath.Join(t.TempDir(), filepath.Base(want))
		must.Do(os.CopyFS(got, os.DirFS(want)))
		path := filepath.Join(got, file)
		must.Do(os.WriteFile(path, change(must.Get(os.ReadFile(path))), 0o666))
		if difference(got, want) == "" {
			t.Errorf("a difference of %s is not seen", file)
		}
	}
}

// subject is a command whose runs are disturbed.
type subject struct {
	name string
	args []string     // of the command, but for the folder of runs
	plan []sweep.Line // of `qdnb sweep run`
	run  runs.Config  // of `qdnb train`
	xla  bool         // it computes on XLA:CPU
}

func (s subject) trains() bool { return s.plan == nil }

// command writes the plan, if there is one, into the folder above root and returns the command that runs in root.
func (s subject) command(root string) []string {
	args := append(slices.Clone(s.args), "--runs", root)
	if !s.trains() {
		var text bytes.Buffer
		must.Do(sweep.Write(&text, s.plan))
		path := filepath.Join(filepath.Dir(root), "plan.jsonl")
		must.Do(os.WriteFile(path, text.Bytes(), 0o666))
		args = append(args, "--plan", path)
	}
	return args
}

// results returns the names of the runs' folders.
func (s subject) results() (names []string) {
	if s.trains() {
		return []string{s.run.Name()}
	}
	for _, line := range s.plan {
		names = append(names, line.Run.Name())
	}
	return names
}

// run is a Spec whose hyperparameters are assignments, as on the command line.
type run struct {
	qdnb.Spec
	Set []string
}

// Config replaces [qdnb.Spec.Config].
func (r run) Config() (runs.Config, error) {
	r.Tune = runs.Assign(r.Set...)
	return r.Spec.Config()
}

// spec is a small run of an algorithm, whose generations take milliseconds.
func spec(algorithm string) run {
	s := run{qdnb.Spec{Algorithm: algorithm, Env: "pointmaze", Seed: 1, Budget: qdnb.Generations(60)},
		[]string{"cells=32", "cvt_samples=500", "hidden=[8,8]", "episode_length=20"}}
	switch {
	case records.Of(algorithm).Evolves():
		s.Set = append(s.Set, "batch=16")
	case algorithm == "ppo":
		s.Budget = qdnb.Generations(40)
		s.Set = []string{"cells=32", "cvt_samples=200", "episode_length=10", "num_envs=2", "unroll_length=4",
			"batch_size=4", "num_minibatches=1", "update_epochs=2", "evaluation_envs=2", "policy_hidden=8",
			"value_hidden=8"}
	default:
		s.Budget = qdnb.Generations(240)
		s.Set = append(s.Set, "env_batch_size=6", "grad_updates_per_step=0.5", "batch_size=16",
			"replay_buffer_size=180", "learning_rate=0.01", "evaluation_states=2", "evaluation_interval=60", "early_interval=12")
		if algorithm != "sac" {
			s.Set = append(s.Set, "num_skills=3", "diversity_hidden=[8]")
		}
		if strings.Contains(algorithm, "smerl") {
			s.Set = append(s.Set, "smerl_target=-20", "smerl_margin=2")
		}
	}
	if algorithm == "map-elites" {
		s.Budget = qdnb.Generations(200)
	}
	entry, _ := registry.Find(algorithm)
	if entry.Defaults != nil && entry.NeedsGradients() {
		s.Env, s.Set = "sphere", []string{"cells=32", "cvt_samples=500", "batch=16"}
	}
	s.Set = append(s.Set, entry.Smoke...)
	return s
}

// training is the subject `qdnb train` of a specification.
func training(s run) subject {
	args := []string{"train", "-q", "--algorithm", s.Algorithm, "--env", s.Env, "--seed", "1", "--generations",
		fmt.Sprint(s.Budget.Generations)}
	for _, set := range s.Set {
		args = append(args, "--set", set)
	}
	return subject{name: s.Algorithm, args: args, run: must.Get(s.Config())}
}

// planned is the subject `qdnb sweep run` of training runs, an adaptation of skills, and a controller that leads skills
// over hurdles.
func planned() subject {
	var lines []sweep.Line
	add := func(config runs.Config, budget runs.Budget, needs ...sweep.Line) sweep.Line {
		line := sweep.Line{Experiment: "training", Label: config.Algorithm, Run: config, Budget: budget}
		for _, other := range needs {
			line.Needs = append(line.Needs, sweep.Need{Run: other.Run, Budget: other.Budget})
		}
		lines = append(lines, line)
		return line
	}
	train := func(algorithm, env string, generations int, needs ...sweep.Line) sweep.Line {
		s := spec(algorithm)
		s.Env, s.Seed = env, int64(len(lines))
		return add(must.Get(s.Config()), qdnb.Generations(generations), needs...)
	}
	train("pga-map-elites", "pointmaze", 20)
	first := train("map-elites", "pointmaze", 20)
	train("map-elites", "pointmaze", 20, first)
	walkers, cheetahs := train("diayn", "walker-uni", 2), train("diayn", "halfcheetah-uni", 2)
	var values [][]float64
	for i := range 20 {
		values = append(values, []float64{0.5 + float64(i)/8})
	}
	adapted := qdnb.AdaptSpec{Perturbation: envs.GravityMultiplier, Values: values, Episodes: 6, Seed: 4}
	add(must.Get(adapted.Config(walkers.Run, walkers.Budget)), runs.Budget{}, walkers)
	led := qdnb.ControlSpec{Tune: runs.Assign("num_envs=2", "unroll_length=2", "batch_size=2", "num_minibatches=1",
		"update_epochs=2", "decision_length=2", "episode_length=6", "evaluation_envs=2", "policy_hidden=8", "value_hidden=8")}
	add(must.Get(led.Config(cheetahs.Run, cheetahs.Budget)), qdnb.Generations(12), cheetahs)
	return subject{name: "sweep", args: []string{"sweep", "run", "-q", "--poll", "100ms"}, plan: lines}
}

// subjects lists all subjects in pure Go.
func subjects() (all []subject) {
	for _, algorithm := range qdnb.Algorithms() {
		all = append(all, training(spec(algorithm)))
	}
	return append(all, planned())
}

// onXLA returns subjects on XLA:CPU: the named algorithms on ants, which also compile the physics of a robot; or
// without names all of them, a plan, and runs whose networks have the paper's sizes, so that XLA distributes their matrix
// products over all its threads.
func onXLA(t *testing.T, algorithms ...string) (all []subject) {
	if plugin == "" {
		t.Skip("SKIPPED: there is no XLA plugin; `make plugin` fetches it")
	}
	if len(algorithms) == 0 {
		pga := run{qdnb.Spec{Algorithm: "pga-map-elites"}, []string{"cells=64", "cvt_samples=500", "batch=40",
			"num_critic_training_steps=8", "num_pg_training_steps=5"}}
		dads := run{qdnb.Spec{Algorithm: "dads-reward"}, []string{"cells=64", "cvt_samples=500", "env_batch_size=50",
			"grad_updates_per_step=0.2", "evaluation_states=4", "early_interval=100", "num_skills=3"}}
		for _, s := range []run{pga, dads} {
			s.Env, s.Seed, s.Budget = "ant-uni", 1, qdnb.Generations(12)
			paperSized := training(s)
			paperSized.name += " of the paper's size"
			all = append(all, paperSized)
		}
		all, algorithms = append(all, planned()), qdnb.Algorithms()
	}
	for _, algorithm := range algorithms {
		s := spec(algorithm)
		if s.Env == "pointmaze" { // not one of those that need gradients
			s.Env = "ant-uni"
		}
		if i := slices.Index(s.Set, "smerl_target=-20"); i >= 0 {
			s.Set[i] = "smerl_target=18" // a return that some skills reach
		}
		all = append(all, training(s))
	}
	for i := range all {
		all[i].name, all[i].xla = all[i].name+" on XLA", true
		all[i].args = append(all[i].args, "--backend", plugin)
	}
	return all
}
