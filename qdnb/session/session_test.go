package session

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/progress"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/scoring"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// slow is an algorithm whose search takes long to compile.
type slow struct {
	algorithms.Search
	algorithms.Algorithm
	compile func()
}

func (s *slow) New(*xla.Platform, envs.Env, int64) (algorithms.Search, error) {
	s.compile()
	return s, nil
}
func (*slow) State() *xla.Checkpoint               { return &xla.Checkpoint{} }
func (*slow) Columns() []string                    { return nil }
func (*slow) CompileTime() time.Duration           { return time.Hour }
func (*slow) Close()                               {}
func (*slow) Step() (o scoring.Outcome, err error) { return o, nil }

func slowTraining(t *testing.T, budget runs.Budget) Training {
	config := must.Get(runs.NewConfig("map-elites", "pointmaze", 0, map[string]int{"batch": 1}))
	return Training{Spec: Spec{Runs: t.TempDir(), Budget: budget, Backend: "go", Quiet: true}, Config: config,
		Env: envs.Pointmaze{}}
}

// The bar's remaining time does not count an hour of compilation, or an hour of earlier sessions,
// as work of this session.
func TestTimeLeftIsOfThisSessionsWork(t *testing.T) {
	for _, budget := range []runs.Budget{{Generations: 100}, {Time: 10 * time.Hour}} {
		training := slowTraining(t, budget)
		w := must.Get(runs.Create(training.Spec.Runs, training.Config))
		earlier := runs.Status{Progress: runs.Progress{Generation: 20, Seconds: 3600}}
		must.Do(errors.Join(w.Begin(-1, "generation"), w.SaveCheckpoint(20, nil, earlier), w.Close()))
		s := session{Training: training}
		s.Algorithm = &slow{compile: sync.OnceFunc(func() { s.start = s.start.Add(-time.Hour) })}
		defer s.close()
		must.Do(s.open(t.Context()))
		cores := regexp.MustCompile(`, (1 core|([2-9]|\d{2,}) cores), `)
		if machines := s.status.Machines; len(machines) != 1 || machines[0].After != 20 ||
			!cores.MatchString(machines[0].Machine) || machines[0].Commit == "" {
			t.Errorf("the status has the machines %+v", machines)
		}
		// a little time has passed since
		if left, known := s.bar.Left(0.2); known && left < 10*time.Hour {
			t.Errorf("%v: %v is left before any progress", budget, left)
		}
		// The elapsed time is to 0.1 as the remaining time is to 0.7.
		if left, known := s.bar.Left(0.3); !known || left > time.Hour {
			t.Errorf("%v: %v is left (%v), extrapolated from more than this session's work", budget, left, known)
		}
	}
}

// If the last checkpoint cannot be saved, the one before needs the replay buffer.
func TestNothingIsDeletedBeforeTheRunIsSaved(t *testing.T) {
	training := slowTraining(t, runs.Budget{})
	s := session{Training: training, table: &adapting{}, search: &slow{}, bar: progress.NewBar("", true)}
	s.writer = must.Get(runs.Create(training.Spec.Runs, training.Config))
	defer s.close()
	must.Do(s.writer.SaveReplay(1, 1, 1, func(int64, int64) ([]float32, error) { return []float32{0}, nil }))
	s.stored = s.search.State()
	must.Do(os.RemoveAll(filepath.Join(s.writer.Dir, "checkpoints")))
	errtest.Want(t, s.complete())
	left := must.Get(filepath.Glob(filepath.Join(s.writer.Dir, "replay", "*")))
	errtest.Equal(t, "files of the replay buffer", len(left), 1)
}

// The bar's metrics come in the order in which a narrow line keeps them.
func TestProgressShowsFitnessFirst(t *testing.T) {
	gravity := &adapting{Adaptation: &Adaptation{Perturbation: "gravity", Values: [][]float64{{0.5}, {1}}}}
	for _, c := range []struct {
		s    session
		want []string
	}{
		{session{status: runs.Status{MaxFitness: -128.3, Coverage: 73.74, QDScore: 2.514e5}},
			[]string{"generation 0", "max fitness -128.3", "coverage 73.7 %", "QD score 2.514e+05"}},
		{session{status: runs.Status{MaxFitness: math.Inf(-1)}}, []string{"generation 0", "nothing evaluated yet"}},
		{session{table: gravity}, []string{"value 0 of 2", "gravity [0.5]"}},
		{session{table: gravity, status: runs.Status{Progress: runs.Progress{Evaluations: 10}, MaxFitness: 3}},
			[]string{"value 0 of 2", "best median 3", "gravity [0.5]"}},
	} {
		state, metrics := c.s.describe()
		errtest.Equal(t, "shown", append([]string{state}, metrics...), c.want)
	}
}

