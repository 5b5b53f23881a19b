package viewer

import (
	"encoding/json"
	"image/color"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/scene"
)

// FuzzFilm makes pages of arbitrary films: it gets either an error or a page.
func FuzzFilm(f *testing.F) {
	for _, frames := range []int{1, 3} {
		small := &scene.Film{
			Title: "a", Step: 0.05, Ground: true, Rewards: []float64{0, 1, -2}[:frames],
			Bodies: []scene.Body{
				{Name: "ball", Shapes: []scene.Shape{{Radius: 0.25, Color: color.NRGBA{R: 90, A: 255}}}},
				{Name: "arm", Shapes: []scene.Shape{{A: scene.Vec{-1}, B: scene.Vec{1}, Radius: 0.1}}},
				{Name: "wall", Fixed: true, Pose: scene.Pose{Rotation: scene.Quat{1}},
					Shapes: []scene.Shape{{Kind: scene.Box, B: scene.Vec{1, 2, 3}}}},
			},
		}
		for i := range frames {
			at := scene.Vec{float64(i), 0, 0.5}
			small.Frames = append(small.Frames, []scene.Pose{{Position: at, Rotation: scene.Quat{1}},
				{Position: at, Rotation: scene.Quat{0, 1, float64(i)}}})
		}
		text := must.Get(json.Marshal(small))
		f.Add(string(text))
	}
	one := func(pose string) string {
		return `{"Bodies":[{"Shapes":[{"Radius":1e-300}]}],` +
			`"Frames":[[{"Rotation":[1e-300,0,0,0]}],[` + pose + `]],"Step":1e-300}`
	}
	f.Add(one(`{"Position":[1e308,-1e308,1e308],"Rotation":[1e308,1e308,0,0]}`))
	f.Add(one(`{"Position":[-1.7e308,1.7e308,0],"Rotation":[5e-324,0,0,0]}`))
	f.Add(`{"Title":"</script>\u0000","Bodies":[{}],"Frames":[[{"Rotation":[1,0,0,0]}]],` +
		`"Step":1,"Rewards":[1e308]}`)
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
