package docfigures

import (
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"example.com/qdnb/qdnb/plot/figures"
)

// pages are the figures: those of tables, and those of what runs on this machine.
var pages = []struct {
	file string // below docs
	runs bool
	draw func(program) (*figures.Figure, error)
}{
	{"performance.png", false, performance},
	{"trust.png", false, trust},
	{"scale.png", false, scale},
	{"accelerators.png", false, accelerators},
	{"adaptation.png", false, adaptation},
	{"determinism.png", true, determinism},
	{"faults.png", true, faults},
	{"reference/doctor.png", true, doctor},
	{"guides/verify.png", true, verified},
}

// maxBytes limits a figure in the repository.
const maxBytes = 120_000

func TestFiguresOfPages(t *testing.T) {
	t.Chdir("../..")
	p := program{t.Context(), filepath.Join(t.TempDir(), "qdnb"), t.TempDir()}
	write := os.Getenv("QDNB_DOCS") != ""
	if write {
		build := exec.Command("go", "build", "-o", p.path, "./cmd/qdnb")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	for _, page := range pages {
		if page.runs && !write {
			continue
		}
		t.Run(page.file, func(t *testing.T) {
			figure, err := page.draw(p)
			if err != nil {
				t.Fatal(err)
			}
			data, err := figure.PNG(figures.Resolution)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) > maxBytes {
				t.Errorf("%d bytes, want at most %d", len(data), maxBytes)
			}
			if write {
				if err := os.WriteFile(filepath.Join("docs", page.file), data, 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// bars returns a panel of bars that begin at 0.
func bars(title, label string, names []string, values []float64) (figures.IntervalPanel, error) {
	if len(names) == 0 || len(names) != len(values) {
		return figures.IntervalPanel{}, errors.New("nothing to draw: has the page's table changed?")
	}
	p := figures.IntervalPanel{Title: title, XLabel: label,
		XLimits: [2]float64{0, 4 * math.Ceil(slices.Max(values)*1.05/4)}}
	for i, name := range names {
		p.Rows = append(p.Rows, figures.Interval{Name: name, Value: values[i], High: values[i]})
	}
	return p, nil
}
