package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/records"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/session"
)

type trainCmd struct {
	Algorithm string `placeholder:"NAME"`
	Env       string `placeholder:"NAME" xor:"env"`
	Simulator string `placeholder:"COMMAND" xor:"env"`
	Robot     string `placeholder:"FILE" xor:"env"`
	robotFlags
	Seed        int64          `placeholder:"0" xor:"seeds"`
	Seeds       seeds          `placeholder:"LIST" xor:"seeds"`
	Generations *int64         `placeholder:"N"`
	Evaluations *int64         `placeholder:"N"`
	EnvSteps    *int64         `placeholder:"N"`
	Time        *time.Duration `placeholder:"DURATION"`
	CPUTime     *time.Duration `name:"cpu-time" placeholder:"DURATION"`
	Set         []string       `sep:"none" placeholder:"NAME=VALUE"`
	From        string         `placeholder:"RUN|FILE"`
	runsFlag
	backendFlag
	JSON          bool `name:"json"`
	KeepReplay    bool
	KeepGenotypes bool
	Corrected     int          `placeholder:"EPISODES"`
	By            runs.Average `enum:"mean,median" default:"mean"`
	Fresh         bool
	Tensorboard   bool
	Quiet         bool `short:"q"`
	Verbose       bool `short:"v"`
}

// robotFlags are the settings of the task of a robot; what is not set is guessed.
type robotFlags struct {
	Task         string     `placeholder:"NAME"`
	Name         string     `placeholder:"NAME"`
	Trunk        string     `placeholder:"BODY"`
	Forward      string     `placeholder:"AXIS"`
	Feet         []string   `placeholder:"BODY"`
	Contacts     string     `placeholder:"WHICH"`
	Reach        float64    `placeholder:"RAD"`
	ControlStep  float64    `name:"control-step" placeholder:"SECONDS"`
	Steps        int        `placeholder:"N"`
	Latency      int        `placeholder:"STEPS"`
	Keyframe     string     `placeholder:"NAME"`
	IgnorePairs  bool       `name:"ignore-pairs"`
	LinkContacts int        `name:"link-contacts" placeholder:"N"`
	Commands     velocities `placeholder:"LIST"`
	Stride       float64    `placeholder:"HZ"`
	Vary         variations `placeholder:"LIST"`
	Terrain      *terrain   `placeholder:"KIND"`
}

func (f robotFlags) task() envs.RobotTask {
	return envs.RobotTask{Task: f.Task, Name: f.Name, Trunk: f.Trunk, Forward: f.Forward, Feet: f.Feet, Contacts: f.Contacts,
		Reach: f.Reach, ControlStep: f.ControlStep, Steps: f.Steps, Latency: [2]int{0, f.Latency}, Keyframe: f.Keyframe,
		IgnorePairs: f.IgnorePairs, LinkContacts: f.LinkContacts, Commands: f.Commands, Stride: f.Stride,
		Vary: f.Vary, Terrain: (*mujoco.Terrain)(f.Terrain)}
}

// Validate requires an environment and an algorithm, which a robot has by default.
func (c *trainCmd) Validate() error {
	var missing []string
	if c.Algorithm == "" && c.Robot == "" {
		missing = append(missing, "--algorithm=NAME")
	}
	if c.Env == "" && c.Robot == "" && c.Simulator == "" {
		missing = append(missing, "--env=NAME, --robot=FILE or --simulator=COMMAND")
	}
	switch {
	case missing != nil:
		return errors.New("missing flags: " + strings.Join(missing, ", and "))
	case c.Robot == "" && !reflect.DeepEqual(c.robotFlags, robotFlags{}):
		return errors.New("--task, --name, --trunk, --forward, --feet, --contacts, --reach, --control-step, --steps, " +
			"--latency, --keyframe, --ignore-pairs, --link-contacts, --commands, --stride, --vary and --terrain are of a " +
			"robot: add --robot FILE")
	}
	return nil
}

