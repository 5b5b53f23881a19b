package faults

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

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
