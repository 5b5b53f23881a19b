package xlatest

import (
	"bytes"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/npz"
)

// altered returns the arrays of a checkpoint as altered by a fuzz target. Arrays of the text (see
// [hostile.Archive]) replace those of the same name, and one named "-x" removes x. altered returns
// nil if the text is not a readable archive.
func altered(whole map[string]npz.Array, text string) map[string]npz.Array {
	archive := hostile.Archive(text)
	r, err := npz.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return nil
	}
	others, err := r.ReadAll()
	if err != nil {
		return nil
	}
	arrays := maps.Clone(whole)
	for name, array := range others {
		if away, ok := strings.CutPrefix(name, "-"); ok {
			delete(arrays, away)
		} else {
			arrays[name] = array
		}
	}
	return arrays
}

// size returns the approximate size of arrays in bytes.
func size(arrays map[string]npz.Array) int {
	n := 0
	for _, array := range arrays {
		n += 8 * array.Len()
	}
	return n
}

// Differ returns the names of the arrays that are not bit-identical.
func Differ(a, b map[string]npz.Array) (names []string) {
	bits := func(x npz.Array) any {
		if data, ok := x.Data.([]float32); ok { // NaN is not equal to itself
			words := make([]uint32, len(data))
			for i, v := range data {
				words[i] = math.Float32bits(v)
			}
			return words
		}
		return x.Data
	}
	for name := range a {
		if !slices.Equal(a[name].Shape, b[name].Shape) || !reflect.DeepEqual(bits(a[name]), bits(b[name])) {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Restorable is a search that saves and restores its state as the arrays of a checkpoint.
type Restorable[Outcome any] interface {
	Step() (Outcome, error)
	Arrays() (map[string]npz.Array, error)
	Restore(generation int64, arrays map[string]npz.Array) error
}

// FuzzRestore restores a search at the given generation from arrays: the search's own as altered by
// texts, see [altered], and arbitrary ones. The search must be able to resume from arrays that it
// accepts, and arrays that it rejects must leave its state unchanged.
func FuzzRestore[Outcome any](f *testing.F, s Restorable[Outcome], generation int64, texts ...string) {
	f.Helper()
	whole, err := s.Arrays()
	if err != nil {
		f.Fatal(err)
	}
	for _, text := range texts {
		f.Add(generation, text)
	}
	for _, other := range []int64{math.MaxInt64, math.MaxInt32, -1 << 62} {
		f.Add(other, "")
		f.Add(other, "nobody <f4 1, 1")
	}
	f.Fuzz(func(t *testing.T, at int64, text string) {
		arrays := altered(whole, text)
		if arrays == nil {
			return
		}
		defer func() {
			if err := s.Restore(generation, whole); err != nil {
				t.Error(err)
			}
		}()
		hostile.Bounded(t, size(arrays), func() {
			err := s.Restore(at, arrays)
			hostile.Error(t, err)
			after, problem := s.Arrays()
			if problem != nil {
				t.Fatal(problem)
			}
			if err != nil {
				if names := Differ(after, whole); len(names) > 0 {
					t.Errorf("%v, but it changed the search's %v", err, names)
				}
				return
			}
			_, err = s.Step()
			hostile.Error(t, err)
		})
	})
}
