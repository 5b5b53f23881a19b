package mujoco

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/hostile"
	"example.com/qdnb/internal/must"
)

// compiled reads a model of testdata.
func compiled(name string) Model {
	file := must.Get(os.Open(filepath.Join("testdata", name+"_model.json")))
	defer file.Close()
	return must.Get(ReadModel(file))
}

// go1 is the Go1 that package robots ships, without what is known of contacts between its limbs.
func go1() Model {
	file := must.Get(os.Open("../robots/go1.json"))
	defer file.Close()
	m := must.Get(ReadModel(file))
	m.OwnContacts = nil
	return m
}

// The files of the golden set are accepted. They are written as they were read.
func TestCheckAccepts(t *testing.T) {
	pairs := map[string]int{} // that IgnorePairs leaves out
	count := 0
	for _, path := range must.Get(filepath.Glob("testdata/accepted/*_model.json")) {
		count++
		name := strings.TrimSuffix(filepath.Base(path), "_model.json")
		m := compiled("accepted/" + name)
		written := must.Get(ReadModel(bytes.NewReader(must.Get(json.Marshal(m)))))
		if !reflect.DeepEqual(written, m) {
			t.Errorf("%s changes when it is written and read", name)
		}
		all, err := m.Check(Options{IgnorePairs: true})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if strict, err := m.Check(Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		} else if left := len(strict.Pairs) - len(all.Pairs); left > 0 {
			pairs[name] = left
			errtest.Contains(t, strings.Join(all.Notes, "\n"), "left out")
		}
	}
	want := map[string]int{"dmc_finger": 1, "go2": 54, "own_cans": 22, "own_faces": 14, "own_gaps": 14, "own_hulls": 13,
		"own_round": 16, "own_sides": 13, "own_upright": 2}
	if count < 26 || !maps.Equal(pairs, want) {
		t.Errorf("of %d models, IgnorePairs leaves out %v, want %v", count, pairs, want)
	}
}

// Each file of testdata/refused has one element that is not modelled.
func TestCheckRefuses(t *testing.T) {
	var fields map[string]string
	must.Do(json.Unmarshal(must.Get(os.ReadFile("testdata/refused/fields.json")), &fields))
	for name, field := range fields {
		m := compiled("refused/" + name)
		err := errtest.Of(m.Check(Options{}))
		errtest.Want(t, err, "("+field+")")
		if _, err := m.Check(Options{IgnorePairs: true}); (err == nil) != (field == "geom_type") {
			t.Errorf("%s with IgnorePairs: %v", name, err)
		}
	}
	if len(fields) < 8 {
		t.Errorf("there are %d files", len(fields))
	}
}

// One error names all that is not modelled, and some elements of each field.
func TestCheckNamesEverything(t *testing.T) {
	m := go1()
	m.Opt.EnableFlags, m.Opt.Integrator = 1<<0|1<<1|1<<4, 2
	m.ActuatorTrnType[3], m.ActuatorGainType[0], m.ActuatorBiasType[1] = 3, 5, 5
	for i := range m.ActuatorDelay {
		m.ActuatorDelay[i] = 1
	}
	m.EqType, m.EqActive0 = []Equality{4, 1, 3}, []bool{true, false, true}
	m.EqObj1ID, m.EqObj2ID = []int{0, 0, 0}, []int{0, 0, 0}
	m.Opt.Density, m.Opt.Wind[0], m.GeomFluid[1][0] = 1, 2, 1
	m.Sizes.NFlex, m.Names.Plugin = 1, []string{"mujoco.pid"}
	m.Opt.DisableFlags |= DisableNativeCCD
	errtest.Want(t, errtest.Of(m.Check(Options{})), "equality flex, equality tendon (neq)", "(nflex)",
		`plugin "mujoco.pid" (nplugin)`, "flag override, flag sleep (opt.enableflags)",
		"integrator implicit (opt.integrator)", "(opt.wind)",
		"fluidshape ellipsoid of geom 1 of body \"trunk\" (geom_fluid)",
		"actuator \"FL_hip\" of a tendon of a file of an older compiler (actuator_trntype)",
		"actuator \"FR_hip\" with pid (actuator_gaintype)",
		"actuator \"FR_thigh\" with user (actuator_biastype)",
		"actuator \"FR_calf\" and 9 more (actuator_delay)", "contact of cylinder and cylinder without nativeccd: ")
	m = compiled("accepted/own_ball")
	m.Opt.Integrator, m.Opt.Viscosity = ImplicitFast, 1
	errtest.Want(t, errtest.Of(m.Check(Options{})), "integrator implicitfast in a fluid")
	m = compiled("accepted/own_equalities")
	m.ActuatorBiasPrm[1][2] = -1
	errtest.Want(t, errtest.Of(m.Check(Options{})), "actuator 1, which damps a spatial tendon or one along a chain of joints")
	m.Tendons = nil // as of files of older compilers
	errtest.Want(t, errtest.Of(m.Check(Options{})), "equality tendon (neq)", "actuator 0 of a tendon of a file of an older",
		"tendon 1 of a file of an older compiler (tendon_stiffness)")
	m = compiled("accepted/own_cylinders")
	m.Opt.DisableFlags |= DisableNativeCCD
	errtest.Want(t, errtest.Of(m.Check(Options{})), "contact of capsule and cylinder without nativeccd: ")
	m = compiled("accepted/own_cables")
	m.Opt.Integrator = ImplicitFast
	errtest.Want(t, errtest.Of(m.Check(Options{})), "actuator 1, which damps a spatial tendon",
		"tendon 1, which is spatial or")
}

