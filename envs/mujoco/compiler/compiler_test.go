package compiler

import (
	"encoding/csv"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/envs/algebra"
	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
	"example.com/qdnb/internal/wheel"
	"example.com/qdnb/internal/xlatest"
)

const testdata = "../testdata"

// write writes a file of a test's folder.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	must.Do(os.MkdirAll(filepath.Dir(path), 0o777))
	must.Do(os.WriteFile(path, []byte(text), 0o666))
	return path
}

// fakePython puts a shell script in the place of python3. Its answer to the probe is given.
func fakePython(t *testing.T, probe, script string) {
	t.Helper()
	dir := t.TempDir()
	must.Do(os.WriteFile(filepath.Join(dir, "python3"), []byte("#!/bin/sh\nif [ \"$1\" = -c ]; then "+probe+
		"; exit; fi\n"+script), 0o777))
	t.Setenv("PATH", dir)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
}

// What is missing on a machine, and what Python says, is one line that names the next action.
func TestErrorsAreOneLine(t *testing.T) {
	xml := filepath.Join(testdata, "xml", "gym_ant.xml")
	compile := func() error { return errtest.Of(Compile(t.Context(), xml)) }
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	errtest.Want(t, compile(), "needs python3, version 3.11 or newer: install it")
	for _, c := range []struct{ probe, script, want string }{
		{"exit 3", "", "does not work: exit status 3"},
		{"echo nonsense", "", "does not work"},
		{"echo 309 cpython-39 True none", "", "is version 3.9: put a newer one into the PATH"},
		{"echo 311 cpython-311 False 4.0.0", "echo ERROR: no route to host >&2; exit 1",
			"library cannot be fetched (pip could not fetch numpy: no route to host)"},
		{"echo 311 cpython-311 True none", "echo ERROR: no route to host >&2; exit 1",
			"cannot be fetched (pip could not fetch mujoco-core: no route to host): check the network"},
		{"echo 311 cpython-311 True none", "echo 'ERROR: No space left on device' >&2; exit 1", "set XDG_CACHE_HOME"},
		{"echo 311 cpython-311 True 4.0.0", "echo '{\"error\":\"XML Error: line 3\"}'", "XML Error: line 3"},
		{"echo 311 cpython-311 True 4.0.0", "echo '{\"error\":\"XML parse error 10:; Error=XML_ERROR_PARSING_COMMENT " +
			"ErrorID=10 (0xa) Line number=7\"}'", "not valid XML: the text that begins in line 7 does not end, or is wrong (P"},
		{"echo 311 cpython-311 True 4.0.0", "echo '{\"value\":{}}'", "MuJoCo \"\""},
		{"echo 311 cpython-311 True 4.0.0", "echo surprise", "cannot be read"},
		{"echo 311 cpython-311 True 4.0.0", "echo Traceback >&2; echo SystemError: it broke >&2; exit 1",
			"failed: SystemError: it broke"},
	} {
		fakePython(t, c.probe, c.script)
		errtest.Want(t, compile(), c.want)
	}
	fakePython(t, "echo 311 cpython-311 True none", "")
	t.Setenv(wheel.NoDownloadEnv, "1")
	errtest.Want(t, compile(), "$QDNB_NO_DOWNLOAD forbids fetching it", "-m pip install mujoco-core==4.0.0`")
}

// A compiled model is compiled once: again only if a file that it may be made of changes or appears.
func TestModelsAreCached(t *testing.T) {
	answer := must.Get(filepath.Abs(write(t, t.TempDir(), "answer", `{"value":`+
		string(must.Get(os.ReadFile(filepath.Join(testdata, "accepted/own_ball_model.json"))))+"}")))
	log := filepath.Join(t.TempDir(), "log")
	fakePython(t, "echo 311 cpython-311 True 4.0.0", "echo compiled >>"+log+"; /bin/cat "+answer)
	dir := t.TempDir()
	path := write(t, dir, "robot.xml", `<mujoco><compiler meshdir="meshes"/><include file="parts/leg.xml"/></mujoco>`)
	leg, foot := `<mujocoinclude><model file="foot.urdf"/></mujocoinclude>`, `<robot><mesh filename="foot.stl"/></robot>`
	for i, change := range []func(){
		func() {},
		func() { write(t, dir, "parts/leg.xml", leg); write(t, dir, "parts/foot.urdf", foot) },
		func() { write(t, dir, "meshes/foot.stl", "a mesh") },
		func() { write(t, dir, "meshes/foot.stl", "another") },
		func() { write(t, dir, "robot.xml", `<mujoco/>`) },
	} {
		change()
		for range 2 {
			if m := must.Get(Compile(t.Context(), path)); m.Sizes.NV != 13 {
				t.Fatalf("%+v", m.Sizes)
			}
		}
		log := string(must.Get(os.ReadFile(log)))
		errtest.Equal(t, fmt.Sprintf("compilations after %d changes", i), strings.Count(log, "compiled"), i+1)
	}
	stored := must.Get(filepath.Glob(filepath.Join(os.Getenv("XDG_CACHE_HOME"), "qdnb", "models", "*.json")))
	errtest.Equal(t, "stored models", len(stored), 5)
	for _, file := range stored {
		must.Do(os.WriteFile(file, []byte("damaged"), 0o666))
	}
	errtest.Equal(t, "degrees of freedom", must.Get(Compile(t.Context(), path)).Sizes.NV, 13)
}

