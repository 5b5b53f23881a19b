package viewer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/gif"
	"image/png"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/cell/celltest"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
)

// FuzzFilm makes pages of arbitrary films: it gets either an error or a page.
func FuzzFilm(f *testing.F) {
	for _, frames := range []int{1, 3} {
		f.Add(string(must.Get(json.Marshal(crawler(frames, frames)))))
	}
	one := func(pose string) string {
		return `{"Bodies":[{"Shapes":[{"Radius":1e-300}]}],` +
			`"Frames":[[{"Rotation":[1e-300,0,0,0]}],[` + pose + `]],"Step":1e-300}`
	}
	f.Add(one(`{"Position":[1e308,-1e308,1e308],"Rotation":[1e308,1e308,0,0]}`))
	f.Add(one(`{"Position":[-1.7e308,1.7e308,0],"Rotation":[5e-324,0,0,0]}`))
	f.Add(`{"Title":"</script>\u0000","Bodies":[{}],"Frames":[[{"Rotation":[1,0,0,0]}]],` + `"Step":1,"Rewards":[1e308]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var film scene.Film
		if json.Unmarshal([]byte(text), &film) != nil {
			return
		}
		if film.Check() != nil || len(film.Frames)*len(film.Bodies) > 200 {
			return
		}
		hostile.Bounded(t, len(text)+len(bundle), func() {
			_, err := Skill(&film).HTML()
			hostile.Error(t, err)
		})
	})
}

// crawler returns a film of a robot as large as an ant, on a trajectory determined by number.
func crawler(number, frames int) *scene.Film {
	red, blue := color.NRGBA{R: 200, G: 60, B: 20, A: 255}, color.NRGBA{R: 30, G: 110, B: 180, A: 255}
	f := &scene.Film{
		Title: fmt.Sprintf("crawler, cell %d", number), Subtitle: "fitness −1.5 & more", Step: 0.05,
		Ground: true,
		Outcome: &scene.Outcome{Fitness: -0.5 - float64(number),
			Descriptor: []float64{1, float64(number) / 10}, Archived: number%6 == 0},
		Bodies: []scene.Body{
			{Name: "torso", Shapes: []scene.Shape{{Kind: scene.Capsule, Radius: 0.25,
				Color: color.NRGBA{R: 90, G: 100, B: 110, A: 255}}}},
			{Name: "wall", Fixed: true, Pose: scene.Pose{Position: scene.Vec{2, 2, 0}, Rotation: scene.Quat{1}},
				Shapes: []scene.Shape{{Kind: scene.Box, A: scene.Vec{0, 0, 0}, B: scene.Vec{0.3, 3, 0.5},
					Color: color.NRGBA{R: 190, G: 185, B: 170, A: 255}}}},
		},
	}
	const legs = 4
	hip := func(leg int) scene.Vec { // in the frame of the torso
		sin, cos := math.Sincos(math.Pi/4 + math.Pi/2*float64(leg))
		return scene.Vec{0.2 * cos, 0.2 * sin, 0}
	}
	for leg := range legs {
		for part, length := range []float64{0.28, 0.57} {
			c := red
			if leg%2 == 1 {
				c = blue
			}
			joint := &scene.Joint{Parent: 2*leg + part, InParent: scene.Vec{0.14},
				InBody: scene.Vec{-length / 2}} // the knee
			if part == 0 {
				joint = &scene.Joint{InBody: scene.Vec{-length / 2}, InParent: hip(leg)}
			}
			f.Bodies = append(f.Bodies, scene.Body{Name: fmt.Sprintf("leg %d part %d", leg, part),
				Joint: joint,
				Shapes: []scene.Shape{{Kind: scene.Capsule, A: scene.Vec{-length / 2, 0, 0},
					B: scene.Vec{length / 2, 0, 0}, Radius: 0.08, Color: c}}})
		}
	}
	random := rand.New(rand.NewPCG(uint64(number), 1))
	heading := float64(number) * 0.9
	at := scene.Vec{0, 0, 0.6}
	for t := range frames {
		yaw := heading + 0.3*math.Sin(0.05*float64(t))
		at[0] += 0.04 * math.Cos(yaw)
		at[1] += 0.04 * math.Sin(yaw)
		at[2] = 0.6 + 0.05*math.Sin(0.7*float64(t)) + 0.002*random.NormFloat64()
		torso := scene.Pose{Position: at, Rotation: about(scene.Vec{0, 0, 1}, yaw)}
		frame := []scene.Pose{torso}
		for leg := range legs {
			out := math.Pi/4 + math.Pi/2*float64(leg) + yaw + 0.4*math.Sin(0.8*float64(t)+float64(leg)) + 0.02*random.NormFloat64()
			down := 0.9 + 0.3*math.Cos(0.8*float64(t)+float64(leg))
			upper := about(scene.Vec{0, 0, 1}, out)
			lower := times(upper, about(scene.Vec{0, 1, 0}, down))
			hip := plus(at, turn(torso.Rotation, hip(leg)))
			knee := plus(hip, turn(upper, scene.Vec{0.28, 0, 0}))
			give := scene.Vec{0.003 * random.NormFloat64(), 0.003 * random.NormFloat64(), 0}
			frame = append(frame, scene.Pose{Position: plus(plus(hip, turn(upper, scene.Vec{0.14, 0, 0})), give), Rotation: upper},
				scene.Pose{Position: plus(knee, turn(lower, scene.Vec{0.285, 0, 0})), Rotation: lower})
		}
		f.Frames, f.Rewards = append(f.Frames, frame), append(f.Rewards, 0.5)
	}
	f.Rewards[0] = 0
	return f
}

func about(axis scene.Vec, angle float64) scene.Quat {
	s := math.Sin(angle / 2)
	return scene.Quat{math.Cos(angle / 2), axis[0] * s, axis[1] * s, axis[2] * s}
}

func times(a, b scene.Quat) scene.Quat {
	return scene.Quat{
		a[0]*b[0] - a[1]*b[1] - a[2]*b[2] - a[3]*b[3], a[0]*b[1] + a[1]*b[0] + a[2]*b[3] - a[3]*b[2],
		a[0]*b[2] - a[1]*b[3] + a[2]*b[0] + a[3]*b[1], a[0]*b[3] + a[1]*b[2] - a[2]*b[1] + a[3]*b[0],
	}
}

func turn(q scene.Quat, v scene.Vec) scene.Vec { return scene.Pose{Rotation: q}.At(v) }

func plus(a, b scene.Vec) scene.Vec { return scene.Vec{a[0] + b[0], a[1] + b[1], a[2] + b[2]} }

// rolling is a film of a ball that rolls along x for some frames, 0.1 s apart.
func rolling(frames int, paint color.NRGBA) *scene.Film {
	f := &scene.Film{Title: "ball", Ground: true, Step: 0.1, Bodies: []scene.Body{{
		Name: "ball", Shapes: []scene.Shape{{Radius: 2, Color: paint}},
		Pose: scene.Pose{Rotation: scene.Quat{1}},
	}}}
	for i := range frames {
		f.Frames = append(f.Frames, []scene.Pose{{Position: scene.Vec{float64(i), 0, 2}, Rotation: scene.Quat{1}}})
	}
	return f
}

func TestGIF(t *testing.T) {
	red, blue := color.NRGBA{R: 220, A: 255}, color.NRGBA{B: 220, A: 255}
	films := []*scene.Film{rolling(21, red), rolling(5, blue), rolling(21, red), rolling(21, blue), rolling(21, red)}
	var file, again bytes.Buffer
	calls := 0
	a := Animation{Width: 40, Height: 30,
		Progress: func(done, all int) {
			if calls++; done != calls || all != 26 {
				t.Errorf("progress: %d of %d at call %d", done, all, calls)
			}
		}}
	must.Do(GIF(&file, films, a))
	found := must.Get(gif.DecodeAll(bytes.NewReader(file.Bytes())))
	size := found.Image[0].Bounds().Size()
	if len(found.Image) != 26 || size.X != 160 || size.Y != 60 || found.LoopCount != 0 || calls != 26 {
		t.Errorf("%d frames of %v, loop count %d, %d calls", len(found.Image), size, found.LoopCount, calls)
	}
	total := 0
	for _, delay := range found.Delay {
		total += delay
	}
	errtest.Equal(t, "duration of the frames", total, 208)
	// shows tells whether a tile has red and blue pixels.
	shows := func(frame, left, top int) (red, blue bool) {
		for x := left; x < left+40; x++ {
			for y := top; y < top+30; y++ {
				r, _, b, _ := found.Image[frame].At(x, y).RGBA()
				red, blue = red || r > 2*b, blue || b > 2*r
			}
		}
		return red, blue
	}
	// The cameras follow the balls; the last film is in the second row.
	for frame := range found.Image {
		for i, want := range [][2]bool{{true, false}, {false, true}, {true, false}, {false, true},
			{true, false}, {false, false}} {
			red, blue := shows(frame, i%4*40, i/4*30)
			errtest.Equal(t, fmt.Sprintf("frame %d, tile %d: red and blue", frame, i), fmt.Sprint(red, blue),
				fmt.Sprint(want[0], want[1]))
		}
	}
	a.Progress = nil
	if err := GIF(&again, films, a); err != nil || !bytes.Equal(file.Bytes(), again.Bytes()) {
		t.Errorf("the same films give another file: %v", err)
	}
	errtest.Equal(t, "frames of ten seconds, of which five are shown", framesOf([]*scene.Film{rolling(101, red)}), 63)
	path := filepath.Join(t.TempDir(), "a.gif")
	must.Do(SaveGIF(path, films, a))
	if data, err := os.ReadFile(path); err != nil || !bytes.Equal(data, file.Bytes()) {
		t.Errorf("the saved file differs: %v", err)
	}
}

// Equal pictures in succession are one frame that lasts longer.
func TestFramesThatStandStill(t *testing.T) {
	var file bytes.Buffer
	var pictures []image.Image
	for _, shade := range []color.Color{color.Black, color.Black, color.Black, color.White} {
		picture := image.NewGray(image.Rect(0, 0, 2, 2))
		draw.Draw(picture, picture.Rect, image.NewUniform(shade), image.Point{}, draw.Src)
		pictures = append(pictures, picture)
	}
	must.Do(Frames(&file, pictures, 0.08))
	if delays := must.Get(gif.DecodeAll(&file)).Delay; !slices.Equal(delays, []int{24, 8}) {
		t.Errorf("the frames last %d hundredths of a second", delays)
	}
}

func TestGIFMistakes(t *testing.T) {
	ball := rolling(3, color.NRGBA{R: 1, A: 255})
	still := rolling(0, color.NRGBA{R: 1, A: 255})
	for want, c := range map[string]struct {
		films []*scene.Film
		a     Animation
	}{
		"at least one film":              {nil, Animation{}},
		"without frames":                 {[]*scene.Film{still}, Animation{}},
		"film 1: scene: the film is nil": {[]*scene.Film{ball, Best(nil)}, Animation{}},
		"use 16 to":                      {[]*scene.Film{ball}, Animation{Width: 3}},
		"too large": {[]*scene.Film{rolling(1000, color.NRGBA{R: 1, A: 255})},
			Animation{Width: 4000, Height: 4000}},
	} {
		var file bytes.Buffer
		if err := GIF(&file, c.films, c.a); err == nil || !strings.Contains(err.Error(), want) || file.Len() > 0 {
			t.Errorf("%v, and %d bytes; want %q", err, file.Len(), want)
		}
	}
}

// written returns the folder of a run, trained or not.
func written(t *testing.T, algorithm, env string, save func(*runs.Writer) error) *runs.Run {
	t.Helper()
	config := must.Get(runs.NewConfig(algorithm, env, 0, map[string]int{"episode_length": 250}))
	w := must.Get(runs.Create(t.TempDir(), config))
	must.Do(save(w))
	must.Do(w.Close())
	return must.Get(runs.Open(w.Dir))
}

// square returns a repertoire of n by n cells, all filled but the first few.
func square(n, dims, empty int) *runs.Repertoire {
	r := &runs.Repertoire{Params: 1, Dims: dims}
	for range dims {
		r.Lower, r.Upper = append(r.Lower, 0), append(r.Upper, 1)
	}
	for i := range n * n {
		at := make([]float32, dims)
		at[0], at[1] = (float32(i%n)+0.5)/float32(n), (float32(i/n)+0.5)/float32(n)
		r.Centroids, r.Descriptors = append(r.Centroids, at...), append(r.Descriptors, at...)
		fitness := float32(i)
		if i < empty {
			fitness = float32(math.Inf(-1))
		}
		r.Fitnesses, r.Genotypes = append(r.Fitnesses, fitness), append(r.Genotypes, 0)
	}
	return r
}

func repertoire(t *testing.T, env string, r *runs.Repertoire) *runs.Run {
	t.Helper()
	return written(t, "map-elites", env, func(w *runs.Writer) error { return w.SaveRepertoire(r) })
}

func films(n int) (list []*scene.Film) {
	for k := range n {
		list = append(list, crawler(k, 2))
	}
	return list
}

// Cells returns as many cells as fit on a page: a hundred for an ant, more for robots with fewer bodies.
func TestCellsOfARun(t *testing.T) {
	for env, want := range map[string]int{"ant-omni": 100, "somewhere": 100, "walker-uni": 128} {
		cells := must.Get(Cells(repertoire(t, env, square(20, 2, 3))))
		if len(cells) != want || slices.Min(cells) < 3 || !slices.Contains(cells, 399) {
			t.Errorf("%s: %d cells, want %d with the fittest and none that is empty: %v", env, len(cells), want, cells)
		}
	}
	large := repertoire(t, "walker-uni", square(2, 2, 3))
	errtest.Equal(t, "films that fit on pages", fmt.Sprint(FilmsWithin(large, PageSize(large, 829)), FilmsWithin(large, 0)),
		"829 1")
	few, err := Cells(repertoire(t, "ant-omni", square(2, 2, 1)))
	if err != nil || !slices.Equal(few, []int{1, 2, 3}) {
		t.Errorf("%v, %v", few, err)
	}
	errtest.Want(t, errtest.Of(Cells(nil)), "no run: it is nil")
	errtest.Want(t, errtest.Of(OfRun(nil, nil, nil)), "no run: it is nil")
	errtest.Want(t, errtest.Of(Cells(repertoire(t, "ant-omni", square(2, 2, 4)))), "is empty")
	errtest.Want(t, errtest.Of(Cells(written(t, "map-elites", "ant-omni", func(*runs.Writer) error { return nil }))),
		"has no repertoire.npz yet")
}

// Two descriptor dimensions give a map, more give a list, and skills without cells give a list of skills.
func TestPagesOfRuns(t *testing.T) {
	flat, deep := repertoire(t, "ant-omni", square(3, 2, 1)), repertoire(t, "ant-uni", square(3, 4, 1))
	skilled := written(t, "diayn", "ant-uni", func(w *runs.Writer) error {
		s := &runs.Skills{Observations: 1, Actions: 1, Count: 2, Which: []int{0, 1, 1},
			Fitnesses: []float32{1, 2, 4}, Descriptors: []float32{0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1}}
		sizes := s.Sizes()
		for i := range len(sizes) - 1 {
			s.Policy = append(s.Policy, make([]float32, (sizes[i]+1)*sizes[i+1])...)
		}
		return w.SaveSkills(s)
	})
	for _, c := range []struct {
		run   *runs.Run
		cells []int
		films int
		says  string // in the page, or in the error
		fails bool
	}{
		{run: flat, cells: []int{4, 8}, films: 2, says: "MAP-Elites on ant-omni"},
		{run: deep, cells: []int{4, 8}, films: 2, says: "MAP-Elites on ant-uni"},
		{run: skilled, films: 2, says: "DIAYN on ant-uni"},
		{run: flat, cells: []int{4, 8}, films: 1, says: "1 films of 2 cells", fails: true},
		{run: flat, cells: []int{0}, films: 1, says: "cell 0", fails: true},
		{run: deep, cells: []int{0}, films: 1, says: "cell 0, which is empty", fails: true},
		{run: skilled, films: 3, says: "3 films of the 2 skills", fails: true},
		{run: flat, films: 3, says: "skills", fails: true},
	} {
		p, err := OfRun(c.run, c.cells, films(c.films))
		if c.fails {
			errtest.Want(t, err, c.says)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.run.Name(), err)
			continue
		}
		films := 0
		for _, e := range p.entries {
			if e.Film != nil {
				films++
			}
		}
		errtest.Equal(t, c.run.Name(), fmt.Sprint(films, p.Title), fmt.Sprint(c.films, c.says))
	}
}

// Outside a notebook a page is a file.
func TestShowSavesAPage(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "new")
	t.Setenv(cell.FolderVariable, folder)
	p := Skill(crawler(1, 3))
	must.Do(p.Show("skill"))
	page, err := os.ReadFile(filepath.Join(folder, "skill.html"))
	if err != nil || string(page) != string(must.Get(p.HTML())) {
		t.Errorf("%d bytes, %v", len(page), err)
	}
	errtest.Want(t, Skill(&scene.Film{}).Show("broken"), "a film without frames")
}

// In a notebook a picture precedes the page, for untrusted notebooks, and the run follows it.
func TestShowInANotebook(t *testing.T) {
	for name, p := range map[string]*Page{"a map": grid(t, 3, 2, 4), "a film": Skill(crawler(1, 4))} {
		cell.Complete() // other tests
		cell.Uses("runs/a-0-1a2b3c4d", 1)
		outputs := celltest.Displayed(t, func() error { return p.Show("page") })
		errtest.Equal(t, name, len(outputs), 2)
		data, _ := outputs[0].Data[protocol.MIMEImagePNG].([]byte)
		picture, err := png.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		size, _ := outputs[0].Metadata["image/png"].(map[string]int)
		if b := picture.Bounds(); b.Dx() != int(float64(size["width"])*dense+0.5) && b.Dx() != int(
			float64(size["width"])*dense) || size["height"] != posterHeight {
			t.Errorf("%s: a picture of %v is shown at %v", name, b, size)
		}
		if n := colours(t, data, 0, 0, picture.Bounds().Dx(), picture.Bounds().Dy()); n < 20 {
			t.Errorf("%s: the picture has %d colours", name, n)
		}
		text, _ := outputs[1].Data[protocol.MIMETextHTML].(string)
		frame, _ := p.Frame()
		if end, ok := strings.CutPrefix(text, frame); !ok || !strings.Contains(end, ">run 1a2b3c4d<") {
			t.Errorf("%s: the page is %.80q, and %s follows", name, text, end)
		}
	}
}
