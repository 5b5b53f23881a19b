package qdnb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/random"
)

// Runs of several seeds are those that train alone, also after interruptions, after one of them was
// trained alone, and when one joins later.
func TestSeedsTrainedTogetherEqualSeedsTrainedAlone(t *testing.T) {
	for algorithm, backend := range map[string]string{"pga-map-elites": "go", "map-elites": device()} {
		t.Run(algorithm, func(t *testing.T) {
			spec := smallOf(algorithm, t.TempDir(), 6)
			spec.Backend, spec.KeepReplay = backend, true
			var alone []*runs.Run
			for _, spec.Seed = range []int64{7, 8, 9} {
				alone = append(alone, train(t, spec))
			}
			spec.Runs = t.TempDir()
			interrupted := func(seeds ...int64) {
				ctx, cancel := context.WithCancel(background)
				cancel()
				if _, err := TrainSeeds(ctx, spec, seeds...); !errors.Is(err, ErrInterrupted) ||
					!strings.Contains(err.Error(), "rerun the same command to resume") {
					t.Fatalf("stopped seeds: %v", err)
				}
			}
			interrupted(7, 8)
			interrupted(7, 8)
			for range 3 { // alone
				spec.Seed = 8
				stopped(t, spec)
			}
			interrupted(7, 8, 9)
			together := must.Get(TrainSeeds(background, spec, 7, 8, 9))
			for i, run := range together {
				sameEnd(t, run.Name(), run, alone[i])
				if s := run.Status; run.Name() != alone[i].Name() || !s.Finished || s.Generation != 6 ||
					s.Seconds <= 0 || s.Seconds < s.CPUSeconds/100 {
					t.Errorf("%s: %+v", run.Dir, s)
				}
			}
		})
	}
}

// Complete runs are left out. A run that another process trains is an error.
func TestSeedsOfOneCommand(t *testing.T) {
	spec := small(t.TempDir(), 3)
	first := train(t, spec) // seed 1
	config := must.Get(small(spec.Runs, 3).Config())
	config.Seed = 3
	writer, err := runs.Create(spec.Runs, config)
	must.Do(err)
	rest, err := TrainSeeds(background, spec, 1, 3, 2)
	errtest.Want(t, err, "seed 3: "+writer.Dir+" is being trained by process")
	if len(rest) != 2 || rest[1].Config.Seed != 2 || !rest[1].Status.Finished {
		t.Errorf("%v", rest)
	}
	must.Do(writer.Discard())
	all, err := TrainSeeds(background, spec, 1, 2, 3)
	if err != nil || len(all) != 3 || all[0].Status.Updated != first.Status.Updated ||
		all[2].Config.Seed != 3 || !all[2].Status.Finished {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := TrainSeeds(background, spec, 1, 2, 1); err == nil || err.Error() != "seed 1 is given twice" {
		t.Errorf("a seed twice: %v", err)
	}
}

// unlucky is an emitter whose loss is infinite if the number that it drew at the start is negative.
type unlucky struct {
	evolution.Stateless
	Drawn *Node
}

func (u unlucky) Init(_ evolution.Start, key random.Key) evolution.Emitter {
	u.Drawn = Reshape(key.Normal(1))
	return u
}

func (u unlucky) Update(evolution.Generation, random.Key) (evolution.Emitter, []evolution.Metric) {
	return u, []evolution.Metric{{Name: "loss", Value: Inverse(MaxScalar(u.Drawn, 0))}}
}

// A seed that diverges, or whose run is damaged, does not keep the others from training.
func TestSeedsThatFail(t *testing.T) {
	spec := small(t.TempDir(), 3)
	config := must.Get(spec.Config())
	config.Seed = 2
	damaged := filepath.Join(spec.Runs, config.Name())
	must.Do(os.MkdirAll(damaged, 0o777))
	must.Do(os.WriteFile(filepath.Join(damaged, "config.json"), []byte("{"), 0o666))
	seeds := func(found []*runs.Run) (list []int64) {
		for _, run := range found {
			if run.Status.Finished {
				list = append(list, run.Config.Seed)
			}
		}
		return list
	}
	found, err := TrainSeeds(background, spec, 1, 2, 3)
	errtest.Want(t, err, "seed 2: "+damaged)
	if !slices.Equal(seeds(found), []int64{1, 3}) {
		t.Errorf("%v of the seeds 1 to 3 are trained", seeds(found))
	}
	spec.Name, spec.Tune = "unlucky", spec.Tune.And(emitting(unlucky{
		Stateless: func(p evolution.Parents, keys random.Key) *Node { return p.Sample(keys) }}))
	found, err = TrainSeeds(background, spec, 1, 2, 3)
	errtest.Want(t, err, "seed 1, seed 3: loss is +Inf in generation 0")
	if !slices.Equal(seeds(found), []int64{2}) {
		t.Errorf("%v of the seeds 1 to 3 are trained, though 2 alone does not diverge", seeds(found))
	}
	must.Do(os.WriteFile(filepath.Join(found[0].Dir, "status.json"), []byte("{"), 0o666))
	_, err = TrainSeeds(background, spec, 3, 2)
	errtest.Want(t, err, "seed 3: loss is +Inf", "; seed 2: "+found[0].Dir)
}

// Time limits are shared: the runs' times add up to the limit. The same spec finds each of them
// complete.
func TestSeedsShareTime(t *testing.T) {
	for _, spec := range []Spec{small(t.TempDir(), 0), smallDiscovery("diayn-reward", t.TempDir(), 2)} {
		spec.Budget = runs.Budget{Time: 600 * time.Millisecond}
		all := nb.Must(TrainSeeds(background, spec, 1, 2, 3))
		again := nb.Must(TrainSeeds(background, spec, 1, 2, 3))
		for i, run := range all {
			s := run.Status
			if s.Budget.Time != 200*time.Millisecond || s.Seconds < 0.2 || !s.Finished {
				t.Errorf("%+v", s)
			}
			spec.Seed = run.Config.Seed
			loaded, err := Load(spec)
			if err != nil || train(t, spec).Status.Updated != s.Updated ||
				again[i].Status.Updated != s.Updated || loaded.Dir != run.Dir {
				t.Errorf("seed %d was trained again, or %v", spec.Seed, err)
			}
		}
	}
}
