package faults

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"example.com/qdnb/qdnb"
)

// kills is the number of times that a process of each subject is killed: over a hundred in all.
// killsOnXLA is that on XLA, where a small run mostly compiles.
const kills, killsOnXLA = 8, 3

// kill is the situation in which a process may be killed.
type kill struct {
	random   *rand.Rand
	alone    time.Duration // that an undisturbed process takes
	round, k int           // process k of a round
	killed   int           // so far
	root     string
	before   []string // checkpoints of earlier processes
	*process
}

// killedAndRestarted checks that runs whose processes are killed and restarted end with the bytes of an
// undisturbed run, and say nothing if they are silent. strike may kill a process.
func killedAndRestarted(t *testing.T, s subject, kills int, silent bool, strike func(k kill)) {
	t.Helper()
	want, alone := undisturbed(t, s)
	k := kill{random: dice(t), alone: alone.took}
	for ; k.killed < kills; k.round++ {
		if k.round > 100 {
			t.Fatalf("%d kills in %d rounds", k.killed, k.round)
		}
		k.root = t.TempDir()
		k.k = 0
		for done := false; !done; k.k++ {
			k.before = checkpoints(t, s, k.root)
			k.process = start(t, s.command(t, k.root)...)
			strike(k)
			var e ending
			if e, done = k.killedOrDone(&k.killed); silent && e.stderr != "" {
				t.Errorf("a process says %q", e.stderr)
			}
		}
		same(t, s, k.root, want)
	}
	t.Logf("%s: %d kills in %d runs of %v", s.name, k.killed, k.round, alone.took.Round(time.Millisecond))
}

// Runs are killed at random moments.
func TestKilledAtRandomMoments(t *testing.T) {
	begin(t)
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			killedAndRestarted(t, s, kills, s.command(t, t.TempDir())[0] == "train", func(k kill) {
				if k.killed < kills*(k.round+1)/2 { // a round has several; the last process of each is left alone
					time.Sleep(time.Duration(k.random.Float64() * float64(k.alone) * 0.7))
					_ = k.cmd.Process.Kill()
				}
			})
		})
	}
}

// TestKilledOnXLA is [TestKilledAtRandomMoments] with XLA's threads. The first process of a round
// is killed at any moment, mostly while it compiles, the others some time after a checkpoint.
func TestKilledOnXLA(t *testing.T) {
	begin(t)
	onXLA(t)
	for _, algorithm := range []string{"map-elites", "pga-aurora", "smerl-dads"} {
		spec := ants(algorithm)
		if algorithm == "map-elites" {
			spec.Budget = qdnb.Generations(200)
		}
		s := training(spec)
		t.Run(s.name, func(t *testing.T) {
			killedAndRestarted(t, s, killsOnXLA, false, func(k kill) {
				switch {
				case k.k == 0:
					time.Sleep(time.Duration(k.random.Float64() * 0.9 * float64(k.alone)))
					_ = k.cmd.Process.Kill()
				case k.k < killsOnXLA:
					began(t, s, k.process, k.root, k.before)
					time.Sleep(time.Duration(k.random.IntN(100)) * time.Millisecond)
					_ = k.cmd.Process.Kill()
				}
			})
		})
	}
}

// checkpoints lists the checkpoints of a subject's runs in a folder.
func checkpoints(t *testing.T, s subject, root string) (all []string) {
	t.Helper()
	for _, name := range s.results(t) {
		found, _ := filepath.Glob(filepath.Join(root, name, "checkpoints", "state-*.npz"))
		all = append(all, found...)
	}
	return all
}

// began waits until a process has written a checkpoint that is not in before, or has ended: until then
// it is still starting.
func began(t *testing.T, s subject, p *process, root string, before []string) {
	t.Helper()
	isNew := func(file string) bool { return !slices.Contains(before, file) }
	for !slices.ContainsFunc(checkpoints(t, s, root), isNew) {
		select {
		case <-p.ended:
			return
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// A signal makes a process save a checkpoint, say so in one line, and exit with status 130; a
// second signal makes it exit at once. In both cases rerunning the command gives the same bytes.
func TestToldToStop(t *testing.T) {
	begin(t)
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			want, _ := undisturbed(t, s)
			root := t.TempDir()
			for _, signals := range [][]syscall.Signal{{syscall.SIGINT, syscall.SIGINT},
				{syscall.SIGTERM, syscall.SIGINT}, {syscall.SIGTERM}, {syscall.SIGINT}} {
				once := len(signals) == 1
				// The interval between checkpoints is too long to matter: a checkpoint is saved because of the
				// signal.
				pause := "1h"
				if !once {
					pause = "0s"
				}
				before := checkpoints(t, s, root)
				p := startWith(t, []string{"QDNB_CHECKPOINT_EVERY=" + pause}, s.command(t, root)...)
				if once {
					time.Sleep(time.Duration(100+dice(t).IntN(300)) * time.Millisecond)
				} else {
					began(t, s, p, root, before)
				}
				for i, signal := range signals {
					if i > 0 {
						time.Sleep(5 * time.Millisecond) // the first one is taken by now
					}
					_ = p.cmd.Process.Signal(signal)
				}
				sent := time.Now()
				e := p.wait()
				switch {
				case e.status == 0:
					t.Logf("%v came too late", signals)
				case once:
					e.interrupted(t, s)
				case e.signal == signals[1]:
					if took := time.Since(sent); took > 5*time.Second {
						t.Errorf("the second signal took %v", took)
					}
				case e.status == 130: // saved before the second one came
				default:
					t.Errorf("%v: status %d, signal %v, %s", signals, e.status, e.signal, e.stderr)
				}
			}
			succeed(t, s.command(t, root)...)
			same(t, s, root, want)
		})
	}
}

// interrupted checks that a process ended as after a signal, and that its message is true.
func (e ending) interrupted(t *testing.T, s subject) {
	t.Helper()
	if s.command(t, t.TempDir())[0] == "train" {
		e.oneLine(t, 130, "interrupted", "is saved at generation", "rerun the same command to resume")
		return
	}
	if e.status != 130 {
		t.Errorf("status %d: %s", e.status, e.stderr)
	}
}

// A signal before there is anything to save also stops the process.
func TestToldToStopAtOnce(t *testing.T) {
	begin(t)
	s := training(spec("map-elites"))
	want, _ := undisturbed(t, s)
	root := t.TempDir()
	for delay := time.Duration(0); delay < 60*time.Millisecond; delay += 4 * time.Millisecond {
		p := start(t, s.command(t, root)...)
		time.Sleep(delay)
		_ = p.cmd.Process.Signal(os.Interrupt)
		if e := p.wait(); e.status != 130 && e.status != 0 && e.signal != syscall.SIGINT {
			t.Errorf("after %v: status %d, signal %v, %s", delay, e.status, e.signal, e.stderr)
		}
	}
	succeed(t, s.command(t, root)...)
	same(t, s, root, want)
}
