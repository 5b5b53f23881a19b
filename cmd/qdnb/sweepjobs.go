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
	"example.com/qdnb/xla/backend"
)

// runJobs runs a plan with several processes of this program. Each skips runs that another process
// holds, and each gets a share of the cores.
func (c *sweepRunCmd) runJobs(ctx context.Context, lines []sweep.Line) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"sweep", "run", "--plan", c.Plan, "--runs", c.Runs, "--poll", c.Poll.String(),
		"--quiet"}
	if c.Corrected != 0 {
		args = append(args, "--corrected", strconv.Itoa(c.Corrected))
	}
	if c.Backend != "" {
		args = append(args, "--backend", c.Backend)
	}
	env := os.Environ()
	if os.Getenv(backend.WorkersEnv) == "" {
		env = append(env, backend.WorkersEnv+"="+strconv.Itoa(max(1, runtime.NumCPU()/c.Jobs)))
	}
	ends := make([]error, c.Jobs)
	var all sync.WaitGroup
	for i := range ends {
		all.Go(func() { ends[i] = runJob(ctx, program, args, env) })
	}
	all.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("%w: progress is saved; rerun the same command to resume", qdnb.ErrInterrupted)
	}
	if errors.Join(ends...) == nil {
		return nil
	}
	left := len(lines) - sweep.Total(sweep.Inspect(c.Runs, lines)).Count[sweep.Done]
	if left == 0 { // a process was killed, and the others ran its lines
		return nil
	}
	return fmt.Errorf("%d of %d lines are not done; see the log above", left, len(lines))
}

// runJob waits for a process. The process has its own process group: otherwise Ctrl-C in a terminal
// would reach it directly as well as through ctx, and a second signal would end it at once. It also
// gets the signal if this process dies.
func runJob(ctx context.Context, program string, args, env []string) error {
	runtime.LockOSThread() // the signal is sent when the thread that started the process dies
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	return cmd.Run()
}
