package xla

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/xla/backend"
)

// dryText runs a program with a product and an all-gather without a device and returns its text.
func dryText(t *testing.T, kind backend.Kind, devices int) string {
	t.Helper()
	var names, texts []string
	p := must.Get(DryRun(kind, devices, func(name string, text []byte) error {
		names, texts = append(names, name), append(texts, string(text))
		return nil
	}))
	program := must.Get(p.CompileParallel("a product", []Input{{Shape: shapes.Make(dtypes.Float32, 2, 3)},
		{Shape: shapes.Make(dtypes.Int32)}}, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{AllGather(graph.Dot(in[0], graph.Transpose(in[0], 0, 1)).Product(), in[1],
			devices)}
	}))
	defer program.Free()
	x := p.Replicated(func() *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	})
	out := must.Get(program.Run(x, p.WorkerNumbers()))
	got := must.Get(tensors.CopyFlatData[float32](out[0][devices-1]))
	for _, x := range got {
		if x != 0 {
			t.Errorf("a dry run gives %v, not zeros", got)
			break
		}
	}
	if times := p.RunTimes(); len(times) > 0 {
		t.Errorf("a dry run took time: %v", times)
	}
	if len(got) != devices*4 || !slices.Equal(names, []string{"a_product", "a_product"}) || texts[1] != "" {
		t.Fatalf("%d numbers, programs %q", len(got), names)
	}
	return texts[0]
}

func TestDryRun(t *testing.T) {
	text := dryText(t, backend.CUDA, 2)
	for _, part := range []string{"num_replicas = 2", "all_reduce", "dot_general"} {
		if !strings.Contains(text, part) {
			t.Errorf("the text for two GPUs has no %s:\n%s", part, text)
		}
	}
	for _, wrong := range []func() (*Platform, error){
		func() (*Platform, error) { return DryRun(backend.Go, 1, nil) },
		func() (*Platform, error) { return DryRun(backend.TPU, 0, nil) },
	} {
		if _, err := wrong(); err == nil {
			t.Error("no error")
		}
	}
}

// GPUs and TPUs multiply float32 numbers exactly, as docs/reliability.md promises.
func TestProductsAreExact(t *testing.T) {
	for _, kind := range []backend.Kind{backend.CUDA, backend.TPU} {
		text := dryText(t, kind, 1)
		if strings.Contains(text, "precision DEFAULT") || !strings.Contains(text, "precision HIGHEST") {
			t.Errorf("a product for %s:\n%s", kind, text)
		}
	}
}
