package xla

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"
)

// FreshCache gives a test a cache of its own.
func FreshCache(t *testing.T, limit int) {
	before := executables
	executables = &codeCache{limit: limit}
	t.Cleanup(func() { executables = before })
}

// The flat form of programs: lists of inputs and outputs.
type (
	Executable = executable
	Input      = input
)

func (p *Platform) Compile(name string, inputs []Input, build func(in []*graph.Node) []*graph.Node,
	axes ...Axis) (*Executable, error) {
	return p.compile(name, false, inputs, build, axes)
}

func (p *Platform) CompileParallel(name string, inputs []Input,
	build func(in []*graph.Node) []*graph.Node, axes ...Axis) (*Executable, error) {
	return p.compile(name, true, inputs, build, axes)
}

func (pr *executable) Run(inputs ...Sharded) ([]Sharded, error) { return pr.run(inputs...) }
