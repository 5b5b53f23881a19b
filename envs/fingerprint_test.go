package envs_test

import (
	"testing"

	"example.com/qdnb/envs"
)

// The fingerprint is part of the names of existing runs in a user's environment. It may change with
// GoMLX or go-xla, never with names in this module.
func TestFingerprintIsThatOfExistingRuns(t *testing.T) {
	got, err := envs.Fingerprint(environment(t, "pointmaze"))
	if want := "61dd102aae7307c8"; err != nil || got != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
