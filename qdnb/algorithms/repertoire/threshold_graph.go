package repertoire

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
)

// thresholdGain is what the threshold moves by for each solution too many or too few.
const thresholdGain = 1e-5

// Threshold is the distance l of an [Unstructured] archive, under control (CVC): it grows while the
// archive holds more than a target, and shrinks while it holds less. It is a tree. Nothing keeps l
// above 0: an archive that stays far below its target ends up taking whatever comes.
type Threshold struct {
	Length *Node // l, a float32 scalar, in units of descriptors
	Error  *Node // size - target at the last update, a float32 scalar
}

// NewThreshold starts the control, given the size of the archive (an int32 scalar) with which it
// starts.
func NewThreshold(length float64, size *Node, target int) Threshold {
	return Threshold{Const(size.Graph(), float32(length)), excess(size, target)}
}

// Update changes l after the size (an int32 scalar) of the archive, e = size - target (QDBenchmark,
// train_aurora.py):
//
//	l = l + 1e-5 e + 1e-5 (e - e of the update before)
func (t Threshold) Update(size *Node, target int) Threshold {
	e := excess(size, target)
	step := Add(MulScalar(e, thresholdGain), MulScalar(Sub(e, t.Error), thresholdGain))
	return Threshold{Add(t.Length, step), e}
}

func excess(size *Node, target int) *Node {
	return ConvertDType(AddScalar(size, -target), dtypes.Float32)
}
