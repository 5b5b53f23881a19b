package xla

import (
	"fmt"
	"reflect"

	"github.com/gomlx/compute"
	gomlxxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/backend"
)

// Trace builds the graph of a function of states, of at least one tensor, without compiling it and
// without opening a backend. It returns the shapes of the outputs.
func Trace[In, Out any](in In, build func(In) Out) (out Out, err error) {
	dry, err := DryRun(backend.CPU, 1, func(string, []byte) error { return nil })
	if err != nil {
		return out, err
	}
	inputs, flat := flatten(in, build, &out)
	_, err = dry.compile("trace", false, inputs, func(in []*graph.Node) []*graph.Node {
		if results := flat(in); len(results) > 0 {
			return results
		}
		return in[:1] // a graph needs an output
	}, nil)
	return out, err
}

// unopened is go-xla's backend without a plugin: it builds graphs but cannot run them.
type unopened struct{ *gomlxxla.Backend }

// newUnopened sets the private field by which go-xla checks that a backend is valid, to a plugin of
// the given name, from which go-xla guesses the kind of device. TestPlacesInCellsStartLines and
// TestDryRun fail if go-xla changes these fields.
func newUnopened(plugin string, devices int) unopened {
	backend := &gomlxxla.Backend{}
	private := func(of reflect.Value, name string, kind reflect.Kind) reflect.Value {
		field := of.Elem().FieldByName(name)
		if !field.IsValid() || field.Kind() != kind {
			panic(fmt.Errorf("this version of go-xla has no field %s: xla/trace.go must follow it", name))
		}
		return reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem()
	}
	field := private(reflect.ValueOf(backend), "plugin", reflect.Pointer)
	field.Set(reflect.New(field.Type().Elem()))
	private(field, "name", reflect.String).SetString(plugin)
	private(reflect.ValueOf(backend), "numDevices", reflect.Int).SetInt(int64(devices))
	return unopened{backend}
}

func (unopened) Capabilities() compute.Capabilities { return gomlxxla.Capabilities }

// Description implements [compute.Backend]; the embedded one would ask the plugin.
func (unopened) Description() string { return "go-xla without a plugin" }
