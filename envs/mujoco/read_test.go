package mujoco

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
)

func TestModelsAreRead(t *testing.T) {
	text := string(must.Get(os.ReadFile("testdata/accepted/own_ball_model.json")))
	m, err := ReadModel(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if m.Sizes.NV != 13 || m.JntType[1] != Ball || len(m.Names.Joint) != m.Sizes.NJnt ||
		m.Opt.Gravity[2] != -9.81 {
		t.Errorf("%+v", m)
	}
	tendons := string(must.Get(os.ReadFile("testdata/accepted/own_equalities_model.json")))
	for _, c := range []struct{ old, new, want string }{
		{text[len(text)/2:], "", "cut off"},
		{`"4.0.0"`, `"3.3.0"`, `MuJoCo "3.3.0"`},
		{`"nv":13`, `"nv":12`, "12"},
		{`"nbody":`, `"nbodies":`, `"nbody" is missing in its sizes`},
		{`"gravity":[`, `"gravity":[1,`, "opt.gravity: a list has 4 elements, want 3"},
		{`"timestep":`, `"timestep":-`, "opt.timestep"},
		{`"body_mass":[`, `"body_mass":[null,`, "body_mass"},
		{`"body_mass":[0.0`, `"body_mass":["0"`, `"0" is no number`},
		{`"body_mass":[0.0`, `"body_mass":[NaN`, "invalid character"},
		{`"body_mass":[0.0`, `"body_mass":[-1`, "body_mass: element 0 is -1, want 0 kg or more"},
		{`"body_mass":[0.0`, `"body_mass":[1e40`, "1e+40 is too large"},
		{`"body_parentid":[0`, `"body_parentid":[1`, "body_parentid"},
		{`"body_quat":[[1.0`, `"body_quat":[[0.0`, "body_quat: element 0 is [0 0 0 0], want a quaternion of length 1"},
		{`"qpos0":[`, `"qpos0":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0],"x":[`, "joint 0 has the quaternion 0"},
		{`"jnt_limited":[`, `"jnt_limited":[2],"x":[`, "jnt_limited"},
		{`"jnt_type":[`, `"jnt_type":[7,`, "jnt_type"},
		{`"coefs":[0.5,`, `"coefs":[`, "tendon 0"},
		{`"joints":[3,`, `"joints":[-1,`, "tendon 0"},
		{`"tendons":[`, `"tendons":[{},`, "4 tendons, want 3"},
		{`"eq_obj1id":[3,`, `"eq_obj1id":[40,`, "equality 0"},
	} {
		text := text
		if !strings.Contains(text, c.old) {
			text = tendons
		}
		broken := strings.Replace(text, c.old, c.new, 1)
		if broken == text {
			t.Errorf("%q does not occur", c.old)
		}
		errtest.Want(t, errtest.Of(ReadModel(strings.NewReader(broken))), "compiled MuJoCo model", c.want)
	}
}

func FuzzReadModel(f *testing.F) {
	text := string(must.Get(os.ReadFile("testdata/accepted/own_ball_model.json")))
	f.Add(text)
	f.Add(text[:len(text)/2])
	f.Fuzz(func(t *testing.T, text string) {
		hostile.Bounded(t, len(text), func() {
			_, err := ReadModel(strings.NewReader(text))
			hostile.Error(t, err)
		})
	})
}

// A compiled model with one number changed is refused in one line, or prepared.
func FuzzEditedModel(f *testing.F) {
	number := regexp.MustCompile(`-?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?`)
	var texts []string
	var places [][][]int
	for _, name := range []string{"own_ball", "own_equalities", "own_spheres"} {
		text := string(must.Get(os.ReadFile("testdata/accepted/" + name + "_model.json")))
		texts, places = append(texts, text), append(places, number.FindAllStringIndex(text, -1))
	}
	f.Add(uint(0), uint(100), 0.0)
	f.Add(uint(1), uint(200), -1.0)
	f.Fuzz(func(t *testing.T, file, at uint, value float64) {
		text := texts[file%uint(len(texts))]
		place := places[file%uint(len(texts))]
		from, to := place[at%uint(len(place))][0], place[at%uint(len(place))][1]
		text = text[:from] + strconv.FormatFloat(value, 'g', -1, 64) + text[to:]
		hostile.Bounded(t, 10*len(text), func() {
			m, err := ReadModel(strings.NewReader(text))
			if err == nil {
				_, err = NewSystem(m, Options{IgnorePairs: true})
			}
			hostile.Error(t, err)
		})
	})
}
