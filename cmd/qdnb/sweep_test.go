package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

// writePlan writes a plan of runs that take a second or two each. The last needs the first.
func writePlan(t *testing.T, n int, generations int) (path string, lines []sweep.Line) {
	t.Helper()
	for seed := range int64(n) {
		config := must.Get(qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Seed: seed, Tune: runs.Assign(
			"batch=16", "cells=32", "cvt_samples=500", "hidden=8,8", "episode_length=20")}.Config())
		line := sweep.Line{Experiment: "training", Label: "map-elites", Run: config, Budget: qdnb.Generations(generations)}
		if seed == int64(n-1) {
			line.Needs = []sweep.Need{{Run: lines[0].Run, Budget: lines[0].Budget}}
		}
		lines = append(lines, line)
	}
	var text bytes.Buffer
	must.Do(sweep.Write(&text, lines))
	path = filepath.Join(t.TempDir(), "plan.jsonl")
	must.Do(os.WriteFile(path, text.Bytes(), 0o666))
	return path, lines
}

// lineStatuses returns the lines of `qdnb sweep status --json`.
func lineStatuses(t *testing.T, plan, root string) (list []sweep.Status) {
	t.Helper()
	var report struct {
		Total sweep.Totals `json:"total"`
		Lines []lineStatus `json:"lines"`
	}
	answer(t, &report, "sweep", "status", "--json", "--plan", plan, "--runs", root)
	for i, line := range report.Lines {
		if line.Index != i || line.Hash == "" || line.Run == "" {
			t.Errorf("line %d is reported as %+v", i, line)
		}
		list = append(list, line.Status)
	}
	errtest.Equal(t, "lines in total", report.Total.Lines, len(list))
	return list
}

func TestSweepPlanRunStatusResults(t *testing.T) {
	plan, lines := writePlan(t, 4, 3)
	root, out := t.TempDir(), filepath.Join(t.TempDir(), "results")
	check := func(want ...sweep.Status) {
		t.Helper()
		errtest.Equal(t, "the lines", lineStatuses(t, plan, root), want)
	}
	check(sweep.Ready, sweep.Ready, sweep.Ready, sweep.Waiting)

	t.Setenv("SLURM_ARRAY_TASK_ID", "3") // runs what it needs too
	succeed(t, "sweep", "run", "-q", "--plan", plan, "--runs", root, "--index", "auto")
	os.Unsetenv("SLURM_ARRAY_TASK_ID")
	check(sweep.Done, sweep.Ready, sweep.Ready, sweep.Done)
	t.Setenv("JOB_COMPLETION_INDEX", "1")
	succeed(t, "sweep", "run", "-q", "--plan", plan, "--runs", root, "--index=auto")
	check(sweep.Done, sweep.Done, sweep.Ready, sweep.Done)

	stdout, stderr := succeed(t, "sweep", "run", "-q", "--plan", plan, "--runs", root, "--out", out)
	if !strings.Contains(stderr, "line 2/4") || strings.Contains(stderr, "line 1/4") ||
		!strings.Contains(stdout, "training.csv") {
		t.Errorf("%s%s", stdout, stderr)
	}
	check(sweep.Done, sweep.Done, sweep.Done, sweep.Done)
	collected, err := os.ReadFile(filepath.Join(out, "training.csv"))
	if err != nil || strings.Count(string(collected), "\n") != 5 {
		t.Errorf("training.csv (%v): %s", err, collected)
	}
	again := filepath.Join(t.TempDir(), "again")
	succeed(t, "sweep", "results", "--plan", plan, "--runs", root, "--out", again)
	errtest.Equal(t, "results of a second folder", must.Get(os.ReadFile(filepath.Join(again, "training.csv"))), collected)

	stdout, _ = succeed(t, "sweep", "status", "--plan", plan, "--runs", root, "--all")
	if !strings.Contains(stdout, "4 lines, 4 done") || !strings.Contains(stdout, lines[2].Run.Name()) ||
		strings.Contains(stdout, "to go") || strings.Contains(stdout, "stale") {
		t.Error(stdout)
	}

	// A run of other programs is listed.
	status := filepath.Join(root, lines[2].Run.Name(), "status.json")
	text := string(must.Get(os.ReadFile(status)))
	other := regexp.MustCompile(`"(programs|numbers)": *"\w{16}"`).ReplaceAllString(text, `"$1":"0123456789abcdef"`)
	must.Do(os.WriteFile(status, []byte(other), 0o666))
	stdout, _ = succeed(t, "sweep", "status", "--plan", plan, "--runs", root)
	if !strings.Contains(stdout, lines[2].Run.Name()+": computed by other programs than today's\n") ||
		!strings.Contains(stdout, "stale   1 line") || strings.Contains(stdout, lines[1].Run.Name()) {
		t.Error(stdout)
	}
	var report struct{ Lines []lineStatus }
	answer(t, &report, "sweep", "status", "--json", "--plan", plan, "--runs", root)
	if a, b := report.Lines[1].Programs, report.Lines[2].Programs; a != session.SamePrograms || b != session.OtherPrograms {
		t.Errorf("programs %q and %q", a, b)
	}
	stdout, _ = succeed(t, "show", "--runs", root, lines[2].Run.Name())
	errtest.Contains(t, stdout, "programs       other programs (commit ")
}

