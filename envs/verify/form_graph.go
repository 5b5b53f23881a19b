package verify

import (
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/envs"
)

// form is how golden files write down the states of an environment.
type form struct {
	coordinates []coordinate                         // the arrays that make up a state
	start       func(coordinates []*Node) envs.State // B states of their coordinates, [B, ...] each
	read        func(s envs.State) []*Node           // the other way round
	tolerance   float64                              // of all arrays but done, which is exact
}

// coordinate names an array, without what says when, and gives the dimensions for one state.
type coordinate struct {
	name string
	dims []int
}

// forms are the forms by environment.
var forms = map[string]form{
	"pointmaze": {
		coordinates: []coordinate{{"xy", []int{2}}},
		start: func(c []*Node) envs.State {
			component := func(k int) *Node { return Reshape(Slice(c[0], AxisRange(), AxisElem(k)), -1) }
			return envs.Pointmaze{}.At(component(0), component(1))
		},
		read:      func(s envs.State) []*Node { return []*Node{Stack(s.World, -1)} },
		tolerance: 1e-6,
	},
}

// observed is what a step shows, see [subject.step].
func (f form) observed(s envs.State) []*Node {
	return append([]*Node{s.Observation, s.Reward, s.Done, s.Descriptor}, f.read(s)...)
}
