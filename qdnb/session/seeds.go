package session

import (
	"context"

	"example.com/qdnb/qdnb/runs"
)

// TrainSeeds trains runs that differ only in their seeds one after the other, as [Train] trains each
// of them. Options i belongs to training i. Time limits are for all runs and divided equally; the
// other limits are for each. All but the first find their programs compiled, and do not repeat what
// [progress.Bar.Once] says.
func TrainSeeds(ctx context.Context, options []Options, trainings []Training) ([]*runs.Run, error) {
	found := make([]*runs.Run, len(options))
	said := map[string]bool{}
	for i, o := range options {
		o.seeds, o.said = len(options), said
		var err error
		if found[i], err = Train(ctx, o, trainings[i]); err != nil {
			return nil, err
		}
	}
	return found, nil
}
