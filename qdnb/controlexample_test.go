package qdnb_test

import (
	"context"
	"fmt"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/policies"
)

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
