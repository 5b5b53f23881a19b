package xla

import (
	"runtime"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"
)

// Sharded is what a program takes and gives: one tensor for each device that it runs on. A
// single-device program has Values of one part; a parallel program of [Platform.Workers] parts,
// which are equal (replicated) or different (sharded).
type Sharded []*tensors.Tensor

// Replicated gives every worker its own copy of a tensor made by f.
func (p *Platform) Replicated(f func() *tensors.Tensor) Sharded {
	v := make(Sharded, p.Workers)
	for i := range v {
		v[i] = f()
	}
	return v
}

// WorkerNumbers tells each worker which one it is: int32 scalars.
func (p *Platform) WorkerNumbers() Sharded {
	v := make(Sharded, p.Workers)
	for i := range v {
		v[i] = tensors.FromScalar(int32(i))
	}
	return v
}

// Free releases the memory of a value that was not donated.
func (v Sharded) Free() {
	for _, part := range v {
		if part != nil {
			_ = part.FinalizeAll() // nothing can be done about a buffer that does not want to go
		}
	}
}

// Program is a graph compiled for given shapes. The compiled code is shared with all programs of
// the process that are the same.
type Program struct {
	Name string
	// what building the graph took and, if no program was the same, compiling it
	CompileTime time.Duration

	platform *Platform
	graph    *graph.Graph
	inputs   []Input
	parts    int
}

// Input declares an input of a program.
type Input struct {
	Shape shapes.Shape
	// the program may reuse the input's memory for an output of the same shape; the Value is gone
	// afterwards
	Donate bool
}

// Compile compiles a program for one device. build receives the inputs in order and returns the
// outputs. If it panics, the error is one line, which names the innermost function and line of the
// user's code, and what those axes are whose sizes it shows.
func (p *Platform) Compile(name string, inputs []Input, build func(in []*graph.Node) []*graph.Node,
	axes ...Axis) (*Program, error) {
	return p.compile(name, 1, inputs, build, axes)
}

// CompileParallel compiles a program that all workers run at once: the same graph, each on its own
// part of the inputs. What one computes reaches the others by [AllGather].
func (p *Platform) CompileParallel(name string, inputs []Input,
	build func(in []*graph.Node) []*graph.Node, axes ...Axis) (*Program, error) {
	return p.compile(name, p.Workers, inputs, build, axes)
}

func (p *Platform) compile(name string, parts int, inputs []Input,
	build func(in []*graph.Node) []*graph.Node, axes []Axis) (*Program, error) {
	program := &Program{Name: name, platform: p, inputs: inputs, parts: parts}
	backend := &adapter{Backend: p.Backend, kind: p.Kind}
	g := graph.NewGraph(backend, strings.ReplaceAll(name, " ", "_"))
	start := time.Now()
	err := catch(func() {
		if parts > 1 {
			mesh, err := distributed.NewDeviceMesh([]int{parts}, []string{"workers"})
			if err == nil {
				err = g.SetSPMD(mesh)
			}
			if err != nil {
				panic(err)
			}
		}
		in := make([]*graph.Node, len(inputs))
		for i, input := range inputs {
			in[i] = graph.Parameter(g, g.UniqueName("input"), input.Shape)
		}
		out := build(in)
		reuse(backend, inputs, out)
		if err := g.Compile(out...); err != nil {
			panic(err)
		}
	})
	if err != nil {
		at := ""
		// The place comes first: GoNB v0.11.5 crashes over lines of standard error with two colons
		// before "main.go:1".
		if l := (located{}); errors.As(err, &l) {
			at, err = l.at.String()+": ", l.error
		}
		return nil, errors.Errorf("%sprogram %q cannot be compiled: %s", at, name, explain(err, axes))
	}
	program.graph, program.CompileTime = g, time.Since(start)
	return program, nil
}

// reuse gives the memory of each donated input to the first output of its shape that has none yet.
func reuse(backend *adapter, inputs []Input, outputs []*graph.Node) {
	taken := make([]bool, len(outputs))
	for i, input := range inputs {
		for o, output := range outputs {
			if input.Donate && !taken[o] && output.Shape().Equal(input.Shape) {
				backend.alias(i, o)
				taken[o] = true
				break
			}
		}
	}
}

// Run executes the program and waits for it. The outputs are on the program's devices.
func (pr *Program) Run(inputs ...Sharded) (outputs []Sharded, err error) {
	err = catch(func() {
		if err := pr.check(inputs); err != nil {
			panic(err)
		}
		var buffers []compute.Buffer
		var donate []bool
		for part := range pr.parts {
			for i, value := range inputs {
				take := (*tensors.Tensor).Buffer
				if pr.inputs[i].Donate {
					take = (*tensors.Tensor).DonateBuffer
				}
				buffer, err := take(value[part], pr.platform.Backend, compute.DeviceNum(part))
				if err != nil {
					panic(err)
				}
				buffers, donate = append(buffers, buffer), append(donate, pr.inputs[i].Donate)
			}
		}
		flat, err := pr.graph.Executable().Execute(buffers, donate, 0)
		if err != nil {
			panic(err)
		}
		n := len(flat) / pr.parts
		outputs = make([]Sharded, n)
		for i := range outputs {
			for part := range pr.parts {
				tensor, err := tensors.FromBuffer(flat[part*n+i])
				if err != nil {
					panic(err)
				}
				outputs[i] = append(outputs[i], tensor)
			}
		}
	})
	if err != nil {
		return nil, errors.Errorf("program %q failed: %s", pr.Name, explain(err, nil))
	}
	return outputs, nil
}

// check finds inputs that do not fit before any is donated. XLA itself compares no more than their
// sizes.
func (pr *Program) check(inputs []Sharded) error {
	if len(inputs) != len(pr.inputs) {
		return errors.Errorf("it takes %d inputs, not %d", len(pr.inputs), len(inputs))
	}
	for i, value := range inputs {
		if len(value) != pr.parts {
			return errors.Errorf("input %d has %d parts, the program runs on %d devices", i, len(value),
				pr.parts)
		}
		for _, part := range value {
			if !part.Ok() {
				return errors.Errorf("input %d was freed or donated before", i)
			}
			if !part.Shape().Equal(pr.inputs[i].Shape) {
				return errors.Errorf("input %d has shape %s, not %s", i, part.Shape(), pr.inputs[i].Shape)
			}
		}
	}
	return nil
}

// Free releases the compiled code. Other programs that are the same keep it, and for some time it
// is kept for the next one.
func (pr *Program) Free() { pr.graph.Finalize() }

// explain adds to an error what the axes of its shapes are, and the next action to the errors of
// backends that need one.
func explain(err error, axes []Axis) string {
	line := oneLine(err)
	if failure := runtime.Error(nil); !errors.As(err, &failure) { // an index out of range is no shape
		line += meanings(line, axes)
	}
	switch {
	case strings.Contains(line, "not part of the function"),
		strings.Contains(line, "incompatible scopes"):
		line += " (the body of a loop uses a node made outside of it: carry it in the loop's state)"
	case strings.Contains(line, "RESOURCE_EXHAUSTED"), strings.Contains(line, "Out of memory"):
		line += " (the device's memory is full: lower the batch or the slice size)"
	}
	return line
}