func (c *trainCmd) Run(ctx context.Context) error {
	budget, err := c.budget()
	if err != nil {
		return err
	}
	spec := qdnb.Spec{
		Algorithm: c.Algorithm, Env: c.Env, Seed: c.Seed,
		Tune: runs.Assign(c.Set...), Budget: budget, Runs: c.Runs, Backend: c.Backend, Quiet: c.Quiet,
		Fresh: c.Fresh, Start: c.From, KeepReplay: c.KeepReplay, KeepGenotypes: c.KeepGenotypes, Corrected: c.Corrected,
		CorrectedBy: c.By, TensorBoard: c.Tensorboard, Robot: c.Robot, Task: c.task(),
	}
	if c.Simulator != "" {
		simulator, stop, err := envs.StartProcess(ctx, "sh", "-c", c.Simulator)
		if err != nil {
			return err
		}
		defer stop()
		spec.Environment = simulator
	}
	if c.Seeds != nil {
		spec.Seed = c.Seeds[0]
	}
	training, err := spec.Training(ctx)
	if err != nil {
		return flagged(err)
	}
	if config := training.Config; !c.Quiet {
		if robot, ok := envs.Robot(training.Env); ok {
			fmt.Fprintln(os.Stderr, robot)
		}
		name := config.Name()
		if c.Seeds != nil {
			name = fmt.Sprintf("%s-%s, %d seeds", config.Algorithm, config.Env, len(c.Seeds))
		}
		fmt.Fprintf(os.Stderr, "%s\nhyperparameters: %s\n", name, hyperparameters(config, c.Verbose))
	}
	found := make([]*runs.Run, 1)
	if c.Seeds != nil {
		found, err = qdnb.TrainSeeds(ctx, spec, c.Seeds...)
	} else {
		found[0], err = qdnb.Train(ctx, spec)
	}
	if err != nil && c.Seeds == nil {
		return err
	}
	for i, run := range found {
		if c.JSON {
			if err := printJSON(run); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(stdout)
		}
		printRun(run, c.Verbose)
		if name := shellWord(run.Dir); c.Robot != "" {
			fmt.Fprintf(stdout, "next           qdnb play %s, or qdnb show %s\n", name, name)
		} else {
			fmt.Fprintf(stdout, "next           qdnb show %s\n", name)
		}
	}
	return err
}

// budget returns the limits set by the flags. A limit that is given must be positive; a limit that
// is not given does not apply.
func (c *trainCmd) budget() (b runs.Budget, err error) {
	err = cmp.Or(
		limit("generations", "1 or more", c.Generations, &b.Generations),
		limit("evaluations", "1 or more", c.Evaluations, &b.Evaluations),
		limit("env-steps", "1 or more", c.EnvSteps, &b.EnvSteps),
		limit("time", "more than 0", c.Time, &b.Time),
		limit("cpu-time", "more than 0", c.CPUTime, &b.CPU))
	return b, err
}

// limit sets a limit of a budget if its flag is given.
func limit[T int64 | time.Duration](flag, want string, given, of *T) error {
	if given == nil {
		return nil
	}
	if *of = *given; *of <= 0 {
		return names.Wrongf("--%s must be %s, not %v: omit it for no limit", flag, want, *of)
	}
	return nil
}

// described is what the answers about one run have in common.
type described struct {
	Run       string `json:"run"` // the folder's path
	Algorithm string `json:"algorithm"`
	Env       string `json:"env"`
	Seed      int64  `json:"seed"`
	repertoireStats
}

// repertoireStats are the metrics of a repertoire.
type repertoireStats struct {
	MaxFitness *float64 `json:"max_fitness"` // null while all cells are empty
	Coverage   float64  `json:"coverage"`    // per cent
	QDScore    float64  `json:"qd_score"`
}

// correctedStats are the metrics of a corrected repertoire.
type correctedStats struct {
	Average    string `json:"average"` // as in "mean of 64 episodes"
	Generation int64  `json:"generation"`
	repertoireStats
}

func statsOf(r *runs.Repertoire) repertoireStats {
	s := r.Stats()
	return repertoireStats{runs.Finite(s.MaxFitness), s.Coverage, s.QDScore}
}

// corrected returns the metrics of the newest corrected repertoire of a run; nil if there is none.
func corrected(run *runs.Run) *correctedStats {
	all, _ := run.Corrected() // drawing reports the error
	if len(all) == 0 {
		return nil
	}
	last := all[len(all)-1]
	return &correctedStats{last.Correction.String(), last.Generation, statsOf(&last.Repertoire)}
}

// evaluationSteps returns the control steps of a run's evaluations that only measure.
func evaluationSteps(run *runs.Run) int64 {
	table, err := run.Metrics()
	if err == nil && slices.Contains(table.Columns, records.EvaluationSteps) && len(table.Rows) > 0 {
		steps, _ := table.Column(records.EvaluationSteps)
		return int64(steps[len(steps)-1])
	}
	return 0
}

func describe(run *runs.Run) described {
	c, s := run.Config, run.Status
	return described{run.Dir, c.Algorithm, c.Env, c.Seed, repertoireStats{runs.Finite(s.MaxFitness), s.Coverage, s.QDScore}}
}

