package xla

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/pkg/errors"
)

// SelfTest runs a small program on every worker: nested loops, random keys and an all-gather.
func SelfTest(p *Platform) error {
	program, err := p.CompileParallel("self-test", []Input{{Shape: shapes.Make(dtypes.Int32)}},
		func(in []*graph.Node) []*graph.Node {
			worker := in[0]
			sum := For(worker.Graph(), 3, worker, func(_, x *graph.Node) *graph.Node {
				return For(x.Graph(), 4, x, func(_, x *graph.Node) *graph.Node { return graph.AddScalar(x, 1) })
			})
			return []*graph.Node{AllGather(sum, worker, p.Workers)}
		})
	if err != nil {
		return err
	}
	defer program.Free()
	out, err := program.Run(p.WorkerNumbers())
	if err != nil {
		return err
	}
	defer out[0].Free()
	flat, err := tensors.CopyFlatData[int32](out[0][0])
	if err != nil {
		return err
	}
	for i, got := range flat {
		if got != int32(i)+12 {
			return errors.Errorf("the backend %s computes wrongly: worker %d gave %d, not %d", p.Name(), i,
				got, i+12)
		}
	}
	return nil
}
