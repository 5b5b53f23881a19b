package verify

import (
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"example.com/qdnb/envs"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/xlatest"
)

func golden(t *testing.T, name string) map[string]npz.Array {
	return must.Get(npz.Read(filepath.Join("..", "testdata", name)))
}

// change writes a golden file with some arrays replaced. An array without a shape is left out.
func change(t *testing.T, name string, replace map[string]npz.Array) string {
	t.Helper()
	return changeAs(t, name, name, replace)
}

// changeAs is [change] under another name.
func changeAs(t *testing.T, name, as string, replace map[string]npz.Array) string {
	t.Helper()
	arrays := golden(t, name)
	maps.Copy(arrays, replace)
	maps.DeleteFunc(arrays, func(_ string, a npz.Array) bool { return a.Data == nil })
	path := filepath.Join(t.TempDir(), as)
	must.Do(npz.Write(path, arrays))
	return path
}

// shift adds delta to the first element of each of an array's first count parts: samples or
// trajectories.
func shift(t *testing.T, a npz.Array, count int, delta float32) npz.Array {
	t.Helper()
	flat := slices.Clone(must.Get(a.Float32s()))
	for part := range count {
		flat[part*len(flat)/a.Shape[0]] += delta
	}
	return npz.Of(flat, a.Shape...)
}

func report(t *testing.T, path string) Report {
	return must.Get(File(xlatest.Pure(t), path))
}

// An array that differs in more samples than allowed fails; the other arrays pass.
func TestCorruptedArrayIsNamed(t *testing.T) {
	for name, test := range map[string]struct {
		count  int // of samples
		delta  map[string]float32
		others float32
		arrays string
	}{
		"traj_pointmaze.npz":    {1, nil, 3e-6, "init_obs init_desc obs reward done desc xy"},
		"onestep_pointmaze.npz": {1, nil, 3e-6, "obs reward done desc xy_after"},
		"onestep_walker-uni.npz": {3, map[string]float32{"pos_after": 1e-4, "rot_after": 1e-4}, 0.01,
			"obs reward done desc contact_vel contact_ang pos_after rot_after vel_after ang_after"},
		"onestep_halfcheetah-hurdles.npz":    {9, nil, 10, "obs contact_ang vel_after"},
		"perturb_walker-uni_gravity_2.0.npz": {2, nil, 0.01, "reward pos_after"},
		"perturb_ant-maze_target_3.npz":      {2, nil, 0.1, "contact_vel vel_after"},
		"traj_walker-uni.npz":                {1, nil, 0.02, "init_obs init_desc obs pos"},
		"traj_halfcheetah-uni.npz":           {1, nil, 0.02, "init_obs init_desc"},
	} {
		stored := golden(t, name)
		for _, array := range strings.Fields(test.arrays) {
			delta, ok := test.delta[array]
			if !ok {
				delta = test.others
			}
			r := report(t, change(t, name, map[string]npz.Array{array: shift(t, stored[array], test.count,
				delta)}))
			for _, a := range r.Arrays {
				if a.Pass != (a.Name != array) {
					t.Errorf("%s with %s changed: %s passes: %v", name, array, a.Name, a.Pass)
				}
			}
			if r.Pass || !strings.HasSuffix(r.String(), "FAIL") {
				t.Errorf("%s with %s changed:\n%v", name, array, r)
			}
		}
	}
}

// A fraction of single steps may be outside, however far and in any array. Arrays that are outside
// in the same sample count once.
func TestShareOfSamplesMayBeOutside(t *testing.T) {
	const name = "onestep_walker-uni.npz"
	stored := golden(t, name)
	for count, pass := range map[int]bool{1: true, 2: true, 3: false} {
		r := report(t, change(t, name, map[string]npz.Array{
			"obs": shift(t, stored["obs"], count, 1), "reward": shift(t, stored["reward"], count-1, 1),
		}))
		if g := r.Groups[0]; r.Pass != pass || g.Outside != count || g.Allowed != 2 || g.Of != 256 {
			t.Errorf("%d samples are outside:\n%v", count, r)
		}
	}
	percent := func(n, percent int) int { return newGroup("samples", every(n), percent).Allowed }
	for _, got := range [][2]int{{percent(256, 1), 2}, {percent(64, 1), 1}, {percent(256, 3), 7},
		{percent(500, 3), 15}, {percent(256, 0), 0}} {
		if got[0] != got[1] {
			t.Errorf("%d samples may be outside, not %d", got[0], got[1])
		}
	}
}

