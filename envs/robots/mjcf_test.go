package robots

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"example.com/qdnb/envs/physics"
	"example.com/qdnb/internal/must"
)

// compiled is what MuJoCo makes of a file.
type compiled struct {
	Gravity physics.Vec
	Bodies  []struct {
		Name    string
		Parent  int
		Mass    float64
		IPos    physics.Vec
		IQuat   [4]float64
		Inertia physics.Vec
		Pos     physics.Vec
		Quat    [4]float64
	}
	Joints []struct {
		Name, Type                   string
		Body                         int
		Axis                         physics.Vec
		Limited                      bool
		Range                        [2]float64
		Stiffness, Damping, Armature float64
	}
	Actuators []struct {
		Joint       int
		Gear        []float64
		CtrlLimited bool
		CtrlRange   [2]float64
	}
	Poses []struct {
		QPos        []float64
		XPos, XIPos []physics.Vec
		XQuat       [][4]float64
	}
}

func r3Of(v physics.Vec) r3.Vec { return r3.Vec{X: v[0], Y: v[1], Z: v[2]} }

func quatOf(q [4]float64) quat.Number {
	return quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]}
}

// mjcfFile reads a file of testdata/mjcf.
func mjcfFile(t testing.TB, name string) (physics.Model, []string) {
	t.Helper()
	m, notes, err := ReadFile(filepath.Join("testdata", "mjcf", "mjcf_"+name+".xml"))
	must.Do(err)
	return m, notes
}

// Masses, inertias, ranges and forward kinematics are those of MuJoCo.
func TestMJCFIsWhatMuJoCoCompiles(t *testing.T) {
	files := must.Get(filepath.Glob("testdata/mjcf/*_compiled.json"))
	if len(files) != 13 {
		t.Fatalf("%d files", len(files))
	}
	for _, path := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "mjcf_"), "_compiled.json")
		t.Run(name, func(t *testing.T) {
			var want compiled
			must.Do(json.Unmarshal(must.Get(os.ReadFile(path)), &want))
			m, notes := mjcfFile(t, name)
			t.Log(m.Substeps, strings.Join(notes, "\n"))
			want.check(t, m)
		})
	}
}