// result is the last line of `qdnb train --json`.
type result struct {
	described
	Generations int64 `json:"generations"`
	Evaluations int64 `json:"evaluations"`
	EnvSteps    int64 `json:"env_steps"`
	// control steps of evaluations that only measure
	EvaluationSteps int64 `json:"evaluation_steps"`
	// environment steps of the paper's runs in two hours; 0 if unknown
	PaperSteps int64 `json:"paper_steps"`
	// env_steps / paper_steps; null if paper_steps is unknown
	StepsRatio *float64 `json:"steps_ratio"`
	// wall-clock time over all sessions, including compilation
	Seconds        float64 `json:"seconds"`
	CompileSeconds float64 `json:"compile_seconds"` // part of seconds
	CPUSeconds     float64 `json:"cpu_seconds"`     // processor time, excluding compilation
	Invalid        int64   `json:"invalid"`         // evaluations and steps of training that were not finite
	Backend        string  `json:"backend"`
	Finished       bool    `json:"finished"`

	Corrected *correctedStats `json:"corrected,omitempty"` // the newest corrected repertoire

	Date            *time.Time        `json:"date"` // of the newest state; null before the first one
	Budget          runs.Budget       `json:"budget"`
	Hyperparameters json.RawMessage   `json:"hyperparameters"`
	Parts           map[string]string `json:"parts,omitempty"`  // hashes of custom parts
	Source          string            `json:"source,omitempty"` // file with the source of custom parts
	Machines        []runs.MachineUse `json:"machines"`         // with the version and the commit of the program

	// whether this build would run the same programs
	Programs session.Origin `json:"programs"`
}

func printJSON(run *runs.Run) error {
	s := run.Status
	r := result{
		described: describe(run), Generations: s.Generation, Evaluations: s.Evaluations, EnvSteps: s.EnvSteps,
		EvaluationSteps: evaluationSteps(run), Corrected: corrected(run),
		PaperSteps: results.PaperSteps(run.Config.Algorithm, run.Config.Env), Seconds: s.Seconds,
		CompileSeconds: s.CompileSeconds, CPUSeconds: s.CPUSeconds, Invalid: s.Invalid, Backend: s.Backend,
		Finished: s.Finished, Programs: new(session.Origins).Of(run),
		StepsRatio: runs.Finite(results.StepsRatio(run.Config.Algorithm, run.Config.Env, s.EnvSteps)),
		Date:       dated(run), Budget: s.Budget, Hyperparameters: run.Config.Hyperparameters,
		Parts: run.Config.Parts, Source: run.Source(), Machines: s.Machines,
	}
	return json.NewEncoder(stdout).Encode(r)
}

// hyperparameters lists those of a run that differ from the defaults, without long values or, if
// verbose, returns all of them as JSON.
func hyperparameters(c runs.Config, verbose bool) string {
	if verbose {
		c, _ = c.Canonical() // opening the run checked it
		return string(c.Hyperparameters)
	}
	list := overrides(c)
	for i, assignment := range list {
		if name, value, _ := strings.Cut(assignment, "="); len(value) > 40 {
			list[i] = name + "=…"
		}
	}
	if len(list) == 0 {
		return "defaults (-v lists them)"
	}
	return strings.Join(list, " ") + " (-v lists all)"
}