// Chaotic trajectories may be outside in a fraction of their steps. Other trajectories may not, up
// to the horizon.
func TestStepsOfTrajectories(t *testing.T) {
	for name, share := range map[string]struct{ of, allowed int }{
		"traj_halfcheetah-uni.npz": {500, 15}, "traj_walker-uni.npz": {250, 0},
		"traj_pointmaze.npz": {800, 0},
	} {
		r := report(t, filepath.Join("..", "testdata", name))
		if g := r.Groups[1]; g.Of != share.of || g.Allowed != share.allowed || g.Parts != "steps" {
			t.Errorf("%s: %+v", name, g)
		}
	}
	const name = "traj_walker-uni.npz"
	stored := golden(t, name)
	far := stored["obs"]
	flat := slices.Clone(must.Get(far.Float32s()))
	flat[50*far.Shape[2]] += 1 // row 0, after step 51 of 100 up to the horizon
	r := report(t, change(t, name, map[string]npz.Array{"obs": npz.Of(flat, far.Shape...)}))
	if !r.Pass {
		t.Errorf("a step beyond the horizon was changed:\n%v", r)
	}
	r = report(t, change(t, name, map[string]npz.Array{"obs": npz.Of(flat, far.Shape...),
		"horizon_f64": shift(t, stored["horizon_f64"], 1, 50),
		"horizon_1e6": shift(t, stored["horizon_1e6"], 1, 50)}))
	if r.Pass || r.Groups[1].Outside != 1 {
		t.Errorf("a step within the horizon was changed:\n%v", r)
	}
}

// A changed input changes the arrays that depend on it.
func TestCorruptedInputFails(t *testing.T) {
	for _, test := range []struct {
		name, input string
		delta       float32
		fails       string
	}{
		{"traj_pointmaze.npz", "actions", 1, "obs xy"},
		{"onestep_walker-uni.npz", "action", 1, "obs pos_after vel_after"},
		{"perturb_ant-uni_actuator_2.0.npz", "parameter", 0.1, "obs vel_after"},
		{"traj_walker-uni.npz", "init_qpos", 0.01, "init_pos init_rot"},
		{"traj_halfcheetah-uni.npz", "init_pos", 0.1, "init_pos"},
		{"traj_halfcheetah-hurdles.npz", "kind", -2, "init_pos"}, // starts that were moved
	} {
		stored := golden(t, test.name)
		count := min(9, stored[test.input].Shape[0])
		r := report(t, change(t, test.name, map[string]npz.Array{test.input: shift(t, stored[test.input],
			count, test.delta)}))
		for _, a := range r.Arrays {
			if slices.Contains(strings.Fields(test.fails), a.Name) && a.Pass {
				t.Errorf("%s with another %s: %s passes", test.name, test.input, a.Name)
			}
		}
		if r.Pass {
			t.Errorf("%s with another %s:\n%v", test.name, test.input, r)
		}
	}
}

