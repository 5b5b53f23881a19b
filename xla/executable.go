package xla

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/distributed"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/must"
)

// Sharded is an input or output of a program: one tensor for each device that the program runs on.
// It has one part for a single-device program and Workers (see [Platform]) parts for a parallel one,
// either equal (replicated) or different (sharded). An input with one part may also be read by all
// workers of a parallel program. They share its memory on CPUs; other devices get a copy for the
// run.
type Sharded []*tensors.Tensor

// Replicated gives every worker its own copy of a tensor made by f.
func (p *Platform) Replicated(f func() *tensors.Tensor) Sharded {
	v := make(Sharded, p.Workers)
	for i := range v {
		v[i] = f()
	}
	return v
}

// WorkerNumbers returns each worker's index: int32 scalars.
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
			_ = part.FinalizeAll() // best effort
		}
	}
}

// executable is the flat form of a [Program]: a graph compiled for given shapes. Equal executables
// of a process share the compiled code.
type executable struct {
	Name string
	// CompileTime is the time to build the graph and, if no equal program existed, to compile it.
	CompileTime time.Duration

	platform *Platform
	graph    *graph.Graph
	inputs   []input
	parts    int
}

// input declares an input of an executable.
type input struct {
	Shape  shapes.Shape
	Donate bool   // see [Program]
	name   string // in errors
}

// compile compiles a graph for one device, or, if parallel is set, for all workers at once. build
// receives the inputs in order and returns the outputs.
func (p *Platform) compile(name string, parallel bool, inputs []input,
	build func(in []*graph.Node) []*graph.Node, axes []Axis) (*executable, error) {
	parts := 1
	if parallel {
		parts = p.Workers
	}
	program := &executable{Name: name, platform: p, inputs: inputs, parts: parts}
	backend := &adapter{Backend: p.Backend, kind: p.Kind}
	g := graph.NewGraph(backend, strings.ReplaceAll(name, " ", "_"))
	start := time.Now()
	err := catch(func() {
		if parts > 1 {
			must.Do(g.SetSPMD(must.Get(distributed.NewDeviceMesh([]int{parts}, []string{"workers"}))))
		}
		nodes := make([]*graph.Node, len(inputs))
		for i, input := range inputs {
			nodes[i] = graph.Parameter(g, g.UniqueName("input"), input.Shape)
		}
		out := build(nodes)
		reuse(backend, inputs, out)
		must.Do(g.Compile(out...))
	})
	if err != nil {
		return nil, misbuilt(err, fmt.Sprintf("program %q cannot be compiled: ", name), axes)
	}
	program.graph, program.CompileTime = g, time.Since(start)
	return program, nil
}

// misbuilt explains an error of code that builds a graph, after its location.
func misbuilt(err error, what string, axes []Axis) error {
	at := ""
	if l := (located{}); errors.As(err, &l) {
		at, err = l.at.String()+": ", l.error
	}
	return errors.New(at + what + explain(err, axes))
}

// reuse gives the memory of each donated input to the first output of its shape that has none yet.
func reuse(backend *adapter, inputs []input, outputs []*graph.Node) {
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

// run executes the program; see [Program.Run].
func (pr *executable) run(inputs ...Sharded) (outputs []Sharded, err error) {
	defer pr.platform.ran(pr.Name, time.Now())
	var lent []compute.Buffer
	err = catch(func() {
		must.Do(pr.check(inputs))
		var buffers []compute.Buffer
		var donate []bool
		for part := range pr.parts {
			for i, value := range inputs {
				var buffer compute.Buffer
				var err error
				switch device := compute.DeviceNum(part); {
				case pr.inputs[i].Donate:
					buffer, err = value[part].DonateBuffer(pr.platform.Backend, device)
				case part < len(value):
					buffer, err = value[part].Buffer(pr.platform.Backend, device)
				default:
					if buffer, err = pr.platform.lend(buffers[i], device); err == nil {
						lent = append(lent, buffer)
					}
				}
				must.Do(err)
				buffers, donate = append(buffers, buffer), append(donate, pr.inputs[i].Donate)
			}
		}
		flat := must.Get(pr.graph.Executable().Execute(buffers, donate, 0))
		n := len(flat) / pr.parts
		outputs = make([]Sharded, n)
		for i := range outputs {
			for part := range pr.parts {
				outputs[i] = append(outputs[i], must.Get(tensors.FromBuffer(flat[part*n+i])))
			}
		}
	})
	for _, buffer := range lent {
		_ = buffer.Finalize() // best effort
	}
	runtime.KeepAlive(inputs) // whose memory was lent
	runtime.KeepAlive(pr)
	if err != nil {
		return nil, fmt.Errorf("program %q failed: %s", pr.Name, explain(err, nil))
	}
	return outputs, nil
}

// check finds unsuitable inputs before any is donated. XLA itself compares only their sizes.
func (pr *executable) check(inputs []Sharded) error {
	if len(inputs) != len(pr.inputs) {
		return fmt.Errorf("it takes %d inputs, not %d", len(pr.inputs), len(inputs))
	}
	for i, value := range inputs {
		if len(value) != pr.parts && (len(value) != 1 || pr.inputs[i].Donate) {
			return fmt.Errorf("input %s has %d parts, the program runs on %d devices", pr.label(i), len(value), pr.parts)
		}
		for _, part := range value {
			if !part.Ok() {
				return fmt.Errorf("input %s was freed or donated before", pr.label(i))
			}
			if !part.Shape().Equal(pr.inputs[i].Shape) {
				return fmt.Errorf("input %s has shape %s, not %s", pr.label(i), part.Shape(), pr.inputs[i].Shape)
			}
		}
	}
	return nil
}

// label is the name of an input in errors. A program's only input has no name.
func (pr *executable) label(i int) string { return cmp.Or(pr.inputs[i].name, strconv.Itoa(i)) }

func (pr *executable) code() *executable { return pr }

// Free gives up the program. Its compiled code stays cached for a while for the next equal one.
func (pr *executable) Free() { pr.graph.Finalize() }

// explain adds the meaning of axis sizes to an error and, for known errors of backends, how to fix
// it.
func explain(err error, axes []Axis) string {
	line, _, _ := strings.Cut(strings.TrimSpace(err.Error()), "\n") // some errors carry a stack
	if failure := runtime.Error(nil); !errors.As(err, &failure) {   // not an index error
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
