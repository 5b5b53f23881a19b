package main

import (
	"cmp"
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
	Engine string `arg:""`
	planFlags
	Name     string        `placeholder:"NAME"`
	Parallel int           `default:"0"`
	CPUs     int           `name:"cpus" default:"2"`
	Memory   string        `default:"8G"`
	GPUs     int           `name:"gpus" default:"0"`
	Limit    time.Duration `default:"3h"`
	Sbatch   []string      `sep:"none" placeholder:"OPTION"`
	Program  string        `placeholder:"PATH"`
	Image    string        `default:"qdnb:latest"`
	Claim    string        `default:"qdnb"`
}

//go:embed sweep_slurm.sh.tmpl
var slurmTemplate string

//go:embed sweep_kubernetes.yaml.tmpl
var kubernetesTemplate string

// script is the data of the templates.
type script struct {
	*sweepScriptCmd
	Lines       int
	First, Rest string // indices without and with needs, as Slurm lists; empty for none
	Percent     string // Slurm's limit on concurrent tasks
	Time        string // Limit in Slurm's notation
	MemoryUnit  string // Memory in Kubernetes' notation
}

var (
	jobName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?$`)
	memory  = regexp.MustCompile(`^[1-9][0-9]*[KMGT]$`)
)

func (c *sweepScriptCmd) Run() error {
	source := map[string]string{"slurm": slurmTemplate, "kubernetes": kubernetesTemplate}[c.Engine]
	if source == "" {
		return names.Unknown("engine", c.Engine, []string{"slurm", "kubernetes"})
	}
	inCluster := *c // Kubernetes paths are relative to its volume
	lines, err := c.read()
	if err != nil {
		return err
	}
	c.Name = cmp.Or(c.Name, "qdnb-"+lines[0].Experiment)
	switch {
	case !jobName.MatchString(c.Name):
		return names.Wrongf("--name %q: use up to 52 lower-case letters, digits and -", c.Name)
	case !memory.MatchString(c.Memory):
		return names.Wrongf("--memory %q: use a number and a unit K, M, G or T, as in 8G", c.Memory)
	case c.CPUs < 1 || c.GPUs < 0 || c.Parallel < 0:
		return names.Wrongf("--cpus must be 1 or more, --gpus and --parallel 0 or more")
	case c.Limit < 5*time.Minute:
		return names.Wrongf("--limit must be 5m or more, as tasks are signalled 2m before it, not %v", c.Limit)
	}
	if c.Engine == "slurm" {
		if err := c.absolute(); err != nil {
			return err
		}
	} else {
		c.Plan = filepath.Join("/data", filepath.Base(inCluster.Plan))
		c.Runs = cmp.Or(inCluster.Runs, "runs")
		if !filepath.IsAbs(c.Runs) {
			c.Runs = filepath.Join("/data", c.Runs)
		}
		if c.Runs = filepath.Clean(c.Runs); !strings.HasPrefix(c.Runs+"/", "/data/") {
			return names.Wrongf("--runs %s is not in the volume, so runs would be lost with their pods: "+
				"use a path below /data", c.Runs)
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
	return t.Execute(stdout, s)
}

// absolute makes paths independent of the job's working folder.
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

// ranges formats ascending indices as Slurm does: 0-3,7.
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

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
