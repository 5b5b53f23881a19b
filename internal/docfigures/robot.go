package main

import (
	"cmp"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"io"
	"os"
	"slices"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/qdnb"
	"example.com/qdnb/qdnb/algorithms/evolution"
	"example.com/qdnb/qdnb/algorithms/ite"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/plot/viewer"
	"example.com/qdnb/qdnb/runs"
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

// walker is a run of the Go1, whose gaits are judged by fresh episodes: what an archive has of a gait is the luckiest of
// many.
type walker struct {
	ctx context.Context
	env *envs.Rigid
	run *runs.Run
}

// Seeds of initial states: gaits are selected by some, shown in others, and tried in yet others.
const selecting, showing, trying = 1, 2, 3

func (w walker) play(seed int64, cells []int, episodes int, under envs.Conditions) (*qdnb.Recording, error) {
	return qdnb.Play(w.ctx, w.run, qdnb.PlaySpec{Environment: w.env, Cells: cells, Conditions: under, Episodes: episodes,
		Seed: seed, Record: seed == showing})
}

// repertoire returns that of the run with the medians of eight fresh episodes as fitnesses.
func (w walker) repertoire() (*runs.Repertoire, error) {
	repertoire, err := w.run.Repertoire()
	if err != nil {
		return nil, err
	}
	played, err := w.play(selecting, repertoire.Filled(), 8, nil)
	if err != nil {
		return nil, err
	}
	for _, result := range played.Results {
		repertoire.Fitnesses[result.Number] = float32(result.Median())
	}
	return repertoire, nil
}

// film returns the first seconds of the median of 63 episodes, with a caption.
func (w walker) film(cell int, under envs.Conditions, seconds float64, caption string) (pictures []image.Image, err error) {
	played, err := w.play(showing, []int{cell}, 63, under)
	if err != nil {
		return nil, err
	}
	films, err := played.Films()
	if err != nil {
		return nil, err
	}
	slices.SortFunc(films, func(a, b *scene.Film) int { return cmp.Compare(a.Outcome.Fitness, b.Outcome.Fitness) })
	film := films[len(films)/2]
	fmt.Fprintf(os.Stderr, "%s: cell %d, %.2f m in the median of %d episodes\n", caption, cell, film.Outcome.Fitness,
		len(films))
	for i := 0; float64(i)*film.Step < seconds; i += everyFrame {
		picture, err := scene.Render(film, min(i, len(film.Frames)-1), scene.Camera{}, 600, 380)
		if err != nil {
			return nil, err
		}
		pictures = append(pictures, captioned(picture, caption))
	}
	return pictures, nil
}

// captioned writes a line of text into a picture. Shades that differ by less than 8 of 256 become one, which makes the file
// half as large.
func captioned(picture image.Image, text string) image.Image {
	size := vg.Point{X: vg.Length(picture.Bounds().Dx()), Y: vg.Length(picture.Bounds().Dy())}
	canvas := vgimg.NewWith(vgimg.UseWH(size.X, size.Y), vgimg.UseDPI(72)) // a point is a pixel
	canvas.DrawImage(vg.Rectangle{Max: size}, picture)
	canvas.SetColor(color.Black)
	sans := font.DefaultCache.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, 22)
	canvas.FillString(sans, vg.Point{X: 16, Y: size.Y - 32}, text)
	whole := image.NewRGBA(picture.Bounds())
	draw.Draw(whole, whole.Bounds(), canvas.Image(), image.Point{}, draw.Src)
	for i, value := range whole.Pix {
		whole.Pix[i] = value&^7 | value>>5 // white stays white
	}
	return whole
}

// everyFrame is how many control steps a frame of the animation lasts.
const everyFrame = 4

// ownRobot shows the Go1 walking, losing a leg, and walking again with the gait that trial and error finds.
func ownRobot(ctx context.Context, folder string) (saver, error) {
	env, err := envs.RobotTask{Name: "go1"}.Environment(robots.Go1())
	if err != nil {
		return nil, err
	}
	run, err := qdnb.Train(ctx, qdnb.Spec{Algorithm: "map-elites", Environment: env, Budget: qdnb.Generations(400),
		Runs: folder, Tune: qdnb.Tune(func(h *evolution.MapElites) {
			h.Batch, h.Cells, h.Hidden = 256, 1024, []int{32}
		}).And(qdnb.Tune(func(e *evolution.IsoLineEmitter) { e.IsoSigma, e.LineSigma = 0.05, 0.1 }))})
	if err != nil {
		return nil, err
	}
	w := walker{ctx, env, run}
	repertoire, err := w.repertoire()
	if err != nil {
		return nil, err
	}
	limp := envs.Conditions{envs.ActuatorsMultiplier: {0}}
	settings := ite.Default()
	settings.Length, settings.Trials = 0.15, 40 // of a thousand gaits a few survive the loss of a leg
	trials, err := ite.Search(repertoire, settings, func(cell int) (float64, error) {
		played, err := w.play(trying, []int{cell}, 5, limp)
		if err != nil {
			return 0, err
		}
		return played.Results[0].Median(), nil
	})
	if err != nil {
		return nil, err
	}
	found := slices.MaxFunc(trials, func(a, b ite.Trial) int { return cmp.Compare(a.Fitness, b.Fitness) })
	out := animation{seconds: everyFrame * env.System.ControlStep()}
	for _, part := range []struct {
		cell    int
		under   envs.Conditions
		seconds float64
		caption string
	}{
		{repertoire.Best(), nil, 3.4, "the best of its gaits"},
		{repertoire.Best(), limp, 2.5, "the right front leg breaks"},
		{found.Cell, limp, 3.9, fmt.Sprintf("after %d trials: another gait", len(trials))},
	} {
		pictures, err := w.film(part.cell, part.under, part.seconds, part.caption)
		if err != nil {
			return nil, err
		}
		out.pictures = append(out.pictures, pictures...)
	}
	return out, nil
}
