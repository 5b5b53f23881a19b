package envs

import (
	"fmt"
	"maps"
	"slices"

	"example.com/qdnb/envs/catalog"
	"example.com/qdnb/internal/names"
)

// constructors maps names to the constructors of environments. A task that package catalog lacks is
// passed without facts.
var constructors = map[string]func(catalog.Task, options) (Env, error){
	"pointmaze":           func(catalog.Task, options) (Env, error) { return Pointmaze{}, nil },
	"ant-uni":             makeAntUni,
	"ant-omni":            makeAntOmni,
	"ant-trap":            makeAntTrap,
	"ant-maze":            makeAntMaze,
	"walker-uni":          makeWalkerUni,
	"halfcheetah-uni":     makeHalfCheetahUni,
	"halfcheetah-hurdles": makeHalfCheetahHurdles,
	"hopper-uni":          makeHopperUni,
	"humanoid-uni":        makeHumanoidUni,
	"humanoid-omni":       makeHumanoidOmni,
	"arm":                 blackBox(Arm),
	"sphere":              blackBox(Sphere),
	"rastrigin":           blackBox(Rastrigin),
	"rastrigin-multi":     blackBox(RastriginMulti),
}

func init() {
	for name, task := range gymnasiumTasks() {
		for _, end := range []string{"", "-position", "-torso"} {
			if _, ok := catalog.Find(name + end); ok {
				constructors[name+end] = task.environment
			}
		}
	}
}

// Names lists the environments that [Make] knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(constructors)) }

// Make builds an environment by name. An unknown name is an error that suggests the closest one.
func Make(name string, opts ...Option) (Env, error) {
	build, ok := constructors[name]
	if !ok {
		return nil, names.Unknown("environment", name, Names())
	}
	task, _ := catalog.Find(name)
	var o options
	for _, set := range opts {
		set(&o)
	}
	env, err := build(task, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if o.fixed {
		env = StartAt(env, o.start)
	}
	return env, nil
}