// needsMuJoCo skips a test unless $QDNB_MUJOCO asks for tests with MuJoCo's compiler.
func needsMuJoCo(t *testing.T) {
	t.Helper()
	if os.Getenv("QDNB_MUJOCO") == "" {
		t.Skip("SKIPPED: QDNB_MUJOCO=1 runs the tests that fetch MuJoCo")
	}
}

// MuJoCo compiles the XML of testdata to the numbers of testdata.
func TestGoldenModelsAreCompiled(t *testing.T) {
	needsMuJoCo(t)
	count := 0
	for folder, xml := range map[string]string{"accepted": "xml", "refused": "xml/refused"} {
		for _, path := range must.Get(filepath.Glob(filepath.Join(testdata, xml, "*.xml"))) {
			count++
			name := strings.TrimSuffix(filepath.Base(path), ".xml")
			got := must.Get(Compile(t.Context(), path))
			compiled := filepath.Join(testdata, folder, name+"_model.json")
			if name == "go1" {
				compiled = "../../robots/go1.json"
			}
			file := must.Get(os.Open(compiled))
			want := must.Get(mujoco.ReadModel(file))
			must.Do(file.Close())
			got.Notes, got.OwnContacts, got.LinkContacts = nil, nil, 0
			if want.Notes, want.OwnContacts, want.LinkContacts = nil, nil, 0; !reflect.DeepEqual(got, want) {
				t.Errorf("%s is compiled otherwise", name)
			}
		}
	}
	if count < 33 {
		t.Errorf("there are %d files", count)
	}
}

// What is only drawn may be missing; what is not, and mistakes, are errors with MuJoCo's words.
func TestMuJoCoReads(t *testing.T) {
	needsMuJoCo(t)
	dir := t.TempDir()
	const visual = `contype="0" conaffinity="0"`
	body := func(geom string) string {
		return `<mujoco><compiler meshdir="m"/><asset><mesh name="a" file="a.stl"/><texture type="2d" name="t" file="t.png"/>
			<material name="m" texture="t"/></asset><worldbody><body name="b"><freejoint/>` + geom +
			`<geom size=".1"/></body></worldbody></mujoco>`
	}
	inertial := `<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>`
	for _, c := range []struct{ text, note, err string }{
		{body(`<geom type="mesh" mesh="a" mass="0" material="m" ` + visual + `/>`), "a.stl", ""},
		{body(inertial + `<geom type="mesh" mesh="a" material="m" ` + visual + `/>`), "a.stl", ""},
		{body(`<geom name="g" type="mesh" mesh="a" ` + visual + `/>`), "",
			"the file a.stl of mesh 'a' is missing, and the geom 'g' of body 'b' (line 2), which has its shape, gives " +
				"its body mass"},
		{body(inertial + `<geom type="mesh" mesh="a"/>`), "", "collides"},
		{`<mujoco><worldbody><body><joint bad="1"/></body></worldbody></mujoco>`, "", "'bad'; Element 'joint', line 1"},
		{`<mujoco><include file="no.xml"/></mujoco>`, "", "Error opening file 'no.xml'"},
		{`<robot name="r"><link name="base"/></robot>`, "", ""},
		{`<mujoco`, "", "not valid XML: the text that begins in line 1 does not end"},
	} {
		m, err := Compile(t.Context(), write(t, dir, "x.xml", c.text))
		if c.err != "" {
			errtest.Want(t, err, c.err)
		} else if err != nil || c.note != "" && !slices.ContainsFunc(m.Notes, func(s string) bool {
			return strings.Contains(s, c.note)
		}) {
			t.Errorf("%s: %v, notes %q", c.text, err, m.Notes)
		}
	}
	m := must.Get(Compile(t.Context(), write(t, dir, "x.xml", `<mujoco><extension><plugin plugin="mujoco.pid"/></extension>
		<worldbody><body><joint name="j"/><geom size=".1"/></body></worldbody>
		<actuator><plugin joint="j" plugin="mujoco.pid"/></actuator></mujoco>`)))
	errtest.Equal(t, "plugins", m.Names.Plugin, []string{"mujoco.pid"})
}

