package envs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"example.com/qdnb/internal/names"
)

// StartProcess returns a simulator that is another process, such as tools/gymnasium_simulator.py. stop
// ends the process, which also ends when ctx is done or its standard input is closed. Messages are
// lines of JSON, in which float32 numbers are little-endian and in base64. The process first writes
// the constants of its task:
//
//	{"name": "pendulum", "observations": 3, "actions": 1, "length": 200, "offset": 17,
//	 "initial": [0, 0], "bounded": false,
//	 "descriptor": {"components": ["x"], "lower": [-1], "upper": [1]}}
//
// Then it answers each line {"count": P, "genotypes": [P, N]} by {"fitness": [P], "descriptors":
// [P, d]}, or by {"error": "what happened"}. Whatever else it prints belongs on standard error.
func StartProcess(ctx context.Context, command string, args ...string) (s *Simulator, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	p := &process{cmd: exec.CommandContext(ctx, command, args...), kill: cancel}
	p.cmd.Stderr, p.wait = os.Stderr, sync.OnceValue(p.cmd.Wait)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C ends it through ctx alone
	p.cmd.Cancel = func() error { return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }
	in, err := p.cmd.StdinPipe()
	if err == nil {
		var out io.ReadCloser
		out, err = p.cmd.StdoutPipe()
		p.in, p.pipe, p.limit = in, out.(*os.File), &io.LimitedReader{R: out}
		p.out = bufio.NewReader(p.limit)
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		cancel()
		return nil, nil, fmt.Errorf("cannot start the simulator: %w", err)
	}
	stop = sync.OnceFunc(func() {
		cancel()
		_ = p.wait()
	})
	var reply struct {
		Spec
		Bounded bool
	}
	if err := p.read(ctx, 1<<20, &reply); err != nil {
		stop()
		return nil, nil, err
	}
	reply.Descriptor.Kind, reply.Objectives = Outcome, nil // it answers with the fitness alone
	return &Simulator{Bounded: reply.Bounded, Facts: reply.Spec,
		Evaluate: func(ctx context.Context, genotypes [][]float32) ([]Result, error) {
			return p.evaluate(ctx, genotypes, len(reply.Descriptor.Lower))
		}}, stop, nil
}

// process is a running simulator.
type process struct {
	cmd   *exec.Cmd
	in    io.Writer
	pipe  *os.File
	out   *bufio.Reader     // of pipe
	limit *io.LimitedReader // of out
	wait  func() error
	kill  func()
}

// read decodes a line of the process, of about most bytes.
func (p *process) read(ctx context.Context, most int, into any) error {
	p.limit.N = int64(most)
	line, err := p.out.ReadBytes('\n')
	if err == nil {
		if err = json.Unmarshal(line, into); err != nil {
			return fmt.Errorf("the simulator wrote %.60q, which is no message: %w", bytes.TrimSpace(line), names.JSON(err))
		}
		return p.silent()
	}
	if p.limit.N <= 0 {
		return fmt.Errorf("the simulator wrote %.60q and more than %d bytes in a line, which is no message", line, most)
	}
	return p.ended(ctx)
}

// silent returns an error if the process has written more than its message, which would be taken
// for the next one. It does not wait.
func (p *process) silent() error {
	more, _ := p.out.Peek(p.out.Buffered())
	if len(more) == 0 {
		unread := make([]byte, 64)
		raw, err := p.pipe.SyscallConn()
		if err != nil {
			return err
		}
		n := 0
		err = raw.Read(func(pipe uintptr) bool {
			n, _ = syscall.Read(int(pipe), unread) // fails if there is nothing, since the pipe does not block
			return true
		})
		if more = unread[:max(n, 0)]; err != nil || len(more) == 0 {
			return nil // of a process that ended, the next message says so
		}
	}
	return fmt.Errorf("the simulator wrote %.60q after its message: an answer is one line, and everything else "+
		"belongs on standard error", bytes.TrimSpace(more))
}

// ended is the error of a process that no longer answers, which gets a second to end by itself.
func (p *process) ended(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	defer time.AfterFunc(time.Second, p.kill).Stop()
	_ = p.wait() // for its state
	return fmt.Errorf("the simulator %s ended (%v): see its output above; once it works, the same command "+
		"resumes the run", p.cmd.Path, p.cmd.ProcessState)
}

func (p *process) evaluate(ctx context.Context, genotypes [][]float32, d int) ([]Result, error) {
	var flat []byte
	for _, row := range genotypes {
		flat, _ = binary.Append(flat, binary.LittleEndian, row) // float32 has a fixed size
	}
	request, err := json.Marshal(map[string]any{"count": len(genotypes), "genotypes": flat})
	if err != nil {
		return nil, err
	}
	if err := p.silent(); err != nil {
		return nil, err
	}
	if _, err := p.in.Write(append(request, '\n')); err != nil {
		return nil, p.ended(ctx)
	}
	var answer struct {
		Fitness, Descriptors []byte
		Error                string
	}
	if err := p.read(ctx, 1<<20+8*len(genotypes)*(1+d), &answer); err != nil { // 16/3 for each number, in base64
		return nil, err
	}
	if answer.Error != "" {
		return nil, errors.New("the simulator failed: " + answer.Error)
	}
	if len(answer.Fitness)%4 != 0 || len(answer.Descriptors)%4 != 0 {
		return nil, fmt.Errorf("the simulator answered with %d bytes of fitnesses and %d of descriptors: float32 "+
			"numbers have 4 each", len(answer.Fitness), len(answer.Descriptors))
	}
	fitness, descriptors := make([]float32, len(answer.Fitness)/4), make([]float32, len(answer.Descriptors)/4)
	if len(descriptors) != len(fitness)*d {
		return nil, fmt.Errorf("the simulator answered with %d fitnesses and %d numbers of descriptors, not %d",
			len(fitness), len(descriptors), len(fitness)*d)
	}
	_, _ = binary.Decode(answer.Fitness, binary.LittleEndian, fitness) // as long as the bytes
	_, _ = binary.Decode(answer.Descriptors, binary.LittleEndian, descriptors)
	results := make([]Result, len(fitness))
	for i := range results {
		results[i] = Result{Fitness: fitness[i], Descriptor: descriptors[i*d : (i+1)*d]}
	}
	return results, nil
}
