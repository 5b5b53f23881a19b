package evolution_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/random"
)

// A custom variation operator: uniform crossover, which takes each parameter from one of two parents.
func ExampleStateless() {
	crossover := evolution.Stateless(func(parents evolution.Parents, keys random.Key) *graph.Node {
		a, b := parents.Sample(keys.FoldIn(0)), parents.Sample(keys.FoldIn(1))
		coin := keys.FoldIn(2).Uniform(0, 1, a.Shape().Dimensions...)
		return graph.Where(graph.LessThan(coin, graph.ConstAs(coin, 0.5)), a, b)
	})

	p, err := xla.Open(context.Background(), "go")
	if err != nil {
		log.Fatal(err)
	}
	env := envs.Pointmaze{}
	h := evolution.DefaultMapElites(env.Spec())
	h.Batch, h.Cells, h.CVTSamples, h.Hidden, h.EpisodeLength = 20, 4, 100, []int{8}, 50
	h.Mix = evolution.Mix{{Emitter: crossover, Of: 1}}
	search, err := h.New(p, env, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer search.Close()
	for range 3 {
		outcome, err := search.Step()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("generation %d: %d cells, %d invalid\n", outcome.Generation, len(outcome.Fitnesses), outcome.Invalid)
	}
	// Output:
	// generation 0: 4 cells, 0 invalid
	// generation 1: 4 cells, 0 invalid
	// generation 2: 4 cells, 0 invalid
}