func printRun(run *runs.Run, verbose bool) {
	s := run.Status
	fmt.Fprintf(stdout, "run            %s\n", run.Dir)
	fmt.Fprintf(stdout, "algorithm      %s\nenvironment    %s\nseed           %d\n", run.Config.Algorithm,
		run.Config.Env, run.Config.Seed)
	fmt.Fprintf(stdout, "hyperparams    %s\n", hyperparameters(run.Config, verbose))
	if source := run.Source(); verbose && source != "" {
		fmt.Fprintf(stdout, "source         %s\n", source)
	}
	fmt.Fprintf(stdout, "generations    %d\nevaluations    %d\nenv steps      %d", s.Generation, s.Evaluations, s.EnvSteps)
	if ratio := results.StepsRatio(run.Config.Algorithm, run.Config.Env, s.EnvSteps); ratio > 0 {
		fmt.Fprintf(stdout, " (%.2g of the paper's in 2h)", ratio)
	}
	fmt.Fprintln(stdout)
	if steps := evaluationSteps(run); steps > 0 {
		fmt.Fprintf(stdout, "eval steps     %d, which only measure\n", steps)
	}
	fmt.Fprintf(stdout, "seconds        %.1f (%.1f compiling)\n", s.Seconds, s.CompileSeconds)
	if run.Config.Algorithm == records.Adaptation { // it has no repertoire
		fmt.Fprintf(stdout, "max fitness    %.6g\n", s.MaxFitness)
	} else {
		fmt.Fprintf(stdout, "max fitness    %.6g\ncoverage       %.2f %%\nQD score       %.6g\n", s.MaxFitness,
			s.Coverage, s.QDScore)
		if c := corrected(run); c != nil && c.MaxFitness != nil {
			fmt.Fprintf(stdout, "corrected      max fitness %.6g, coverage %.2f %%, QD score %.6g: %s, generation %d\n",
				*c.MaxFitness, c.Coverage, c.QDScore, c.Average, c.Generation)
		}
		if s.Outside > 0 {
			fmt.Fprintf(stdout, "outside        %d of %d evaluations, in cells at the border of the limits\n", s.Outside,
				s.Evaluations)
		}
	}
	if s.Invalid > 0 {
		of := fmt.Sprintf("of %d evaluations", s.Evaluations)
		if run.HasSkills() || learningColumns(run) != nil {
			of = "evaluations or steps of training"
		}
		fmt.Fprintf(stdout, "invalid        %d %s were not finite, and were left out\n", s.Invalid, of)
	}
	state := "complete"
	if !s.Finished {
		state = "unfinished; " + resume(run)
	}
	if err := s.AllInvalid(); err != nil {
		state += "; " + err.Error()
	}
	fmt.Fprintf(stdout, "backend        %s\nstate          %s\nbudget         %v\ndate           %s\n",
		s.Backend, state, s.Budget, dateText(dated(run)))
	for _, use := range s.Machines {
		from := ""
		if len(s.Machines) > 1 {
			from = fmt.Sprintf(" (from generation %d)", use.After+1)
		}
		fmt.Fprintf(stdout, "machine        %s%s\ncommit         %s, version %s%s\n", use.Machine, from, use.Commit,
			use.Version, from)
	}
}

// overrides returns the hyperparameters that differ from the algorithm's defaults on its
// environment, in the form of `--set`. For algorithms outside [qdnb.Algorithms] it returns all
// hyperparameters.
func overrides(c runs.Config) []string {
	own, _ := c.Assignments() // opening the run checked that they are an object
	if standard, err := (qdnb.Spec{Algorithm: c.Algorithm, Env: c.Env}).Config(); err == nil {
		defaults, _ := standard.Assignments()
		own = slices.DeleteFunc(own, func(a string) bool { return slices.Contains(defaults, a) })
	}
	return own
}

// resume says how to resume an unfinished run, with the command if there is one.
func resume(run *runs.Run) string {
	if holder := runs.Holder(run.Dir); holder != "" {
		return holder + " is training it"
	}
	c := run.Config
	set := overrides(c)
	spec := qdnb.Spec{Algorithm: c.Algorithm, Env: c.Env, Seed: c.Seed, Tune: runs.Assign(set...)}
	where := []string{"--env", c.Env}
	if robot := run.Robot(); robot != "" {
		spec.Env, spec.Robot, where = "", robot, []string{"--robot", shellWord(robot)}
	}
	// a variant, or a run that uses skills
	if made, err := spec.Config(); err != nil || made.Name() != c.Name() {
		return "rerun the command or the notebook cell that started it to resume"
	}
	args := append([]string{"qdnb", "train", "--algorithm", c.Algorithm}, where...)
	if c.Seed != 0 {
		args = append(args, fmt.Sprintf("--seed=%d", c.Seed))
	}
	for _, assignment := range set {
		args = append(args, "--set", shellWord(assignment))
	}
	b := run.Status.Budget
	for _, limit := range []struct {
		flag  string
		value any
		given bool
	}{
		{"--generations", b.Generations, b.Generations > 0},
		{"--evaluations", b.Evaluations, b.Evaluations > 0},
		{"--env-steps", b.EnvSteps, b.EnvSteps > 0},
		{"--time", b.Time, b.Time > 0},
		{"--cpu-time", b.CPU, b.CPU > 0},
	} {
		if limit.given {
			args = append(args, limit.flag, fmt.Sprint(limit.value))
		}
	}
	if root := filepath.Dir(run.Dir); root != filepath.Clean(runs.Folder()) {
		args = append(args, "--runs", shellWord(root))
	}
	return "resume it with `" + strings.Join(args, " ") + "`"
}

// shellWord quotes a word if a shell would not take it literally.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return quote(word)
}

// plainWord matches the words that a shell takes literally.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9=,._/:+-]+$`)
