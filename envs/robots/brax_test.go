package robots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// The steps of systems are compared with Brax's by the golden tests of package envs.
func TestReadBraxRefuses(t *testing.T) {
	config := func(name string) string {
		return string(must.Get(os.ReadFile("../testdata/config_" + name + ".txt")))
	}
	good := `dt: .02 substeps: 4 dynamics_mode: 'pbd'
bodies { name: "a" mass: 1 } bodies: < name: "b", mass: 1.5f >
joints [ { name: "j" parent: "a" child: "b" angle_limit { min: -360 max: 360 } } ]`
	if m, _, err := ReadBrax(strings.NewReader(good)); err != nil || m.Bodies[1].Mass != 1.5 {
		t.Error(m, err)
	}
	for want, text := range map[string]string{
		"baumgarte_erp is not compatible":        config("fetch-spring"),
		"(line 4:1): invalid field name":         good + "\n}",
		"unexpected EOF":                         good + "bodies {",
		"unknown field: mesh_geometries":         good + " mesh_geometries { }",
		"unknown field: h":                       good + " h: 1 g: 1",
		"the actuator \"a\" has no torque":       good + ` actuators { name: "a" joint: "j" }`,
		`unknown joint "k"`:                      good + ` actuators { joint: "k" torque {} }`,
		"unknown field: twister":                 good + ` forces { name: "f" body: "a" twister {} }`,
		`the force "f" is no thruster`:           good + ` forces { name: "f" body: "a" }`,
		"two bodies are called":                  good + ` bodies { name: "a" mass: 1 }`,
		"joint \"j\" has 0 axes":                 strings.Replace(good, "angle_limit { min: -360 max: 360 }", "", 1),
		"needs a stiffness":                      strings.Replace(good, "pbd", "legacy_spring", 1),
		`the joint "j" has a stiffness`:          strings.Replace(good, "angle_limit", "stiffness: 3 angle_limit", 1),
		"needs a mass in [1e-18, 1e18], not NaN": strings.Replace(good, "mass: 1.5f", "mass: NaN", 1),
		"needs a mass in [1e-18, 1e18], not 0":   strings.Replace(good, "mass: 1.5f", "mass: 0", 1),
		"form a cycle":                           good + ` joints { name: "k" parent: "b" child: "a" angle_limit {} }`,
		"unknown field: mesh":                    good + ` bodies { name: "c" mass: 1 colliders { mesh { name: "m" } } }`,
		`a collider of body "c" is no`:           good + ` bodies { name: "c" mass: 1 colliders {} }`,
		"is longer than 256 kB":                  strings.Repeat(" ", 1_000_000),
		`a box and a capsule`: good + ` bodies { name: "c" mass: 1 colliders { box { halfsize { x: 1 y: 1 z: 1 } } } }
bodies { name: "d" mass: 1 colliders { sphere { radius: 1 } } }`,
	} {
		errtest.Want(t, func() error { _, _, err := ReadBrax(strings.NewReader(text)); return err }(), want)
	}
}

// No text makes the reader crash, or gives a model that is not valid.
func FuzzReadBrax(f *testing.F) {
	for _, path := range must.Get(filepath.Glob("../testdata/config_*.txt")) {
		f.Add(string(must.Get(os.ReadFile(path))))
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, _, err := ReadBrax(strings.NewReader(text))
		if err == nil {
			err = m.Validate()
			if err != nil {
				t.Error("the model is not valid: ", err)
			}
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("several lines: %q", err)
		}
	})
}

// Robots are called after their files, or after their folders as in MuJoCo Menagerie.
func TestNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for path, want := range map[string]string{
		"dogs/go1.xml":       "go1",
		"anymal_c/scene.xml": "anymal_c",
		"robot.v2.urdf":      "robot.v2",
		"scene.xml":          filepath.Base(must.Get(os.Getwd())),
	} {
		errtest.Equal(t, path, Name(path), want)
	}
}
