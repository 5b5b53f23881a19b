package xla

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"
)

// FreshCache gives a test executables of its own, of which so many are kept idle: programs of tests
// before it, which the garbage collector may give back at any moment, push out nothing there.
func FreshCache(t *testing.T, limit int) {
	before := executables
	executables = newCodeCache(limit)
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
