package envs

import (
	"sort"
	"strings"

	"github.com/pkg/errors"
)

// tasks are the environments of the paper by name.
var tasks = map[string]func() Env{
	"pointmaze": func() Env { return Pointmaze{} },
}

// Names lists the environments that [Make] knows, sorted.
func Names() []string {
	var names []string
	for name := range tasks {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// Make builds the environment of a name. The error for an unknown one lists those that there are.
func Make(name string) (Env, error) {
	if task, ok := tasks[name]; ok {
		return task(), nil
	}
	return nil, errors.Errorf("unknown environment %q; there are: %s", name, strings.Join(Names(), ", "))
}
