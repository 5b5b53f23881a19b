package faults

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
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
	if out, err := exec.Command("go", "build", "-o", program,
		"example.com/qdnb/cmd/qdnb").CombinedOutput(); err != nil {
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
	p := &process{t: t, cmd: exec.CommandContext(ctx, program, args...), start: time.Now(),
		ended: make(chan struct{})}
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

// logged matches what the sweep of a plan logs about its lines.
var logged = regexp.MustCompile(`^\d\d:\d\d:\d\d `)

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
