package nn

import . "github.com/gomlx/gomlx/core/graph"

// Unexported names for tests.
var (
	Shuffle    = shuffle
	DrawFilled = drawFilled
)

// DecoderInputs is [Autoencoder.decoderInputs].
func (a Autoencoder) DecoderInputs(sequences *Node) *Node { return a.decoderInputs(sequences) }