// A note on missing meshes is the same for a copy of the model in another folder, which is not compiled again, and short.
func TestNotesOnMissingMeshes(t *testing.T) {
	needsMuJoCo(t)
	for _, dir := range []string{t.TempDir(), t.TempDir()} {
		var meshes, geoms string
		for i := range 5 {
			meshes += fmt.Sprintf(`<mesh name="m%d" file="%[1]d.stl"/>`, i)
			geoms += fmt.Sprintf(`<geom type="mesh" mesh="m%d" mass="0" contype="0" conaffinity="0"/>`, i)
		}
		write(t, dir, "parts/leg.xml", `<mujoco><asset>`+meshes+`</asset><worldbody><body><freejoint/><geom size=".1"/>`+geoms+
			`</body></worldbody></mujoco>`)
		m := must.Get(Compile(t.Context(), write(t, dir, "x.xml", `<mujoco><include file="parts/leg.xml"/></mujoco>`)))
		errtest.Equal(t, "notes", m.Notes, []string{"meshes whose files are missing were left out, as they are only drawn: " +
			"0.stl, 1.stl, 2.stl, and 2 more"})
	}
}

// MuJoCo runs in another folder, and finds a file that is named relative to this one.
func TestReferenceOfARelativePath(t *testing.T) {
	fakePython(t, "echo 311 cpython-311 True 4.0.0", `echo "{\"error\":\"$3\"}"`)
	t.Chdir(t.TempDir())
	errtest.Want(t, errtest.Of(Reference(t.Context(), "robot.xml", nil)), must.Get(filepath.Abs("robot.xml")))
}

// A reference has the arrays of the golden files, and only contacts of the pairs.
func TestReference(t *testing.T) {
	needsMuJoCo(t)
	folder := must.Get(filepath.Abs(filepath.Join(testdata, "xml")))
	path := filepath.Join(folder, "dmc_finger.xml")
	m := must.Get(Compile(t.Context(), path))
	s := must.Get(m.Check(mujoco.Options{IgnorePairs: true}))
	arrays := must.Get(Reference(t.Context(), path, s.Pairs))
	for name, shape := range map[string][]int{"free_qacc": {50, 3}, "touch_M_vector": {50, 3}, "touch_noise": {50, 8},
		"traj9_qpos": {51, 3}, "traj0_ctrl": {50, 2}, "touch_counts": {50, 5}, "frame_skip": {}} {
		errtest.Equal(t, name, arrays[name].Shape, shape)
	}
	geoms := must.Get(arrays["touch_contact_geom"].Int32s())
	dims := must.Get(arrays["touch_contact_dim"].Int32s())
	contacts := 0
	for i, dim := range dims {
		one, two := int(geoms[2*i]), int(geoms[2*i+1])
		if dim > 0 {
			contacts++
			if !slices.ContainsFunc(s.Pairs, func(p mujoco.Pair) bool { return p.Geom1 == one && p.Geom2 == two }) {
				t.Errorf("geoms %d and %d touch", one, two)
			}
		}
	}
	if contacts == 0 {
		t.Error("there are no contacts")
	}
}

