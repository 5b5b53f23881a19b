package envs

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"example.com/qdnb/envs/mujoco"
	"example.com/qdnb/envs/robots"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/names"
)

// StoredRobot is what the environment of a [RobotTask] is made of.
type StoredRobot struct {
	Task  RobotTask
	Model mujoco.Model
}

// String says what the task is, in a line.
func (r StoredRobot) String() string {
	t := r.Task
	what := fmt.Sprintf("%s walks along %s", t.Trunk, t.Forward)
	if t.Task == Velocity {
		what = fmt.Sprintf("%s follows commanded velocities, ahead along its %s, which each episode draws", t.Trunk, t.Forward)
		if len(t.Commands) > 0 {
			one := func(c [3]float64) string { return fmt.Sprintf("%g,%g,%g", c[0], c[1], c[2]) }
			what = fmt.Sprintf("%s follows the velocities %s (ahead along its %s and to the left, m/s; turning left, rad/s)",
				t.Trunk, strings.Join(lists.Map(t.Commands, one), ":"), t.Forward)
		}
	}
	if t.Stride > 0 {
		what += fmt.Sprintf(", stepping in place %g times a second", t.Stride)
	}
	touch := "which alone touch the ground"
	if t.Contacts == "all" {
		touch = "with all contacts of the model"
	}
	actions := "actions span the control ranges"
	if slices.ContainsFunc(lists.Indices(r.Model.Sizes.NU), func(i int) bool { return isServo(r.Model, i) }) {
		actions = fmt.Sprintf("servos move by up to %g rad or m from the default pose", t.Reach)
	}
	return fmt.Sprintf("%s; feet %s, %s; %s; %d steps of %g s%s", what, strings.Join(t.Feet, ", "), touch, actions, t.Steps,
		t.ControlStep, t.disturbed())
}

// disturbed says what a task varies, and on which terrain it is.
func (t RobotTask) disturbed() (text string) {
	if g := t.Terrain; g != nil {
		all := slices.Concat(g.Heights...)
		text = fmt.Sprintf("; terrain of %d x %d cells of %g m, %.3f to %.3f m high", len(g.Heights), len(g.Heights[0]), g.Cell,
			slices.Min(all), slices.Max(all))
	}
	for i, v := range t.Vary {
		text += [2]string{"; each episode draws ", ", "}[min(i, 1)] + v.String()
	}
	return text
}

// MarshalJSON writes the compiled model with the task added, so that the file is a compiled model, too.
func (r StoredRobot) MarshalJSON() ([]byte, error) {
	var content map[string]json.RawMessage
	text, err := json.Marshal(r.Model)
	if err == nil {
		err = json.Unmarshal(text, &content)
	}
	if err == nil {
		content["task"], err = json.Marshal(r.Task)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(content)
}

// ReadRobot makes the environment of a task of a robot in MuJoCo's XML, in a compiled model, or in the robot.json of a
// run: what the task leaves open is then as stored there. An environment without a name has [robots.Name].
func ReadRobot(ctx context.Context, path string, task RobotTask) (*Rigid, error) {
	switch strings.ToLower(filepath.Ext(path)) {
	case ".urdf":
		return nil, names.Wrongf("%s: a URDF has no free joint, floor or actuators: write a scene.xml that has them and "+
			"attaches it, of ten lines as in docs/guides/own_robot.md, and give that file", path)
	case ".xml", ".json":
	default:
		return nil, names.Wrongf("%s: want a robot for MuJoCo, which ends in .xml or .json; one for Brax needs a task in Go, as "+
			"docs/guides/add-an-environment.md says", path)
	}
	model, err := robots.ReadMJCF(ctx, path)
	if err != nil {
		return nil, err
	}
	var stored struct{ Task RobotTask }
	if text, err := os.ReadFile(path); err == nil && strings.EqualFold(filepath.Ext(path), ".json") {
		if err := json.Unmarshal(text, &stored); err != nil {
			return nil, fmt.Errorf("%s: its task: %w", path, err)
		}
	}
	task = task.or(stored.Task)
	if task.Name == "" {
		task.Name = fileName.ReplaceAllString(robots.Name(path), "-")
		if task.Task != "" && task.Task != Walk {
			task.Name += "-" + task.Task
		}
	}
	robot, err := task.Environment(model)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return robot, nil
}

// fileName matches what may not be in a name of an environment.
var fileName = regexp.MustCompile(`[^A-Za-z0-9+._-]+`)

// or returns a task with what it leaves open as in another one.
func (t RobotTask) or(other RobotTask) RobotTask {
	into, from := reflect.ValueOf(&t).Elem(), reflect.ValueOf(other)
	for i := range into.NumField() {
		if into.Field(i).IsZero() {
			into.Field(i).Set(from.Field(i))
		}
	}
	return t
}

// Robot returns what an environment was made of, if it is that of a [RobotTask], unchanged but for conditions that are
// nominal.
func Robot(env Env) (StoredRobot, bool) {
	if r := RigidOf(env); r != nil && r.robot != nil {
		now := *r
		made := *r.made
		now.robot, now.made = nil, nil
		for _, vary := range []*[]Variation{&now.Vary, &made.Vary} {
			*vary = slices.DeleteFunc(slices.Clone(*vary), func(v Variation) bool {
				return slices.Equal(v.Lower, v.Upper) && slices.Equal(v.Lower, r.nominal(v.Quantity))
			})
		}
		return *r.robot, same(reflect.ValueOf(now), reflect.ValueOf(made))
	}
	return StoredRobot{}, false
}

// same reports whether two values are equal: functions if their code is.
func same(a, b reflect.Value) bool {
	switch {
	case a.Kind() == reflect.Func:
		return a.Pointer() == b.Pointer()
	case a.Kind() == reflect.Slice && a.Len() != b.Len():
		return false
	case a.Kind() == reflect.Slice:
		return !slices.ContainsFunc(lists.Indices(a.Len()), func(i int) bool { return !same(a.Index(i), b.Index(i)) })
	case a.Kind() == reflect.Struct:
		return !slices.ContainsFunc(lists.Indices(a.NumField()), func(i int) bool { return !same(a.Field(i), b.Field(i)) })
	}
	return a.Equal(b)
}
