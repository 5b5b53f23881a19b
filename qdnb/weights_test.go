package qdnb

import (
	"bytes"
	"math"
	"path/filepath"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/exchange"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/policies"
)

// Fresh starts are the default, which a configuration does not name. A run with fixed starts has
// other scores.
func TestStarts(t *testing.T) {
	folder := t.TempDir()
	spec := func(starts string) Spec {
		s := smallOf("pga-map-elites", folder, 3)
		s.Tune = more(s.Tune, "starts="+starts)
		return s
	}
	fresh := train(t, spec("fresh"))
	if plain := train(t, smallOf("pga-map-elites", folder, 3)); plain.Name() != fresh.Name() {
		t.Errorf("%s and %s differ", plain.Name(), fresh.Name())
	}
	run := train(t, spec("3"))
	if run.Name() == fresh.Name() || bytes.Equal(repertoireBytes(t, run), repertoireBytes(t, fresh)) {
		t.Errorf("%s and %s have the same repertoire", run.Name(), fresh.Name())
	}
	for _, wrong := range []string{"0", "-1", "many", "1.5", "1048577"} {
		errtest.Want(t, errtest.Of(Train(background, spec(wrong))), "starts")
	}
	for _, algorithm := range []string{"aurora", "pga-aurora"} {
		s := smallOf(algorithm, folder, 3)
		s.Tune = more(s.Tune, "starts=3")
		errtest.Want(t, errtest.Of(Train(background, s)), "the same initial state")
	}
}

// A run with weights of bfloat16 has other scores than one without, and is
// played with the same weights.
func TestWeights(t *testing.T) {
	spec := func(weights, folder string) Spec {
		s := small(folder, 3)
		s.Tune = more(s.Tune, "weights="+weights)
		return s
	}
	folder := t.TempDir()
	run := train(t, spec("bfloat16", folder))
	if exact := train(t, spec("float32", folder)); exact.Name() == run.Name() ||
		bytes.Equal(repertoireBytes(t, run), repertoireBytes(t, exact)) {
		t.Errorf("%s and %s have the same repertoire", run.Name(), exact.Name())
	}
	set := nb.Must(policies.Select(run, nil, nil))
	file := filepath.Join(t.TempDir(), "policy.npz")
	nb.Must(exchange.Export(run, exchange.ExportSpec{Out: file}))
	for _, w := range nb.Must(npz.Read(file))["layer_0.kernel"].Data.([]float32) {
		if math.Float32bits(w)&0xffff != 0 {
			t.Fatalf("the weight %g is exported, which is not a bfloat16", w)
		}
	}
	errtest.Equal(t, "weights of what is played", nb.Must(set.Task(envs.Pointmaze{})).Weights, "bfloat16")
}
