package xla

import (
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/must"
)

// Workers read an input of the first device where it lies. It stays usable, and donating it
// afterwards does not change what they read.
func TestWorkersReadTheFirstDevice(t *testing.T) {
	for _, p := range platformsUnderTest(t) {
		t.Run(p.Name(), func(t *testing.T) {
			row := make([]float32, 1<<12)
			for i := range row {
				row[i] = float32(i)
			}
			type in struct{ Row, Worker Array }
			inputs := in{Single(tensors.FromValue(row)), Value(p.WorkerNumbers())}
			scaled := must.Get(CompileParallel(p, "scaled", inputs, func(in in) Array {
				return Out(Mul(in.Row.Tree, AddScalar(ConvertDType(in.Worker.Tree, in.Row.Tree.DType()), 1)))
			}))
			defer scaled.Free()
			type donated struct {
				Row Array `xla:"donate"`
			}
			doubled, err := Compile(p, "doubled", donated{inputs.Row}, func(in donated) Array {
				return Out(Add(in.Row.Tree, in.Row.Tree))
			})
			must.Do(err)
			defer doubled.Free()
			for round := range 3 {
				out := must.Get(scaled.Run(inputs))
				inputs.Row = must.Get(doubled.Run(donated{inputs.Row}))
				for worker, part := range out.Value() {
					got := tensors.MustCopyFlatData[float32](part)
					for i, x := range row {
						if want := x * float32(worker+1) * float32(int(1)<<round); got[i] != want {
							t.Fatalf("round %d: worker %d has %g at %d, want %g", round, worker, got[i], i, want)
						}
					}
				}
				out.Free()
			}
			Free(&inputs)
		})
	}
}

// A parallel program writes the memory of a donated input, so each worker needs its own.
func TestDonatedInputsAreNotShared(t *testing.T) {
	p := platformsUnderTest(t)[0]
	if p.Workers == 1 {
		t.Skipf("SKIPPED: %s has one worker", p)
	}
	type donated struct {
		X Array `xla:"donate"`
	}
	in := donated{Single(tensors.FromScalar(float32(1)))}
	program := must.Get(CompileParallel(p, "one more", in,
		func(in donated) Array { return Out(AddScalar(in.X.Tree, 1)) }))
	defer program.Free()
	if _, err := program.Run(in); err == nil {
		t.Error("workers share a donated input")
	}
	if got := in.X.Value()[0]; !got.Ok() || !slices.Equal(tensors.MustCopyFlatData[float32](got),
		[]float32{1}) {
		t.Error("a rejected input is lost")
	}
}
