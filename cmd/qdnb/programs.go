package main

import (
	"fmt"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

type programsCmd struct {
	Kind      string   `required:"" placeholder:"KIND" help:"Kind of backend to build for: cpu, cuda or tpu."`
	Out       string   `required:"" placeholder:"DIR" help:"Folder for the files NAME.mlir."`
	Algorithm string   `required:"" placeholder:"NAME" help:"An algorithm of qdnb train, adaptation, or ppo (on halfcheetah-hurdles)."`
	Env       string   `required:"" placeholder:"NAME" help:"Environment, such as ant-uni; an unknown name lists all."`
	Devices   int      `default:"1" help:"Number of devices."`
	Seed      int64    `default:"0" help:"Random seed."`
	Set       []string `sep:"none" placeholder:"NAME=VALUE" help:"Set a hyperparameter, as in batch=1000; repeat for more."`
}

// Run writes the programs.
func (c *programsCmd) Run() error {
	if err := makeFolder(c.Out); err != nil {
		return err
	}
	spec := qdnb.Spec{Algorithm: c.Algorithm, Env: c.Env, Seed: c.Seed, Tune: runs.Assign(c.Set...)}
	paths, err := spec.WritePrograms(xla.Kind(c.Kind), c.Devices, c.Out)
	for _, path := range paths {
		fmt.Println(path)
	}
	return err
}
