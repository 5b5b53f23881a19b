package xlatest

import (
	"bytes"
	"maps"
	"strings"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/npz"
)

// Altered is what a fuzz target makes of the arrays of a checkpoint: those of a text as of [hostile.Archive] take the places of theirs, and
// one that is named "-x" takes x away. It is nil if the text is no archive that can be read.
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