// Chains of 30 and 60 links take 37 and 144 s to compile, large robots of MuJoCo's engine up to a minute.
func TestSlowCompilationIsAnnounced(t *testing.T) {
	for links, want := range map[int]string{3: "", 30: "a chain of 30 bodies, which takes about 36 s",
		60: "a chain of 60 bodies, which takes about 144 s"} {
		m := physics.Model{TimeStep: 0.01, Substeps: 4}
		for i := range links {
			m.Bodies = append(m.Bodies, physics.Body{Name: fmt.Sprint(i), Mass: 1})
			if i > 0 {
				m.Joints = append(m.Joints, physics.Joint{Name: fmt.Sprint(i), Parent: fmt.Sprint(i - 1),
					Child: fmt.Sprint(i), Limits: [][2]float64{{-90, 90}}, Stiffness: 1000})
			}
		}
		env := &envs.Rigid{System: nb.Must(physics.NewSystem(m))}
		if got := slowCompilation(env); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%d links: %q, want %q", links, got, want)
		}
	}
	for name, want := range map[string]string{"ant": "",
		"humanoid": "compiling a robot with 13 bodies and 102 pairs of geoms that may touch, which can take a minute"} {
		env := &envs.Rigid{System: nb.Must(mujoco.NewSystem(robots.Gymnasium(name), mujoco.Options{}))}
		errtest.Equal(t, name, slowCompilation(env), want)
	}
}

// Drawings are at least two seconds apart, and take at most 1 % of the run's time.
func TestLiveIsDue(t *testing.T) {
	start := time.Now()
	l := &live{drawn: start, took: 50 * time.Millisecond}
	for _, c := range []struct {
		after, seconds float64
		spent          time.Duration
		want           bool
	}{{1, 100, 0, false}, {2, 4, 0, false}, {2, 5, 0, true}, {3, 100, 960 * time.Millisecond, false},
		{3, 101, 960 * time.Millisecond, true}} {
		l.spent = c.spent
		errtest.Equal(t, fmt.Sprintf("%+v: due", c),
			l.due(start.Add(time.Duration(c.after*float64(time.Second))), c.seconds), c.want)
	}
	if (*live)(nil).due(start, 1e9) {
		t.Error("a run without a figure is drawn")
	}
}

// A run reports an import of its own algorithm and environment, not of others whose names begin alike.
func TestImportedRunsOfTheEnvironment(t *testing.T) {
	training := Training{Spec: Spec{Runs: t.TempDir()},
		Config: must.Get(runs.NewConfig("map-elites", "arm", 0, map[string]int{"batch": 1}))}
	for env, want := range map[string]bool{"arm-2": false, "arm": true} {
		config := must.Get(runs.NewConfig("map-elites", env, 0, map[string]int{"batch": 2}))
		run := must.Get(runs.Import(training.Spec.Runs, config, func(w *runs.Writer) error {
			none := []float32{float32(math.Inf(-1))}
			r := &runs.Repertoire{Params: 1, Dims: 1, Genotypes: []float32{0}, Fitnesses: none, Descriptors: []float32{0},
				Centroids: []float32{0}, Lower: []float32{0}, Upper: []float32{1}}
			return errors.Join(w.SaveRepertoire(r), w.SaveStatus(runs.Status{Finished: true, Backend: runs.Imported}))
		}))
		errtest.Equal(t, env, training.imported() == run.Name(), want)
		must.Do(os.RemoveAll(run.Dir))
	}
}