// Where rounding decides in MuJoCo whether faces touch that are 0 m apart in all poses, references say what that changes.
func TestReferenceOfSlidingFaces(t *testing.T) {
	needsMuJoCo(t)
	path := write(t, t.TempDir(), "faces.xml", `<mujoco><worldbody>
		<body><joint name="a" type="slide" axis="0 1 0"/><geom type="box" size=".02 .2 .1" pos=".05 0 0"/></body>
		<body><joint name="b" type="slide" axis="0 1 0"/><geom type="box" size=".015 .2 .1" pos=".015 0 0"/></body>
		</worldbody><actuator><motor joint="a"/><motor joint="b"/></actuator></mujoco>`)
	arrays := must.Get(Reference(t.Context(), path, []mujoco.Pair{{Geom1: 0, Geom2: 1}}))
	noise, accelerations := must.Get(arrays["touch_noise"].Float64s()), must.Get(arrays["touch_qacc"].Float64s())
	if noise[0] < math.Abs(accelerations[0]) {
		t.Errorf("friction between the faces changes accelerations of %.1e by %.1e", accelerations[0], noise[0])
	}
}

// Where gravity has no torque about an axis, references say what rounding of the centre of mass makes of it.
func TestReferenceOfBalancedHinge(t *testing.T) {
	needsMuJoCo(t)
	path := write(t, t.TempDir(), "balanced.xml", `<mujoco><worldbody><body pos=".3 .4 1" euler="10 20 30">
		<joint axis="0 1 0"/><geom type="box" size=".1 .2 .3" mass="5"/></body></worldbody></mujoco>`)
	noise := must.Get(must.Get(Reference(t.Context(), path, nil))["free_noise"].Float64s())
	if torque := noise[4]; torque < 1e-8*5*9.81 || torque > 1e-6*5*9.81 {
		t.Errorf("rounding changes the torque by %.1e N m", torque)
	}
}

// Pairs of a file that may not touch do not, although MuJoCo takes a negative margin of a cylinder for depth.
func TestReferenceLeavesOutPairs(t *testing.T) {
	needsMuJoCo(t)
	path := write(t, t.TempDir(), "pair.xml", `<mujoco><worldbody><geom name="a" type="box" size=".3 .2 .1"/>
		<body pos="0 0 .1"><joint type="slide" axis="0 0 1"/><geom name="b" type="cylinder" size=".05 .1" euler="9 9 9"/>
		</body></worldbody><contact><pair geom1="a" geom2="b"/></contact></mujoco>`)
	arrays := must.Get(Reference(t.Context(), path, nil))
	xlatest.Close(t, "acceleration", must.Get(arrays["touch_qacc"].Float32s())[:1], []float32{-9.81}, 1e-6)
}

// MuJoCo moves a robot that it makes of a compiled model as the engine moves it.
func TestPeerMovesAsTheEngine(t *testing.T) {
	needsMuJoCo(t)
	for _, name := range []string{"../../robots/go1.json", "../../robots/a1.json", "../../robots/gymnasium/humanoid.json",
		"accepted/own_ball_model.json", "accepted/own_servo_model.json", "accepted/own_spheres_model.json",
		"accepted/own_equalities_model.json", "accepted/own_tendons_model.json", "accepted/own_activations_model.json",
		"accepted/own_thrusters_model.json", "accepted/own_cables_model.json", "accepted/own_wraps_model.json",
		"accepted/own_muscles_model.json", "accepted/own_meshes_model.json", "accepted/own_fields_model.json"} {
		m := must.Get(ReadFile(t.Context(), filepath.Join(testdata, name)))
		system := must.Get(mujoco.NewSystem(m, mujoco.Options{IgnorePairs: true}))
		const copies = 2
		rows := func(n int, of func(i int) float64) []float32 {
			var all []float32
			for i := range n {
				for k := range copies {
					all = append(all, float32(of(i)+0.01*float64(k*(i%3))))
				}
			}
			return all
		}
		qpos := rows(m.Sizes.NQ, func(i int) float64 { return m.QPos0[i] })
		if len(m.KeyQPos) > 0 {
			qpos = rows(m.Sizes.NQ, func(i int) float64 { return m.KeyQPos[0][i] })
		}
		if name == "accepted/own_meshes_model.json" { // they touch the floor
			for i, joint := range m.JntType {
				if at := m.JntQPosAdr[i]; joint == mujoco.Free {
					qpos[2*(at+2)], qpos[2*(at+2)+1] = 0.03, 0.04
				}
			}
		}
		qvel, control := rows(m.Sizes.NV, func(i int) float64 { return 0.1 * math.Sin(float64(i)) }),
			rows(m.Sizes.NU, func(i int) float64 { return 0.3 * math.Cos(float64(i)) })
		peer := must.Get(Start(t.Context(), m, copies, 3, nil, nil))
		act := system.StartActivations(copies)
		must.Do(peer.Begin(qpos, qvel, act))
		got, speed, err := peer.Step(control)
		must.Do(err)
		peer.Close()
		out := xlatest.Run(t, xlatest.Pure(t), func(in []*graph.Node) []*graph.Node {
			var u *graph.Node
			if m.Sizes.NU > 0 {
				u = graph.Slice(in[2], graph.AxisRange(0, m.Sizes.NU))
			}
			start := mujoco.State{QPos: in[0], QVel: in[1], QAcc: graph.ZerosLike(in[1])}
			next := system.Step(system.State(system.Of(start)), u, 3) // with activations
			return []*graph.Node{next.QPos, next.QVel}
		}, xlatest.Tensor(qpos, m.Sizes.NQ, copies), xlatest.Tensor(qvel, m.Sizes.NV, copies),
			xlatest.Tensor(append(control, make([]float32, copies)...), m.Sizes.NU+1, copies))
		xlatest.Close(t, name+": positions", got, xlatest.Flat[float32](t, out[0]), 1e-4)
		xlatest.Close(t, name+": velocities", speed, xlatest.Flat[float32](t, out[1]), 1e-2)
	}
}

