package xla

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pkg/errors"

	"example.com/qdnb/internal/npz"
)

// Checkpoint lists the tensors on the devices that a search stores, by their names in files.
// Tensors may be of any type of [Download].
type Checkpoint struct{ entries []entry }

// entry is a tensor of a checkpoint.
type entry struct {
	name    string
	at      *leaf
	devices int     // number of copies
	shared  *Slices // a share per worker instead of copies
	by      string  // see Sparse; "" for others
}

// Add adds the tensors of a state, of which each of the devices has a copy. Their names consist of
// the prefix and of names, in the order of [Flatten]; those with an empty name are not stored. The
// default names are those of [Names].
func (c *Checkpoint) Add(state Holder, devices int, prefix string, names ...string) {
	c.add(state, entry{name: prefix, devices: devices}, names)
}

func (c *Checkpoint) add(state Holder, e entry, names []string) {
	prefix := e.name
	if len(names) == 0 {
		names = state.names()
	}
	for i, name := range names {
		if name != "" {
			e.name, e.at = prefix+name, &state.list()[i]
			c.entries = append(c.entries, e)
		}
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
		if e.shared != nil {
			arrays[e.name], err = e.shared.Download(e.at.value)
		} else if e.by != "" {
			arrays[e.name], err = downloadRows(e.at.value, arrays[e.by])
		} else {
			arrays[e.name], err = Download(e.at.value)
		}
		if err != nil {
			return nil, errors.Errorf("cannot read %s from the device: %v", e.name, err)
		}
	}
	return arrays, nil
}

// Restore replaces the tensors by those that [Checkpoint.Arrays] returned. If one is missing or has
// another shape or type, it returns an error and changes nothing.
func (c *Checkpoint) Restore(arrays map[string]npz.Array) error {
	restored := make([]Sharded, len(c.entries))
	fail := func(err error) error {
		for _, v := range restored {
			v.Free()
		}
		return err
	}
	for i, e := range c.entries {
		got, ok := arrays[e.name]
		want := e.at.shape.Dimensions
		if e.shared != nil {
			want = append([]int{e.shared.N}, want[2:]...)
		}
		if !ok {
			return fail(errors.Errorf("the checkpoint's %s is missing", e.name))
		}
		if !slices.Equal(got.Shape, want) {
			return fail(errors.Errorf("the checkpoint's %s has shape %v, but this run needs %v", e.name,
				got.Shape, want))
		}
		if kind := strings.ToLower(e.at.shape.DType.String()); got.DType() != kind {
			return fail(errors.Errorf("the checkpoint's %s has type %s, but this run needs %s", e.name,
				got.DType(), kind))
		}
		var err error
		if e.shared != nil {
			restored[i], err = e.shared.Upload(got)
		} else {
			restored[i], err = Uploads(got, e.devices)
		}
		if err != nil {
			return fail(errors.Errorf("the checkpoint's %s: %v", e.name, err))
		}
	}
	for i, e := range c.entries {
		e.at.value.Free()
		e.at.value = restored[i]
	}
	return nil
}
