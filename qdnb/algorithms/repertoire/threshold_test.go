package repertoire

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// The l_rule arrays of 09_aurora_repertoire.npz: the threshold after each of a series of updates,
// here in a loop.
func TestGoldenThreshold(t *testing.T) {
	data := golden.Read(t, "09_aurora_repertoire.npz")
	sizes, want := data.Int32s("l_rule.num_indivs"), data.Float32s("l_rule.l_values")
	target, first := int(data.Number("const.n_target")), data.Number("const.l_rule_initial")
	if gain := data.Number("const.prop_gain"); math.Abs(gain-thresholdGain) > 1e-12 {
		t.Errorf("the gain is %g, want %g", thresholdGain, gain)
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			type state struct {
				Threshold Threshold
				Sizes     *Node
				Lengths   *Node
			}
			g := in[0].Graph()
			before := NewThreshold(first, Reshape(xla.Rows(in[0], Const(g, int32(0)), 1)), target)
			start := state{before, in[0], Zeros(g, shapes.Make(dtypes.Float32, len(want)))}
			return []*Node{xla.For(g, len(want), start, func(i *Node, s state) state {
				s.Threshold = s.Threshold.Update(Reshape(xla.Rows(s.Sizes, AddScalar(i, 1), 1)), target)
				s.Lengths = xla.SetRows(s.Lengths, i, Reshape(s.Threshold.Length, 1))
				return s
			}).Lengths}
		}, xlatest.Tensor(sizes, len(sizes)))
		xlatest.Close(t, "l", xlatest.Flat[float32](t, out[0]), want, 1e-6)
	})
}

// The stored schedule lists loop+1 for the loops that end with a training.
func TestGoldenSchedule(t *testing.T) {
	want := golden.Read(t, "09_aurora_repertoire.npz").Int32s("schedule")
	k := 0
	for loop := int64(1); k < len(want); loop++ {
		// Retrains excludes the training before the first loop
		for k < len(want) && int64(want[k]) < loop+1 {
			k++
		}
		stored := k < len(want) && int64(want[k]) == loop+1
		if k < len(want) && Retrains(loop) != stored {
			t.Errorf("loop %d: retrains %v, stored %v", loop, Retrains(loop), stored)
		}
	}
}

func TestScheduleFarOut(t *testing.T) {
	for _, k := range []int64{2, 1000, 1 << 20, 94_906_265} { // 8 * (k (k+1) / 2) reaches 2^55
		loop := k*(k+1)/2 - 1
		for off := int64(-1); off <= 1; off++ {
			if want := off == 0; loop+off > 0 && Retrains(loop+off) != want && k > 2 {
				t.Errorf("k %d: Retrains(%d) is %v", k, loop+off, !want)
			}
		}
	}
	for loop := int64(-3); loop <= 0; loop++ {
		if Retrains(loop) || Adapts(loop) {
			t.Errorf("loop %d retrains or adapts", loop)
		}
	}
	var adapts []int64
	for loop := range int64(17) {
		if Adapts(loop) {
			adapts = append(adapts, loop)
		}
	}
	if got := fmt.Sprint(adapts); got != "[4 6 8 10 12 16]" {
		t.Errorf("l is updated after %s", got)
	}
}
