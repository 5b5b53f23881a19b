package main

import (
	"cmp"
	"context"
	"image"
	"io"
	"slices"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/ite"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/plot/viewer"
)

// animation is a sequence of pictures, of which one lasts so many seconds.
type animation struct {
	pictures []image.Image
	seconds  float64
}

// Save writes a GIF.
func (a animation) Save(path string) error {
	return atomicfile.Write(path, func(w io.Writer) error { return viewer.Frames(w, a.pictures, a.seconds) })
}

// ownRobot shows the Go1 walking, losing a leg, and walking again with the gait that trial and error finds.
func ownRobot(ctx context.Context, folder string) (saver, error) {
	env, err := envs.RobotTask{Name: "go1"}.Environment(robots.Go1())
	if err != nil {
		return nil, err
	}
	run, err := qdnb.Train(ctx, qdnb.Spec{Algorithm: "map-elites", Environment: env, Budget: qdnb.Generations(80), Runs: folder,
		Tune: qdnb.Tune(func(h *evolution.MapElites) {
			h.Batch, h.Cells, h.Hidden = 256, 1024, []int{32}
		}).And(qdnb.Tune(func(e *evolution.IsoLineEmitter) { e.IsoSigma, e.LineSigma = 0.05, 0.1 }))})
	if err != nil {
		return nil, err
	}
	repertoire, err := run.Repertoire()
	if err != nil {
		return nil, err
	}
	limp := envs.Conditions{envs.ActuatorsMultiplier: {0}}
	play := func(cell, episodes int, under envs.Conditions) (*qdnb.Recording, error) {
		return qdnb.Play(ctx, run, qdnb.PlaySpec{Environment: env, Cells: []int{cell}, Conditions: under, Episodes: episodes,
			Record: true})
	}
	trials, err := ite.Search(repertoire, ite.Default(), func(cell int) (float64, error) {
		played, err := play(cell, 3, limp)
		if err != nil {
			return 0, err
		}
		return played.Results[0].Median(), nil
	})
	if err != nil {
		return nil, err
	}
	found := slices.MaxFunc(trials, func(a, b ite.Trial) int { return cmp.Compare(a.Fitness, b.Fitness) })
	const every = 4 // frames
	out := animation{seconds: every * env.System.ControlStep()}
	for _, part := range []struct {
		cell    int
		under   envs.Conditions
		seconds float64
	}{{repertoire.Best(), nil, 3}, {repertoire.Best(), limp, 2}, {found.Cell, limp, 4}} {
		played, err := play(part.cell, 5, part.under)
		if err != nil {
			return nil, err
		}
		films, err := played.Films()
		if err != nil {
			return nil, err
		}
		// the episode whose fitness is the median
		slices.SortFunc(films, func(a, b *scene.Film) int { return cmp.Compare(a.Outcome.Fitness, b.Outcome.Fitness) })
		film := films[len(films)/2]
		for i := 0; float64(i)*film.Step < part.seconds; i += every {
			picture, err := scene.Render(film, min(i, len(film.Frames)-1), scene.Camera{}, 440, 280)
			if err != nil {
				return nil, err
			}
			out.pictures = append(out.pictures, picture)
		}
	}
	return out, nil
}
