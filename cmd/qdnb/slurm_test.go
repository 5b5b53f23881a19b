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
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/runs"
)

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
	dir, err := os.MkdirTemp("", "slurm") // the name of munge's socket must be short
	must.Do(err)
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
	s.daemon(t, "munged", "--foreground", "--force", "--key-file="+filepath.Join(dir, "munge.key"),
		"--socket="+socket,
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