func TestUnusableFilesGiveOneLine(t *testing.T) {
	p := xlatest.Best(t)
	const traj, onestep = "traj_pointmaze.npz", "onestep_walker-uni.npz"
	const gravity, target = "perturb_ant-uni_gravity_0.5.npz", "perturb_ant-maze_target_3.npz"
	one := func(name, array string, a npz.Array) string {
		return change(t, name, map[string]npz.Array{array: a})
	}
	zeros := func(shape ...int) npz.Array {
		return npz.Of(make([]float32, shapes.Make(dtypes.Float32, shape...).Size()), shape...)
	}
	number := func(x float32) npz.Array { return npz.Of([]float32{x}) }
	reward := golden(t, traj)["reward"]
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))

	for path, want := range map[string]string{
		"pointmaze.npz":                            "<kind>_<environment>.npz",
		"traj_pointmaze.csv":                       "<kind>_<environment>.npz",
		"traj_pointmaze_gravity_2.npz":             "<kind>_<environment>.npz",
		"perturb_ant-uni_gravity.npz":              "perturb_<environment>_<what>_<value>.npz",
		"walk_pointmaze.npz":                       `unknown kind of golden file "walk"; known: onestep, perturb, system, traj`,
		"onstep_pointmaze.npz":                     `did you mean "onestep"?`,
		"none/" + traj:                             "no such file",
		changeAs(t, traj, "traj_moon.npz", nil):    `unknown environment "moon"; known: `,
		changeAs(t, traj, "traj_ant-uni.npz", nil): `there is no array "init_pos"`,
		changeAs(t, onestep, "onestep_ant-uni.npz",
			nil): `array "pos_before" has shape [256 8 3], not [256 10 3]`,
		one(traj, "xy", npz.Array{}):                     `there is no array "xy"; the arrays are actions, desc`,
		one(traj, "actions", zeros(8, 1, 3)):             `array "actions" has shape [8 1 3], not [8 1 2]`,
		one(traj, "actions", zeros(8, 2)):                `array "actions" has shape [8 2], not [8 2 2]`,
		one(traj, "init_xy", zeros(7, 2)):                `array "actions" has shape [8 100 2], not [7 100 2]`,
		one(traj, "init_xy", zeros(0, 2)):                `array "init_xy" of shape [0 2] is empty`,
		one(traj, "init_xy", npz.Scalar(float32(1))):     `array "init_xy" has shape [], not [0 2]`,
		one(traj, "reward", shift(t, reward, 1, nan)):    `array "reward" holds NaN, at element 0`,
		one(traj, "reward", shift(t, reward, 1, inf)):    `array "reward" holds -Inf, at element 0`,
		one("onestep_pointmaze.npz", "done", zeros(255)): `array "done" has shape [255], not [256]`,
		one(onestep, "err64_obs", npz.Array{}):           `there is no array "err64_obs"`,
		one(onestep, "contact_vel",
			zeros(256, 8)): `array "contact_vel" has shape [256 8], not [256 8 3]`,
		one("traj_walker-uni.npz", "kind", npz.Array{}):        `there is no array "kind"`,
		one("traj_walker-uni.npz", "horizon_f64", npz.Array{}): `there is no array "horizon_f64"`,
		changeAs(t, gravity, "perturb_ant-uni_wind_2.npz",
			nil): `unknown perturbation "wind"; known: actuator, gravity, target`,
		changeAs(t, gravity, "perturb_ant-uni_actuators_2.npz", nil): `did you mean "actuator"?`,
		changeAs(t, gravity, "perturb_pointmaze_gravity_2.npz",
			nil): "has neither gravity nor actuators nor a target to change",
		changeAs(t, target, "perturb_ant-uni_target_3.npz", nil): "has no target to move",
		one(gravity, "parameter", npz.Array{}):                   `there is no array "parameter"`,
		one(gravity, "parameter", zeros(2)):                      `array "parameter" has shape [2], not [1]`,
		one(gravity, "parameter",
			number(-1)): "the multiplier of gravity must be finite and not negative, not -1",
		one(gravity, "parameter", number(nan)): `array "parameter" holds NaN`,
		one(target, "parameter",
			number(10)): `there is no target number 10: array "parameter" must be one of 0 to 9`,
		one(target, "parameter", number(2.5)): "there is no target number 2.5",
		one(target, "parameter", number(-1)):  "there is no target number -1",
		one(target, "parameter", number(4)):   `array "target" is (29.5`,
		one(target, "target", npz.Array{}):    `there is no array "target"`,
	} {
		report, err := File(p, path)
		errtest.Want(t, err, want, path)
		if report.Pass {
			t.Errorf("%s passes", path)
		}
	}
}

// stranger is an environment of an unknown type.
type stranger struct{ envs.Env }

func TestOnlyKnownKindsOfEnvironments(t *testing.T) {
	errtest.Want(t, errtest.Of(formatOf(stranger{envs.Pointmaze{}})), "cannot be verified")
}

// Systems of Brax's environments, read from their configurations, step as in Brax. The files hold six
// samples of each; together they use all that a configuration can have.
func TestGoldenSystems(t *testing.T) {
	p := xlatest.Best(t)
	paths := must.Get(filepath.Glob("testdata/robots/system_*.npz"))
	if len(paths) != 14 {
		t.Fatalf("%d files", len(paths))
	}
	for _, path := range paths {
		report := must.Get(File(p, path))
		if !report.Pass || len(report.Groups) != 2 {
			t.Error(report)
		}
	}
}

func TestSystemsThatCannotBeVerified(t *testing.T) {
	dir, p := t.TempDir(), xlatest.Pure(t)
	data := must.Get(os.ReadFile("testdata/robots/system_acrobot-spring.npz"))
	refuse := func(want string) {
		t.Helper()
		path := filepath.Join(dir, "system_acrobot-spring.npz")
		must.Do(os.WriteFile(path, data, 0o600))
		errtest.Want(t, errtest.Of(File(p, path)), want)
	}
	refuse("no config_acrobot-spring.txt")
	must.Do(os.WriteFile(filepath.Join(dir, "config_acrobot-spring.txt"),
		must.Get(os.ReadFile("testdata/robots/config_ur5e-pbd.txt")), 0o600))
	refuse(`array "pos_before" has shape`)
}
