package paper

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
)

// Figure 1 needs no runs. It has a picture of each environment and perturbation, and fits on a
// page.
func TestFigure1(t *testing.T) {
	item := must.Get(Find("Figure 1"))
	figure := must.Get(item.Figure(nil))
	if width, _ := must.Get(figure.Figure()).Bounds(); width > 7.5*72 {
		t.Errorf("figure 1 is %g in wide", width/72)
	}
	path := filepath.Join(t.TempDir(), "figure.svg")
	must.Do(figure.Save(path))
	data := must.Get(os.ReadFile(path))
	text := string(data)
	if n := strings.Count(text, "<image"); n != 12 {
		t.Errorf("%d pictures, want 12", n)
	}
	for i, want := range []string{"ant-trap", "ant-maze", "pointmaze", "ant-uni", "ant-omni",
		"walker-uni", "halfcheetah-uni", "halfcheetah-hurdles",
		"gravity", "leg dysfunction, ant", "leg dysfunction, walker", "target position"} {
		if title := fmt.Sprintf("(%c) %s", 'a'+i, want); !strings.Contains(text, title) {
			t.Errorf("no %q", title)
		}
	}
}

// Robots, arrows and target numbers are inside the picture.
func TestIllustrationsAreInThePicture(t *testing.T) {
	for _, draw := range illustrations {
		film := must.Get(scene.Illustration(draw.film))
		camera := draw.view(film)
		var labels []figures.Label
		if draw.notes != nil {
			labels = draw.notes(film, camera)
		}
		inside := func(what string, x, y float64) {
			if !(x > 2 && x < pictureWidth-2 && y > 2 && y < pictureHeight-2) {
				t.Errorf("%s: %s is at %.0f, %.0f", draw.title, what, x, y)
			}
		}
		for i, pose := range film.Poses(0) {
			body := film.Bodies[i]
			if body.Fixed && body.Name != "arrow" && !strings.HasPrefix(body.Name, "Target") {
				continue // hurdles extend beyond it
			}
			for _, s := range body.Shapes {
				for _, end := range []scene.Vec{s.A, s.B} {
					x, y, _ := camera.Project(pose.At(end), pictureWidth, pictureHeight)
					inside(body.Name, x, y)
				}
			}
		}
		for _, label := range labels {
			inside(label.Text, label.X, label.Y)
		}
		if draw.title == "target position" && len(labels) != 10 {
			t.Errorf("%d targets have numbers, want 10", len(labels))
		}
	}
}

// An arrow ends at its end point.
func TestArrow(t *testing.T) {
	f := &scene.Film{}
	arrow(f, scene.Vec{1, 0, 0}, scene.Vec{1, 2, 0}, 0.05)
	shapes := f.Bodies[0].Shapes
	if end := shapes[len(shapes)-1].B; math.Abs(end[1]-2) > 1e-12 || end[0] != 1 {
		t.Errorf("the point is at %v", end)
	}
	for i := 2; i < len(shapes); i++ {
		if shapes[i].Radius >= shapes[i-1].Radius {
			t.Errorf("ball %d of the head is not smaller than the one before", i)
		}
	}
}
