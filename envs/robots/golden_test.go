package robots_test

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/envs/physics"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
)

// model_*.json holds the systems that the published code builds.
func TestGoldenModels(t *testing.T) {
	spring, positions := robots.Ant(physics.Spring), robots.Ant(physics.PositionBased)
	for _, test := range []struct {
		env       string
		model     physics.Model
		feet, leg []string
	}{
		{"ant-uni", spring, robots.AntFeet, robots.AntLeg},
		{"ant-omni", spring, nil, nil},
		{"ant-trap", robots.Trap(positions), nil, nil},
		{"ant-maze", robots.Maze(positions, [2]float64{35, 0}), nil, nil},
		{"walker-uni", robots.Walker2d(), robots.Walker2dFeet, robots.Walker2dLeg},
		{"halfcheetah-uni", robots.HalfCheetah(), robots.HalfCheetahFeet, robots.HalfCheetahLeg},
		{"halfcheetah-hurdles", robots.Hurdles(robots.HalfCheetah()), nil, nil},
		{"hopper-uni", robots.Hopper(), robots.HopperFoot, nil}, // the paper changes no leg of these
		{"humanoid-uni", robots.Humanoid(), robots.HumanoidFeet, nil},
	} {
		t.Run(test.env, func(t *testing.T) {
			source := readSource(t, test.env)
			if err := test.model.Validate(); err != nil {
				t.Error(err)
			}
			same(t, "model", plain(test.model), plain(source.model(t)))
			same(t, "number of actions", must.Get(physics.NewSystem(test.model)).Actions(), source.ActionSize)
			same(t, "feet", test.feet, source.feet())
			same(t, "leg", test.leg, source.Perturbations.Actuators)
			if test.env == "ant-maze" {
				var targets []physics.Vec
				for _, target := range catalog.Targets() {
					targets = append(targets, robots.Maze(positions, target).Pose["Target"])
				}
				same(t, "targets", targets, source.Perturbations.Targets)
			}
		})
	}
}

// plain replaces the defaults of a model by explicit values, and sorts the pairs that collide.
func plain(m physics.Model) physics.Model {
	m.Bodies = slices.Clone(m.Bodies)
	for i := range m.Bodies {
		if m.Bodies[i].Inertia == (physics.Vec{}) {
			m.Bodies[i].Inertia = physics.Vec{1, 1, 1}
		}
		if m.Bodies[i].Fixed {
			m.Bodies[i].Frozen = physics.Frozen{}
		}
	}
	m.Collide = slices.Clone(m.Collide)
	for i := range m.Collide {
		slices.Sort(m.Collide[i][:])
	}
	slices.SortFunc(m.Collide, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return m
}

// same compares the JSON of two values, numbers as float32, in which nothing is as good as an empty list.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	lines := func(value any) []string {
		text := strings.NewReplacer("[]", "null", "{}", "null").Replace(string(must.Get(json.MarshalIndent(value, "", " "))))
		return strings.Split(number.ReplaceAllStringFunc(text, func(x string) string {
			return fmt.Sprint(float32(must.Get(strconv.ParseFloat(x, 64))) + 0) // never -0
		}), "\n")
	}
	a, b := append(lines(got), "its end"), append(lines(want), "its end")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Errorf("%s: after %q comes %s, want %s", what, a[max(0, i-3):i], a[i], b[i])
			return
		}
	}
}

var number = regexp.MustCompile(`-?\d+(\.\d+)?(e[-+]?\d+)?`)

