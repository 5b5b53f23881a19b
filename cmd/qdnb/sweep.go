package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/paper"
	"example.com/qdnb/qdnb/paper/experiments"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/paper/sweep"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
	"example.com/qdnb/xla/backend"
)

type sweepCmd struct {
	Plan    sweepPlanCmd    `cmd:""`
	Measure sweepMeasureCmd `cmd:""`
	Run     sweepRunCmd     `cmd:""`
	Status  sweepStatusCmd  `cmd:""`
	Script  sweepScriptCmd  `cmd:""`
	Results sweepResultsCmd `cmd:""`
	Ship    sweepShipCmd    `cmd:""`
}

type sweepPlanCmd struct {
	Experiment []string `required:"" placeholder:"NAME"`
	Once       bool
	Scale      string   `default:"paper"`
	Seeds      *int     `placeholder:"N"`
	Envs       []string `placeholder:"NAME"`
	Algorithms []string `placeholder:"NAME"`
	Targets    string   `placeholder:"FILE"`
	Budget     string   `placeholder:"UNIT"`
}

func (c *sweepPlanCmd) Run() error {
	o := experiments.Options{Scale: experiments.Scale(c.Scale), Envs: c.Envs, Algorithms: c.Algorithms, Budget: c.Budget}
	if c.Seeds != nil {
		if o.Seeds = *c.Seeds; o.Seeds < 1 {
			return names.Wrongf("--seeds must be 1 or more, not %d", o.Seeds)
		}
	}
	if c.Targets != "" {
		var err error
		if o.Targets, err = results.ReadSMERLTargets(c.Targets); err != nil {
			return err
		}
	}
	if len(c.Experiment) == 0 {
		return names.Wrongf("--experiment names none: give one of %s",
			strings.Join(slices.Sorted(slices.Values(results.Experiments())), ", "))
	}
	var lines []sweep.Line
	planned := map[string]bool{}
	for i, experiment := range c.Experiment {
		if slices.Contains(c.Experiment[:i], experiment) {
			continue
		}
		more, err := experiments.Plan(experiment, o)
		if err != nil {
			return err
		}
		for _, line := range more {
			if !c.Once || !planned[line.Run.Name()] {
				lines = append(lines, line)
			}
			planned[line.Run.Name()] = true
		}
	}
	experiments.WriteCost(os.Stderr, lines)
	if count := experiments.Unmeasured(lines); count > 0 && c.Budget != experiments.Time {
		fmt.Fprintf(os.Stderr, "qdnb: %d runs have a budget of processor time, because their steps were not measured "+
			"(see `qdnb help sweep measure`)\n", count)
	}
	return sweep.Write(stdout, lines)
}

type sweepMeasureCmd struct {
	Algorithms []string      `required:"" placeholder:"NAME"`
	Envs       []string      `required:"" placeholder:"NAME"`
	Half       time.Duration `default:"30s"`
}

func (c *sweepMeasureCmd) Run(ctx context.Context) error {
	if c.Half < time.Second {
		return names.Wrongf("--half must be a second or more, not %v", c.Half)
	}
	for _, env := range c.Envs {
		for _, algorithm := range c.Algorithms {
			steps, err := experiments.Measure(ctx, algorithm, env, c.Half)
			if err != nil {
				return err
			}
			fmt.Fprintf(stdout, "%s,%s,%d\n", algorithm, env, steps)
		}
	}
	return nil
}

// planFlags are shared by all commands that read a plan.
type planFlags struct {
	Plan string `required:"" placeholder:"FILE"`
	runsFlag
}

func (f *planFlags) read() ([]sweep.Line, error) {
	f.Runs = cmp.Or(f.Runs, runs.FolderFor(f.Plan))
	return sweep.ReadFile(f.Plan)
}

type sweepRunCmd struct {
	planFlags
	Index string `placeholder:"N|auto"`
	Out   string `placeholder:"DIR"`
	backendFlag
	Poll      time.Duration `default:"10s"`
	Jobs      int           `short:"j" default:"1"`
	Corrected int           `placeholder:"EPISODES"`
	By        runs.Average  `enum:"mean,median" default:"mean"`
	Quiet     bool          `short:"q"`
}

