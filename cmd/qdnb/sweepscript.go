package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
	"time"

	"example.com/qdnb/internal/names"
)

type sweepScriptCmd struct {
	Engine string `arg:"" help:"What runs the tasks: slurm or kubernetes."`
	planFlags
	Name     string        `placeholder:"NAME" help:"Name of the job (default: qdnb and the experiment)."`
	Parallel int           `default:"0" help:"Tasks at the same time; 0: as many as the cluster lets (of Kubernetes 8)."`
	CPUs     int           `name:"cpus" default:"2" help:"Cores of a task."`
	Memory   string        `default:"8G" help:"Memory of a task, such as 8G."`
	GPUs     int           `name:"gpus" default:"0" help:"GPUs of a task: a population is cut into slices over all of them."`
	Limit    time.Duration `default:"3h" help:"Time limit of a Slurm task. What is not done by then goes on in the queue."`
	Sbatch   []string      `sep:"none" placeholder:"OPTION" help:"Further option of sbatch, as in --sbatch=--partition=gpu; repeat for more."`
	Program  string        `placeholder:"PATH" help:"The program on a Slurm node (default: this one)."`
	Image    string        `default:"qdnb:latest" help:"Image of a Kubernetes task: see Containerfile."`
	Claim    string        `default:"qdnb" help:"PersistentVolumeClaim that is mounted as /data in Kubernetes; --plan and --runs are paths there."`
}

//go:embed sweep_slurm.sh.tmpl
var slurmTemplate string

//go:embed sweep_kubernetes.yaml.tmpl
var kubernetesTemplate string

// script is what the templates see.
type script struct {
	*sweepScriptCmd
	Lines       int
	First, Rest string // indices without and with needs, as Slurm writes lists of them; empty for none
	Percent     string // Slurm's limit of tasks at the same time
	Time        string // Limit in Slurm's notation
	MemoryUnit  string // Memory in Kubernetes' notation
}

var (
	jobName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$`)
	memory  = regexp.MustCompile(`^[1-9][0-9]*[KMGT]$`)
)

// Run prints a script.
func (c *sweepScriptCmd) Run() error {
	source := map[string]string{"slurm": slurmTemplate, "kubernetes": kubernetesTemplate}[c.Engine]
	if source == "" {
		return names.Unknown("engine", c.Engine, []string{"slurm", "kubernetes"})
	}
	inCluster := *c // kubernetes' paths are those of its volume
	lines, err := c.read()
	if err != nil {
		return err
	}
	if c.Name == "" {
		c.Name = "qdnb-" + lines[0].Experiment
	}
	switch {
	case !jobName.MatchString(c.Name):
		return fmt.Errorf("--name %q: use up to 52 small letters, digits and -", c.Name)
	case !memory.MatchString(c.Memory):
		return fmt.Errorf("--memory %q: use a number and one of K, M, G, T, as in 8G", c.Memory)
	case c.CPUs < 1 || c.GPUs < 0 || c.Parallel < 0:
		return fmt.Errorf("--cpus must be 1 or more, --gpus and --parallel 0 or more")
	case c.Limit < 5*time.Minute:
		return fmt.Errorf("--limit must be 5m or more, for a task is told two minutes before, not %v",
			c.Limit)
	}
	if c.Engine == "slurm" {
		if err := c.absolute(); err != nil {
			return err
		}
	} else {
		if c.Plan, c.Runs = filepath.Join("/data", filepath.Base(inCluster.Plan)),
			inCluster.Runs; c.Runs == "" {
			c.Runs = "/data/runs"
		}
		if c.Parallel == 0 {
			c.Parallel = min(8, len(lines))
		}
	}
	s := script{sweepScriptCmd: c, Lines: len(lines), MemoryUnit: c.Memory + "i"}
	var first, rest []int
	for i, line := range lines {
		if len(line.Needs) == 0 {
			first = append(first, i)
		} else {
			rest = append(rest, i)
		}
	}
	s.First, s.Rest = ranges(first), ranges(rest)
	if c.Parallel > 0 {
		s.Percent = fmt.Sprintf("%%%d", c.Parallel)
	}
	minutes := int(c.Limit.Minutes())
	s.Time = fmt.Sprintf("%02d:%02d:00", minutes/60, minutes%60)
	t, err := template.New(c.Engine).Funcs(template.FuncMap{"quote": quote}).Parse(source)
	if err != nil {
		return err
	}
	return t.Execute(os.Stdout, s)
}

// absolute makes paths independent of the folder that a job begins in.
func (c *sweepScriptCmd) absolute() (err error) {
	if c.Program == "" {
		if c.Program, err = os.Executable(); err != nil {
			return err
		}
	}
	for _, path := range []*string{&c.Plan, &c.Runs} {
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	return nil
}

// ranges writes ascending indices as Slurm does: 0-3,7.
func ranges(indices []int) string {
	var parts []string
	for i := 0; i < len(indices); {
		j := i
		for j+1 < len(indices) && indices[j+1] == indices[j]+1 {
			j++
		}
		part := fmt.Sprint(indices[i])
		if j > i {
			part += fmt.Sprintf("-%d", indices[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// quote is a text as one word of a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