// After a stopped process, a killed process and two processes that share the plan, the runs are the same as those of
// a single process. Package faults kills processes at more moments, and single runs, too.
func TestSweepSurvivesSignalsAndCompany(t *testing.T) {
	endless, lines := writePlan(t, 2, 1_000_000)
	root, alone := t.TempDir(), t.TempDir()
	arguments := func(plan, root string, more ...string) []string {
		return append([]string{"sweep", "run", "-q", "--plan", plan, "--runs", root, "--poll", "50ms"}, more...)
	}
	inTraining := func(log string) bool {
		metrics, err := os.ReadFile(log)
		return err == nil && bytes.Count(metrics, []byte("\n")) > 5
	}
	t.Setenv(session.CheckpointEnv, "0s") // so that a kill meets checkpoints
	for _, signal := range []os.Signal{syscall.SIGTERM, os.Kill} {
		cmd := exec.Command(program, arguments(endless, root, "--jobs", "2")...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		must.Do(cmd.Start())
		started := false
		for deadline := time.Now().Add(5 * time.Minute); !started; time.Sleep(20 * time.Millisecond) {
			for i, s := range lineStatuses(t, endless, root) {
				started = started || s == sweep.Running && inTraining(filepath.Join(root, lines[i].Run.Name(), "metrics.csv"))
			}
			if time.Now().After(deadline) {
				cmd.Process.Kill()
				cmd.Wait()
				t.Fatalf("nothing is in training: %s", stderr.String())
			}
		}
		must.Do(cmd.Process.Signal(signal))
		err := cmd.Wait()
		if signal == syscall.SIGTERM && (err == nil || cmd.ProcessState.ExitCode() != exitInterrupted ||
			!strings.Contains(stderr.String(), "is saved")) {
			t.Errorf("SIGTERM: %v: %s", err, stderr.String())
		}
	}
	started := must.Get(runs.Open(filepath.Join(root, lines[0].Run.Name())))
	generations := int(started.Status.Generation) + 300
	plan, _ := writePlan(t, 2, generations)
	if out, err := exec.Command(program, arguments(plan, root, "--jobs", "2")...).CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	succeed(t, arguments(plan, alone)...)
	for _, line := range lines {
		name := line.Run.Name()
		if got, want := curve(t, filepath.Join(root, name)),
			curve(t, filepath.Join(alone, name)); got != want || strings.Count(got, "\n") != generations+1 {
			t.Errorf("%s: %d rows differ from the %d of a single process", name, strings.Count(got, "\n"), strings.Count(want, "\n"))
		}
		stored := func(root string) []byte { return must.Get(os.ReadFile(filepath.Join(root, name, "repertoire.npz"))) }
		if !bytes.Equal(stored(root), stored(alone)) {
			t.Errorf("%s ends with another repertoire", name)
		}
	}
}

// curve returns a run's log without times.
func curve(t *testing.T, dir string) string {
	t.Helper()
	table := must.Get(runs.ReadTable(filepath.Join(dir, "metrics.csv")))
	var text strings.Builder
	for _, row := range table.Rows {
		for i, name := range table.Columns {
			if name != "seconds" {
				fmt.Fprintf(&text, "%v ", row[i])
			}
		}
		text.WriteByte('\n')
	}
	return text.String()
}

func TestSweepScripts(t *testing.T) {
	plan, _ := writePlan(t, 3, 1)
	stdout, _ := succeed(t, "sweep", "script", "slurm", "--plan", plan, "--runs", "/shared/it's/runs",
		"--parallel", "2", "--gpus", "1", "--limit", "26h30m", "--sbatch=--partition=gpu")
	for _, want := range []string{"#SBATCH --partition=gpu\n", "#SBATCH --time=26:30:00\n",
		"#SBATCH --gpus-per-node=1\n", "--array=0-1%2", "--array=2%2",
		`--runs '/shared/it'\''s/runs'`, "--plan '" + plan + "'", "'" + program + "' sweep run"} {
		errtest.Contains(t, stdout, want)
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		cmd := exec.Command(bash, "-n")
		cmd.Stdin = strings.NewReader(stdout)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("bash cannot read the script: %s", out)
		}
	}
	stdout, _ = succeed(t, "sweep", "script", "kubernetes", "--plan", plan, "--image", "registry/qdnb:1",
		"--gpus", "2", "--claim", "shared")
	for _, want := range []string{"completionMode: Indexed\n", "completions: 3\n", "parallelism: 3\n",
		"image: registry/qdnb:1\n", "claimName: shared\n",
		`--plan, "/data/plan.jsonl", --runs, "/data/runs", --index, auto`, "nvidia.com/gpu: 2\n",
		"memory: 8Gi\n"} {
		errtest.Contains(t, stdout, want)
	}
	stdout, _ = succeed(t, "sweep", "script", "kubernetes", "--plan", plan, "--cpus", "3", "--runs", "mine/runs")
	errtest.Contains(t, stdout, `--runs, "/data/mine/runs"`, "- name: QDNB_WORKERS", `value: "3"`)
}

