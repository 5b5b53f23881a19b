package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/mujoco/compiler"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
	"example.com/qdnb/internal/npz/atomicfile"
	"example.com/qdnb/internal/progress"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/plot/viewer"
	"example.com/qdnb/qdnb/stats"
	"example.com/qdnb/qdnb/watch"
)

type playCmd struct {
	runArg
	In       string `enum:"mujoco" default:"mujoco" placeholder:"ENGINE"`
	Cell     *int   `placeholder:"N"`
	Episodes int    `default:"64"`
	Out      string `placeholder:"FILE"`
	Seed     int64  `default:"0"`
	JSON     bool   `name:"json"`
	backendFlag
}

// pictures of MuJoCo's renderer.
const pictureWidth, pictureHeight = 480, 360

// Run plays a gait here and in MuJoCo.
func (c *playCmd) Run(ctx context.Context) error {
	run, err := c.find()
	if err != nil {
		return err
	}
	if err := checkName("--out", c.Out, ".gif", ".mp4"); err != nil {
		return err
	}
	if c.Episodes < 2 {
		return names.Wrongf("--episodes must be at least 2, not %d", c.Episodes)
	}
	if c.Cell != nil && *c.Cell < 0 {
		return names.Wrongf("--cell must be at least 0, not %d", *c.Cell)
	}
	bar := progress.NewBar("episodes", c.JSON)
	defer bar.Close()
	var frames []image.Image
	unseen := error(nil) // why MuJoCo shows nothing
	draw := func(p *compiler.Peer) {
		if c.Out == "" || unseen != nil {
			return
		}
		var flat []byte
		if flat, unseen = p.Frame(pictureWidth, pictureHeight); unseen == nil {
			frames = append(frames, picture(flat, pictureWidth, pictureHeight))
		}
	}
	spec := watch.PeerSpec{Cell: -1, Episodes: c.Episodes, Seed: c.Seed, Backend: c.Backend, Progress: counter(bar, "step "),
		Begun: func(p *compiler.Peer) error {
			if c.Out == "" && !c.JSON {
				unseen = p.Show()
			}
			draw(p)
			return nil
		},
		Stepped: func(p *compiler.Peer) error { draw(p); return nil },
	}
	if c.Cell != nil {
		spec.Cell = *c.Cell
	}
	played, err := watch.InMuJoCo(ctx, run, spec)
	if err != nil {
		return err
	}
	bar.Done("played")
	found := comparisonOf(run.Dir, played)
	if c.JSON {
		if err := json.NewEncoder(stdout).Encode(found); err != nil {
			return err
		}
	} else {
		fmt.Fprint(stdout, found)
	}
	if left := leftOut(played.Task); left != "" {
		fmt.Fprintf(os.Stderr, "note: both engines play %s\n", left)
	}
	if unseen != nil {
		fmt.Fprintf(os.Stderr, "note: %s\n", unshown(unseen, c.Out))
	}
	if c.Out != "" && unseen != nil {
		frames, err = framesOf(played.MuJoCo.Film)
	}
	if err != nil || c.Out == "" {
		return err
	}
	size, err := save(c.Out, func(path string) error { return saveMovie(ctx, path, frames, played.MuJoCo.Film.Step) })
	if err == nil && !c.JSON {
		fmt.Fprintf(stdout, "movie          %s (%d kB)\n", c.Out, size/1000)
	}
	return err
}

// leftOut says without which parts of a task both engines play, since MuJoCo lacks them; "" means none.
func leftOut(task envs.RobotTask) string {
	if len(task.Vary) == 0 {
		return ""
	}
	return "without what each episode draws (" + strings.Join(lists.Map(task.Vary, envs.Variation.String), ", ") + ")"
}

// unshown says what helps if MuJoCo cannot draw. The errors of OpenGL are long, and a file is drawn without.
func unshown(why error, out string) string {
	switch {
	case out != "":
		return "MuJoCo cannot draw on this machine: " + out + " is drawn as by `qdnb show`"
	case strings.Contains(why.Error(), "No module named"): // the compiler's package is without the viewer
		return fmt.Sprintf("MuJoCo's viewer is not installed: `python3 -m pip install mujoco==%s` installs it, and "+
			"--out gait.gif writes a file instead", mujoco.Version)
	}
	return fmt.Sprintf("MuJoCo's viewer cannot be opened (%s): --out gait.gif writes a file instead", oneLine(why))
}

// engineStats are the distances in an engine, m, or the fitnesses if the task is to follow commands.
type engineStats struct {
	Mean   float64 `json:"mean"`
	Std    float64 `json:"std"`
	Median float64 `json:"median"`
}

