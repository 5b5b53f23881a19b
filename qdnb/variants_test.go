package qdnb_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/random"
)

// crossover takes each parameter from one of two parents and adds noise.
func crossover(parents evolution.Parents, keys random.Key) *Node {
	x1, x2 := parents.Sample(keys.FoldIn(0)), parents.Sample(keys.FoldIn(1)) // [children, params]
	dims := x1.Shape().Dimensions
	coin := keys.FoldIn(2).Uniform(0, 1, dims...)
	mixed := Where(LessThan(coin, ConstAs(coin, 0.5)), x1, x2)
	return Add(mixed, MulScalar(keys.FoldIn(3).Normal(dims...), 0.005))
}

// crossed replaces Iso+LineDD by a crossover.
var crossed = qdnb.Tune(func(h *evolution.MapElites) {
	h.Mix = evolution.Mix{{Emitter: evolution.Stateless(crossover), Of: 1}}
})

// strategies are separable CMA-ES.
func strategies(number int) evolution.Emitter {
	return evolution.StrategySettings{Emitters: number, Sigma0: 0.5}.Emitter()
}

// onGrid fills MAP-Elites' grid by evolution strategies.
var onGrid = qdnb.Tune(func(h *evolution.MapElites) {
	h.Mix = evolution.Mix{{Emitter: strategies(4), Of: 1}}
})

// mixed fills AURORA's archive by policy gradients and evolution strategies.
var mixed = qdnb.Tune(func(h *evolution.MapElites) {
	h.Mix[1] = evolution.Share{Emitter: strategies(2), Of: 0.5}
})

// variant is a small run of an algorithm with custom parts.
func variant(folder, name, algorithm string, parts qdnb.Tuning) qdnb.Spec {
	set := []string{"batch=16", "cells=32", "cvt_samples=500", "hidden=[8]", "episode_length=20"}
	if algorithm == "pga-aurora" {
		set = append(set, "critic_hidden=[8]", "replay_buffer_size=1000", "num_critic_training_steps=4",
			"num_pg_training_steps=3", "transitions_batch_size=16", "capacity=24", "sampling=5", "loop=2",
			"epochs=3", "late_epochs=2", "training_batch=8", "latent=2", "threshold=0.01")
	}
	return qdnb.Spec{
		Algorithm: algorithm, Env: "pointmaze", Seed: 1, Budget: qdnb.Generations(5), Name: name,
		Tune: qdnb.Tuning(runs.Assign(set...)).And(parts), Runs: folder, Backend: "go", Quiet: true,
	}
}

// logged trains a run and prints what it logs besides the metrics of all algorithms.
func logged(spec qdnb.Spec) {
	run := nb.Must(qdnb.Train(context.Background(), spec))
	table := nb.Must(run.Metrics())
	fmt.Println(run.Config.Algorithm, run.Status.Generation, table.Columns[8:len(table.Columns)-1])
}

// A custom variation operator is a function.
func Example_crossover() {
	folder, _ := os.MkdirTemp("", "runs")
	defer os.RemoveAll(folder)
	logged(variant(folder, "crossover", "map-elites", crossed))
	// Output: crossover 5 []
}

// Evolution strategies fill the grid of MAP-Elites, which makes CMA-ME.
func Example_strategies() {
	folder, _ := os.MkdirTemp("", "runs")
	defer os.RemoveAll(folder)
	logged(variant(folder, "cma-me", "map-elites", onGrid))
	// Output: cma-me 5 []
}

// Any emitters share a generation, on any archive.
func Example_mix() {
	folder, _ := os.MkdirTemp("", "runs")
	defer os.RemoveAll(folder)
	logged(variant(folder, "pga-cma-aurora", "pga-aurora", mixed))
	// Output: pga-cma-aurora 5 [critic_loss actor_loss archive_size archive_max_fitness evaluation_steps]
}

// Variants, loops and learners of users are resumed to the bit, drawn, played and trained with several seeds, like any
// algorithm.
func TestVariants(t *testing.T) {
	looping := func(name, backend string) func() qdnb.Spec {
		return func() qdnb.Spec {
			return qdnb.Spec{Name: name, Env: "pointmaze", Backend: backend, Quiet: true, Loop: loops[name]()}
		}
	}
	of := func(name, algorithm string, parts qdnb.Tuning) func() qdnb.Spec {
		return func() qdnb.Spec { return variant("", name, algorithm, parts) }
	}
	for name, spec := range map[string]func() qdnb.Spec{
		"crossover": of("crossover", "map-elites", crossed), "cma-me": of("cma-me", "map-elites", onGrid),
		"pga-cma-aurora":    of("pga-cma-aurora", "pga-aurora", mixed),
		"local-competition": of("local-competition", "map-elites", competing),
		"novelty-ga":        looping("novelty-ga", "go"), "grid-loop": looping("grid-loop", "go"),
		"grid-loop on XLA": looping("grid-loop", qdnb.Device()),
		"rule": func() qdnb.Spec {
			d := defaultDQN()
			d.Batch, d.Buffer, d.Environments, d.Unroll, d.Hidden, d.EpisodeLength = 4, 20, 2, 3, []int{4}, 5
			return qdnb.Spec{Name: "dqn", Environment: cartPole{}, Loop: d, Backend: "go", Quiet: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			sized := func(folder string, generations int) qdnb.Spec {
				spec := spec()
				spec.Runs, spec.Budget = folder, qdnb.Generations(generations)
				return spec
			}
			whole := qdnb.Resumes(t, qdnb.Training(sized), 3, 6)
			other := sized(t.TempDir(), 6)
			other.Seed = 2
			list := []*runs.Run{whole, must.Get(qdnb.Train(t.Context(), other))}
			if slices.Equal(must.Get(whole.Repertoire()).Genotypes, must.Get(list[1].Repertoire()).Genotypes) {
				t.Error("two seeds end the same")
			}
			must.Get(qdnb.Play(t.Context(), whole, qdnb.PlaySpec{Environment: other.Environment, Backend: other.Backend}))
			must.Get(figures.Metrics(list, figures.Evaluations))
			must.Get(figures.Repertoire(whole))
		})
	}
}

// The example discovers running skills, trains a meta-controller that chooses among them to pass
// hurdles, and draws one of its episodes. At the paper's sizes, without Tune, this takes hours.
func ExampleControl() {
	skills := nb.Must(qdnb.Train(context.Background(), qdnb.Spec{
		Algorithm: "map-elites", Env: "halfcheetah-uni", Budget: qdnb.Generations(100),
		Tune: qdnb.Tune(func(h *evolution.MapElites) {
			h.Batch, h.Cells, h.Hidden = 200, 128, []int{64, 64}
		}),
	}))
	run := nb.Must(qdnb.Control(context.Background(), qdnb.ControlSpec{
		Skills: skills, Budget: qdnb.Generations(50),
		Tune: qdnb.Tune(func(h *policies.MetaController) {
			h.NumEnvs, h.BatchSize, h.NumMinibatches, h.LearningRate = 64, 32, 4, 1e-3
		}),
	}))
	recording := nb.Must(qdnb.Play(context.Background(), run, qdnb.PlaySpec{}))
	played := recording.Results[0]
	fmt.Println(played.Fitnesses[0], played.Recorded[0].Choices.Hurdles)
	nb.Check(nb.Must(recording.Trajectories()).Save("episode.pdf"))
}
