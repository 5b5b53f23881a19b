package mujoco

import (
	"os"
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
		{`"body_mass":[0.0`, `"body_mass":[-1`, "-1 kg"},
		{`"body_parentid":[0`, `"body_parentid":[1`, "body_parentid"},
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