// Programs whose build records no commit, such as tests, cells and those of `go run`, name that of the
// checkout, and whether its Go files are modified.
func TestCommitOfACheckout(t *testing.T) {
	folder := t.TempDir()
	errtest.Equal(t, "without a repository it", checkedOut(folder), "unknown")
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-C", folder, "-c", "user.name=a", "-c", "user.email=a@b"}, args...)...)
		return strings.TrimSpace(string(must.Get(cmd.Output())))
	}
	git("init", "-q")
	errtest.Equal(t, "without a commit it", checkedOut(folder), "unknown")
	must.Do(os.WriteFile(filepath.Join(folder, "a.go"), []byte("package a\n"), 0o666))
	git("add", ".")
	git("commit", "-q", "-m", "a")
	commit := git("rev-parse", "HEAD")
	must.Do(os.WriteFile(filepath.Join(folder, "notes.txt"), nil, 0o666))
	errtest.Equal(t, "checked out", checkedOut(folder), commit)
	for _, name := range []string{"a.go", "b.go"} {
		must.Do(os.WriteFile(filepath.Join(folder, name), []byte("package b\n"), 0o666))
		errtest.Equal(t, fmt.Sprintf("after a change of %s", name), checkedOut(folder), commit+", modified")
		git("checkout", "-q", "a.go")
	}
	errtest.Equal(t, "folder of a replaced module", sourceFolder(&debug.Module{Path: folder}), folder)
	must.Get(os.Stat(filepath.Join(sourceFolder(&debug.Module{Path: "example.com/qdnb"}), "go.mod")))
	if _, err := os.Stat(filepath.Join("..", "..", ".git")); err == nil {
		if _, commit := Build(); !regexp.MustCompile(`^[0-9a-f]{40}(, modified)?$`).MatchString(commit) {
			t.Errorf("this test is of commit %q", commit)
		}
	}
}

// The version of a module from a proxy or a repository tells its commit.
func TestCommitOfARelease(t *testing.T) {
	for version, want := range map[string]string{"v0.0.0-20261128001122-3250ca79abcd": "3250ca79abcd",
		"v1.2.4-0.20261128001122-3250ca79abcd": "3250ca79abcd", "v1.2.3": "tag v1.2.3", "v1.2.3-rc.1": "tag v1.2.3-rc.1"} {
		errtest.Equal(t, version, released(version), want)
	}
}

// A binary that is kept does not name a checkout that may have changed since it was built.
func TestKeptBinariesNameNoCheckout(t *testing.T) {
	t.Setenv("GONB_TMP_DIR", "/tmp/gonb_1")
	for path, want := range map[string]bool{"/tmp/go-build12/b001/exe/qdnb": true, "/tmp/go-build1/b1/session.test": true,
		"/home/a/.cache/go-build/0a/0a-d/qdnb": true, "/tmp/gonb_1/gonb_1": true, "/tmp/gonb_12/x": false,
		"/tmp/qdnb": false, "/usr/bin/qdnb": false, "": false} {
		errtest.Equal(t, path, temporary(path), want)
	}
}

// A run of an earlier text is one of today if the ledger of its build had the same lines for its algorithm and
// its environment. What the ledger has no line for is compared by its text alone.
func TestOriginsByNumbers(t *testing.T) {
	config := must.Get(Spec{Algorithm: "map-elites", Env: "ant-uni", Seed: 3}.Config())
	today := numbersOf("map-elites", "ant-uni")
	if today == "" || today == numbersOf("map-elites", "pointmaze") || today == numbersOf("mome", "ant-uni") {
		t.Errorf("numbers %q are not those of one algorithm in one environment", today)
	}
	for _, pair := range [][2]string{{"map-elites", "arm"}, {"hierarchical-control", "ant-uni"}, {"map", "ant-uni"}} {
		errtest.Equal(t, fmt.Sprintf("lines that the ledger lacks, of %v", pair), numbersOf(pair[0], pair[1]), "")
	}
	for _, c := range []struct {
		want    Origin
		numbers []string // of the builds that computed the run, all of another text
	}{
		{SameNumbers, []string{today}},
		{SameNumbers, []string{today, today}},
		{OtherPrograms, []string{""}},
		{OtherPrograms, []string{"0123456789abcdef"}},
		{OtherPrograms, []string{today, "0123456789abcdef"}},
		{UnknownPrograms, nil},
	} {
		run := &runs.Run{Config: config}
		for i, numbers := range c.numbers {
			run.Status.UseMachine(runs.MachineUse{Programs: "fedcba9876543210", Numbers: numbers, After: int64(i - 1)})
		}
		if got := new(Origins).Of(run); got != c.want || got.Today() != (c.want == SameNumbers) {
			t.Errorf("numbers %q: %q, want %q", c.numbers, got, c.want)
		}
	}
}
