package main

import (
	"fmt"
	"os"
	"path/filepath"

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

// Run writes the text of each program to NAME.mlir, and the flags that qdnb sets for XLA to
// xla_flags.txt.
func (c *programsCmd) Run() error {
	kind := backend.Kind(c.Kind)
	spec := qdnb.Spec{Algorithm: c.Algorithm, Env: c.Env, Seed: c.Seed, Tune: runs.Assign(c.Set...)}
	programs, err := spec.Programs(kind, c.Devices)
	if err != nil {
		return err
	}
	if err := makeFolder(c.Out); err != nil {
		return err
	}
	for _, p := range programs {
		path := filepath.Join(c.Out, p.Name+".mlir")
		if err := os.WriteFile(path, p.Text, 0o666); err != nil {
			return err
		}
		fmt.Fprintln(stdout, path)
	}
	return os.WriteFile(filepath.Join(c.Out, "xla_flags.txt"), []byte(backend.FlagText(kind)), 0o666)
}
