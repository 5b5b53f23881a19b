package envs

import (
	"maps"
	"slices"

	"github.com/pkg/errors"

	"example.com/qdnb/internal/names"
)

// tasks maps names to the constructors of the paper's environments.
var tasks = map[string]func(options) (Env, error){
	"pointmaze":           makePointmaze,
	"ant-uni":             makeAntUni,
	"ant-omni":            makeAntOmni,
	"ant-trap":            makeAntTrap,
	"ant-maze":            makeAntMaze,
	"walker-uni":          makeWalkerUni,
	"halfcheetah-uni":     makeHalfCheetahUni,
	"halfcheetah-hurdles": makeHalfCheetahHurdles,
}

// Names lists the environments that [Make] knows, sorted.
func Names() []string { return slices.Sorted(maps.Keys(tasks)) }

// Make builds an environment by name. An unknown name is an error that suggests the closest one. An
// option that the environment does not support or a value out of range is an error.
func Make(name string, opts ...Option) (Env, error) {
	task, ok := tasks[name]
	if !ok {
		return nil, names.Unknown("environment", name, Names())
	}
	o := options{gravity: 1, actuators: 1}
	for _, set := range opts {
		set(&o)
	}
	env, err := task(o)
	if err != nil {
		return nil, errors.WithMessage(err, name)
	}
	if o.fixed {
		env = fixedStart{env, o.start}
	}
	return env, nil
}
