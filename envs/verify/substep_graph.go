package verify

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/pkg/errors"
)

// stages lists the names of a substep's stages: of position based dynamics, of spring dynamics, and
// of both.
var stages = []string{
	"s1_dpa", "s1_damp", "s1_acc", "s1_kinetic", "s1_dqj", "s1_after", "s2_joint", "dqc", "dlambda",
	"s2_proj",
	"kinetic", "dpj", "dpa", "acc",
	"dpc", "after",
}

// subStep compares all stored stages of single substeps from stored states.
func subStep(s subject, stored *arrays) ([]*group, error) {
	if s.rigid == nil {
		return nil, errors.Errorf("%s has no substeps", s.env.Spec().Name)
	}
	inputs := append(at(s.state, "", "_before", samples),
		column{name: "act", axes: []axis{samples}, dims: []int{s.rigid.system.Actions()}})
	var outputs []column
	for _, name := range slices.SortedFunc(maps.Keys(stored.byName), inOrder) {
		if name != "act" && !strings.HasSuffix(name, "_before") {
			outputs = append(outputs, s.rigid.stage(name))
		}
	}
	if len(outputs) == 0 {
		return nil, errors.New("the file has no stage of a substep")
	}
	return s.samples(stored, inputs, outputs, 0, func(in []*Node) (nodes []*Node) {
		last := len(in) - 1
		computed := s.rigid.system.Substep(s.rigid.read(in[:last]), Transpose(in[last], 0, 1))
		for _, c := range outputs {
			node, ok := computed[c.name]
			if !ok {
				panic(errors.Errorf("a substep of %s has no stage %q; its stages are %s", s.env.Spec().Name,
					c.name, list(computed)))
			}
			nodes = append(nodes, node)
		}
		return nodes
	})
}

// stage returns the column of a stage: a number, a vector or a quaternion per body.
func (r *rigidForm) stage(name string) column {
	c := column{name: name, axes: []axis{samples}, dims: []int{r.bodies},
		tolerance: tolerance{base: 1e-4, largest: true}}
	switch name[strings.LastIndex(name, "_")+1:] {
	case "pos", "vel", "ang":
		c.dims = append(c.dims, 3)
	case "rot":
		c.dims = append(c.dims, 4)
	}
	return c
}

// inOrder sorts arrays by stage, then by name.
func inOrder(a, b string) int {
	index := func(name string) int {
		return slices.IndexFunc(stages,
			func(stage string) bool { return name == stage || strings.HasPrefix(name, stage+"_") })
	}
	return cmp.Or(cmp.Compare(index(a), index(b)), cmp.Compare(a, b))
}