// source is the content of a model_*.json.
type source struct {
	Mode            string  `json:"dynamics_mode"`
	TimeStep        float64 `json:"dt"`
	Substeps        int
	Gravity         physics.Vec
	Baumgarte       float64 `json:"baumgarte_erp"`
	VelocityDamping float64 `json:"velocity_damping"`
	AngularDamping  float64 `json:"angular_damping"`
	Frozen          frozen  `json:"frozen_global"`
	Bodies          []struct {
		Name      string
		Mass      float64
		Inertia   physics.Vec
		Frozen    frozen
		Colliders []collider
	}
	Joints []struct {
		Name, Parent, Child string
		ParentOffset        physics.Vec  `json:"parent_offset"`
		ChildOffset         physics.Vec  `json:"child_offset"`
		Rotation            physics.Vec  `json:"rotation_deg"`
		Reference           physics.Vec  `json:"reference_rotation_deg"`
		Limits              [][2]float64 `json:"angle_limit_deg"`
		Damping             float64      `json:"angular_damping"`
		Stiffness           float64
		SpringDamping       float64 `json:"spring_damping"`
		SpringDampingGiven  bool    `json:"spring_damping_given"`
		LimitStrength       float64 `json:"limit_strength"`
		LimitStrengthGiven  bool    `json:"limit_strength_given"`
	}
	Actuators []struct {
		Name, Joint, Type string
		Strength          float64
	}
	Collide  [][2]string `json:"collide_include"`
	Defaults struct {
		Angles []struct {
			Name  string
			Angle physics.Vec `json:"angle_deg"`
		}
		Poses []struct {
			Name     string
			Position physics.Vec `json:"pos"`
			Rotation physics.Vec `json:"rot_deg"`
			Velocity physics.Vec `json:"vel"`
			Spin     physics.Vec `json:"ang"`
		} `json:"qps"`
	}
	ActionSize    int `json:"action_size"`
	Descriptor    string
	Perturbations struct {
		Actuators []string
		Targets   []physics.Vec
	}
}

type frozen struct {
	All                bool
	Position, Rotation [3]float64
}

type collider struct {
	Type                 string
	TreatedAs            string `json:"treated_as"`
	Radius, Length       float64
	End                  int
	Position             physics.Vec
	Rotation             physics.Vec `json:"rotation_deg"`
	Friction, Elasticity float64
}

func readSource(t *testing.T, env string) source {
	data := must.Get(os.ReadFile(golden.Path(t, "model_"+env+".json")))
	var s source
	must.Do(json.Unmarshal(data, &s))
	same(t, "bodies given", len(s.Bodies) > 0 && len(s.Joints) > 0 && len(s.Collide) > 0, true)
	return s
}

// model converts the source to a model. It fails the test if a model cannot express the source.
func (s source) model(t *testing.T) physics.Model {
	mode, ok := map[string]physics.Dynamics{"legacy_spring": physics.Spring, "pbd": physics.PositionBased}[s.Mode]
	same(t, "known mode "+s.Mode, ok, true)
	m := physics.Model{
		Dynamics: mode, TimeStep: s.TimeStep, Substeps: s.Substeps, Gravity: s.Gravity,
		Baumgarte:       s.Baumgarte,
		VelocityDamping: s.VelocityDamping, AngularDamping: s.AngularDamping, Frozen: s.Frozen.axes(),
		Pose: map[string]physics.Vec{}, Angles: map[string]physics.Vec{},
	}
	known := map[string]bool{}
	for _, b := range s.Bodies {
		known[b.Name] = true
		body := physics.Body{Name: b.Name, Mass: b.Mass, Inertia: b.Inertia, Fixed: b.Frozen.All}
		if !body.Fixed {
			same(t, b.Name+" frozen", b.Frozen, s.Frozen)
		}
		for _, c := range b.Colliders {
			body.Colliders = append(body.Colliders, c.collider(t))
		}
		m.Bodies = append(m.Bodies, body)
	}
	for _, j := range s.Joints {
		joint := physics.Joint{
			Name: j.Name, Parent: j.Parent, Child: j.Child, ParentOffset: j.ParentOffset,
			ChildOffset: j.ChildOffset,
			Rotation:    j.Rotation, Reference: j.Reference, Limits: j.Limits, Damping: j.Damping,
			Stiffness: j.Stiffness,
		}
		if j.SpringDampingGiven {
			joint.SpringDamping = j.SpringDamping
		}
		if j.LimitStrengthGiven {
			joint.LimitStrength = j.LimitStrength
		}
		m.Joints = append(m.Joints, joint)
	}
	for _, a := range s.Actuators {
		same(t, "name of the actuator of "+a.Joint, a.Name, a.Joint)
		same(t, "actuator of "+a.Joint, a.Type, "torque")
		m.Actuators = append(m.Actuators, physics.Actuator{Joint: a.Joint, Strength: a.Strength})
	}
	for _, pair := range s.Collide {
		if known[pair[0]] && known[pair[1]] {
			m.Collide = append(m.Collide, pair)
		} else {
			same(t, "void pair", pair, [2]string{"Hurdles", "Ground"})
		}
	}
	for i, b := range m.Bodies {
		m.Bodies[i].Visual = len(b.Colliders) > 0 && !slices.ContainsFunc(m.Collide,
			func(pair [2]string) bool { return slices.Contains(pair[:], b.Name) })
	}
	for _, p := range s.Defaults.Poses {
		m.Pose[p.Name] = p.Position
		same(t, "rotation and velocities of "+p.Name, []physics.Vec{p.Rotation, p.Velocity, p.Spin}, make([]physics.Vec, 3))
	}
	for _, a := range s.Defaults.Angles {
		m.Angles[a.Name] = a.Angle
	}
	return m
}

