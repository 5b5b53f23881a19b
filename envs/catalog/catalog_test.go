package catalog_test

import (
	"fmt"
	"reflect"
	"testing"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/errtest"
)

func TestTasks(t *testing.T) {
	for _, name := range catalog.Names() {
		task, ok := catalog.Find(name)
		errtest.Equal(t, name, fmt.Sprint(ok, task.Name), fmt.Sprint(true, name))
		if err := task.Validate(); err != nil {
			t.Error(err)
		}
		for _, p := range task.Perturbations {
			if (p == catalog.TargetPosition) != (task.Target != nil) || len(p.Values()) == 0 {
				t.Errorf("%s: %s with target %v", name, p, task.Target)
			}
		}
	}
	for _, name := range []string{"moon", "Swimmer-v5-torso", "Hopper-v5-position", "Ant-v5-"} {
		if task, ok := catalog.Find(name); ok || task.Positions() {
			t.Errorf("%s: %+v", name, task)
		}
	}
}

// What a caller changes stays with the caller.
func TestTasksAreCopies(t *testing.T) {
	one, _ := catalog.Find("ant-maze")
	same, _ := catalog.Find("ant-maze")
	one.Walls[0].X0, one.Target[0], one.Descriptor.Lower[0] = 1, 2, 3
	one.Perturbations[0] = "none"
	if other, _ := catalog.Find("ant-maze"); !reflect.DeepEqual(other, same) {
		t.Errorf("%+v, not %+v", other, same)
	}
}
