package main

import (
	"fmt"
	"maps"
	"slices"

	"example.com/qdnb/qdnb/exchange"
)

type exportCmd struct {
	runArg
	Skill      *int `placeholder:"N"`
	Cell       *int `placeholder:"N"`
	Repertoire bool
	Out        string `required:"" placeholder:"FILE"`
	Force      bool
}

func (c *exportCmd) Run() error {
	run, err := c.find()
	if err != nil {
		return err
	}
	shapes, err := exchange.Export(run, exchange.ExportSpec{Skill: c.Skill, Cell: c.Cell,
		Repertoire: c.Repertoire, Out: c.Out, Force: c.Force})
	if err != nil {
		return err
	}
	fmt.Printf("file           %s\n", c.Out)
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		fmt.Printf("  %-14s %v\n", name, shapes[name])
	}
	return nil
}
