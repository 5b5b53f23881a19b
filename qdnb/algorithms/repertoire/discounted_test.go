package repertoire

import (
	"fmt"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// 19_dms.npz: three trainings of pyribs 0.12's DiscountArchive, one after the other, on batches that
// are the whole data (tools/peer/dms.py).
func TestGoldenDiscountModel(t *testing.T) {
	data, names := golden.Read(t, "19_dms.npz"), []string{"bias0", "bias1", "bias2", "kernel0", "kernel1", "kernel2"}
	tensor := func(name string, step int) *tensors.Tensor {
		name = fmt.Sprint(name, "_", step)
		return xlatest.Tensor(data.Float32s(name), data.Shape(name)...)
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		in := []*tensors.Tensor{xlatest.Tensor(random.SeedWords(1), 2)}
		for _, name := range names {
			in = append(in, tensor(name, 0))
		}
		for step := range 3 {
			for _, name := range []string{"fitness", "descriptors", "empty"} {
				in = append(in, tensor(name, step))
			}
		}
		out := xlatest.Run(t, p, func(in []*Node) (all []*Node) {
			form := nn.NewMLP(2, []int{8, 8}, 1)
			net := nn.Network{Form: form, Kernel: in[4:7]}
			for _, bias := range in[1:4] {
				net.Bias = append(net.Bias, InsertAxes(bias, 0))
			}
			settings := DiscountSettings{DiscountEpochs: 2, DiscountBatch: 1000, DiscountRange: 100}
			d := Discounted{DiscountSettings: settings, Rate: 0.1,
				Model: nn.NewTrainable(net, 0.001), lower: []float32{-256, -256}, upper: []float32{256, 256}}
			for step := range 3 {
				fitness, descriptors, empty := in[7+3*step], in[8+3*step], in[9+3*step]
				discount := d.discount(descriptors)
				value := Sub(fitness, discount)
				targets := d.targets(discount, value)
				points := Concatenate([]*Node{descriptors, empty}, 0)
				none := ReduceSum(ZerosLike(empty), 1)
				d = d.train(points, Concatenate([]*Node{targets, d.minimum(none)}, 0),
					OnesLike(ReduceSum(points, 1)), random.KeyOf(in[0]))
				all = append(append(append(all, value, targets), d.Model.Params.Bias...), d.Model.Params.Kernel...)
			}
			return all
		}, in...)
		for i, got := range out {
			step, name := i/8, append([]string{"value", "targets"}, names...)[i%8]
			at := step
			if i%8 > 1 {
				at++
			}
			xlatest.Close(t, fmt.Sprint(name, " of step ", step), xlatest.Flat[float32](t, got),
				data.Float32s(fmt.Sprint(name, "_", at)), 2e-5)
		}
	})
}