func (f frozen) axes() (axes physics.Frozen) {
	for i := range 3 {
		axes.Position[i], axes.Rotation[i] = f.Position[i] == 1, f.Rotation[i] == 1
	}
	return axes
}

func (c collider) collider(t *testing.T) physics.Collider {
	out := physics.Collider{
		Radius: c.Radius, Length: c.Length, End: c.End, Position: c.Position, Rotation: c.Rotation,
		Friction: c.Friction, Elastic: c.Elasticity,
	}
	switch c.Type {
	case "capsule":
	case "sphere":
		same(t, "sphere", c.TreatedAs, "capsule with length 2*radius and end 1")
		out.Length, out.End = 2*c.Radius, 1
	case "plane":
		out.Shape = physics.Plane
	default:
		t.Errorf("unknown shape %q", c.Type)
	}
	return out
}

// feet returns the bodies in the descriptor, if it is of foot contacts.
func (s source) feet() []string {
	if !regexp.MustCompile("(feet|foot) contact").MatchString(s.Descriptor) {
		return nil
	}
	var names []string
	for _, match := range regexp.MustCompile("'([^']+)'").FindAllStringSubmatch(s.Descriptor, -1) {
		names = append(names, match[1])
	}
	return names
}

// Functions that take a model do not write to its memory, not even past the ends of slices.
func TestModelsStay(t *testing.T) {
	build := func() physics.Model {
		m := robots.Maze(robots.Ant(physics.PositionBased), [2]float64{35, 0})
		m.Bodies, m.Collide = append(m.Bodies, make([]physics.Body, 9)...),
			append(m.Collide, make([][2]string, 9)...)
		return m
	}
	whole := build()
	ant := whole
	ant.Bodies, ant.Collide = ant.Bodies[:len(ant.Bodies)-9], ant.Collide[:len(ant.Collide)-9]
	robots.Trap(ant)
	robots.Maze(ant, [2]float64{1, 2})
	robots.Hurdles(ant)
	if !reflect.DeepEqual(whole, build()) {
		t.Error("the model changed")
	}
}

// Models are data: an ant with half the actuator strength in one leg and twice the gravity.
func Example() {
	ant := robots.Ant(physics.Spring)
	ant.Gravity[2] *= 2
	for i, a := range ant.Actuators {
		if a.Joint == robots.AntLeg[0] || a.Joint == robots.AntLeg[1] {
			ant.Actuators[i].Strength *= 0.5
		}
	}
	if err := ant.Validate(); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d bodies, gravity %g m/s²\n", len(ant.Bodies), ant.Gravity[2])
	for _, a := range ant.Actuators {
		fmt.Printf("%-16s %g Nm\n", a.Joint, a.Strength)
	}
	// Output:
	// 10 bodies, gravity -19.6 m/s²
	// $ Torso_Aux 1    350 Nm
	// Aux 1_$ Body 4   350 Nm
	// $ Torso_Aux 2    350 Nm
	// Aux 2_$ Body 7   350 Nm
	// $ Torso_Aux 3    350 Nm
	// Aux 3_$ Body 10  350 Nm
	// $ Torso_Aux 4    175 Nm
	// Aux 4_$ Body 13  175 Nm
}
