package xla

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	gomlxxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/go-xla/stablehlo"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/xla/backend"
)

// DryRun returns a platform that needs no device and no plugin. It builds programs as for a kind of
// XLA backend with the given number of devices, hands the text of each one (StableHLO, what the
// compiler would get) to write, compiles nothing, and returns zeros from each run, of which it tells
// write without a text. So the programs of a whole run can be inspected, or compiled ahead of time,
// in seconds.
func DryRun(kind backend.Kind, devices int, write func(name string, text []byte) error) (*Platform, error) {
	if kind != backend.CPU && kind != backend.CUDA && kind != backend.TPU {
		return nil, names.Wrongf("no programs are built for %q: use cpu, cuda or tpu", kind)
	}
	if devices < 1 {
		return nil, names.Wrongf("a dry run needs at least 1 device, not %d", devices)
	}
	// go-xla checks that a backend has a plugin, and guesses the kind of device from its name. TestDryRun
	// fails if it changes these private fields.
	opened, plugin := &gomlxxla.Backend{}, &pjrt.Plugin{}
	*private[string](plugin, "name") = string(kind)
	*private[*pjrt.Plugin](opened, "plugin") = plugin
	*private[int](opened, "numDevices") = devices
	dry := &dryBackend{opened, devices, write}
	return &Platform{Platform: &backend.Platform{Backend: dry, Kind: kind, Workers: devices}}, nil
}

// Zeros returns float32 zeros, for which a dry run takes no memory.
func (p *Platform) Zeros(dims ...int) *tensors.Tensor {
	shape := shapes.Make(dtypes.Float32, dims...)
	if dry, ok := p.Backend.(*dryBackend); ok {
		return must.Get(tensors.FromBuffer(&dryBuffer{dry, shape, 0}))
	}
	return tensors.FromShape(shape)
}

// dryBackend builds programs with go-xla, without a plugin, and holds buffers without data.
type dryBackend struct {
	*gomlxxla.Backend
	devices int
	write   func(name string, text []byte) error
}

// compile hands the text of a program to write.
func (d *dryBackend) compile(b *nestingBuilder, text *stablehlo.Builder) (compute.Executable, error) {
	var all bytes.Buffer
	if err := text.Write(&all); err != nil {
		return nil, err
	}
	if err := d.write(b.Name(), all.Bytes()); err != nil {
		return nil, err
	}
	e := &dryExecutable{backend: d, name: b.Name()}
	for _, of := range []struct {
		values []compute.Value
		shapes *[]shapes.Shape
	}{{b.parameters, &e.inputs}, {b.outputs, &e.outputs}} {
		for _, value := range of.values {
			shape, err := b.OpShape(value)
			if err != nil {
				return nil, err
			}
			*of.shapes = append(*of.shapes, shape)
		}
	}
	return e, nil
}

func (d *dryBackend) Capabilities() compute.Capabilities { return gomlxxla.Capabilities }
func (d *dryBackend) Description() string                { return "dry run" }
func (d *dryBackend) NumDevices() int                    { return d.devices }

func (d *dryBackend) DeviceDescription(device compute.DeviceNum) string {
	return fmt.Sprintf("device %d of a dry run", device)
}

func (d *dryBackend) HasSharedBuffers() bool { return false }

func (d *dryBackend) BufferFromFlatData(device compute.DeviceNum, _ any, shape shapes.Shape) (compute.Buffer, error) {
	return &dryBuffer{d, shape, device}, nil
}

// dryExecutable returns zeros.
type dryExecutable struct {
	backend         *dryBackend
	name            string
	inputs, outputs []shapes.Shape
}

func (e *dryExecutable) Finalize() {}

func (e *dryExecutable) Inputs() (names []string, inputs []shapes.Shape) {
	return make([]string, len(e.inputs)), e.inputs
}

func (e *dryExecutable) Outputs() []shapes.Shape { return e.outputs }

// Execute implements [compute.Executable]: a parallel program has all devices' inputs.
func (e *dryExecutable) Execute(inputs []compute.Buffer, _ []bool,
	_ compute.DeviceNum) (outputs []compute.Buffer, err error) {
	if err := e.backend.write(e.name, nil); err != nil {
		return nil, err
	}
	for device := range len(inputs) / len(e.inputs) {
		for _, shape := range e.outputs {
			outputs = append(outputs, &dryBuffer{e.backend, shape, compute.DeviceNum(device)})
		}
	}
	return outputs, nil
}

// dryBuffer has a shape but no data. It is read as zeros.
type dryBuffer struct {
	backend *dryBackend
	shape   shapes.Shape
	device  compute.DeviceNum
}

func (b *dryBuffer) Backend() compute.Backend              { return b.backend }
func (b *dryBuffer) Finalize() error                       { return nil }
func (b *dryBuffer) Shape() (shapes.Shape, error)          { return b.shape, nil }
func (b *dryBuffer) DeviceNum() (compute.DeviceNum, error) { return b.device, nil }

func (b *dryBuffer) ToFlatData(flat any) error {
	reflect.ValueOf(flat).Clear()
	return nil
}

func (b *dryBuffer) Data() (any, error) { return nil, errors.New("a dry run shares no memory") }

func (b *dryBuffer) CopyToDevice(device compute.DeviceNum) (compute.Buffer, error) {
	return &dryBuffer{b.backend, b.shape, device}, nil
}
