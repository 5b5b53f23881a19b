package envs_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// Components of the ants' observations that are said to be 0 are so in Brax, in 256 random states,
// and at most one other component is.
func TestZeroObservations(t *testing.T) {
	for name, want := range map[string]int{"ant-uni": 30, "ant-omni": 30, "ant-trap": 30,
		"ant-maze": 36, "walker-uni": 0, "humanoid-uni": 60, "humanoid-omni": 60} {
		env := must.Get(envs.Make(name))
		spec := env.Spec()
		arrays := must.Get(npz.Read(filepath.Join("testdata", "onestep_"+name+".npz")))
		observations := must.Get(arrays["obs"].Float32s())
		varying := make([]bool, spec.Observations)
		for i, x := range observations {
			varying[i%len(varying)] = varying[i%len(varying)] || x != 0
		}
		others := 0
		for i, varies := range varying {
			switch zero := slices.Contains(spec.Zero, i); {
			case zero && varies:
				t.Errorf("%s: component %d is not always 0", name, i)
			case !zero && !varies:
				others++
			}
		}
		if len(spec.Zero) != want || want > 0 && others > 1 {
			t.Errorf("%s: %d components are said to be 0, want %d; %d others are", name, len(spec.Zero),
				want, others)
		}
	}
}

// model_pointmaze.json holds the constants of the environment in the published code.
func TestGoldenModelPointmaze(t *testing.T) {
	data := must.Get(os.ReadFile(golden.Path(t, "model_pointmaze.json")))
	type limits struct{ Min, Max []float32 }
	type wall struct{ Y float64 }
	var model struct {
		Env            string     `json:"env"`
		Actions        int        `json:"action_size"`
		Observations   int        `json:"observation_size"`
		Length         int        `json:"episode_length"`
		XLimits        [2]float64 `json:"x_limits"`
		YLimits        [2]float64 `json:"y_limits"`
		ZoneWidth      float64    `json:"zone_width"`
		ZoneCenter     [2]float64 `json:"zone_center"`
		WallHeight     float64    `json:"wall_height"`
		WallWidth      float64    `json:"wall_width"`
		LowerWall      wall       `json:"lower_wall"`
		UpperWall      wall       `json:"upper_wall"`
		DescriptorSize int        `json:"descriptor_size"`
		Limits         limits     `json:"descriptor_limits"`
		Offset         float64    `json:"reward_offset"`
	}
	must.Do(json.Unmarshal(data, &model))
	maze := must.Get(envs.Make(model.Env)).(envs.Pointmaze)
	spec := maze.Spec()
	want := envs.Spec{Name: model.Env, Actions: model.Actions, Observations: model.Observations,
		Length: model.Length, Offset: model.Offset,
		Descriptor: envs.Descriptor{Kind: envs.Final, Lower: model.Limits.Min, Upper: model.Limits.Max,
			Components: []string{"final x", "final y"}, Stays: true},
		ObservationComponents: spec.ObservationComponents, ActionComponents: spec.ActionComponents}
	if !reflect.DeepEqual(spec, want) || model.DescriptorSize != 2 {
		t.Errorf("%+v, want %+v", spec, want)
	}
	x0, x1 := model.XLimits[0], model.XLimits[1]
	above := func(x0, y, x1 float64) envs.Wall { return envs.Wall{X0: x0, Y0: y, X1: x1, Y1: y + model.WallHeight} }
	half := model.ZoneWidth / 2
	walls := []envs.Wall{above(x1-model.WallWidth, model.LowerWall.Y, x1),
		above(x0, model.UpperWall.Y, x0+model.WallWidth),
		{X0: model.ZoneCenter[0] - half, Y0: model.ZoneCenter[1] - half, X1: model.ZoneCenter[0] + half,
			Y1: model.ZoneCenter[1] + half}}
	for i, got := range append(maze.Walls(), maze.Goal()) {
		w := walls[i]
		if math.Abs(got.X0-w.X0)+math.Abs(got.Y0-w.Y0)+math.Abs(got.X1-w.X1)+math.Abs(got.Y1-w.Y1) > 1e-12 {
			t.Errorf("wall or goal %d is %v, want %v", i, got, w)
		}
	}
}

// 11_scoring.npz holds the steps of episodes that end early, late or never, with their fitness and
// descriptors.
func TestGoldenScoring(t *testing.T) {
	data := golden.Read(t, "11_scoring.npz")
	shape := data.Shape("rewards")
	batch, steps := shape[0], shape[1]
	input := func(name string) []float32 { return data.Float32s(name) }
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for kind, names := range map[envs.DescriptorKind][]string{
			envs.Final: {"xy", "descriptor_final_xy", "sd.descriptor_last"},
			envs.Mean:  {"contacts", "descriptor_feet_contact", "sd.descriptor_mean"},
		} {
			d := data.Shape(names[0])[2]
			out := xlatest.Run(t, p, func(in []*Node) []*Node {
				type state struct {
					Rewards, Dones, Descriptors *Node // [T, B, ...]
					Valid                       *Node // [T, B]
					Score                       envs.Score
				}
				g := in[0].Graph()
				byStep := func(x *Node) *Node { return Transpose(x, 0, 1) }
				s := state{byStep(in[0]), byStep(in[1]), byStep(in[2]), ZerosLike(byStep(in[0])),
					envs.NewScore(g, batch, kind, d)}
				s = xla.For(g, steps, s, func(step *Node, s state) state {
					row := func(x *Node) *Node { return Squeeze(xla.Rows(x, step, 1), 0) }
					s.Valid = xla.SetRows(s.Valid, step, InsertAxes(s.Score.Alive, 0))
					s.Score = s.Score.AddStep(envs.State{Descriptor: row(s.Descriptors)},
						envs.State{Reward: row(s.Rewards), Done: row(s.Dones)})
					return s
				})
				fitness, descriptor := s.Score.Result()
				return []*Node{fitness, descriptor, s.Score.Length, byStep(s.Valid)}
			}, xlatest.Tensor(input("rewards"), batch, steps), xlatest.Tensor(input("dones"), batch, steps),
				xlatest.Tensor(input(names[0]), batch, steps, d))
			fitness, descriptor := xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1])
			for _, name := range []string{"fitnesses", "sd.returns"} {
				xlatest.Close(t, name, fitness, input(name), 1e-5)
			}
			for _, name := range names[1:] {
				xlatest.Close(t, name, descriptor, input(name), 1e-6)
			}
			lengths, valid := xlatest.Flat[float32](t, out[2]), xlatest.Flat[float32](t, out[3])
			want, masked := make([]float32, batch), input("sd.masked_rewards") // [T, B]
			for i, after := range input("mask") {
				want[i/steps] += 1 - after
				if valid[i] != 1-after {
					t.Errorf("step %d of individual %d is valid: %g, the mask is %g", i%steps, i/steps, valid[i],
						after)
				}
				if m := masked[i%steps*batch+i/steps]; (m == m) != (valid[i] == 1) {
					t.Errorf("step %d of individual %d is valid: %g, its masked reward %g", i%steps, i/steps,
						valid[i], m)
				}
			}
			xlatest.Close(t, "lengths", lengths, want, 0)
		}
	})
}