func (c *sweepRunCmd) Run(ctx context.Context) error {
	lines, err := c.read()
	if err != nil {
		return err
	}
	if c.Poll < time.Millisecond {
		return names.Wrongf("--poll must be a millisecond or more, not %v", c.Poll)
	}
	if err := cmp.Or(limits.Int("--corrected", c.Corrected, 0, policies.MaxEpisodes), c.By.Used(c.Corrected > 0)); err != nil {
		return err
	}
	if c.Jobs < 1 || c.Jobs > 1 && c.Index != "" {
		return names.Wrongf("--jobs must be at least 1, and 1 with --index, not %d", c.Jobs)
	}
	if c.Index != "" && c.Out != "" {
		return names.Wrongf("--out does not apply to a single line: drop it, and use `qdnb sweep results` once the plan is done")
	}
	o := experiments.RunOptions{Runs: c.Runs, Backend: c.Backend, Quiet: c.Quiet, Poll: c.Poll,
		Corrected: c.Corrected, By: c.By}
	if c.Index != "" {
		index, err := indexOf(c.Index)
		if err != nil {
			return err
		}
		return experiments.RunIndex(ctx, lines, index, o)
	}
	var failed error
	if c.Jobs > 1 {
		failed = c.runJobs(ctx, lines)
	} else {
		failed = experiments.Run(ctx, lines, o)
	}
	if c.Out == "" || errors.Is(failed, qdnb.ErrInterrupted) {
		return failed
	}
	if err := writeResults(c.Runs, lines, c.Out); err != nil && failed == nil { // writes what there is
		return err
	}
	return failed
}

// arrayVariables hold the task index of a Slurm job array or a Kubernetes Indexed Job.
var arrayVariables = []string{"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"}

func indexOf(text string) (int, error) {
	from := "--index"
	if text == "auto" {
		i := slices.IndexFunc(arrayVariables, func(name string) bool { return os.Getenv(name) != "" })
		if i < 0 {
			return 0, names.Wrongf("--index=auto reads %s, and neither is set: this is not a "+
				"task of a job array", strings.Join(arrayVariables, " or "))
		}
		from = arrayVariables[i]
		text = os.Getenv(from)
	}
	index, err := strconv.Atoi(text)
	if err != nil {
		return 0, names.Wrongf("%s is %q, not a non-negative integer", from, text)
	}
	return index, nil
}

type sweepStatusCmd struct {
	planFlags
	All  bool
	JSON bool `name:"json"`
}

// lineStatus is a line in the output of `qdnb sweep status --json`.
type lineStatus struct {
	Index    int            `json:"index"`
	Hash     string         `json:"hash"`
	Label    string         `json:"label"`
	Run      string         `json:"run"` // name of its folder
	Status   sweep.Status   `json:"status"`
	Fraction float64        `json:"fraction"` // of the budget, from 0 to 1
	EnvSteps int64          `json:"env_steps"`
	Seconds  float64        `json:"seconds"`
	Programs session.Origin `json:"programs,omitempty"` // of a line that is done
	Holder   string         `json:"holder,omitempty"`   // the process that holds the run
	Missing  []string       `json:"missing,omitempty"`  // runs that the line waits for
	Error    string         `json:"error,omitempty"`
}

func (c *sweepStatusCmd) Run() error {
	lines, err := c.read()
	if err != nil {
		return err
	}
	states := sweep.Inspect(c.Runs, lines)
	total := sweep.Total(states)
	programs := programsOf(c.Runs, states)
	if c.JSON {
		list := make([]lineStatus, len(states))
		for i, s := range states {
			list[i] = lineStatus{s.Index, s.Hash, s.Label, s.Run.Name(), s.Status, s.Fraction,
				s.Progress.EnvSteps, s.Progress.Seconds, programs[i], s.Holder, s.Missing, ""}
			if s.Err != nil {
				list[i].Error = oneLine(s.Err)
			}
		}
		return json.NewEncoder(stdout).Encode(struct {
			Plan  string       `json:"plan"`
			Runs  string       `json:"runs"`
			Total sweep.Totals `json:"total"`
			Lines []lineStatus `json:"lines"`
		}{c.Plan, c.Runs, total, list})
	}
	stale := 0
	for i, s := range states {
		notable := []sweep.Status{sweep.Running, sweep.Interrupted, sweep.Broken}
		text := remark(s)
		if programs[i] == session.OtherPrograms {
			stale++
			text = ": computed by other programs than today's"
		}
		if c.All || slices.Contains(notable, s.Status) || programs[i] == session.OtherPrograms {
			fmt.Fprintf(stdout, "%5d  %-11s %4.0f %%  %s%s\n", s.Index, s.Status, 100*s.Fraction, s.Name(), text)
		}
	}
	counts := []string{fmt.Sprintf("%d lines", total.Lines)}
	for _, status := range sweep.Statuses {
		if n := total.Count[status]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, status))
		}
	}
	fmt.Fprintln(stdout, strings.Join(counts, ", "))
	if stale > 0 {
		fmt.Fprintf(stdout, "stale   %d line%s done, but not by the programs of this build: to train one again, move its "+
			"folder away\n", stale, map[bool]string{true: " is", false: "s are"}[stale == 1])
	}
	fmt.Fprintf(stdout, "so far  %.3g environment steps in %v\n", float64(total.EnvSteps),
		time.Duration(total.Seconds*float64(time.Second)).Round(time.Second))
	if total.Count[sweep.Done] < total.Lines {
		fmt.Fprintf(stdout, "to go   about %s\n", total.Left)
	}
	return nil
}

