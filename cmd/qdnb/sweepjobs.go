package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"sync"
	"syscall"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/xla"
)

// runJobs carries a plan out by several processes like this one. Each passes over what another is
// at; each has its share of the cores.
func (c *sweepRunCmd) runJobs(ctx context.Context, lines []sweep.Line) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"sweep", "run", "--plan", c.Plan, "--runs", c.Runs, "--poll", c.Poll.String(),
		"--quiet"}
	if c.Backend != "" {
		args = append(args, "--backend", c.Backend)
	}
	env := os.Environ()
	if os.Getenv(xla.WorkersEnv) == "" {
		env = append(env, xla.WorkersEnv+"="+strconv.Itoa(max(1, runtime.NumCPU()/c.Jobs)))
	}
	ends := make([]error, c.Jobs)
	var all sync.WaitGroup
	for i := range ends {
		all.Go(func() { ends[i] = runJob(ctx, program, args, env) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("%w: what was done is saved; the same command goes on", qdnb.ErrInterrupted)
	}
	if err := errors.Join(ends...); err != nil {
		left := len(lines) - sweep.Total(sweep.Inspect(c.Runs, lines)).Count[sweep.Done]
		return fmt.Errorf("%d of %d lines are not done; what was told above says why", left, len(lines))
	}
	return nil
}

// runJob waits for a process. It stands in a group of its own, so that Ctrl-C in a terminal does
// not reach it beside the signal that it gets from here when ctx is done; a second signal would end
// it at once. It gets that signal too if this process dies.
func runJob(ctx context.Context, program string, args, env []string) error {
	runtime.LockOSThread() // the signal comes when the thread dies that started it
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	return cmd.Run()
}
