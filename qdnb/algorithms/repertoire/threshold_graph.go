package repertoire

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// thresholdGain is the change of the threshold per solution above or below the target.
const thresholdGain = 1e-5

// Threshold is the distance threshold l of an [Unstructured] archive under size control (CVC): a
// pytree. It grows while the archive holds more than the target size, and shrinks while it holds
// less. Nothing keeps l above 0: an archive that stays far below its target ends up accepting
// everything.
type Threshold struct {
	Length *Node // l, a float32 scalar, in descriptor units
	Error  *Node // size - target at the last update, a float32 scalar
}

// NewThreshold returns the initial threshold, given the initial size of the archive (an int32
// scalar).
func NewThreshold(length float64, size *Node, target int) Threshold {
	return Threshold{Const(size.Graph(), float32(length)), excess(size, target)}
}

// Update adapts l to the size of the archive (an int32 scalar), with e = size - target
// (QDBenchmark, train_aurora.py):
//
//	l = l + 1e-5 e + 1e-5 (e - previous e)
func (t Threshold) Update(size *Node, target int) Threshold {
	e := excess(size, target)
	step := Add(MulScalar(e, thresholdGain), MulScalar(Sub(e, t.Error), thresholdGain))
	return Threshold{Add(t.Length, step), e}
}

func excess(size *Node, target int) *Node {
	return ConvertDType(AddScalar(size, -target), dtypes.Float32)
}
