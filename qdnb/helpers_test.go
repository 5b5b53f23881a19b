package qdnb

import (
	"context"

	"example.com/qdnb/qdnb/plot/figures"
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

// trajectories plays a recorded episode of cells and draws their trajectories.
func trajectories(run *runs.Run, s PlaySpec) (*figures.Figure, error) {
	recording, err := Play(background, run, s)
	if err != nil {
		return nil, err
	}
	return recording.Trajectories()
}