// programsOf returns where the programs of the lines that are done come from, "" for other lines.
func programsOf(root string, states []sweep.State) []session.Origin {
	var origins session.Origins
	list := make([]session.Origin, len(states))
	for i, s := range states {
		if s.Status != sweep.Done {
			continue
		}
		if run, err := runs.Open(filepath.Join(root, s.Run.Name())); err == nil {
			list[i] = origins.Of(run)
		}
	}
	return list
}

// remark is additional information on a line.
func remark(s sweep.State) string {
	switch s.Status {
	case sweep.Running:
		return ": " + s.Holder
	case sweep.Waiting:
		return ": needs " + strings.Join(s.Missing, ", ")
	case sweep.Broken:
		return ": " + oneLine(s.Err)
	}
	return ""
}

type sweepResultsCmd struct {
	planFlags
	Out string `required:"" placeholder:"DIR"`
}

func (c *sweepResultsCmd) Run() error {
	lines, err := c.read()
	if err != nil {
		return err
	}
	return writeResults(c.Runs, lines, c.Out)
}

func writeResults(root string, lines []sweep.Line, dir string) error {
	tables, err := results.Collect(root, lines)
	if err != nil {
		return err
	}
	report(tables.Problems)
	if tables.Complete+tables.Incomplete == 0 { // the tables would be empty
		return fmt.Errorf("no run of the plan has started in %s: give --runs the folder of its runs", root)
	}
	files, err := tables.Write(dir)
	for _, file := range files {
		fmt.Fprintln(stdout, file)
	}
	return err
}

type sweepShipCmd struct {
	planFlags
	Out     string `required:"" placeholder:"DIR"`
	Scale   string `required:"" placeholder:"NAME" enum:"paper,medium,small,smoke"`
	Machine string `placeholder:"TEXT"`
	Commit  string `placeholder:"HASH"`
}

// Run writes the folder and prints its size.
func (c *sweepShipCmd) Run() error {
	lines, err := c.read()
	if err != nil {
		return err
	}
	shipped, err := paper.Ship(c.Out, lines, c.Runs, paper.About{Scale: c.Scale, Machine: c.Machine, Commit: c.Commit})
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%s: %d runs, %.2f MB (%.0f kB each); %d lines of the plan are not complete\n", c.Out,
		shipped.Runs, float64(shipped.Bytes)/1e6, float64(shipped.Bytes)/1e3/float64(shipped.Runs), shipped.Left)
	return nil
}

// runJobs runs a plan with several processes of this program. Each skips runs that another process
// holds, and each gets a share of the cores.
func (c *sweepRunCmd) runJobs(ctx context.Context, lines []sweep.Line) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"sweep", "run", "--plan", c.Plan, "--runs", c.Runs, "--poll", c.Poll.String(), "--quiet"}
	if c.Corrected != 0 {
		args = append(args, "--corrected", strconv.Itoa(c.Corrected), "--by", string(c.By))
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
// would reach it directly as well as through ctx, and a second signal would end it at once. On Linux it
// also gets the signal if this process dies.
func runJob(ctx context.Context, program string, args, env []string) error {
	runtime.LockOSThread() // Linux sends the signal when the thread that started the process dies
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env, cmd.Stderr = env, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.SysProcAttr = ownGroup()
	return cmd.Run()
}
