package verify

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
)

// startAt moves a start of a trajectory file up and returns its positions, observation and
// descriptor.
func startAt(t *testing.T, env string, stored map[string]npz.Array, row int,
	up float32) map[string][]float32 {
	t.Helper()
	rigid := must.Get(envs.Make(env))
	f := must.Get(formatOf(rigid))
	bodies := len(f.rigid.System.BodyNames())
	flat := func(name string) []float32 { return part(t, stored[name], row) }
	found := map[string][]float32{"init_pos": flat("init_pos")}
	for i := 2; i < len(found["init_pos"]); i += 3 {
		found["init_pos"][i] += up
	}
	out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
		start := f.start(in)
		return []*Node{start.Observation, start.Descriptor}
	}, xlatest.Tensor(found["init_pos"], 1, bodies, 3), xlatest.Tensor(flat("init_rot"), 1, bodies, 4),
		xlatest.Tensor(flat("init_vel"), 1, bodies, 3), xlatest.Tensor(flat("init_ang"), 1, bodies, 3))
	found["init_obs"], found["init_desc"] = xlatest.Flat[float32](t, out[0]),
		xlatest.Flat[float32](t, out[1])
	return found
}

// A file with a start whose foot is within rounding of the ground passes whether or not the program
// that made it has the contact. Nothing else may differ.
func TestContactsOfStartsAtTheirEdge(t *testing.T) {
	const above, below = 5e-7, -5e-7
	const row = 1
	for env, name := range map[string]string{"ant-omni": "traj_ant-omni.npz",
		"ant-trap": "traj_ant-trap.npz", "ant-uni": "traj_ant-uni.npz"} {
		stored := golden(t, name)
		contacts := 6 * stored["init_pos"].Shape[1]
		falling := part(t, stored["init_vel"], row)
		for i := 2; i < len(falling); i += 3 {
			falling[i] -= 0.3
		}
		stored["init_vel"] = withRow(t, stored["init_vel"], row, falling)
		never := withRow(t, stored["horizon_f64"], row, []float32{0}) // do not compare its steps
		high, low, deep := startAt(t, env, stored, row, above), startAt(t, env, stored, row, below),
			startAt(t, env, stored, row, -1e-3)
		touches := func(x map[string][]float32) bool {
			obs := x["init_obs"]
			return slices.ContainsFunc(obs[len(obs)-contacts:], func(c float32) bool { return c != 0 })
		}
		if touches(high) || !touches(low) || !touches(deep) {
			t.Fatalf("%s: touches the ground above, below, deep: %v, %v, %v", name, touches(high),
				touches(low), touches(deep))
		}
		other := func(x map[string][]float32, i int, by float32) map[string][]float32 {
			obs := slices.Clone(x["init_obs"])
			obs[i] += by
			return map[string][]float32{"init_obs": obs, "init_desc": x["init_desc"]}
		}
		last := len(low["init_obs"]) - contacts // the first component of contacts
		for what, test := range map[string]struct {
			at, shows map[string][]float32
			edges     int
			pass      bool
		}{
			"as it is":                   {high, high, 0, true},
			"the file lacks the contact": {low, high, 1, true},
			"the file has the contact":   {high, low, 1, true},
			"a millimetre deep":          {deep, high, 0, false},
			"another contact":            {high, other(low, last, 0.01), 0, false},
			"another height":             {high, other(low, 0, 0.01), 1, false},
		} {
			replace := map[string]npz.Array{
				"kind":     shift(t, stored["kind"], row+1, 2), // not quite at its init_qpos
				"init_vel": stored["init_vel"], "horizon_f64": never,
			}
			for _, array := range []string{"init_obs", "init_desc"} {
				replace[array] = withRow(t, stored[array], row, test.shows[array])
			}
			replace["init_pos"] = withRow(t, stored["init_pos"], row, test.at["init_pos"])
			r := report(t, change(t, name, replace))
			starts := r.Groups[0]
			note := fmt.Sprintf("1/%d starts have a marginal contact", starts.Of)
			if (starts.Outside == 0) != test.pass || starts.Edges != test.edges || strings.Contains(
				r.String(), note) != (test.edges > 0) || test.pass && !r.Pass {
				t.Errorf("%s, %s: %d edges\n%v", name, what, starts.Edges, r)
			}
		}
	}
}

// part is a copy of a row of an array.
func part(t *testing.T, a npz.Array, row int) []float32 {
	t.Helper()
	flat := must.Get(a.Float32s())
	size := len(flat) / a.Shape[0]
	return slices.Clone(flat[row*size : (row+1)*size])
}

// withRow replaces a row of an array.
func withRow(t *testing.T, a npz.Array, row int, numbers []float32) npz.Array {
	t.Helper()
	flat := slices.Clone(must.Get(a.Float32s()))
	copy(flat[row*len(numbers):], numbers)
	return npz.Of(flat, a.Shape...)
}
