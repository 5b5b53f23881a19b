package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// algorithms are the pictures of docs/algorithms that show runs of the commands on these pages: the
// algorithm, the one in whose command its name is put ("" if it has its own), what this command says in
// addition, and the figures of `qdnb show`. The first is NAME.png, others are NAME-FIGURE.png.
var algorithms = []struct{ name, like, settings, figures string }{
	{"map-elites", "", "", "repertoire"},
	{"pga-map-elites", "", "", "repertoire"},
	{"aurora", "", "", "repertoire"},
	{"pga-aurora", "pga-map-elites", "capacity=128 epochs=20 late_epochs=5", "repertoire"},
	{"dns", "", "", "repertoire"},
	{"dcrl-map-elites", "pga-map-elites", "", "repertoire"},
	{"ascii-me", "map-elites", "", "repertoire"},
	{"aurora-xcon", "dns", "", "repertoire"},
	{"cma-mae", "", "", "repertoire"},
	{"dms", "cma-mae", "", "repertoire"},
	{"cma-mega", "", "", "repertoire"},
	{"cma-maega", "cma-mega", "", "repertoire"},
	{"ppga", "", "", "repertoire"},
	{"mome", "", "", "hypervolumes pareto"},
	{"sac", "", "", "trajectories"},
	{"diayn", "", "", "trajectories"},
	{"diayn-reward", "diayn", "", "trajectories"},
	{"smerl-diayn", "diayn", "smerl_target=-160 smerl_margin=16", "trajectories"},
	{"dads", "diayn", "", "trajectories"},
	{"dads-reward", "diayn", "evaluation_states=10", "trajectories"},
	{"smerl-dads", "diayn", "smerl_target=-160 smerl_margin=16", "trajectories"},
	{"metra", "", "", "trajectories"},
	{"csf", "metra", "", "trajectories"},
	{"qdac", "", "", "trajectories"},
}

// algorithmPages are the figures of algorithms by file below docs.
func algorithmPages() (list []page) {
	for _, a := range algorithms {
		for i, figure := range strings.Fields(a.figures) {
			file := "algorithms/" + a.name
			if i > 0 {
				file += "-" + figure
			}
			list = append(list, page{file + ".png", func(ctx context.Context, folder string) (saver, error) {
				return trained(ctx, filepath.Join(folder, "algorithms"), a.name, a.like, strings.Fields(a.settings), figure)
			}})
		}
	}
	return list
}

// commandOfPage is a command that trains an algorithm, on one line or more.
var commandOfPage = regexp.MustCompile(`(?m)^qdnb (train --algorithm ([a-z-]+)(?:.*\\\n)*.*)$`)

// commandOf returns the arguments of the last command on the pages in docs/algorithms that trains an
// algorithm: those before it are of longer runs.
func commandOf(algorithm string) (args []string, err error) {
	files, err := filepath.Glob("docs/algorithms/*.md")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, found := range commandOfPage.FindAllStringSubmatch(string(text), -1) {
			if found[2] == algorithm && filepath.Base(file) != "README.md" {
				args = strings.Fields(strings.ReplaceAll(found[1], "\\\n", " "))
			}
		}
	}
	if args == nil {
		return nil, fmt.Errorf("no page in docs/algorithms has a command that trains %s", algorithm)
	}
	return args, nil
}

// trained trains an algorithm by the command of a page, and draws a figure of the run.
func trained(ctx context.Context, folder, name, like string, settings []string, figure string) (saver, error) {
	like = cmp.Or(like, name)
	args, err := commandOf(like)
	if err != nil {
		return nil, err
	}
	args[slices.Index(args, like)] = name
	for _, setting := range settings {
		args = append(args, "--set", setting)
	}
	drawn := filepath.Join(folder, "figures", name)
	for _, args := range [][]string{append(args, "--quiet", "--runs", folder),
		{"show", name + "-", "--runs", folder, "--figures", drawn}} {
		if err := start(ctx, nil, "build/qdnb", args...); err != nil {
			return nil, err
		}
	}
	data, err := os.ReadFile(filepath.Join(drawn, figure+".png"))
	return picture(data), err
}
