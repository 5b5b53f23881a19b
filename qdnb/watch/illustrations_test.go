package watch

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/scene"
)

var update = flag.Bool("update", false, "rewrite the illustrations of package scene")

// poses are the joint angles, rad, of robots whose default pose looks stiff or is off the ground.
var poses = map[string][]float64{
	"walker-uni":          {0, -0.12, 0.1, -0.65, -0.4, -0.25}, // a stride
	"halfcheetah-uni":     {0, 0, 0, 0, 0, 0},
	"halfcheetah-hurdles": {0, 0, 0, 0, 0, 0},
}

// The illustrations stored in package scene match the models. After an intended change, run go test
// -run Illustrations -update and look at figure 1.
func TestIllustrations(t *testing.T) {
	films := map[string]*scene.Film{}
	for _, name := range envs.Names() {
		env := nb.Must(envs.Make(name))
		if _, ok := env.(*envs.BlackBox); ok || strings.Contains(name, "-v5") {
			continue // figure 1 shows the paper's robots
		}
		film := nb.Must(Still(env))
		films[name] = film
		rigid, ok := env.(*envs.Rigid)
		if !ok {
			continue
		}
		pose(t, film, rigid, poses[name])
		if strings.HasSuffix(name, "-uni") {
			films[name+" leg"] = withLeg(film, rigid)
		}
		if name == "ant-maze" {
			films[name+" targets"] = withTargets(film)
		}
	}
	var file bytes.Buffer // a line per environment
	for i, name := range slices.Sorted(maps.Keys(films)) {
		must.Do(films[name].Check())
		fmt.Fprintf(&file, "%s%q: %s", map[bool]string{true: "{", false: ",\n"}[i == 0], name,
			nb.Must(json.Marshal(films[name])))
	}
	file.WriteString("}\n")
	const path = "../plot/scene/illustrations.json"
	if *update {
		must.Do(os.WriteFile(path, file.Bytes(), 0o644))
	}
	if want := nb.Must(os.ReadFile(path)); !bytes.Equal(file.Bytes(), want) {
		t.Errorf("%s does not match the models: go test ./qdnb/watch -run Illustrations -update", path)
	}
}

// withLeg returns a robot in grey, except for the leg whose actuators the paper perturbs.
func withLeg(film *scene.Film, env *envs.Rigid) *scene.Film {
	weak := map[string]bool{}
	for _, j := range env.System.(*physics.System).Model().Joints {
		if slices.Contains(env.Leg, j.Name) {
			weak[j.Child] = true
		}
	}
	leg := *film
	leg.Bodies = nil
	for _, b := range film.Bodies {
		b.Shapes = slices.Clone(b.Shapes)
		for i := range b.Shapes {
			b.Shapes[i].Color = wallColor
			if weak[b.Name] {
				b.Shapes[i].Color = vermillion
			}
		}
		leg.Bodies = append(leg.Bodies, b)
	}
	return &leg
}

// withTargets returns the maze with a body per target of the paper in place of its own target.
func withTargets(film *scene.Film) *scene.Film {
	maze := *film
	maze.Bodies = slices.Clone(film.Bodies)
	last := len(maze.Bodies) - 1
	target := maze.Bodies[last]
	maze.Bodies = maze.Bodies[:last]
	for i, at := range catalog.Targets() {
		target.Name = fmt.Sprint("Target ", i)
		target.Pose.Position[0], target.Pose.Position[1] = at[0], at[1]
		maze.Bodies = append(maze.Bodies, target)
	}
	return &maze
}

// pose sets the joint angles in a film's only frame and puts the robot on the ground.
func pose(t *testing.T, film *scene.Film, env *envs.Rigid, angles []float64) {
	t.Helper()
	poses := must.Get(env.System.Places(angles...))
	// Rounded, so that the host's floating-point rounding does not matter.
	short := func(x float64) float64 { return math.Round(x*1e4)/1e4 + 0 }
	frame := film.Frames[0]
	low, next := math.Inf(1), 0
	for i, body := range env.System.(*physics.System).Model().Bodies {
		if body.Fixed {
			continue
		}
		p := &frame[next]
		next++
		for k := range p.Position {
			p.Position[k] = poses[i].Position[k]
		}
		for k := range p.Rotation {
			p.Rotation[k] = short(poses[i].Rotation[k])
		}
		for _, b := range film.Bodies {
			if b.Name == body.Name {
				for _, s := range b.Shapes {
					low = min(low, p.At(s.A)[2]-s.Radius, p.At(s.B)[2]-s.Radius)
				}
			}
		}
	}
	for i := range frame {
		frame[i].Position[2] -= low
		for k := range frame[i].Position {
			frame[i].Position[k] = short(frame[i].Position[k])
		}
	}
	next = 0
	for i := range film.Bodies {
		b := &film.Bodies[i]
		for k := range b.Shapes {
			for c := range 3 {
				b.Shapes[k].A[c], b.Shapes[k].B[c] = short(b.Shapes[k].A[c]), short(b.Shapes[k].B[c])
			}
		}
		if !b.Fixed {
			b.Pose = frame[next]
			next++
		}
	}
}
