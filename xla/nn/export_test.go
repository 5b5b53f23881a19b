package nn

import . "github.com/gomlx/gomlx/core/graph"

// What tests see of the inside.
var (
	Shuffle    = shuffle
	DrawFilled = drawFilled
)

// Lessons is [Autoencoder.lessons].
func (a Autoencoder) Lessons(sequences *Node) *Node { return a.lessons(sequences) }
