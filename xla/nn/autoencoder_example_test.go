package nn_test

import (
	"context"
	"fmt"
	"log"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/xla"
	"example.com/qdnb/xla/nn"
	"example.com/qdnb/xla/random"
)

// An archive of two kinds of behaviour, one to the left and one to the right. After training the
// descriptors separate the kinds.
func ExampleAutoencoderTraining_Train() {
	p, err := xla.Open(context.Background(), "")
	if err != nil {
		log.Fatal(err)
	}
	const slots = 8
	form := nn.Autoencoder{Features: 1, Hidden: 2, Steps: 5}
	training := nn.AutoencoderTraining{Batch: 4, LearningRate: 0.01}
	type results struct{ Before, After, Descriptors xla.Array }
	program, err := xla.Compile(p, "train",
		xla.Declare(dtypes.Float32, slots, form.Steps, form.Features), func(in xla.Array) results {
			sequences, g := in.Tree, in.Tree.Graph()
			// The last slot is empty.
			filled := LessThan(Iota(g, shapes.Make(dtypes.Int32, slots), 0), Const(g, int32(slots-1)))
			key := random.NewKey(g, 1)
			row := form.Init(key.FoldIn(0))
			train := func(epochs int32) nn.Trained {
				return training.Train(form, row, sequences, filled, Const(g, epochs), key.FoldIn(1))
			}
			before, after := train(1), train(200)
			normalised := Slice(after.Normaliser.Apply(sequences), AxisRange(0, slots-1))
			return results{xla.Out(before.Loss), xla.Out(after.Loss),
				xla.Out(form.Encode(after.Row, normalised))}
		})
	if err != nil {
		log.Fatal(err)
	}
	defer program.Free()
	var walks [slots][][]float32
	for slot := range slots {
		for t := range form.Steps {
			walks[slot] = append(walks[slot], []float32{float32(t*(1+slot/2)) * float32(1-2*(slot%2))})
		}
	}
	out, err := program.Run(xla.Single(tensors.FromValue(walks[:])))
	if err != nil {
		log.Fatal(err)
	}
	before, after := out.Before.Scalars()[0], out.After.Scalars()[0]
	fmt.Println("the loss falls to less than a half:", after < before/2)
	descriptors := out.Descriptors.Value()[0].Value().([][]float32)
	same, other := distance(descriptors[0], descriptors[2]), distance(descriptors[0], descriptors[1])
	fmt.Println("a member is nearer to its kind:", same < other)
	// Output:
	// the loss falls to less than a half: true
	// a member is nearer to its kind: true
}

func distance(a, b []float32) (sum float32) {
	for i := range a {
		sum += (a[i] - b[i]) * (a[i] - b[i])
	}
	return sum
}