// Robots move on a terrain as on MuJoCo's boxes in its place: balls, capsules, boxes, cylinders and meshes, also in
// explicit pairs with the plane.
func TestPeerOnTerrain(t *testing.T) {
	needsMuJoCo(t)
	rough := mujoco.RoughGround(64, 0.05, 0.13, 1)
	for _, name := range []string{"../../robots/go1.json", "../../robots/a1.json", "accepted/own_sliding_model.json",
		"accepted/own_spheres_model.json", "accepted/own_cylinders_model.json", "accepted/own_facets_model.json"} {
		m := must.Get(ReadFile(t.Context(), filepath.Join(testdata, name)))
		system := must.Get(mujoco.NewSystem(m, mujoco.Options{IgnorePairs: true, Terrain: &rough}))
		const steps = 5
		run := func(build func(in []*graph.Node) []*graph.Node, in ...[]float32) (flat [][]float32) {
			var inputs []*tensors.Tensor
			for _, x := range in {
				inputs = append(inputs, xlatest.Tensor(x, len(x), 1))
			}
			for _, x := range xlatest.Run(t, xlatest.Pure(t), build, inputs...) {
				flat = append(flat, xlatest.Flat[float32](t, x))
			}
			return flat
		}
		state := func(in []*graph.Node) algebra.State {
			return system.Of(mujoco.State{QPos: in[0], QVel: in[1], QAcc: graph.ZerosLike(in[1])})
		}
		qpos, qvel := lists.Convert[float32](m.QPos0), make([]float32, m.Sizes.NV)
		if len(m.KeyQPos) > 0 {
			qpos = lists.Convert[float32](m.KeyQPos[0])
		}
		qpos = run(func(in []*graph.Node) []*graph.Node { return system.Land(state(in)).Parts[:1] }, qpos, qvel)[0]
		for i, kind := range m.JntType {
			if kind == mujoco.Free { // below the ground, where rounding does not decide
				qpos[m.JntQPosAdr[i]+2] -= 0.002
			}
		}
		peer := must.Get(Start(t.Context(), m, 1, steps, append([]mujoco.Pair{}, system.Pairs()...), &rough))
		must.Do(peer.Begin(qpos, qvel, nil))
		got, speed, err := peer.Step(make([]float32, m.Sizes.NU))
		must.Do(err)
		peer.Close()
		next := run(func(in []*graph.Node) []*graph.Node {
			control := graph.Zeros(in[0].Graph(), shapes.Make(dtypes.Float32, m.Sizes.NU, 1))
			next := system.Step(system.State(state(in)), control, steps)
			return []*graph.Node{next.QPos, next.QVel}
		}, qpos, qvel)
		xlatest.Close(t, name+": positions", got, next[0], 1e-4)
		xlatest.Close(t, name+": velocities", speed, next[1], 1e-2)
	}
}

// What goes wrong in MuJoCo's process is one line.
func TestPeerErrors(t *testing.T) {
	model := must.Get(ReadFile(t.Context(), "../../robots/go1.json"))
	fakePython(t, "echo 311 cpython-311 True 4.0.0", "echo Traceback >&2; echo SystemError: it broke >&2; exit 1")
	errtest.Want(t, errtest.Of(Start(t.Context(), model, 1, 1, nil, nil)), "MuJoCo failed: SystemError: it broke")
	fakePython(t, "echo 311 cpython-311 True 4.0.0", "echo '{}'; read line; echo '{\"error\":\"there is no screen\"}'")
	peer := must.Get(Start(t.Context(), model, 1, 1, nil, nil))
	defer peer.Close()
	errtest.Want(t, peer.Show(), "there is no screen")
}

