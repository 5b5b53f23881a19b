package xla

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/gomlx/compute"
	gomlxxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/xla/backend"
)

// Platform is an open backend with the methods that programs need.
type Platform struct {
	*backend.Platform
	times *runTimes // shared by copies; nil in a dry run
}

// runTimes counts the runs of programs, by name.
type runTimes struct {
	sync.Mutex
	of map[string]RunTime
}

// RunTime is how often a program ran, and how long it ran in all.
type RunTime struct {
	Runs int
	Time time.Duration
}

// RunTimes returns the times of the platform's programs so far, by name; none in a dry run.
func (p *Platform) RunTimes() map[string]RunTime {
	if p.times == nil {
		return nil
	}
	p.times.Lock()
	defer p.times.Unlock()
	return maps.Clone(p.times.of)
}

// ran counts a run of a program that began at start.
func (p *Platform) ran(name string, start time.Time) {
	if p.times == nil {
		return
	}
	p.times.Lock()
	defer p.times.Unlock()
	t := p.times.of[name]
	p.times.of[name] = RunTime{t.Runs + 1, t.Time + time.Since(start)}
}

// Open is [backend.Open].
func Open(ctx context.Context, spec string) (*Platform, error) {
	p, err := backend.Open(ctx, spec)
	if err != nil {
		return nil, err
	}
	return &Platform{p, &runTimes{of: map[string]RunTime{}}}, nil
}

// Copies is the number of devices that keep a copy of what all workers read. On CPUs it is 1: the
// first device keeps it, and the workers share its memory.
func (p *Platform) Copies() int {
	if p.Kind.Accelerator() {
		return p.Workers
	}
	return 1
}

// lend makes a buffer of the first device an input of another one: a view of the same memory on
// XLA:CPU, whose devices are threads, and a copy elsewhere. The buffer must outlive a view.
func (p *Platform) lend(first compute.Buffer, device compute.DeviceNum) (compute.Buffer, error) {
	own, ok := first.(*gomlxxla.Buffer)
	if !ok || p.Kind != backend.CPU {
		return first.CopyToDevice(device)
	}
	view := *own
	held := private[*pjrt.Buffer](&view, "pjrtBuffer")
	if held == nil {
		return first.CopyToDevice(device) // go-xla changed: slower, but correct
	}
	shape, err := own.Shape()
	if err != nil {
		return nil, err
	}
	memory, err := (*held).UnsafePointer()
	if err != nil {
		return nil, fmt.Errorf("the workers cannot share memory: %w", err)
	}
	client := (*held).Client()
	*held, err = client.CreateViewOfDeviceBuffer(memory, shape.DType, shape.Dimensions, client.AddressableDevices()[device])
	if err != nil {
		return nil, fmt.Errorf("the workers cannot share memory: %w", err)
	}
	return &view, nil
}

// SelfTest runs a small program on every worker: nested loops, random keys and an all-gather.
func SelfTest(p *Platform) error {
	worker := Value(p.WorkerNumbers())
	defer worker.Free()
	program, err := CompileParallel(p, "self-test", worker, func(worker Array) Array {
		sum := For(worker.Tree.Graph(), 3, worker.Tree, func(_, x *graph.Node) *graph.Node {
			return For(x.Graph(), 4, x, func(_, x *graph.Node) *graph.Node { return graph.AddScalar(x, 1) })
		})
		return Out(AllGather(sum, worker.Tree, p.Workers))
	})
	if err != nil {
		return err
	}
	defer program.Free()
	out, err := program.Run(worker)
	if err != nil {
		return err
	}
	defer out.Free()
	flat, err := tensors.CopyFlatData[int32](out.Value()[0])
	if err != nil {
		return err
	}
	for i, got := range flat {
		if got != int32(i)+12 {
			return fmt.Errorf("the backend %s computes wrongly: worker %d gave %d, not %d", p.Name(), i, got, i+12)
		}
	}
	return nil
}
