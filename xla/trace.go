package xla

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"reflect"

	"github.com/gomlx/compute"
	gomlxxla "github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla/backend"
)

// Trace hashes the graphs that a part of an algorithm builds, without compiling them and without
// opening a backend. Every graph is built as for XLA:CPU with one worker, whatever backend runs it
// later, and hashed as StableHLO text: operations, static arguments, constants and shapes. Variable
// names, comments, addresses and map order have no effect. Versions of GoMLX and go-xla that build
// other graphs from the same code give other hashes.
type Trace struct{ hash hash.Hash }

// NewTrace returns an empty trace.
func NewTrace() *Trace { return &Trace{sha256.New()} }

// Note hashes plain values that reach no graph, such as a capacity: no pointers, functions or maps.
func (t *Trace) Note(values ...any) {
	for _, value := range values {
		fmt.Fprintf(t.hash, "%T %+v\n", value, value)
	}
}

// TraceGraph hashes the graph of a function of states, of at least one tensor. It returns the
// shapes of the outputs.
func TraceGraph[In, Out any](t *Trace, in In, build func(In) Out) (out Out, err error) {
	dry, err := DryRun(backend.CPU, 1, func(_ string, text []byte) error {
		_, err := t.hash.Write(text)
		return err
	})
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

// Sum returns the hash so far: the first 16 hexadecimal digits of a SHA-256.
func (t *Trace) Sum() string { return hex.EncodeToString(t.hash.Sum(nil)[:8]) }

// unopened is go-xla's backend without a plugin: it builds graphs but cannot run them.
type unopened struct{ *gomlxxla.Backend }

// newUnopened sets the private field by which go-xla checks that a backend is valid, to a plugin of
// the given name, from which go-xla guesses the kind of device. TestTraceOpensNoBackend and
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
