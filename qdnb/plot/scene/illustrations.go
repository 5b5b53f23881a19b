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
// qdnb makes it from the models of the robots, and tells when it is out of date.
//
//go:embed illustrations.json
var illustrationsFile []byte

var illustrations = sync.OnceValues(func() (map[string]*Film, error) {
	var films map[string]*Film
	return films, json.Unmarshal(illustrationsFile, &films)
})

// Illustration shows an environment of the paper by its name, with its robot in a pose that it
// takes as it moves: a film of one frame, which the caller may change. With " leg" after its name,
// as in "ant-uni leg", the robot of an environment of that kind is grey but for the leg whose
// actuators the paper perturbs; "ant-maze targets" has the ten targets of the paper, called Target
// 0 to 9.
func Illustration(name string) (*Film, error) {
	films, err := illustrations()
	if err != nil {
		return nil, fmt.Errorf("scene: illustrations.json: %w", err)
	}
	film, ok := films[name]
	if !ok {
		return nil, fmt.Errorf("scene: there is no illustration of %q: there are those of %s", name,
			strings.Join(slices.Sorted(maps.Keys(films)), ", "))
	}
	return film.clone(), nil
}

// clone is a film that shares nothing with f.
func (f *Film) clone() *Film {
	c := *f
	c.Bodies, c.Frames, c.Rewards = slices.Clone(f.Bodies), slices.Clone(f.Frames),
		slices.Clone(f.Rewards)
	for i, b := range c.Bodies {
		c.Bodies[i].Shapes = slices.Clone(b.Shapes)
	}
	for i, frame := range c.Frames {
		c.Frames[i] = slices.Clone(frame)
	}
	return &c
}
