package registry

import (
	"maps"
	"slices"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/qdnb/algorithms"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/records"
)

// Every algorithm has one preset and one record.
func TestPresetsHaveRecords(t *testing.T) {
	errtest.Equal(t, "the presets", slices.Sorted(maps.Keys(presets)), slices.Sorted(slices.Values(records.Names())))
	presets["unrecorded"] = presets["dns"]
	defer delete(presets, "unrecorded")
	errtest.Want(t, errtest.Of(Find("unrecorded")), `"unrecorded" has a preset, but no record`)
	sac := presets["sac"]
	delete(presets, "sac")
	defer func() { presets["sac"] = sac }()
	errtest.Want(t, errtest.Of(Find("sac")), `"sac" has a record, but no preset`)
}

func TestSecondPresetPanics(t *testing.T) {
	defer func() {
		errtest.Equal(t, "a second preset", recover(), `algorithm "dns" has two presets: rename one`)
	}()
	byName(evolution.Algorithms, []algorithms.Entry{{Record: records.Record{Name: "dns"}}})
}
