package viewer

import (
	"encoding/json"
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"testing"

	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/plot/scene"
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
			{Name: "wall", Fixed: true, Pose: scene.Pose{Position: scene.Vec{2, 2, 0},
				Rotation: scene.Quat{1}},
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
			out := math.Pi/4 + math.Pi/2*float64(leg) + yaw + 0.4*math.Sin(0.8*float64(t)+float64(leg)) +
				0.02*random.NormFloat64()
			down := 0.9 + 0.3*math.Cos(0.8*float64(t)+float64(leg))
			upper := about(scene.Vec{0, 0, 1}, out)
			lower := times(upper, about(scene.Vec{0, 1, 0}, down))
			hip := plus(at, turn(torso.Rotation, hip(leg)))
			knee := plus(hip, turn(upper, scene.Vec{0.28, 0, 0}))
			give := scene.Vec{0.003 * random.NormFloat64(), 0.003 * random.NormFloat64(), 0}
			frame = append(frame, scene.Pose{Position: plus(plus(hip, turn(upper, scene.Vec{0.14, 0, 0})),
				give), Rotation: upper},
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
