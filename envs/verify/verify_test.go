package verify

import (
	"maps"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/npz"
)

func golden(t *testing.T, name string) map[string]npz.Array {
	t.Helper()
	arrays, err := npz.Read(filepath.Join("..", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return arrays
}

// change writes a golden file with some arrays replaced; an array without a shape is left out.
func change(t *testing.T, name string, replace map[string]npz.Array) string {
	t.Helper()
	arrays := golden(t, name)
	maps.Copy(arrays, replace)
	maps.DeleteFunc(arrays, func(_ string, a npz.Array) bool { return a.Data == nil })
	path := filepath.Join(t.TempDir(), name)
	if err := npz.Write(path, arrays); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReportOfAFileThatHolds(t *testing.T) {
	for name, want := range map[string]string{
		"traj_pointmaze.npz":    "init_obs init_desc obs reward done desc xy",
		"onestep_pointmaze.npz": "obs reward done desc xy_after",
	} {
		report, err := File(xlatest.Best(t), filepath.Join("..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		var arrays []string
		for _, r := range report.Arrays {
			arrays = append(arrays, r.Name)
		}
		if got := strings.Join(arrays, " "); got != want || !report.Pass || report.Env != "pointmaze" || !strings.HasPrefix(name, report.Kind) {
			t.Errorf("%s: compared %s\n%v", name, got, report)
		}
	}
}

// One number that differs, in any array, fails that array and no other.
func TestCorruptedValueIsNamed(t *testing.T) {
	for name, arrays := range map[string][]string{
		"traj_pointmaze.npz":    {"init_obs", "init_desc", "obs", "reward", "done", "desc", "xy"},
		"onestep_pointmaze.npz": {"obs", "reward", "done", "desc", "xy_after"},
	} {
		stored := golden(t, name)
		for _, array := range arrays {
			flat, err := stored[array].Float32s()
			if err != nil {
				t.Fatal(err)
			}
			damaged := slices.Clone(flat)
			damaged[len(damaged)*2/3] += 3e-6
			report, err := File(xlatest.Pure(t), change(t, name, map[string]npz.Array{array: npz.Of(damaged, stored[array].Shape...)}))
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range report.Arrays {
				if r.Pass != (r.Name != array) {
					t.Errorf("%s with %s changed: %s passes: %v", name, array, r.Name, r.Pass)
				}
			}
			if report.Pass || !strings.HasSuffix(report.String(), "FAIL") {
				t.Errorf("%s with %s changed:\n%v", name, array, report)
			}
		}
	}
}

// A step that goes another way shows in everything that depends on it.
func TestCorruptedInputFails(t *testing.T) {
	stored := golden(t, "traj_pointmaze.npz")
	flat, err := stored["actions"].Float32s()
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(flat)
	damaged[0] = -damaged[0]
	report, err := File(xlatest.Best(t), change(t, "traj_pointmaze.npz", map[string]npz.Array{"actions": npz.Of(damaged, stored["actions"].Shape...)}))
	if err != nil {
		t.Fatal(err)
	}
	if report.Pass || !report.Arrays[0].Pass || report.Arrays[2].Pass {
		t.Errorf("the first action was changed:\n%v", report)
	}
}

func TestUnusableFilesGiveOneLine(t *testing.T) {
	p := xlatest.Best(t)
	file := func(name string, replace map[string]npz.Array) string { return change(t, name, replace) }
	const traj = "traj_pointmaze.npz"
	notFinite := golden(t, traj)["reward"]
	flat, err := notFinite.Float32s()
	if err != nil {
		t.Fatal(err)
	}
	withNaN, withInf := slices.Clone(flat), slices.Clone(flat)
	withNaN[7], withInf[7] = float32(math.NaN()), float32(math.Inf(-1))
	for path, want := range map[string]string{
		"pointmaze.npz":      "<kind>_<environment>.npz",
		"traj_pointmaze.csv": "<kind>_<environment>.npz",
		"walk_pointmaze.npz": `unknown kind of golden file "walk"; there are: onestep, traj`,
		"traj_moon.npz":      `unknown environment "moon"; there are: `,
		"none/" + traj:       "no such file",
		file(traj, map[string]npz.Array{"xy": {}}):                                                     `there is no array "xy"; the arrays are actions, desc`,
		file(traj, map[string]npz.Array{"actions": npz.Of(make([]float32, 24), 8, 1, 3)}):              `array "actions" has shape [8 1 3], not [8 1 2]`,
		file(traj, map[string]npz.Array{"actions": npz.Of(make([]float32, 16), 8, 2)}):                 `array "actions" has shape [8 2], not [8 2 2]`,
		file(traj, map[string]npz.Array{"init_xy": npz.Of(make([]float32, 14), 7, 2)}):                 `array "actions" has shape [8 100 2], not [7 100 2]`,
		file(traj, map[string]npz.Array{"init_xy": npz.Of([]float32{}, 0, 2)}):                         `array "init_xy" of shape [0 2] is empty`,
		file(traj, map[string]npz.Array{"init_xy": npz.Scalar(float32(1))}):                            `array "init_xy" has shape [], not [0 2]`,
		file(traj, map[string]npz.Array{"reward": npz.Of(withNaN, notFinite.Shape...)}):                `array "reward" holds NaN, at element 7`,
		file(traj, map[string]npz.Array{"reward": npz.Of(withInf, notFinite.Shape...)}):                `array "reward" holds -Inf, at element 7`,
		file("onestep_pointmaze.npz", map[string]npz.Array{"done": npz.Of(make([]float32, 255), 255)}): `array "done" has shape [255], not [256]`,
	} {
		report, err := File(p, path)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
		if report.Pass {
			t.Errorf("%s passes", path)
		}
	}
}

func TestNaNOfThisBuildFails(t *testing.T) {
	nan := float32(math.NaN())
	r := compare(column{name: "obs", tolerance: 1e-6}, []float32{1, nan, 1}, []float32{1, 1, 1})
	if r.Pass || !math.IsInf(r.WorstAbs, 1) {
		t.Errorf("%+v", r)
	}
	if r := compare(column{name: "obs", tolerance: 1e-6}, []float32{1, 2}, []float32{1, 2}); !r.Pass || r.WorstAbs != 0 || r.WorstRel != 0 {
		t.Errorf("%+v", r)
	}
}
