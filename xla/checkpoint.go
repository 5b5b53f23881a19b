package xla

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/npz"
)

// Checkpoint lists the tensors on the devices that a search stores, by their names in files.
// Tensors may be of any type of [Download].
type Checkpoint struct{ entries []entry }

// entry is a tensor of a checkpoint.
type entry struct {
	name    string
	at      *leaf
	devices int          // number of copies
	shared  *Slices      // a share per worker instead of copies
	by      string       // see Sparse; "" for others
	host    *host        // instead of a tensor, see Host
	owner   reflect.Type // see owners
}

// host stores and restores a value of the host.
type host struct {
	store   func() npz.Array
	restore func(npz.Array)
}

// Host adds a value of the host, an *int64, a *float64 or a *[]float64 of constant length.
func (c *Checkpoint) Host(name string, value any) {
	var h host
	switch x := value.(type) {
	case *int64:
		h = host{func() npz.Array { return npz.Scalar(*x) }, func(a npz.Array) { *x = a.Data.([]int64)[0] }}
	case *float64:
		h = host{func() npz.Array { return npz.Scalar(*x) }, func(a npz.Array) { *x = a.Data.([]float64)[0] }}
	case *[]float64:
		h = host{func() npz.Array { return npz.Of(slices.Clone(*x)) },
			func(a npz.Array) { *x = slices.Clone(a.Data.([]float64)) }}
	default:
		panic(fmt.Errorf("a checkpoint cannot hold a %T: use *int64, *float64 or *[]float64", value))
	}
	c.entries = append(c.entries, entry{name: name, host: &h})
}

// Stored lists states, given by pointers, and values of the host, see [Checkpoint.Host], with names
// made from their numbers: the state of a small search.
func Stored(values ...any) *Checkpoint {
	c := &Checkpoint{}
	for i, v := range values {
		if state, ok := v.(Holder); ok {
			c.Add(state, 1, fmt.Sprint(i, "."))
		} else {
			c.Host(fmt.Sprint(i), v)
		}
	}
	return c
}

// Add adds the tensors of a state, of which each of the devices has a copy. Their names consist of
// the prefix and of names, in the order of [Flatten]; those with an empty name are not stored. The
// default names are those of [Names]. More names than tensors panic.
func (c *Checkpoint) Add(state Holder, devices int, prefix string, names ...string) {
	c.add(state, entry{name: prefix, devices: devices}, names)
}

func (c *Checkpoint) add(state Holder, e entry, names []string) {
	prefix, i := e.name, 0
	state.visit(func(path string, owner reflect.Type, node *graph.Node) *graph.Node {
		name := strings.TrimPrefix(path, ".") // "" of a single array
		if i < len(names) {
			name = names[i]
		}
		if len(names) == 0 || i < len(names) && name != "" {
			e.name, e.at, e.owner = prefix+name, &(*state.held())[i], owner
			c.entries = append(c.entries, e)
		}
		i++
		return node
	})
	if i < len(names) {
		panic(fmt.Errorf("%d names for %d tensors", len(names), i))
	}
}

// AddSliced adds the tensors of a state [turns, slice, ...] that the workers share. They are stored
// as [n, ...], so that another number of workers can restore them.
func (c *Checkpoint) AddSliced(state Holder, shared Slices, prefix string, names ...string) {
	c.add(state, entry{name: prefix, devices: shared.Workers, shared: &shared}, names)
}

// Sparse says that row k of a float32 matrix means nothing where element k of a float32 vector,
// which was added too, is -Inf. [Checkpoint.Arrays] leaves such rows zero and does not copy them.
func (c *Checkpoint) Sparse(matrix, by string) {
	for i := range c.entries {
		if c.entries[i].name == matrix {
			c.entries[i].by = by
		}
	}
}

// Arrays copies the tensors to the host.
func (c *Checkpoint) Arrays() (map[string]npz.Array, error) {
	arrays := map[string]npz.Array{}
	// rows are selected by arrays that are copied before
	selected := func(a, b entry) int { return cmp.Compare(len(a.by), len(b.by)) }
	for _, e := range slices.SortedStableFunc(slices.Values(c.entries), selected) {
		var err error
		if e.host != nil {
			arrays[e.name] = e.host.store()
			continue
		}
		if e.shared != nil {
			arrays[e.name], err = e.shared.Download(e.at.value)
		} else if e.by != "" {
			arrays[e.name], err = downloadRows(e.at.value, arrays[e.by])
		} else {
			arrays[e.name], err = Download(e.at.value)
		}
		if err != nil {
			return nil, fmt.Errorf("cannot read %s from the device: %v", e.name, err)
		}
	}
	return arrays, nil
}

// Unknown returns an error if there are arrays that the checkpoint does not list. A state that is
// created late would be stored and never restored.
func (c *Checkpoint) Unknown(arrays map[string]npz.Array) error {
	for _, name := range slices.Sorted(maps.Keys(arrays)) {
		if !slices.ContainsFunc(c.entries, func(e entry) bool { return e.name == name }) {
			return fmt.Errorf("the checkpoint has %s, which State did not list before the first Step: create the whole "+
				"state in New", name)
		}
	}
	return nil
}

// NaN names the first of the arrays with a NaN in the state of a part, such as an emitter or an archive,
// and the type of the part; "" if there is none. The state of environments may have some.
func (c *Checkpoint) NaN(arrays map[string]npz.Array) string {
	for _, e := range c.entries {
		x, _ := arrays[e.name].Data.([]float32)
		if e.owner != nil && slices.ContainsFunc(x, func(x float32) bool { return x != x }) {
			return fmt.Sprintf("%s of %v", e.name, e.owner)
		}
	}
	return ""
}

// Restore replaces the tensors by those that [Checkpoint.Arrays] returned. If one is missing or
// unknown, or has another shape or type, it returns an error and changes nothing.
func (c *Checkpoint) Restore(arrays map[string]npz.Array) error {
	if err := c.Unknown(arrays); err != nil {
		return err
	}
	restored := make([]Sharded, len(c.entries))
	for i, e := range c.entries {
		got, ok := arrays[e.name]
		err := e.fits(got, ok)
		switch {
		case err != nil || e.host != nil:
		case e.shared != nil:
			restored[i], err = e.shared.Upload(got)
		default:
			restored[i], err = Uploads(got, e.devices)
		}
		if err != nil {
			for _, v := range restored {
				v.Free()
			}
			return fmt.Errorf("the checkpoint's %s %w", e.name, err)
		}
	}
	for i, e := range c.entries {
		if e.host != nil {
			e.host.restore(arrays[e.name])
			continue
		}
		e.at.value.Free()
		e.at.value = restored[i]
	}
	return nil
}

// fits returns an error, which continues the name of an entry, if an array cannot be restored as it.
func (e entry) fits(got npz.Array, given bool) error {
	var shape []int
	var dtype string
	if e.host != nil {
		stored := e.host.store()
		shape, dtype = stored.Shape, stored.DType()
	} else {
		shape, dtype = e.at.shape.Dimensions, strings.ToLower(e.at.shape.DType.String())
	}
	if e.shared != nil {
		shape = append([]int{e.shared.N}, shape[2:]...)
	}
	switch {
	case !given:
		return errors.New("is missing")
	case !slices.Equal(got.Shape, shape):
		return fmt.Errorf("has shape %v, but this run needs %v", got.Shape, shape)
	case got.DType() != dtype:
		return fmt.Errorf("has type %s, but this run needs %s", got.DType(), dtype)
	}
	return got.Check()
}
