package robots

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// actuated is smallMJCF with actuators.
func actuated(actuators string) string {
	return smallMJCF("", "", "<actuator>"+actuators+"</actuator>")
}

// body is smallMJCF with something in its body.
func body(inside string) string { return smallMJCF(inside, "", "") }

// smallMJCF is a pendulum with a foot; %s go into the body, the world, and the file.
func smallMJCF(body, world, file string) string {
	return `<mujoco><compiler autolimits="true"/>
<default><default class="a"><geom size=".1"/></default></default>
` + file + `
<worldbody><geom type="plane" size="1 1 1"/>
` + world + `
<body name="one" pos="0 0 1"><freejoint/><geom class="a"/>
<body name="two" pos="0 0 .3"><joint name="hinge" range="-90 90"/><geom size=".1"/>` + body + `</body>
</body></worldbody></mujoco>`
}

// What is not supported, and what is wrong, is one line that names it.
func TestMJCFRefuses(t *testing.T) {
	many := strings.Repeat(`<geom size="1"/>`, 1_000_000)
	for want, text := range map[string]string{
		"line 3: equality is not supported":             smallMJCF("", "", `<equality><joint joint1="hinge"/></equality>`),
		"line 7: ball joints are not supported":         body(`<body name="b"><joint type="ball"/></body>`),
		"line 7: the slide joint":                       body(`<body name="b"><joint type="slide"/></body>`),
		`line 7: the ellipsoid "" collides`:             body(`<geom type="ellipsoid" size="1 1 1"/>`),
		"line 3: actuators of a tendon":                 actuated(`<motor tendon="t"/>`),
		`line 3: the actuator "m" drives the joint "k"`: actuated(`<motor name="m" joint="k"/>`),
		"line 3: the actuator muscle is not":            actuated(`<muscle joint="hinge"/>`),
		"line 3: the force range of the actuator":       actuated(`<motor joint="hinge" forcerange="0 0"/>`),
		`line 3: the joint "hinge" has two actuators`:   actuated(`<motor joint="hinge"/><motor joint="hinge"/>`),
		`line 7: the class "b" is not defined`:          body(`<geom class="b"/>`),
		"line 7: two bodies are called":                 body(`<body name="one"/>`),
		`line 7: size of geom is "NaN"`:                 body(`<geom size="NaN"/>`),
		`line 7: the body "c" moves, but has no mass`:   body(`<body name="c"><joint/><geom size="1" mass="1e-320"/></body>`),
		"line 7: the sizes of the box":                  body(`<geom type="box" size="1 0 1"/>`),
		`line 7: the body "b" moves, but has no mass`:   body(`<body name="b"><joint/></body>`),
		`the mass of a mesh is not known`:               body(`<geom type="mesh" mesh="m" contype="0" conaffinity="0"/>`),
		"line 7: the hinges of body":                    body(`<body name="b"><joint/><joint axis="1 0 1"/><geom size="1"/></body>`),
		"line 5: the body \"s\" slides": smallMJCF("",
			`<body name="s"><joint type="slide" axis="1 1 0"/><geom size="1"/></body>`, ""),
		"line 5: the plane":                     smallMJCF("", `<geom type="plane" size="1 1 1" euler="10 0 0"/>`, ""),
		"line 5: the box \"step\" of the world": smallMJCF("", `<geom name="step" type="box" size="1 1 1"/>`, ""),
		"line 5: composite is not supported":    smallMJCF("", `<composite/>`, ""),
		"line 3: include is not supported":      smallMJCF("", "", `<include file="x"/>`),
		"line 3: global coordinates":            smallMJCF("", "", `<compiler coordinate="global"/>`),
		"line 3: the element wings":             smallMJCF("", "", `<wings/>`),
		"line 3: exclude names bodies": smallMJCF("", "",
			`<contact><exclude body1="one" body2="three"/></contact>`),
		"line 1: more than":                    `<mujoco>` + strings.Repeat("<a>", 10_000),
		"line 4: more than 20000 elements":     strings.Replace(smallMJCF(many, "", ""), "\n", "", 3),
		"line 2: element <worldbody> closed":   "<mujoco>\n<worldbody></mujoco>",
		"the root element is":                  "<robot/>",
		"line 1: no body has a joint":          "<mujoco/>",
		"line 1: this is no XML document: EOF": "",
	} {
		_, _, err := ReadMJCF(strings.NewReader(text))
		errtest.Want(t, err, want)
	}
}

// No file makes the reader or the engine crash, or gives a model that is not valid.
func FuzzReadMJCF(f *testing.F) {
	f.Add(smallMJCF(`<body name="b"><joint axis="1 0 0"/><joint axis="0 1 0" range="-200 200"/><geom type="box" size="1 1 1"/></body>`,
		`<body><joint type="slide" axis="1 0 0"/><geom type="cylinder" size=".1 .2"/></body>`,
		`<actuator><position joint="hinge" kp="3" ctrlrange="-1 2" forcerange="-1 1"/></actuator>`))
	for _, path := range must.Get(filepath.Glob("testdata/mjcf/*.xml")) {
		f.Add(string(must.Get(os.ReadFile(path))))
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, _, err := ReadMJCF(strings.NewReader(text))
		if err == nil {
			_, err = physics.NewSystem(m)
			if err != nil {
				t.Error("the model is not valid: ", err)
			}
			if spring, err := m.Tuned(physics.Spring); err == nil {
				_ = must.Get(physics.NewSystem(spring))
			}
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("several lines: %q", err)
		}
	})
}
