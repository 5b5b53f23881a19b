package qdnb_test

import (
	"context"
	"fmt"

	"example.com/qdnb/qdnb"
)

// The example discovers running skills, trains a meta-controller that chooses among them to pass
// hurdles, and draws one of its episodes. At the paper's sizes, without Set, this takes hours.
func ExampleControl() {
	skills, err := qdnb.Train(qdnb.Spec{
		Algorithm: "map-elites", Env: "halfcheetah-uni", Budget: qdnb.Generations(100),
		Set: []string{"batch=200", "cells=128", "hidden=64,64"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := qdnb.Control(context.Background(), qdnb.ControlSpec{
		Skills: skills, Budget: qdnb.Generations(50),
		Set: []string{"num_envs=64", "batch_size=32", "num_minibatches=4", "learning_rate=1e-3"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	episode, err := qdnb.Watch(run, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(episode.Fitness, episode.Hurdles)
	figure, err := episode.Figure()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(figure.Save("episode.pdf"))
}