func (c *compiled) check(t *testing.T, m physics.Model) {
	closeTo := func(what string, got, want float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 1e-6*max(1, math.Abs(want))) {
			t.Errorf("%s is %.9g, want %.9g", what, got, want)
		}
	}
	// The moving bodies, by the bodies that are fused with each.
	root := make([]int, len(c.Bodies))
	members := map[int][]int{}
	for i, b := range c.Bodies {
		root[i] = i
		jointed := false
		for _, j := range c.Joints {
			jointed = jointed || j.Body == i
		}
		if !jointed {
			root[i] = root[b.Parent]
		}
		if root[i] != 0 {
			members[root[i]] = append(members[root[i]], i)
		}
	}
	moving := slices.DeleteFunc(slices.Clone(m.Bodies), func(b physics.Body) bool { return b.Fixed })
	closeTo("number of moving bodies", float64(len(moving)), float64(len(members)))
	nameOf := map[int]string{}
	next := 0
	for i := range c.Bodies {
		if root[i] == i && i > 0 {
			nameOf[i] = moving[next].Name
			if c.Bodies[i].Name != "" && c.Bodies[i].Name != nameOf[i] {
				t.Errorf("body %q is called %q", c.Bodies[i].Name, nameOf[i])
			}
			next++
		}
	}
	local := map[string]frame{} // of the model's body in MuJoCo's
	for k, pose := range c.Poses {
		at := func(i int) frame { return frame{r3Of(pose.XPos[i]), quatOf(pose.XQuat[i])} }
		angles := c.angles(m, pose.QPos)
		for i, name := range nameOf {
			if start, ok := m.Pose[name]; ok {
				if k == 0 {
					turn := m.Turn[name]
					q := quat.Mul(quat.Mul(rotation(turn[0]*math.Pi/180, r3.Vec{X: 1}),
						rotation(turn[1]*math.Pi/180, r3.Vec{Y: 1})), rotation(turn[2]*math.Pi/180, r3.Vec{Z: 1}))
					local[name] = at(i).inverse().times(frame{r3Of(start), q})
				}
				now := at(i).times(local[name])
				m.Pose[name], m.Turn[name] = vec(now.at), degrees(now.turn)
			}
		}
		places := must.Get(must.Get(physics.NewSystem(m)).Places(angles...))
		for i, name := range nameOf {
			b := m.Bodies[m.Body(name)]
			var parts []inertial
			for _, part := range members[i] {
				p := c.Bodies[part]
				inside := inertial{frame{r3Of(pose.XIPos[part]), quat.Mul(quatOf(pose.XQuat[part]), quatOf(p.IQuat))},
					p.Mass, r3Of(p.Inertia)}
				parts = append(parts, inside)
			}
			want := combine(parts)
			place := places[m.Body(name)]
			got := inertial{frame{r3Of(place.Position), quatOf(place.Rotation)}, b.Mass, r3Of(b.Inertia)}
			closeTo(name+" mass", got.mass, want.mass)
			for axis, x := range vec(want.at) {
				closeTo(name+" position", place.Position[axis], x)
			}
			a, b2 := got.tensor(), want.tensor()
			for row := range 3 {
				for column := range 3 {
					if scale := mat.Trace(b2); math.Abs(a.At(row, column)-b2.At(row, column)) > 2e-6*scale {
						t.Errorf("pose %d, %s: inertia %v, want %v", k, name, mat.Formatted(a), mat.Formatted(b2))
						row, column = 3, 3
					}
				}
			}
		}
	}
	for _, j := range c.Joints {
		if j.Type != "hinge" {
			continue
		}
		for _, own := range m.Joints {
			names := strings.Split(own.Name, "+")
			if i := slices.Index(names, j.Name); i >= 0 && j.Limited {
				limits := []float64{own.Limits[i][0], own.Limits[i][1]}
				if c.sign(own, i) < 0 {
					limits[0], limits[1] = -limits[1], -limits[0]
				}
				closeTo(j.Name+" lower limit", limits[0]*math.Pi/180, j.Range[0])
				closeTo(j.Name+" upper limit", limits[1]*math.Pi/180, j.Range[1])
				closeTo(j.Name+" damping", own.Passive[i].Damping, j.Damping)
				closeTo(j.Name+" stiffness", own.Passive[i].Stiffness, j.Stiffness)
				closeTo(j.Name+" armature", own.Passive[i].Armature, j.Armature)
			}
		}
	}
	closeTo("number of actuators", float64(len(m.Actuators)+len(m.Thrusters)), float64(len(c.Actuators)))
	for i, a := range m.Actuators {
		want := c.Actuators[i]
		if a.Servo == nil && len(m.Thrusters) == 0 {
			half := 1.
			if want.CtrlLimited {
				half = (want.CtrlRange[1] - want.CtrlRange[0]) / 2
			}
			closeTo("strength", math.Abs(a.Strength), math.Abs(half*want.Gear[0]))
		}
	}
}

// sign is that of an axis of a joint relative to MuJoCo's: the axes of the model are right-handed.
func (c *compiled) sign(j physics.Joint, axis int) float64 {
	if axis < 2 {
		return 1
	}
	var axes []r3.Vec
	for _, name := range strings.Split(j.Name, "+") {
		for _, known := range c.Joints {
			if known.Name == name {
				axes = append(axes, r3Of(known.Axis))
			}
		}
	}
	return math.Copysign(1, r3.Dot(r3.Cross(axes[0], axes[1]), axes[2]))
}

// angles returns the model's joint angles of MuJoCo's coordinates.
func (c *compiled) angles(m physics.Model, qpos []float64) []float64 {
	byName, next := map[string]float64{}, 0
	for _, j := range c.Joints {
		byName[j.Name] = qpos[next]
		if next++; j.Type == "free" {
			next += 6
		}
	}
	var angles []float64
	for _, j := range m.Joints {
		names := strings.Split(j.Name, "+")
		for i, name := range names {
			angles = append(angles, byName[name]*c.sign(j, i))
		}
		if len(names) == 2 && m.Dynamics == physics.PositionBased {
			angles = append(angles, 0)
		}
	}
	return angles
}
