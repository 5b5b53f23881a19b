package xla

import (
	"reflect"
	"strings"
	"time"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Program is a compiled function of states. In and Out are states, or structs of states. The memory
// of an input with the tag `xla:"donate"` is reused for an output of the same shape; the input is
// unusable afterwards.
type Program[In, Out any] struct {
	*Executable
	// Out holds the shapes of the outputs, for compiling the programs that read them.
	Out Out
}

// Compiler is a [Platform], or a [Scope] that remembers the programs.
type Compiler interface {
	compile(name string, parallel bool, inputs []Input, build func(in []*graph.Node) []*graph.Node,
		axes []Axis) (*Executable, error)
}

// Compile compiles a function for one device; see [Platform.Compile]. The shapes of the inputs are
// those of in, which may be declared without values.
func Compile[In, Out any](c Compiler, name string, in In, build func(In) Out,
	axes ...Axis) (*Program[In, Out], error) {
	return compile(c, name, false, in, build, axes)
}

// CompileParallel compiles a function that all workers run at once; see [Platform.CompileParallel].
func CompileParallel[In, Out any](c Compiler, name string, in In, build func(In) Out,
	axes ...Axis) (*Program[In, Out], error) {
	return compile(c, name, true, in, build, axes)
}

func compile[In, Out any](c Compiler, name string, parallel bool, in In, build func(In) Out,
	axes []Axis) (*Program[In, Out], error) {
	program := &Program[In, Out]{}
	inputs, flat := flatten(in, build, &program.Out)
	var err error
	program.Executable, err = c.compile(name, parallel, inputs, flat, axes)
	if err != nil {
		return nil, err
	}
	return program, nil
}

// flatten declares the leaves of in as inputs. It returns build as a function of their nodes, which
// stores the shapes of the outputs in out.
func flatten[In, Out any](in In, build func(In) Out, out *Out) (inputs []Input,
	flat func([]*graph.Node) []*graph.Node) {
	for _, f := range fieldsOf(reflect.ValueOf(&in), "", false) {
		names := f.names()
		for i, l := range f.list() {
			inputs = append(inputs, Input{Shape: l.shape, Donate: f.donate,
				name: strings.Trim(f.name+"."+names[i], ".")})
		}
	}
	return inputs, func(nodes []*graph.Node) (results []*graph.Node) {
		for _, f := range fieldsOf(reflect.ValueOf(&in), "", false) {
			nodes = f.trace(nodes)
		}
		*out = build(in)
		for _, f := range fieldsOf(reflect.ValueOf(out), "", false) {
			results = append(results, f.nodes()...)
			f.settle()
		}
		return results
	}
}

// TraceGraph hashes the graph of a function of states, as [Trace.Graph] does. It returns the shapes
// of the outputs.
func TraceGraph[In, Out any](t *Trace, in In, build func(In) Out) (out Out, err error) {
	inputs, flat := flatten(in, build, &out)
	shapes := make([]shapes.Shape, len(inputs))
	for i, input := range inputs {
		shapes[i] = input.Shape
	}
	_, err = t.Graph(shapes, flat)
	return out, err
}

// Run executes the program and waits for it to finish. The outputs stay on the program's devices.
func (p *Program[In, Out]) Run(in In) (Out, error) {
	var values []Sharded
	for _, f := range fieldsOf(reflect.ValueOf(&in), "", false) {
		for _, l := range f.list() {
			values = append(values, l.value)
		}
	}
	out := p.Out
	results, err := p.Executable.Run(values...)
	if err != nil {
		return out, err
	}
	for _, f := range fieldsOf(reflect.ValueOf(&out), "", false) {
		results = f.fill(results)
	}
	return out, nil
}

// Scope compiles programs and remembers them.
type Scope struct {
	*Platform
	programs []*Executable
}

func (s *Scope) compile(name string, parallel bool, inputs []Input,
	build func(in []*graph.Node) []*graph.Node, axes []Axis) (*Executable, error) {
	program, err := s.Platform.compile(name, parallel, inputs, build, axes)
	if err == nil {
		s.programs = append(s.programs, program)
	}
	return program, err
}

// Own adds a program that was compiled elsewhere.
func (s *Scope) Own(program *Executable) { s.programs = append(s.programs, program) }

// CompileTime is the time spent compiling the programs so far.
func (s *Scope) CompileTime() time.Duration {
	var total time.Duration
	for _, program := range s.programs {
		total += program.CompileTime
	}
	return total
}

// Free releases the programs.
func (s *Scope) Free() {
	for _, program := range s.programs {
		program.Free()
	}
	s.programs = nil
}