// A plan of several experiments has the lines of each. With --once, no run is planned twice.
func TestPlanOfSeveralExperiments(t *testing.T) {
	plan := func(args ...string) []string {
		stdout, _ := succeed(t, append([]string{"sweep", "plan", "--scale", "smoke", "--experiment"}, args...)...)
		return strings.Split(strings.TrimSpace(stdout), "\n")
	}
	all, once := plan("training,adaptation,training"), plan("training,adaptation", "--once")
	errtest.Equal(t, "lines of all experiments", all, append(plan("training"), plan("adaptation")...))
	lines := must.Get(sweep.Read(strings.NewReader(strings.Join(once, "\n")), "plan"))
	names := map[string]bool{}
	for _, line := range lines {
		if names[line.Run.Name()] {
			t.Errorf("%s is planned twice", line.Run.Name())
		}
		names[line.Run.Name()] = true
	}
	if len(once) >= len(all) {
		t.Errorf("%d of %d lines with --once", len(once), len(all))
	}
}

// Shipped runs need the name of their machine, and a damaged one gives no figure.
func TestSweepShip(t *testing.T) {
	dir, out := experimentsFolder(t), filepath.Join(t.TempDir(), "results")
	ship := []string{"sweep", "ship", "--plan", filepath.Join(dir, paper.PlanFile), "--runs",
		filepath.Join(dir, paper.RunsFolder), "--out", out, "--scale", "small"}
	refuses(t, mistake{ship, 1, "do not record their machine"})
	stdout, _ := succeed(t, append(ship, "--machine", "a test")...)
	errtest.Contains(t, stdout, "6 runs, 0.0", "0 lines of the plan are not complete")
	found := must.Get(filepath.Glob(filepath.Join(out, paper.RunsFolder, "*", "metrics.csv")))
	must.Do(os.Truncate(found[3], 20))
	_, stderr := succeed(t, "figures", "--in", out, "--out", t.TempDir(), "--only", "table-9")
	if len(found) != 6 || !strings.Contains(stderr, found[3]) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("a truncated file: %s", stderr)
	}
}

