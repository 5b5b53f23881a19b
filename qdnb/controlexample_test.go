package qdnb_test

import (
	"context"
	"fmt"

	"example.com/qdnb/qdnb"
)

// Skills that run are found, a meta-controller learns which of them leads over hurdles when, and an
// episode of it becomes a figure. At the sizes of the paper, without Set, this takes hours.
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
