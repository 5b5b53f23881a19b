package watch

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/nb"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/plot/viewer"
	"example.com/qdnb/qdnb/policies"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla/random"
)

// A film stops after the last step of the episode, or before a NaN.
func TestFilmEnds(t *testing.T) {
	s := nb.Must(newStage(envs.Pointmaze{}))
	first := []float32{0, 0, 0.035, 1, 0, 0, 0}
	row := func(x, reward, done float32) []float32 {
		return []float32{x, 0, 0.035, 1, 0, 0, 0, reward, done}
	}
	for what, c := range map[string]struct {
		steps [][]float32
		want  int
	}{
		"whole":  {[][]float32{row(1, -1, 0), row(2, -1, 0)}, 3},
		"done":   {[][]float32{row(1, -1, 1), row(2, -1, 0)}, 2},
		"NaN":    {[][]float32{row(1, -1, 0), row(float32(math.NaN()), -1, 0), row(2, -1, 0)}, 2},
		"absurd": {[][]float32{row(1, float32(math.Inf(1)), 0)}, 1},
	} {
		film := s.film(first, slices.Concat(c.steps...))
		errtest.Equal(t, what, fmt.Sprint(len(film.Frames), len(film.Rewards), film.Check()), fmt.Sprint(c.want, c.want, nil))
	}
}

// Still returns a film of one frame that shows an environment in its default pose.
func Still(env envs.Env) (*scene.Film, error) {
	s, err := newStage(env)
	if err != nil {
		return nil, err
	}
	return &s.Film, nil
}

// A robot whose base is fixed is filmed, and a camera follows its first link.
func TestFixedRobot(t *testing.T) {
	inertia := physics.Vec{0.1, 0.1, 0.1}
	link := func(parent, child string) physics.Joint {
		return physics.Joint{Name: child, Parent: parent, Child: child, ChildOffset: physics.Vec{-0.5, 0, 0},
			Limits: [][2]float64{{-80, 80}}, Stiffness: 5000}
	}
	shape := []physics.Collider{{Radius: 0.1, Length: 1}}
	model := physics.Model{TimeStep: 0.05, Substeps: 10,
		Bodies: []physics.Body{{Name: "base", Fixed: true},
			{Name: "hand", Mass: 1, Inertia: inertia, Colliders: shape, Visual: true},
			{Name: "arm", Mass: 1, Inertia: inertia, Colliders: shape, Visual: true}},
		Joints: []physics.Joint{link("base", "arm"), link("arm", "hand")},
		Pose:   map[string]physics.Vec{"base": {0, 0, 2}}}
	system := nb.Must(physics.NewSystem(model))
	still := nb.Must(Still(&envs.Rigid{Settings: envs.Spec{Name: "arm"}, System: system}))
	for _, film := range []*scene.Film{still, nb.Must(Robot("arm", system))} {
		errtest.Equal(t, "moving body that is followed", fmt.Sprint(film.Follow, len(film.Frames[0])), "1 2")
		nb.Must(scene.Render(film, len(film.Frames)-1, scene.Camera{}, 40, 30))
		nb.Must(viewer.Skill(film).HTML())
	}
}