// peerComparison is what `qdnb play --in mujoco` finds.
type peerComparison struct {
	Run      string      `json:"run"`
	Episodes int         `json:"episodes"`
	Measure  string      `json:"measure"` // distance or fitness
	Here     engineStats `json:"here"`
	MuJoCo   engineStats `json:"mujoco"`       // with the contacts of the task
	All      engineStats `json:"all_contacts"` // in MuJoCo, with those of the model
	// Errors are the differences between the means and that here, in standard errors.
	Errors    float64 `json:"standard_errors"`
	AllErrors float64 `json:"all_contacts_standard_errors"`
}

func comparisonOf(dir string, played watch.Compared) peerComparison {
	c := peerComparison{Run: dir, Episodes: len(played.Here.Distances), Measure: "distance"}
	if played.Task.Task == envs.Velocity { // commands lead in all directions, so distances say nothing
		c.Measure = "fitness"
	}
	of := func(w watch.Walked) engineStats {
		values := w.Distances
		if c.Measure == "fitness" {
			values = w.Fitnesses
		}
		return engineStats{stats.Mean(values), stats.Std(values), stats.Median(values)}
	}
	c.Here, c.MuJoCo, c.All = of(played.Here), of(played.Same), of(played.MuJoCo)
	apart := func(s engineStats) float64 {
		spread := math.Sqrt((c.Here.Std*c.Here.Std + s.Std*s.Std) / float64(c.Episodes))
		return (s.Mean - c.Here.Mean) / max(spread, 1e-9)
	}
	c.Errors, c.AllErrors = apart(c.MuJoCo), apart(c.All)
	return c
}

// String prints the distances or fitnesses.
func (c peerComparison) String() string {
	value := "%.2f m"
	if c.Measure == "fitness" {
		value = "fitness %.2f"
	}
	line := func(name string, s engineStats) string {
		return fmt.Sprintf("%-14s "+value+" ± %.2f, median %.2f, in %d episodes\n", name, s.Mean, s.Std, s.Median, c.Episodes)
	}
	difference := func(s engineStats, errors float64, unequal string) string {
		if math.Abs(errors) <= 3 {
			unequal = "equal within the spread"
		}
		return fmt.Sprintf("difference     "+value+", %.1f standard errors: %s\n", s.Mean-c.Here.Mean, math.Abs(errors), unequal)
	}
	text := line("here", c.Here) + line("MuJoCo", c.MuJoCo) +
		difference(c.MuJoCo, c.Errors, "more than the spread: try `qdnb robot FILE --verify`")
	if c.All == c.MuJoCo {
		return text
	}
	return text + line("all contacts", c.All) +
		difference(c.All, c.AllErrors, "the gait touches what the task leaves out; train with --contacts all")
}

// picture makes an image of RGB bytes.
func picture(flat []byte, width, height int) image.Image {
	out := image.NewNRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		copy(out.Pix[4*i:], flat[3*i:3*i+3])
		out.Pix[4*i+3] = 0xff
	}
	return out
}

// framesOf draws the frames of a film.
func framesOf(film *scene.Film) (frames []image.Image, err error) {
	for i := range film.Frames {
		frame, err := scene.Render(film, i, scene.Camera{}, pictureWidth, pictureHeight)
		if err != nil {
			return nil, err
		}
		frames = append(frames, frame)
	}
	return frames, nil
}

// saveMovie writes frames, of which one lasts so many seconds, as a GIF or by ffmpeg.
func saveMovie(ctx context.Context, path string, frames []image.Image, seconds float64) error {
	if strings.EqualFold(filepath.Ext(path), ".gif") {
		return atomicfile.Write(path, func(w io.Writer) error { return viewer.Frames(w, frames, seconds) })
	}
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		return errors.New("an mp4 needs ffmpeg: install it, or name a .gif")
	}
	size := frames[0].Bounds()
	cmd := exec.CommandContext(ctx, ffmpeg, "-y", "-loglevel", "error", "-f", "rawvideo", "-pix_fmt", "rgba", "-s",
		fmt.Sprintf("%dx%d", size.Dx(), size.Dy()), "-r", fmt.Sprint(1/seconds), "-i", "-", "-pix_fmt", "yuv420p", path)
	in, out := io.Pipe()
	cmd.Stdin = in
	go func() {
		for _, frame := range frames {
			if _, err := out.Write(frame.(*image.NRGBA).Pix); err != nil {
				break
			}
		}
		_ = out.Close()
	}()
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("ffmpeg failed: %s", oneLine(errors.New(string(text)+" "+err.Error())))
	}
	return nil
}
