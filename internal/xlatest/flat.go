package xlatest

import (
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

type list = xla.State[[]*graph.Node]

// Program is a compiled function from a list of tensors to another one.
type Program struct{ *xla.Program[list, list] }

// Compile compiles a program for one device.
func Compile(c xla.Compiler, name string, inputs []shapes.Shape,
	build func(in []*graph.Node) []*graph.Node) (*Program, error) {
	return compile(xla.Compile, c, name, inputs, build)
}

// CompileParallel compiles a program for all workers.
func CompileParallel(c xla.Compiler, name string, inputs []shapes.Shape,
	build func(in []*graph.Node) []*graph.Node) (*Program, error) {
	return compile(xla.CompileParallel, c, name, inputs, build)
}

func compile(with func(xla.Compiler, string, list, func(list) list,
	...xla.Axis) (*xla.Program[list, list], error), c xla.Compiler, name string,
	inputs []shapes.Shape, build func(in []*graph.Node) []*graph.Node) (*Program, error) {
	declared := make([]xla.Array, len(inputs))
	for i, shape := range inputs {
		declared[i] = xla.Declare(shape.DType, shape.Dimensions...)
	}
	program, err := with(c, name, pack(declared),
		func(in list) list { return xla.Out(build(in.Tree)) })
	return &Program{program}, err
}

func pack(arrays []xla.Array) list {
	return xla.Pack(func(nodes []*graph.Node) []*graph.Node { return nodes }, arrays...)
}

// Run runs the program.
func (p *Program) Run(inputs ...xla.Sharded) (outputs []xla.Sharded, err error) {
	arrays := make([]xla.Array, len(inputs))
	for i, input := range inputs {
		arrays[i] = xla.Value(input)
	}
	out, err := p.Program.Run(pack(arrays))
	if err != nil {
		return nil, err
	}
	for _, leaf := range out.Leaves() {
		outputs = append(outputs, leaf.Value())
	}
	return outputs, nil
}
