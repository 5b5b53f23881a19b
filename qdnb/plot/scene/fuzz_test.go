package scene

import (
	"encoding/json"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
)

// FuzzRender draws arbitrary films from arbitrary cameras: it gets either an error or a picture.
func FuzzRender(f *testing.F) {
	text := must.Get(json.Marshal(oneBall(Vec{0, 0, 1}, 0.5)))
	f.Add(string(text), 0., 0., 0., 40.)
	f.Add(string(text), 3., -2., 1e300, 169.)
	f.Add(`{"Bodies":[{"Shapes":[{"Radius":1e300},{"Kind":1,"B":[1e-300,1e308,1]}]}],`+
		`"Frames":[[{"Position":[1e308,0,-1e308],"Rotation":[5e-324,0,0,0]}]],`+
		`"Step":1,"Ground":true}`, 0., 0., 0., 0.)
	f.Add(`{"Bodies":[{"Shapes":[{"Radius":1e-300,"A":[1e-300,0,0]},{"Kind":7}]}],`+
		`"Frames":[[{"Rotation":[1e308,1e308,1e308,1e308]}],`+
		`[{"Position":[1,1,1],"Rotation":[1,0,0,0]}]],"Step":1}`, 1., 1., 1., 60.)
	f.Fuzz(func(t *testing.T, text string, x, y, z, angle float64) {
		var film Film
		if json.Unmarshal([]byte(text), &film) != nil || len(film.Bodies) > 20 || len(film.Frames) > 50 {
			return
		}
		camera := Camera{Eye: Vec{x, y, z}, Angle: angle}
		hostile.Bounded(t, len(text), func() {
			_, err := Render(&film, -1, camera, 12, 8)
			hostile.Error(t, err)
			_, err = Strip(&film, 2, 6, 4)
			hostile.Error(t, err)
		})
	})
}