// Where the engine is not MuJoCo, a note says so, after those of the compiler.
func TestCheckNotes(t *testing.T) {
	m := compiled("accepted/gym_humanoid")
	m.Notes = []string{"of the compiler"}
	m.Sizes.NMocap = 1
	m.EqType, m.EqActive0 = []Equality{0}, []bool{false}
	s := must.Get(m.Check(Options{}))
	want := []string{"of the compiler", "mocap", "equality", "solver PGS with iterations 50 and tolerance 1e-08"}
	if len(s.Notes) != len(want) {
		t.Fatalf("%q", s.Notes)
	}
	for i, text := range want {
		errtest.Contains(t, s.Notes[i], text)
	}
	if m := compiled("accepted/gym_swimmer"); len(must.Get(m.Check(Options{})).Pairs) > 0 {
		t.Error("the swimmer touches something")
	}
}

// Under implicitfast, bodies that move freely alone are noted if they are damped.
func TestCheckNotesLoneBodies(t *testing.T) {
	m := compiled("accepted/own_spheres")
	alone := func() bool {
		return strings.Contains(strings.Join(must.Get(m.Check(Options{})).Notes, "\n"), "gyroscopic")
	}
	if alone() {
		t.Error("noted under Euler")
	}
	if m.Opt.Integrator = ImplicitFast; alone() {
		t.Error("noted without damping")
	}
	if m.DofDamping = slices.Repeat([]float64{0.1}, m.Sizes.NV); !alone() {
		t.Error("not noted")
	}
}

// A crowd of geoms is refused, in place of taking hours.
func TestCheckRefusesCrowds(t *testing.T) {
	m := compiled("accepted/own_spheres")
	for range 20_001 {
		m.PairGeom1, m.PairGeom2 = append(m.PairGeom1, 0), append(m.PairGeom2, 1)
	}
	errtest.Want(t, errtest.Of(m.Check(Options{})), "pairs of geoms that may touch, more than 20000 (ngeom); Options.Contacts")
}

// The number of contacts between links that act follows the one that MuJoCo had, within bounds, and the option.
func TestLinkContactsFollowTheModel(t *testing.T) {
	m := compiled("accepted/own_spheres")
	for _, c := range [][3]int{{0, 0, 12}, {9, 0, 12}, {10, 0, 13}, {16, 0, 20}, {100, 0, 48}, {100, 7, 7}} {
		m.LinkContacts = c[0]
		s := must.Get(NewSystem(m, Options{LinkContacts: c[1]}))
		errtest.Equal(t, fmt.Sprintf("link contacts where MuJoCo had %d and the option is %d", c[0], c[1]), s.LinkContacts(),
			c[2])
	}
}

// Pairs are those of MuJoCo: of contype and conaffinity, not of one body or of parent and child, not
// excluded, and those of elements pair.
func TestPairs(t *testing.T) {
	m := compiled("accepted/own_spheres")
	var names []string
	for _, p := range m.Pairs() {
		names = append(names, m.Names.Geom[p.Geom1]+"-"+m.Names.Geom[p.Geom2])
	}
	const want = "a-d floor-a floor-b a-b floor-c a-c floor-d b-d c-d floor-e a-e b-e c-e d-e"
	errtest.Equal(t, "names", strings.Join(names, " "), want)
	m = compiled("accepted/gym_ant")
	withFloor := func(p Pair) bool { return p.Geom1 == 0 && m.ConDim(p) == 3 }
	if p := m.Pairs(); len(p) != 13 || len(slices.DeleteFunc(p, withFloor)) > 0 {
		t.Errorf("%v", p)
	}
	m.Opt.DisableFlags |= DisableContact
	if p := m.Pairs(); len(p) > 0 {
		t.Errorf("without contacts: %v", p)
	}
	m = compiled("accepted/gym_humanoid")
	related := len(m.Pairs())
	m.Opt.DisableFlags |= DisableFilterParent
	if all := len(m.Pairs()); all <= related {
		t.Errorf("%d pairs with parents, %d without", all, related)
	}
}