// TestSurvey reads all models below the folder $QDNB_SURVEY, such as a checkout of MuJoCo Menagerie,
// and writes docs/robots.csv: which are modelled, which only with IgnorePairs, and what is in the way. It counts
// files with joints that MuJoCo compiles and no other file includes. For those that load, it writes
// golden files to the folder $QDNB_REFERENCES, if that is set, for the tests of package mujoco.
func TestSurvey(t *testing.T) {
	root := os.Getenv("QDNB_SURVEY")
	if root == "" {
		t.Skip("SKIPPED: QDNB_SURVEY=FOLDER reads all models below a folder")
	}
	var paths []string
	included := map[string]bool{}
	must.Do(filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".xml" {
			paths = append(paths, path)
			for _, source := range sources(path) {
				if source = filepath.Join(filepath.Dir(path), source); source != path {
					included[source] = true
				}
			}
		}
		return err
	}))
	reason := regexp.MustCompile(`contact of \w+ and \w+|\([a-z_.]+\)`)
	verdicts := []string{"loads", "loads with IgnorePairs", "refused"}
	counts, reasons := [3]int{}, map[string]int{}
	table := [][]string{{"model", "result", "in the way"}}
	for _, path := range paths {
		if included[path] {
			continue
		}
		name := must.Get(filepath.Rel(root, path))
		model, err := Compile(t.Context(), path)
		if err != nil {
			table = append(table, []string{name, "not compiled by MuJoCo", strings.ReplaceAll(err.Error(), root+"/", "")})
			continue
		}
		if model.Sizes.NV == 0 {
			continue
		}
		verdict := 0
		if _, err = model.Check(mujoco.Options{}); err != nil {
			verdict = 1
			if _, err := model.Check(mujoco.Options{IgnorePairs: true}); err != nil {
				verdict = 2
			}
			for _, text := range reason.FindAllString(err.Error(), -1) {
				reasons[text]++
			}
		}
		if out := os.Getenv("QDNB_REFERENCES"); out != "" && verdict < 2 {
			writeReference(t, path, filepath.Join(out, strings.NewReplacer("/", "-", ".xml", "").Replace(name)), model)
		}
		counts[verdict]++
		row := []string{name, verdicts[verdict], ""}
		if err != nil {
			row[2] = strings.TrimPrefix(err.Error(), "the engine does not model ")
		}
		table = append(table, row)
	}
	file := must.Get(os.Create("../../../docs/robots.csv"))
	must.Do(csv.NewWriter(file).WriteAll(table))
	must.Do(file.Close())
	fmt.Printf("%d models: %v %v\nmodels with:\n", counts[0]+counts[1]+counts[2], verdicts, counts)
	for _, text := range slices.SortedFunc(maps.Keys(reasons), func(a, b string) int { return reasons[b] - reasons[a] }) {
		fmt.Printf("%4d %s\n", reasons[text], text)
	}
}

// writeReference writes a compiled model and what MuJoCo computes for it, as the golden files do.
func writeReference(t *testing.T, path, base string, model mujoco.Model) {
	supported := must.Get(model.Check(mujoco.Options{IgnorePairs: true}))
	arrays, err := Reference(t.Context(), path, supported.Pairs)
	if err != nil {
		t.Errorf("%s: %v", path, err)
		return
	}
	must.Do(os.MkdirAll(filepath.Dir(base), 0o777))
	must.Do(npz.Write(base+".npz", arrays))
	must.Do(os.WriteFile(base+"_model.json", must.Get(run(t.Context(), compileScript, path)), 0o666))
}

func TestMissingFileSaysWhatToGive(t *testing.T) {
	dir := t.TempDir()
	for path, says := range map[string]string{"no.xml": "there is no such file: give the path",
		"no.json": "there is no such file", ".": "it is a folder: give the path",
		write(t, dir, "empty.xml", ""):                     "empty: restore it",
		filepath.Join(write(t, dir, "file", "x"), "a.xml"): "there is no such file"} {
		errtest.Want(t, errtest.Of(ReadFile(t.Context(), path)), says)
	}
}
