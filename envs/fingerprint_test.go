package envs_test

import (
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
)

// The fingerprint is part of the names of existing runs in a user's environment. It may change with
// GoMLX or go-xla, never with names in this module.
func TestFingerprintIsThatOfExistingRuns(t *testing.T) {
	got, err := envs.Fingerprint(environment(t, "pointmaze"))
	if want := "61dd102aae7307c8"; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}

// Objectives have a fingerprint of their own, which other algorithms do not need.
func TestFingerprintOfObjectives(t *testing.T) {
	task := envs.RastriginMulti(4)
	prints := func() [2]string {
		whole := must.Get(envs.Fingerprint(task))
		objectives := must.Get(envs.FingerprintObjectives(task))
		return [2]string{whole, objectives}
	}
	before := prints()
	if again := prints(); again != before {
		t.Errorf("%q, then %q", before, again)
	}
	task.Facts.Objectives[0].Lowest--
	if after := prints(); after[0] != before[0] || after[1] == before[1] {
		t.Errorf("another reference point: %q, not %q", after, before)
	}
}