// The runs of a plan lie next to it, wherever the command runs, unless --runs or $QDNB_RUNS names a folder.
func TestRunsAreBesideThePlan(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	plan := filepath.Join(dir, "plan.jsonl")
	lines := []sweep.Line{{Experiment: "training", Label: "map-elites", Budget: runs.Budget{Generations: 1},
		Run: must.Get(runs.NewConfig("map-elites", "arm", 0, map[string]int{"batch": 16}))}}
	var text bytes.Buffer
	must.Do(sweep.Write(&text, lines))
	must.Do(os.WriteFile(plan, text.Bytes(), 0o666))
	for root, generation := range map[string]int64{filepath.Join(dir, "runs"): 1, other: 0} {
		w := must.Get(runs.Create(root, lines[0].Run))
		must.Do(w.SaveStatus(runs.Status{Progress: runs.Progress{Generation: generation}, Finished: true}))
		must.Do(w.Close())
	}
	t.Chdir(t.TempDir())
	check := func(root string, status sweep.Status, args ...string) {
		t.Helper()
		var report struct {
			Runs  string
			Lines []struct{ Status sweep.Status }
		}
		answer(t, &report, append([]string{"sweep", "status", "--json", "--plan", plan}, args...)...)
		errtest.Equal(t, fmt.Sprintf("%v: folder and status", args), fmt.Sprint(report.Runs, report.Lines[0].Status),
			fmt.Sprint(root, status))
	}
	check(filepath.Join(dir, "runs"), sweep.Done)
	check(other, sweep.Ready, "--runs", other)
	out := filepath.Join(t.TempDir(), "tables")
	succeed(t, "sweep", "results", "--plan", plan, "--out", out)
	errtest.Contains(t, filesIn(t, out), "training.csv")
	script, _ := succeed(t, "sweep", "script", "slurm", "--plan", plan, "--program", "qdnb")
	errtest.Contains(t, script, filepath.Join(dir, "runs"))
	t.Setenv("QDNB_RUNS", other)
	check(other, sweep.Ready)
}

// slurm is a single-machine cluster with its own key, sockets and ports.
type slurm struct {
	dir string
	env []string
}

// startSlurm starts munged, slurmctld and slurmd, and stops them when the test ends.
func startSlurm(t *testing.T) *slurm {
	t.Helper()
	if os.Getenv("QDNB_LONG") == "" {
		t.Skip("SKIPPED: Slurm is tried with QDNB_LONG=1 only")
	}
	t.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin")
	for _, name := range []string{"munged", "slurmctld", "slurmd", "sbatch"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("SKIPPED: %s is not installed; on Debian, apt-get install slurm-wlm munge", name)
		}
	}
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: Slurm's daemons need root")
	}
	dir := must.Get(os.MkdirTemp("", "slurm")) // the name of munge's socket must be short
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &slurm{dir: dir, env: append(os.Environ(), "SLURM_CONF="+filepath.Join(dir, "slurm.conf"))}
	key := make([]byte, 128)
	rand.Read(key)
	s.write(t, "munge.key", string(key), 0o600)
	socket := filepath.Join(dir, "munge.socket")
	values := strings.NewReplacer("DIR", dir, "PORT1", freePort(t), "PORT2", freePort(t))
	s.write(t, "slurm.conf", values.Replace(`
ClusterName=test
SlurmctldHost=localhost
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=DIR/munge.socket
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
ReturnToService=2
KillWait=30
SchedulerParameters=sched_interval=2,batch_sched_delay=1,sched_min_interval=100000
StateSaveLocation=DIR/state
SlurmdSpoolDir=DIR/spool
SlurmctldPidFile=DIR/slurmctld.pid
SlurmdPidFile=DIR/slurmd.pid
SlurmctldPort=PORT1
SlurmdPort=PORT2
NodeName=localhost CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`), 0o644)
	for _, sub := range []string{"state", "spool"} {
		must.Do(os.Mkdir(filepath.Join(dir, sub), 0o755))
	}
	s.daemon(t, "munged", "--foreground", "--force", "--key-file="+filepath.Join(dir, "munge.key"), "--socket="+socket,
		"--pid-file="+filepath.Join(dir, "munged.pid"), "--log-file="+filepath.Join(dir, "munged.log"),
		"--seed-file="+filepath.Join(dir, "munged.seed"))
	s.wait(t, "munged's socket", 10*time.Second, func() bool { _, err := os.Stat(socket); return err == nil })
	s.daemon(t, "slurmctld", "-D", "-c")
	s.daemon(t, "slurmd", "-D", "-N", "localhost")
	s.wait(t, "the node", time.Minute, func() bool {
		out, _ := s.command("sinfo", "--noheader", "--format=%t").Output()
		return strings.TrimSpace(string(out)) == "idle"
	})
	return s
}

func (s *slurm) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	must.Do(os.WriteFile(filepath.Join(s.dir, name), []byte(text), mode))
}

func freePort(t *testing.T) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "localhost:0"))
	defer listener.Close()
	return strconv.Itoa(listener.Addr().(*net.TCPAddr).Port)
}

func (s *slurm) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

// daemon starts a process that is stopped when the test ends.
func (s *slurm) daemon(t *testing.T, name string, args ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = s.dir, s.env
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 20 * time.Second
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	must.Do(cmd.Start())
	t.Cleanup(func() {
		stop()
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", name, tail(log.String(), 3000))
		}
	})
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }

