package paper

import (
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
)

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
