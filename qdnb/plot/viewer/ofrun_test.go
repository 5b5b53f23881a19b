package viewer

import (
	"bytes"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/cell/celltest"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
)

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

// Cells returns as many cells as fit on a page: a hundred for an ant, more for robots with fewer
// bodies.
func TestCellsOfARun(t *testing.T) {
	for env, want := range map[string]int{"ant-omni": 100, "somewhere": 100, "walker-uni": 128} {
		cells := must.Get(Cells(repertoire(t, env, square(20, 2, 3))))
		if len(cells) != want || slices.Min(cells) < 3 || !slices.Contains(cells, 399) {
			t.Errorf("%s: %d cells, want %d with the fittest and none that is empty: %v", env, len(cells),
				want, cells)
		}
	}
	large := repertoire(t, "walker-uni", square(2, 2, 3))
	if n := FilmsWithin(large, PageSize(large, 829)); n != 829 || FilmsWithin(large, 0) != 1 {
		t.Errorf("%d films fit on a page of 829", n)
	}
	few, err := Cells(repertoire(t, "ant-omni", square(2, 2, 1)))
	if err != nil || !slices.Equal(few, []int{1, 2, 3}) {
		t.Errorf("%v, %v", few, err)
	}
	errtest.Want(t, errtest.Of(Cells(nil)), "no run: it is nil")
	errtest.Want(t, errtest.Of(OfRun(nil, nil, nil)), "no run: it is nil")
	errtest.Want(t, errtest.Of(Cells(repertoire(t, "ant-omni", square(2, 2, 4)))), "is empty")
	if _, err := Cells(written(t, "map-elites", "ant-omni", func(*runs.Writer) error { return nil })); err == nil {
		t.Error("got cells without a repertoire")
	}
}

// Two descriptor dimensions give a map, more give a list, and skills without cells give a list of
// skills.
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
		if films != c.films || p.Title != c.says {
			t.Errorf("%s: %d films, %q", c.run.Name(), films, p.Title)
		}
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
	if err := Skill(&scene.Film{}).Show("broken"); err == nil {
		t.Error("a film without frames is shown")
	}
}

// In a notebook a picture precedes the page, for untrusted notebooks.
func TestShowInANotebook(t *testing.T) {
	for name, p := range map[string]*Page{"a map": grid(t, 3, 2, 4), "a film": Skill(crawler(1, 4))} {
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
		if want, _ := p.Frame(); text != want || !strings.HasPrefix(text, "<iframe ") {
			t.Errorf("%s: the page is %.80q", name, text)
		}
	}
}
