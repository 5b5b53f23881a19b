package scene

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// illustrations.json holds a film of one frame for each environment of the paper. A test of package
// watch generates it from the models of the robots, and detects when it is out of date.
//
//go:embed illustrations.json
var illustrationsFile []byte

var illustrations = sync.OnceValues(func() (map[string]json.RawMessage, error) {
	var films map[string]json.RawMessage
	return films, json.Unmarshal(illustrationsFile, &films)
})

// Illustration returns a film of one frame that shows a paper environment, with its robot in a
// typical pose. The caller may modify the film. A name with the suffix " leg", as in "ant-uni leg",
// shows the robot in grey except for the leg whose actuators the paper perturbs. "ant-maze targets"
// includes the ten targets of the paper, named Target 0 to 9.
func Illustration(name string) (*Film, error) {
	films, err := illustrations()
	if err != nil {
		return nil, fmt.Errorf("scene: illustrations.json: %w", err)
	}
	data, ok := films[name]
	if !ok {
		return nil, fmt.Errorf("scene: no illustration of %q: use one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(films)), ", "))
	}
	film := new(Film)
	return film, json.Unmarshal(data, film)
}
