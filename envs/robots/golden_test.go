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
	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// published is a task's robot as the published code builds it.
type published struct {
	Model     physics.Model
	Actions   int
	Feet, Leg []string // bodies of the descriptor, and actuators of the leg that the paper changes
	Targets   []physics.Vec
}

// models.json holds the systems that the published code builds, in the fields of this package.
func TestGoldenModels(t *testing.T) {
	spring, positions := robots.Ant(physics.Spring), robots.Ant(physics.PositionBased)
	var targets []physics.Vec
	for _, target := range catalog.Targets() {
		targets = append(targets, robots.Maze(positions, target).Pose["Target"])
	}
	got := map[string]published{
		"ant-uni":             {Model: spring, Feet: robots.AntFeet, Leg: robots.AntLeg},
		"ant-omni":            {Model: spring},
		"ant-trap":            {Model: robots.Trap(positions)},
		"ant-maze":            {Model: robots.Maze(positions, [2]float64{35, 0}), Targets: targets},
		"walker-uni":          {Model: robots.Walker2d(), Feet: robots.Walker2dFeet, Leg: robots.Walker2dLeg},
		"halfcheetah-uni":     {Model: robots.HalfCheetah(), Feet: robots.HalfCheetahFeet, Leg: robots.HalfCheetahLeg},
		"halfcheetah-hurdles": {Model: robots.Hurdles(robots.HalfCheetah())},
		"hopper-uni":          {Model: robots.Hopper(), Feet: robots.HopperFoot}, // the paper changes no leg of these
		"humanoid-uni":        {Model: robots.Humanoid(), Feet: robots.HumanoidFeet},
	}
	var want map[string]json.RawMessage
	must.Do(json.Unmarshal(must.Get(os.ReadFile("testdata/models.json")), &want))
	errtest.Equal(t, "robots", len(got), len(want))
	for env, robot := range got {
		robot.Actions = must.Get(physics.NewSystem(robot.Model)).Actions()
		robot.Model = plain(robot.Model)
		same(t, env, robot, want[env])
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
