package xla

import (
	"fmt"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// SelfTest runs a small program on every worker: nested loops, random keys and an all-gather.
func SelfTest(p *Platform) error {
	worker := Value(p.WorkerNumbers())
	defer worker.Free()
	program, err := CompileParallel(p, "self-test", worker, func(worker Array) Array {
		sum := For(worker.Tree.Graph(), 3, worker.Tree, func(_, x *graph.Node) *graph.Node {
			return For(x.Graph(), 4, x, func(_, x *graph.Node) *graph.Node { return graph.AddScalar(x, 1) })
		})
		return Out(AllGather(sum, worker.Tree, p.Workers))
	})
	if err != nil {
		return err
	}
	defer program.Free()
	out, err := program.Run(worker)
	if err != nil {
		return err
	}
	defer out.Free()
	flat, err := tensors.CopyFlatData[int32](out.Value()[0])
	if err != nil {
		return err
	}
	for i, got := range flat {
		if got != int32(i)+12 {
			return fmt.Errorf("the backend %s computes wrongly: worker %d gave %d, not %d", p.Name(), i,
				got, i+12)
		}
	}
	return nil
}
