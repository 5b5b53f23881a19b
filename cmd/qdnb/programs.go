package main

import (
	"fmt"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/backend"
)

type programsCmd struct {
	Kind      string   `required:"" placeholder:"KIND"`
	Out       string   `required:"" placeholder:"DIR"`
	Algorithm string   `required:"" placeholder:"NAME"`
	Env       string   `required:"" placeholder:"NAME"`
	Devices   int      `default:"1"`
	Seed      int64    `placeholder:"0"`
	Set       []string `sep:"none" placeholder:"NAME=VALUE"`
}

func (c *programsCmd) Run() error {
	spec := qdnb.Spec{Algorithm: c.Algorithm, Env: c.Env, Seed: c.Seed, Tune: runs.Assign(c.Set...)}
	paths, err := spec.WritePrograms(backend.Kind(c.Kind), c.Devices, c.Out)
	for _, path := range paths {
		fmt.Println(path)
	}
	return err
}
