package evolution

import (
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// 02_isoline.npz: parents, noise and children of QDax's operator.
func TestGoldenIsoline(t *testing.T) {
	data := golden.Read(t, "02_isoline.npz")
	n, params := data.Shape("x1")[0], data.Shape("x1")[1]
	iso, line := data.Number("const.iso_sigma"), data.Number("const.line_sigma")
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		out := xlatest.Run(t, p, func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{IsoLineDD(in[0], in[1], in[2], in[3], iso, line)}
		}, xlatest.Tensor(data.Float32s("x1"), n, params), xlatest.Tensor(data.Float32s("x2"), n, params),
			xlatest.Tensor(data.Float32s("eps_iso"), n, params),
			xlatest.Tensor(data.Float32s("eps_line"), n))
		xlatest.Close(t, "child", xlatest.Flat[float32](t, out[0]), data.Float32s("child"), 1e-6)
	})
}
