package qdnb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/registry"
)

// swarmSettings are settings that a run of the swarm may have, if its algorithm has them.
var swarmSettings = []string{"weights=bfloat16", "starts=3", "memory=4", "slice=3", "batch=12", "front_size=4",
	"continuous_skills=2", "fix_alpha=false", "num_skills=2", "hidden=[4]", "episode_length=15", "isoline_share=0.25",
	"evaluation_interval=4", "grad_updates_per_step=1", "reward_scaling=2", "extinction_every=3", "strategy=sep-cma-es"}

// drawnRun draws the spec of a run without a folder.
func drawnRun(draw *rand.Rand) Spec {
	algorithm := Algorithms()[draw.IntN(len(Algorithms()))]
	spec := smallRun(algorithm, "", 3+draw.IntN(10))
	for _, setting := range swarmSettings {
		with := spec
		with.Tune = more(spec.Tune, setting)
		if _, err := with.Config(); err == nil && draw.IntN(2) == 0 {
			spec = with
		}
	}
	faults := []string{"reward", "state", "observation", "done", "infinity"}
	if fault := draw.IntN(3 * len(faults)); fault < len(faults) && !must.Get(registry.Find(algorithm)).NeedsGradients() {
		spec.Env, spec.Environment = "", faulty{plane{"faulty"}, faults[fault], 0.09, 2}
	}
	return spec
}

// However a run is interrupted, extended or damaged, it ends with the bytes of an undisturbed one. A seed
// draws the algorithm, its settings, the faults of its environment, and what happens to the run:
// QDNB_SWARM=SEED tries that one again, and QDNB_LONG=1 tries three hundred.
func TestSwarm(t *testing.T) {
	first, last := uint64(1), uint64(4)
	if os.Getenv("QDNB_LONG") != "" {
		last = 300
	}
	if seed := os.Getenv("QDNB_SWARM"); seed != "" {
		first = must.Get(strconv.ParseUint(seed, 10, 64))
		last = first
	}
	for seed := first; seed <= last; seed++ {
		t.Run(fmt.Sprintf("QDNB_SWARM=%d", seed), func(t *testing.T) {
			draw := rand.New(rand.NewPCG(seed, 0))
			spec, folder := drawnRun(draw), t.TempDir()
			t.Logf("%s with %s", spec.Algorithm, must.Get(spec.Config()).Hyperparameters)
			undisturbed, generations := spec, int(spec.Budget.Generations)
			undisturbed.Runs = t.TempDir()
			whole := train(t, undisturbed)
			spec.Runs, spec.KeepReplay = folder, true
			for range 1 + draw.IntN(4) {
				switch states := must.Get(filepath.Glob(filepath.Join(folder, "*", "checkpoints", "state-*"))); draw.IntN(3) {
				case 0:
					t.Log("interrupted after a generation")
					ctx, cancel := context.WithCancel(background)
					cancel()
					if _, err := Train(ctx, spec); err != nil && !errors.Is(err, ErrInterrupted) {
						t.Fatal(err)
					}
				case 1:
					if len(states) > 1 {
						t.Log("the newest checkpoint is damaged")
						must.Do(os.Truncate(slices.Max(states), 1000))
					}
				case 2:
					part := spec
					part.Budget = Generations(draw.IntN(generations + 1))
					t.Logf("trained to %v", part.Budget)
					train(t, part)
				}
			}
			run, err := Train(background, spec)
			if err != nil || !bytes.Equal(finished(t, run), finished(t, whole)) {
				t.Errorf("it ends differently: %v", err)
			}
		})
	}
}
