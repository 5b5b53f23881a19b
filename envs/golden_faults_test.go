package envs_test

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
)

// compareWith compares a golden file of testdata with some of its arrays replaced.
func compareWith(t *testing.T, name string, replace map[string]npz.Array) comparison {
	t.Helper()
	path := filepath.Join("testdata", name)
	arrays := must.Get(npz.Read(path))
	maps.Copy(arrays, replace)
	return compareFile(t, xlatest.Pure(t), path, arrays)
}

// shift adds delta to the first element of each of an array's first count parts: samples or
// trajectories.
func shift(a npz.Array, count int, delta float32) npz.Array {
	flat := slices.Clone(must.Get(a.Float32s()))
	for part := range count {
		flat[part*len(flat)/a.Shape[0]] += delta
	}
	return npz.Of(flat, a.Shape...)
}

// A change of a stored array is noticed in it alone, and a change of an input in the arrays that depend
// on it. As many samples of single steps as are allowed may be outside, however far.
func TestGoldenFilesNoticeErrors(t *testing.T) {
	for _, test := range []struct {
		name, array string
		count       int // of samples
		delta       float32
		fails       string // these arrays
	}{
		{"traj_pointmaze.npz", "xy", 1, 3e-6, "xy"},
		{"traj_pointmaze.npz", "init_desc", 1, 3e-6, "init_desc"},
		{"onestep_pointmaze.npz", "desc", 1, 3e-6, "desc"},
		{"onestep_walker-uni.npz", "pos_after", 3, 1e-4, "pos_after"},
		{"onestep_walker-uni.npz", "contact_vel", 3, 0.01, "contact_vel"},
		{"onestep_walker-uni.npz", "obs", 2, 1, ""},
		{"onestep_walker-uni.npz", "done", 3, 1, "done"},
		{"onestep_halfcheetah-hurdles.npz", "vel_after", 9, 10, "vel_after"},
		{"perturb_walker-uni_gravity_2.0.npz", "reward", 2, 0.01, "reward"},
		{"perturb_ant-maze_target_3.npz", "contact_vel", 2, 0.1, "contact_vel"},
		{"traj_walker-uni.npz", "init_obs", 1, 0.02, "init_obs"},
		{"traj_walker-uni.npz", "pos", 1, 0.02, "pos"},
		{"traj_halfcheetah-uni.npz", "init_desc", 1, 0.02, "init_desc"},
		{"system_acrobot-spring.npz", "vel_after", 2, 0.1, "vel_after"},
		{"system_acrobot-spring.npz", "init_qpos", 1, 0.01, "init_pos init_rot"},
		{"traj_pointmaze.npz", "actions", 1, 1, "obs reward desc xy"},
		{"perturb_ant-uni_actuator_2.0.npz", "parameter", 1, 0.1, "obs reward contact_vel contact_ang pos_after rot_after vel_after ang_after"},
	} {
		array := must.Get(npz.Read(filepath.Join("testdata", test.name)))[test.array]
		found := compareWith(t, test.name, map[string]npz.Array{test.array: shift(array, test.count, test.delta)})
		if fails := strings.Join(found.failing(), " "); fails != test.fails || found.pass() != (fails == "") {
			t.Errorf("%s with another %s: %q fail, want %q:\n%s", test.name, test.array, fails, test.fails, found)
		}
	}
	const name = "traj_walker-uni.npz"
	stored := must.Get(npz.Read(filepath.Join("testdata", name)))
	flat := slices.Clone(must.Get(stored["obs"].Float32s()))
	flat[50*stored["obs"].Shape[2]]++ // row 0, after step 51 of 100 up to the horizon
	replace := map[string]npz.Array{"obs": npz.Of(flat, stored["obs"].Shape...)}
	if found := compareWith(t, name, replace); !found.pass() {
		t.Errorf("a step beyond the horizon was changed:\n%v", found)
	}
	for _, horizon := range []string{"horizon_f64", "horizon_1e6"} {
		replace[horizon] = shift(stored[horizon], 1, 50)
	}
	if found := compareWith(t, name, replace); found.pass() || len(found[1].outside) != 1 {
		t.Errorf("a step within the horizon was changed:\n%v", found)
	}
}

// A start whose foot is within rounding of the ground passes whether or not the file has its contact.
// Nothing else may differ.
func TestContactsOfStartsAtTheirEdge(t *testing.T) {
	const name, row = "traj_ant-uni.npz", 1
	stored := must.Get(npz.Read(filepath.Join("testdata", name)))
	part := func(name string) []float32 {
		flat := must.Get(stored[name].Float32s())
		size := len(flat) / stored[name].Shape[0]
		return slices.Clone(flat[row*size : (row+1)*size])
	}
	with := func(name string, numbers []float32) npz.Array {
		flat := slices.Clone(must.Get(stored[name].Float32s()))
		copy(flat[row*len(numbers):], numbers)
		return npz.Of(flat, stored[name].Shape...)
	}
	falling := part("init_vel")
	for i := 2; i < len(falling); i += 3 {
		falling[i] -= 0.3
	}
	f := formatOf(must.Get(envs.Make("ant-uni")))
	bodies := len(f.rigid.System.BodyNames())
	type start struct{ position, obs, desc []float32 }
	raised := func(up float32) start {
		position := part("init_pos")
		for i := 2; i < len(position); i += 3 {
			position[i] += up
		}
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*Node) []*Node {
			s := f.start(in)
			return []*Node{s.Observation, s.Descriptor}
		}, xlatest.Tensor(position, 1, bodies, 3), xlatest.Tensor(part("init_rot"), 1, bodies, 4),
			xlatest.Tensor(falling, 1, bodies, 3), xlatest.Tensor(part("init_ang"), 1, bodies, 3))
		return start{position, xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1])}
	}
	high, low, deep := raised(5e-7), raised(-5e-7), raised(-1e-3)
	contact := len(low.obs) - 6*bodies // the first component of contacts
	for i, s := range []start{high, low, deep} {
		if touches := slices.ContainsFunc(s.obs[contact:], func(x float32) bool { return x != 0 }); touches != (i > 0) {
			t.Fatalf("start %d touches the ground: %v", i, touches)
		}
	}
	other := func(s start, i int) start {
		s.obs = slices.Clone(s.obs)
		s.obs[i] += 0.01
		return s
	}
	for what, test := range map[string]struct {
		at, stored start
		edges      int
		pass       bool
	}{
		"as it is":                   {high, high, 0, true},
		"the file lacks the contact": {low, high, 1, true},
		"the file has the contact":   {high, low, 1, true},
		"a millimetre deep":          {deep, high, 0, false},
		"another contact":            {high, other(low, contact), 0, false},
		"another height":             {high, other(low, 0), 1, false},
	} {
		found := compareWith(t, name, map[string]npz.Array{
			"kind":     shift(stored["kind"], row+1, 2), // not quite at its init_qpos
			"init_vel": with("init_vel", falling), "init_pos": with("init_pos", test.at.position),
			"init_obs": with("init_obs", test.stored.obs), "init_desc": with("init_desc", test.stored.desc),
			"horizon_f64": with("horizon_f64", []float32{0}), // do not compare its steps
		})
		if begun := found[0]; found.pass() != test.pass || begun.edges != test.edges {
			t.Errorf("%s: %d edges\n%v", what, begun.edges, found)
		}
	}
}