// The film of a robot shows the bodies of its model, and they stand on the ground.
func TestStill(t *testing.T) {
	for _, name := range envs.Names() {
		env := nb.Must(envs.Make(name))
		film, err := Still(env)
		if _, ok := env.(*envs.BlackBox); ok {
			errtest.Want(t, err, "has no bodies to film")
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(name, "-v5") {
			continue // Gymnasium's robots start above the ground
		}
		low := math.Inf(1)
		for i, pose := range film.Poses(0) {
			if film.Bodies[i].Fixed {
				continue
			}
			for _, s := range film.Bodies[i].Shapes {
				for _, end := range []scene.Vec{s.A, s.B} {
					low = min(low, pose.At(end)[2]-s.Radius)
				}
			}
		}
		if math.Abs(low) > 0.021 { // the feet of a walker start in the ground
			t.Errorf("%s: the lowest point is at %g", name, low)
		}
	}
	if film := nb.Must(Still(nb.Must(envs.Make("ant-maze",
		envs.FixedStart(1))))); film.Bodies[len(film.Bodies)-1].Pose.Position != (scene.Vec{35, 0, 0.5}) {
		t.Errorf("the target is elsewhere: %+v", film.Bodies[len(film.Bodies)-1])
	}
	walker := nb.Must(Still(nb.Must(envs.Make("walker-uni"))))
	colors := map[any]bool{}
	for _, b := range walker.Bodies {
		colors[b.Shapes[0].Color] = true
	}
	errtest.Equal(t, "the seven parts of a walker", len(colors), 7)
}

// The arenas of package figures have the walls of the models.
func TestArenasAreThoseOfTheEnvironments(t *testing.T) {
	for _, name := range envs.Names() {
		got, err := figures.ArenaOf(name)
		env := nb.Must(envs.Make(name))
		want, wantErr := arenaOf(env)
		errtest.Equal(t, name, err == nil, wantErr == nil)
		if err == nil && !reflect.DeepEqual(*got, want) {
			t.Errorf("%s: %+v, want %+v", name, *got, want)
		}
		d := env.Spec().Descriptor
		if len(d.Lower) != 2 {
			continue
		}
		cells := nb.Must(figures.CellsOf(&runs.Run{Config: runs.Config{Env: name}},
			&runs.Repertoire{Dims: 2, Lower: d.Lower, Upper: d.Upper}))
		errtest.Equal(t, fmt.Sprintf("%s: descriptors", name), []string{cells.XLabel, cells.YLabel}, d.Components)
		if err == nil && (!reflect.DeepEqual(cells.Walls, want.Walls) || !reflect.DeepEqual(cells.Goal, want.Goal)) {
			t.Errorf("%s: a map has the walls %v and the goal %v", name, cells.Walls, cells.Goal)
		}
	}
}

// Of a meta-controller's episodes, the one that passed most hurdles is drawn.
func TestBestEpisodeOverHurdles(t *testing.T) {
	result := Result{Evaluated: policies.Evaluated{Fitnesses: []float32{9, 5, 7}}}
	for _, hurdles := range []int{0, 2, 1} {
		result.Recorded = append(result.Recorded, Episode{Path: [][]float32{{0, 0.5}, {1, 0.6}},
			Choices: &Choices{Skills: []int{3}, Decision: 10, Hurdles: hurdles}})
	}
	recording := Recording{Results: []Result{result}}
	file := filepath.Join(t.TempDir(), "figure.svg")
	must.Do(must.Get(must.Get(recording.Trajectories()).Figure()).Save(file))
	errtest.Contains(t, string(must.Get(os.ReadFile(file))), "Return 5, 2 of 10 hurdles passed")
}

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
		fmt.Fprintf(&file, "%s%q: %s", map[bool]string{true: "{", false: ",\n"}[i == 0], name, nb.Must(json.Marshal(films[name])))
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

// A film shows the terrain of its episode, as high and where the episode has it, near the robot.
func TestTerrainIsShown(t *testing.T) {
	stairs := mujoco.Stairs(2, 0.4, 0.1, 0.4)
	place := envs.Variation{Quantity: envs.TerrainOffset, Lower: []float64{0.6, 0}, Upper: []float64{0.6, 0}}
	env := must.Get(envs.RobotTask{Name: "stairs", Terrain: &stairs,
		Vary: []envs.Variation{envs.Vary(envs.TerrainMultiplier, 2, 2), place}}.Environment(robots.Go1()))
	s := must.Get(newStage(env))
	first := xlatest.Run(t, xlatest.Pure(t), func(in []*graph.Node) []*graph.Node {
		state := envs.Reset(env, random.KeyOf(in[0]).Split(1))
		return []*graph.Node{s.first(1).Row(state, nil, state)}
	}, xlatest.Tensor(random.SeedWords(5), 2))
	film := s.film(xlatest.Flat[float32](t, first[0]), nil)
	errtest.Equal(t, "usable", film.Check(), nil)
	ground := film.Bodies[len(film.Bodies)-1]
	for i, want := range [][2]scene.Vec{{{-0.2, -1.2, -0.1}, {0.2, 1.2, 0.2}}, {{0.2, -1.2, -0.1}, {1.2, 1.2, 0.4}}} {
		for k, corner := range [2]scene.Vec{ground.Shapes[i].A, ground.Shapes[i].B} {
			for axis := range corner {
				if math.Abs(corner[axis]-want[k][axis]) > 0.03 {
					t.Errorf("step %d is at %v, want %v", 1+i, ground.Shapes[i], want)
				}
			}
		}
	}
	errtest.Equal(t, "steps", len(ground.Shapes), 2)
	errtest.Equal(t, "where no step is", film.Ground, true)
}