// Pairs of one robot are left out with a note if random poses showed that they do not touch. Those that did
// and whose contact is not modelled are refused.
func TestCheckLeavesOutPairsThatStayApart(t *testing.T) {
	m := go1()
	m.Opt.DisableFlags |= DisableNativeCCD
	var own [][2]int // the unsupported pairs
	limbs := 0
	for _, p := range m.Pairs() {
		if m.BodyRootID[m.GeomBodyID[p.Geom1]] != 0 {
			limbs++
		}
		if !m.collides(p) {
			own = append(own, [2]int{min(p.Geom1, p.Geom2), max(p.Geom1, p.Geom2)})
		}
	}
	m.OwnContacts = [][2]int{}
	s := must.Get(m.Check(Options{}))
	if notes := strings.Join(s.Notes, "\n"); len(s.Pairs) != len(m.Pairs())-limbs ||
		!strings.Contains(notes, fmt.Sprintf("%d pairs of the robot's own geoms", limbs)) {
		t.Errorf("%d pairs of %d, %q", len(s.Pairs), len(m.Pairs()), notes)
	}
	m.OwnContacts = own[:1]
	errtest.Want(t, errtest.Of(m.Check(Options{})), "contact of", "(geom_type)")
}

// Contacts can be limited to pairs of geoms or bodies; a name without one is an error.
func TestContactsAreLimited(t *testing.T) {
	m := go1()
	s := must.Get(m.Check(Options{Contacts: [][2]string{{"floor", "FR"}, {"RL", "floor"}, {"floor", "FR_calf"}}}))
	errtest.Equal(t, "number of pairs", len(s.Pairs), 4)
	for want, both := range map[string][2]string{
		`Contacts: unknown geom or body "flor"; did you mean "floor"?`: {"flor", "FR"},
		`Contacts: "floor" and "floor" may not touch in the file`:      {"floor", "floor"},
	} {
		errtest.Want(t, errtest.Of(m.Check(Options{Contacts: [][2]string{both}})), want)
	}
}

// Stairs rise by a step after each width, from the ground to the last step; rough ground is drawn from its seed.
func TestShapesOfTerrain(t *testing.T) {
	var along []float64
	for _, row := range Stairs(2, 0.4, 0.5, 0.2).Heights {
		errtest.Equal(t, "a step", row[0], row[1])
		along = append(along, row[0])
	}
	errtest.Equal(t, "stairs", along, []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, 0.5, 1, 1, 1, 1})
	rough := RoughGround(3, 0.1, 0.2, 1)
	for _, h := range slices.Concat(rough.Heights...) {
		if !(h >= 0 && h <= 0.1) {
			t.Errorf("rough ground has a height of %g", h)
		}
	}
	errtest.Equal(t, "the same seed", RoughGround(3, 0.1, 0.2, 1), rough)
	if again := RoughGround(3, 0.1, 0.2, 2); slices.Equal(again.Heights[0], rough.Heights[0]) {
		t.Error("another seed has the same heights")
	}
}

func TestModelsAreRead(t *testing.T) {
	text := string(must.Get(os.ReadFile("testdata/accepted/own_ball_model.json")))
	m, err := ReadModel(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if m.Sizes.NV != 13 || m.JntType[1] != Ball || len(m.Names.Joint) != m.Sizes.NJnt || m.Opt.Gravity[2] != -9.81 {
		t.Errorf("%+v", m)
	}
	spheres := string(must.Get(os.ReadFile("testdata/accepted/own_spheres_model.json")))
	ball := must.Get(ReadModel(strings.NewReader(strings.ReplaceAll(spheres, "[0.1,0.0,0.0]", "[0.1,0.1,0.1]"))))
	if at := slices.Index(ball.GeomType, Sphere); ball.GeomSize[at] != [3]float64{ball.GeomSize[at][0]} {
		t.Errorf("a sphere whose file gives three sizes has sizes %v", ball.GeomSize[at])
	}
	texts := []string{text}
	for _, name := range []string{"own_equalities", "own_fields"} {
		texts = append(texts, string(must.Get(os.ReadFile("testdata/accepted/"+name+"_model.json"))))
	}
	for _, c := range []struct{ old, new, want string }{
		{text[len(text)/2:], "", "not valid JSON: it ends too early: restore the file"},
		{`"4.0.0"`, "4", "model: mujoco has the wrong type (number)"},
		{`"4.0.0"`, `"3.3.0"`, `MuJoCo "3.3.0"`},
		{`"nv":13`, `"nv":12`, "12"},
		{`"na":0`, `"na":-59`, "na -59"},
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
		{`"coefs":[0.5,`, `"segments":[{"sites":[0,9],"divisor":1}],"coefs":[0.5,`, "tendon 0 runs between sites [0 9]"},
		{`"eq_obj1id":[3,`, `"eq_obj1id":[40,`, "equality 0"},
		{`"nrow":6`, `"nrow":7`, "height field 0 has 48 heights for 7 times 8 points"},
	} {
		at := slices.IndexFunc(texts, func(text string) bool { return strings.Contains(text, c.old) })
		if at < 0 {
			t.Fatalf("%q does not occur", c.old)
		}
		broken := strings.Replace(texts[at], c.old, c.new, 1)
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
	for _, name := range []string{"own_ball", "own_equalities", "own_spheres", "own_fields"} {
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
