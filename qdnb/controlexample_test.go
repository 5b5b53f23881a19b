package qdnb_test

import (
	"context"
	"fmt"

	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/policies"
)

// The example discovers running skills, trains a meta-controller that chooses among them to pass
// hurdles, and draws one of its episodes. At the paper's sizes, without Tune, this takes hours.
func ExampleControl() {
	skills, err := qdnb.Train(context.Background(), qdnb.Spec{
		Algorithm: "map-elites", Env: "halfcheetah-uni", Budget: qdnb.Generations(100),
		Tune: qdnb.Tune(func(h *evolution.MapElites) {
			h.Batch, h.Cells, h.Hidden = 200, 128, []int{64, 64}
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := qdnb.Control(context.Background(), qdnb.ControlSpec{
		Skills: skills, Budget: qdnb.Generations(50),
		Tune: qdnb.Tune(func(h *policies.MetaController) {
			h.NumEnvs, h.BatchSize, h.NumMinibatches, h.LearningRate = 64, 32, 4, 1e-3
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	recording, err := qdnb.Play(context.Background(), run, qdnb.PlaySpec{})
	if err != nil {
		fmt.Println(err)
		return
	}
	played := recording.Results[0]
	fmt.Println(played.Fitnesses[0], played.Recorded[0].Choices.Hurdles)
	figure, err := recording.Trajectories()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(figure.Save("episode.pdf"))
}
