package nn_test

import (
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla/nn"
)

func TestWrongShapesAreRefused(t *testing.T) {
	policy, lstm := nn.NewPolicy(3, []int{4}, 2), nn.LSTM{Inputs: 3, Hidden: 2}
	coder, short := nn.Autoencoder{Features: 3, Hidden: 2, Steps: 4}, nn.Autoencoder{Features: 3, Hidden: 2, Steps: 1}
	view := func(in []*Node) []*Node { return policy.View(in[0]).Kernel }
	cell := func(in []*Node) []*Node { return []*Node{lstm.View(in[0]).Bias} }
	encode := func(a nn.Autoencoder) func(in []*Node) []*Node {
		return func(in []*Node) []*Node { return []*Node{a.Encode(in[0], in[1])} }
	}
	n := coder.Params()
	for _, c := range []struct {
		want  string
		build func(in []*Node) []*Node
		dims  [][]int // of the inputs
	}{
		{"networks [3 4 2] have 26 parameters each", view, [][]int{{2, 27}}},
		{"networks [3 4 2] have 26 parameters each", view, [][]int{{26}}},
		{"networks [3 4 2] have 26 parameters each", view, [][]int{{2, 1, 26}}},
		{"an LSTM of 3 inputs and 2 units has 48 parameters", cell, [][]int{{49}}},
		{"an LSTM of 3 inputs and 2 units has 48 parameters", cell, [][]int{{1, 48}}},
		{"an auto-encoder of 3 features and 2 units has 105 parameters", encode(coder),
			[][]int{{n + 1}, {5, 4, 3}}},
		{"a row of shape (Float32)[2, 105] does not fit", encode(coder), [][]int{{2, n}, {5, 4, 3}}},
		{"an auto-encoder of 4 steps of 3 features cannot read sequences", encode(coder),
			[][]int{{1, n}, {5, 3, 4}}},
		{"of two steps or more", encode(short), [][]int{{1, n}, {5, 1, 3}}},
	} {
		var inputs []shapes.Shape
		for _, dims := range c.dims {
			inputs = append(inputs, shapes.Make(dtypes.Float32, dims...))
		}
		errtest.Want(t, errtest.Of(xlatest.Compile(xlatest.Best(t), "wrong", inputs, c.build)), c.want)
	}
}