// wait polls until a condition holds.
func (s *slurm) wait(t *testing.T, what string, limit time.Duration, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(limit); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after %v: no %s", limit, what)
		}
	}
}

// queue lists job IDs with states, from squeue.
func (s *slurm) queue(t *testing.T) []string {
	t.Helper()
	out := must.Get(s.command("squeue", "--noheader", "--array", "--format=%i %T").CombinedOutput())
	return strings.Fields(strings.ReplaceAll(strings.TrimSpace(string(out)), " ", ":"))
}

// A real Slurm completes a plan although its jobs are cancelled, which saves their runs, and requeued, with the
// same results as an undisturbed process.
func TestSlurmFinishesAPlanThroughKills(t *testing.T) {
	s := startSlurm(t)
	const generations = 250
	var lines []sweep.Line
	for i := range int64(4) {
		config := must.Get(qdnb.Spec{Algorithm: "map-elites", Env: "pointmaze", Seed: i, Tune: runs.Assign(
			"batch=256", "cells=64", "cvt_samples=1000", "hidden=32,32", "slice=8")}.Config())
		lines = append(lines, sweep.Line{Experiment: "training", Label: "map-elites", Run: config,
			Budget: qdnb.Generations(generations)})
	}
	lines[3].Needs = []sweep.Need{{Run: lines[0].Run, Budget: lines[0].Budget}}
	var text bytes.Buffer
	must.Do(sweep.Write(&text, lines))
	s.write(t, "plan.jsonl", text.String(), 0o644)
	plan, root := filepath.Join(s.dir, "plan.jsonl"), filepath.Join(s.dir, "runs")
	script, _ := succeed(t, "sweep", "script", "slurm", "--plan", plan, "--runs", root, "--program", program,
		"--cpus", "1", "--memory", "400M", "--limit", "1h")
	s.write(t, "job.sh", strings.Replace(script, "--index auto", "--index auto --poll 300ms", 1), 0o755)
	submit := func() { must.Get(s.command("bash", "job.sh").CombinedOutput()) }
	states := func() []lineStatus {
		t.Helper()
		var report struct{ Lines []lineStatus }
		answer(t, &report, "sweep", "status", "--json", "--plan", plan, "--runs", root)
		return report.Lines
	}
	// busy waits for a line whose training started recently, and returns it.
	busy := func() (line lineStatus, process int) {
		t.Helper()
		s.wait(t, "line in training", 2*time.Minute, func() bool {
			for _, line = range states() {
				log, err := os.ReadFile(filepath.Join(root, line.Run, "metrics.csv"))
				rows := bytes.Count(log, []byte("\n"))
				if _, held := fmt.Sscanf(line.Holder, "process %d on", &process); held == nil && err == nil &&
					line.Status == sweep.Running && rows > 3 && rows < generations/3 {
					return true
				}
			}
			return false
		})
		return line, process
	}

	submit()
	line, process := busy()
	must.Get(s.command("scancel", "--name=qdnb-training").CombinedOutput())
	s.wait(t, "end of the cancelled", time.Minute,
		func() bool { return len(s.queue(t)) == 0 && syscall.Kill(process, 0) != nil })
	if now := states()[line.Index]; now.Status != sweep.Interrupted || now.EnvSteps == 0 {
		t.Errorf("after scancel, line %d is %q at %d steps: it did not save its run", line.Index, now.Status, now.EnvSteps)
	}
	submit()
	submit() // two tasks on each line
	requeued, _ := busy()
	for _, job := range s.queue(t) {
		if id, _, running := strings.Cut(job, ":RUNNING"); running { // as pre-emption does
			_ = s.command("scontrol", "requeue", id).Run()
		}
	}
	s.wait(t, "empty queue", 10*time.Minute, func() bool { return len(s.queue(t)) == 0 })
	for _, line := range states() {
		if line.Status != sweep.Done {
			log, _ := os.ReadFile(filepath.Join(s.dir, fmt.Sprintf("qdnb-training-%d.log", line.Index)))
			t.Errorf("line %d is %q; its tasks said\n%s", line.Index, line.Status, tail(string(log), 2000))
		}
	}
	alone := filepath.Join(s.dir, "alone")
	for _, i := range []int{line.Index, requeued.Index} {
		succeed(t, "sweep", "run", "-q", "--plan", plan, "--runs", alone, "--index", fmt.Sprint(i))
		name := lines[i].Run.Name()
		errtest.Equal(t, name, curve(t, filepath.Join(root, name)), curve(t, filepath.Join(alone, name)))
	}
}
