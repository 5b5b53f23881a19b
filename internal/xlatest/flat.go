package xlatest

import (
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Input declares an input of a [Program].
type Input struct {
	Shape  shapes.Shape
	Donate bool // see [xla.Program]
}

// Program is a compiled function from a list of tensors to another one.
type Program struct {
	*xla.Program[flatIn, flat]
	inputs []Input
}

type (
	flat   = xla.State[[]*graph.Node]
	flatIn struct {
		Kept    flat
		Donated flat `xla:"donate"`
	}
)

// Compile compiles a program for one device.
func Compile(c xla.Compiler, name string, inputs []Input,
	build func(in []*graph.Node) []*graph.Node) (*Program, error) {
	return compile(xla.Compile, c, name, inputs, build)
}

// CompileParallel compiles a program for all workers.
func CompileParallel(c xla.Compiler, name string, inputs []Input,
	build func(in []*graph.Node) []*graph.Node) (*Program, error) {
	return compile(xla.CompileParallel, c, name, inputs, build)
}

func compile(with func(xla.Compiler, string, flatIn, func(flatIn) flat,
	...xla.Axis) (*xla.Program[flatIn, flat], error), c xla.Compiler, name string, inputs []Input,
	build func(in []*graph.Node) []*graph.Node) (*Program, error) {
	declared := make([]xla.Array, len(inputs))
	for i, input := range inputs {
		declared[i] = xla.Declare(input.Shape.DType, input.Shape.Dimensions...)
	}
	program, err := with(c, name, pack(inputs, declared), func(in flatIn) flat {
		nodes, kept, donated := make([]*graph.Node, len(inputs)), in.Kept.Tree, in.Donated.Tree
		for i, input := range inputs {
			from := &kept
			if input.Donate {
				from = &donated
			}
			nodes[i], *from = (*from)[0], (*from)[1:]
		}
		return xla.Out(build(nodes))
	})
	return &Program{program, inputs}, err
}

// pack divides arrays into those that are kept and those that are donated.
func pack(inputs []Input, arrays []xla.Array) flatIn {
	var kept, donated []xla.Array
	for i, array := range arrays {
		if inputs[i].Donate {
			donated = append(donated, array)
		} else {
			kept = append(kept, array)
		}
	}
	list := func(nodes []*graph.Node) []*graph.Node { return nodes }
	return flatIn{xla.Pack(list, kept...), xla.Pack(list, donated...)}
}

// Run runs the program.
func (p *Program) Run(inputs ...xla.Sharded) (outputs []xla.Sharded, err error) {
	arrays := make([]xla.Array, len(inputs))
	for i, input := range inputs {
		arrays[i] = xla.Value(input)
	}
	out, err := p.Program.Run(pack(p.inputs, arrays))
	if err != nil {
		return nil, err
	}
	for _, leaf := range out.Leaves() {
		outputs = append(outputs, leaf.Value())
	}
	return outputs, nil
}
