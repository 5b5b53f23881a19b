package qdnb

import (
	"context"

	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/watch"
)

// PlaySpec configures [Play]: which skills or cells to play, in what environment, and how often. It
// plays one recorded episode of all skills, or of the best cell, if it is empty.
type PlaySpec = watch.Spec

// Recording holds the episodes that [Play] played: the fitness and descriptor of each, and of
// recorded episodes the trajectories and films.
type Recording = watch.Recording

// Play plays episodes with skills of a run, in the run's environment or in another one. For a run
// of [Control] it plays the meta-controller. The results of a skill do not depend on the other
// skills that are played.
func Play(ctx context.Context, run *runs.Run, s PlaySpec) (*Recording, error) {
	return watch.Play(ctx, run, s)
}
