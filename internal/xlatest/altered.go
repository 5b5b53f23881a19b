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

// Altered is what a fuzz target makes of the arrays of a checkpoint: those of a text as of
// [hostile.Archive] take the places of theirs, and one that is named "-x" takes x away. It is nil
// if the text is no archive that can be read.
func Altered(whole map[string]npz.Array, text string) map[string]npz.Array {
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

// Bytes is how much arrays hold, about.
func Bytes(arrays map[string]npz.Array) int {
	n := 0
	for _, array := range arrays {
		n += 8 * array.Len()
	}
	return n
}

// Differ names the arrays that are not the same to the bit.
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
		if !slices.Equal(a[name].Shape, b[name].Shape) || !reflect.DeepEqual(bits(a[name]),
			bits(b[name])) {
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

// Restorable is a search whose state is the arrays of a checkpoint.
type Restorable[Outcome any] interface {
	Step() (Outcome, error)
	Arrays() (map[string]npz.Array, error)
	Restore(generation int64, arrays map[string]npz.Array) error
}

// FuzzRestore puts a search, which stands at a generation, where any arrays say: those that the
// texts make of its own, see [Altered], and any others. What it takes it goes on from, and what it
// refuses leaves it as it was.
func FuzzRestore[Outcome any](f *testing.F, s Restorable[Outcome], generation int64,
	texts ...string) {
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
		arrays := Altered(whole, text)
		if arrays == nil {
			return
		}
		defer func() {
			if err := s.Restore(generation, whole); err != nil {
				t.Error(err)
			}
		}()
		hostile.Bounded(t, Bytes(arrays), func() {
			err := s.Restore(at, arrays)
			hostile.Error(t, err)
			after, problem := s.Arrays()
			if problem != nil {
				t.Fatal(problem)
			}
			if err != nil {
				if names := Differ(after, whole); len(names) > 0 {
					t.Errorf("%v, and the search has other %v", err, names)
				}
				return
			}
			_, err = s.Step()
			hostile.Error(t, err)
		})
	})
}
