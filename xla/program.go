package xla

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/gomlx/core/graph"
)

// Program is a compiled function of states. In and Out are states, or structs of states. The memory
// of an input with the tag `xla:"donate"` is reused for an output of the same shape; the input is
// unusable afterwards.
type Program[In, Out any] struct {
	*executable
	// Out holds the shapes of the outputs, for compiling the programs that read them.
	Out Out
}

// Compiler is a [Platform], or a [Scope] that remembers the programs.
type Compiler interface {
	compile(name string, parallel bool, inputs []input, build func(in []*graph.Node) []*graph.Node,
		axes []Axis) (*executable, error)
}

// Compile compiles a function for one device. The shapes of the inputs are those of in, which may
// be declared without values. If build panics, the error is one line that names the innermost
// function and line of the user's code and explains the axis sizes it mentions, as far as axes
// names them.
func Compile[In, Out any](c Compiler, name string, in In, build func(In) Out, axes ...Axis) (*Program[In, Out], error) {
	return compile(c, name, false, in, build, axes)
}

// CompileParallel is [Compile] for a function that all workers run at once: the same graph, each
// worker on its own part of the inputs. Workers exchange results with [AllGather]. An input that is
// not donated may be on the first device only; all workers read it, see [Sharded].
func CompileParallel[In, Out any](c Compiler, name string, in In, build func(In) Out,
	axes ...Axis) (*Program[In, Out], error) {
	return compile(c, name, true, in, build, axes)
}

// CompileCopies is [Compile] for a function that changes what all workers read: it runs on each
// device that keeps a copy, see [Platform.Copies].
func CompileCopies[In, Out any](s *Scope, name string, in In, build func(In) Out, axes ...Axis) (*Program[In, Out], error) {
	return compile(s, name, s.Copies() > 1, in, build, axes)
}

func compile[In, Out any](c Compiler, name string, parallel bool, in In, build func(In) Out,
	axes []Axis) (*Program[In, Out], error) {
	program := &Program[In, Out]{}
	inputs, flat := flatten(in, build, &program.Out)
	var err error
	if program.executable, err = c.compile(name, parallel, inputs, flat, axes); err != nil {
		return nil, err
	}
	return program, nil
}

// flatten declares the leaves of in as inputs. It returns build as a function of their nodes, which
// stores the shapes of the outputs in out.
func flatten[In, Out any](in In, build func(In) Out, out *Out) (inputs []input, flat func([]*graph.Node) []*graph.Node) {
	for _, f := range fieldsOf(reflect.ValueOf(&in), "", false) {
		var names []string
		f.visit(func(path string, _ reflect.Type, node *graph.Node) *graph.Node {
			names = append(names, strings.Trim(f.name+path, "."))
			return node
		})
		f.mustHold(len(names))
		for i, l := range *f.held() {
			inputs = append(inputs, input{Shape: l.shape, Donate: f.donate, name: names[i]})
		}
	}
	return inputs, func(nodes []*graph.Node) (results []*graph.Node) {
		for _, f := range fieldsOf(reflect.ValueOf(&in), "", false) {
			f.replace(func(*graph.Node) (node *graph.Node) {
				node, nodes = nodes[0], nodes[1:]
				return node
			})
		}
		*out = build(in)
		for _, f := range fieldsOf(reflect.ValueOf(out), "", false) {
			before := len(results)
			f.replace(func(node *graph.Node) *graph.Node {
				results = append(results, node)
				return new(graph.Node) // which only stands for a value
			})
			f.mustHold(len(results) - before)
		}
		return results
	}
}

// Run executes the program and waits for it to finish. The outputs stay on the program's devices.
func (p *Program[In, Out]) Run(in In) (Out, error) {
	var values []Sharded
	for _, f := range fieldsOf(reflect.ValueOf(&in), "", false) {
		for _, l := range *f.held() {
			values = append(values, l.value)
		}
	}
	out := p.Out
	results, err := p.run(values...)
	if err != nil {
		return out, err
	}
	for _, f := range fieldsOf(reflect.ValueOf(&out), "", false) {
		leaves := slices.Clone(*f.held())
		for i := range leaves {
			leaves[i].value, results = results[0], results[1:]
		}
		*f.held() = leaves
	}
	return out, nil
}

// Scope compiles programs and remembers them.
type Scope struct {
	*Platform
	programs []*executable
}

func (s *Scope) compile(name string, parallel bool, inputs []input,
	build func(in []*graph.Node) []*graph.Node, axes []Axis) (*executable, error) {
	program, err := s.Platform.compile(name, parallel, inputs, build, axes)
	if err == nil {
		s.programs = append(s.programs, program)
	}
	return program, err
}

// Own adds a [Program] that was compiled elsewhere.
func (s *Scope) Own(program interface{ code() *executable }) {
	s.programs = append(s.programs, program.code())
}

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
