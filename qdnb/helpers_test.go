package qdnb

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/registry"
	"example.com/qdnb/qdnb/algorithms/repertoire"
	"example.com/qdnb/qdnb/algorithms/skills"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
)

// background is the context of calls that are not interrupted.
var background = context.Background()

// more returns a tuning that makes assignments after another one.
func more(tune Tuning, assignments ...string) Tuning {
	return tune.And(runs.Assign(assignments...))
}

// films plays recorded episodes and returns their films.
func films(run *runs.Run, s PlaySpec) ([]*scene.Film, error) {
	s.Record = true
	recording, err := Play(background, run, s)
	if err != nil {
		return nil, err
	}
	return recording.Films()
}

// finishedRun returns a finished run with random policies: three skills, or if the algorithm is
// map-elites, three or four cells, the second of which is empty.
func finishedRun(t *testing.T, root, algorithm, env string, seed int64, cells int) *runs.Run {
	t.Helper()
	return finishedRunOn(t, root, algorithm, nb.Must(envs.Make(env)).Spec(), seed, cells)
}

// finishedRunOn is [finishedRun] on any environment.
func finishedRunOn(t *testing.T, root, algorithm string, spec envs.Spec, seed int64, cells int) *runs.Run {
	t.Helper()
	random := rand.New(rand.NewPCG(uint64(cells), 0))
	draw := func(n int) (row []float32) {
		for range n {
			row = append(row, float32(random.NormFloat64()/2))
		}
		return row
	}
	config := nb.Must(runs.NewConfig(algorithm, spec.Name, seed,
		map[string]any{"hidden": []int{8}, "episode_length": 20}))
	run := must.Get(runs.Import(root, config, func(w *runs.Writer) error {
		if algorithm == "map-elites" {
			params := runs.Row([]int{spec.Observations, 8, spec.Actions})
			r := &runs.Repertoire{
				Params: params, Dims: 2, Genotypes: draw(cells * params),
				Fitnesses:   []float32{1, float32(math.Inf(-1)), 2, 3}[:cells],
				Descriptors: draw(2 * cells), Centroids: draw(2 * cells),
				Lower: spec.Descriptor.Lower, Upper: spec.Descriptor.Upper,
			}
			if err := w.SaveRepertoire(r); err != nil {
				return err
			}
		} else {
			s := &runs.Skills{Observations: spec.Observations, Actions: spec.Actions, Count: 3, Hidden: []int{8}}
			s.Policy = draw(runs.Row(s.Sizes()))
			if err := w.SaveSkills(s); err != nil {
				return err
			}
		}
		return w.SaveStatus(runs.Status{Finished: true, Budget: Generations(1)})
	}))
	return run
}

// emitting returns a tuning that replaces the emitters of an algorithm by one.
func emitting(e evolution.Emitter) Tuning {
	return Tune(func(h *evolution.MapElites) { h.Mix = evolution.Mix{{Emitter: e, Of: 1}} })
}

// archiving returns a tuning that replaces the archive of an algorithm.
func archiving(a repertoire.Archive) Tuning {
	return Tune(func(h *evolution.MapElites) { h.Archive = a })
}

// skilled returns a tuning that replaces parts of a reinforcement-learning algorithm; nil keeps one.
func skilled(p skills.Parts) Tuning {
	return Tune(func(h *skills.Parts) {
		h.Diversity, h.Objective = cmp.Or(p.Diversity, h.Diversity), cmp.Or(p.Objective, h.Objective)
	})
}

// defaultAurora is the archive of AURORA on pointmaze.
func defaultAurora() repertoire.Aurora {
	entry := must.Get(registry.Find("aurora"))
	return entry.Defaults(envs.Pointmaze{}.Spec()).(*evolution.MapElites).Archive.(repertoire.Aurora)
}
