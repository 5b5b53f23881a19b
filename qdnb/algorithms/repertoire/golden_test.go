package repertoire

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/xla"
)

// 01_repertoire_cvt.npz: batches that QDax inserted one after the other, starting with an empty
// repertoire.
func TestGoldenRepertoire(t *testing.T) {
	data := golden.Read(t, "01_repertoire_cvt.npz")
	dims := data.Shape("centroids")[1]
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		now := emptyContents(data.Float32s("centroids"), dims)
		for k := 0; data.Has(fmt.Sprint("in_ids_", k)); k++ {
			array := func(name string) []float32 { return data.Float32s(fmt.Sprintf("%s_%d", name, k)) }
			what := fmt.Sprintf("batch %d", k)
			want := contents{dims, now.centroids, array("fitnesses"), array("descriptors"), array("ids")}
			got, cells := now.insertOn(t, p, candidates{array("in_fitnesses"), array("in_descriptors"),
				array("in_ids")})
			if stored := data.Int32s(fmt.Sprint("cells_", k)); !slices.Equal(cells, stored) {
				t.Errorf("%s: cells %v, want %v", what, cells, stored)
			}
			ambiguous := data.Int32s(fmt.Sprint("ambiguous_", k))
			same(t, what, got, want, ambiguous)

			s := (&runs.Repertoire{Fitnesses: got.fitnesses, Offset: data.Number("const.qd_offset")}).Stats()
			metrics := data.Float64s(fmt.Sprint("metrics_", k)) // QDax sums in float32
			for i, value := range []float64{s.MaxFitness, s.Coverage, s.QDScore} {
				if math.Abs(value-metrics[i]) > 1e-5*max(1, math.Abs(metrics[i])) {
					t.Errorf("%s: %s is %v, want %v", what, []string{"max fitness", "coverage", "QD score"}[i],
						value, metrics[i])
				}
			}
			// so that the order of equals, which depends on the backend there, does not affect later batches
			now = want
		}
	})
}

// The nan_ arrays hold a batch with NaN fitnesses under the published rule: a NaN fitness keeps its
// whole batch out of its cell. Our rule ignores such a candidate; the others enter as if it were
// absent.
func TestGoldenNaN(t *testing.T) {
	data := golden.Read(t, "01_repertoire_cvt.npz")
	dims := data.Shape("centroids")[1]
	batch := candidates{fitnesses: data.Float32s("nan_in_fitnesses"),
		descriptors: data.Float32s("nan_in_descriptors")}
	for i := range batch.fitnesses {
		batch.identities = append(batch.identities, float32(i+1))
	}
	empty := emptyContents(data.Float32s("centroids"), dims)

	published := empty.insert(batch, true)
	if want := data.Float32s("nan_fitnesses"); !slices.Equal(published.fitnesses, want) {
		t.Errorf("the published rule gives fitnesses %v, stored are %v", published.fitnesses, want)
	}
	if want := data.Float32s("nan_ids"); !slices.Equal(published.identities, want) {
		t.Errorf("the published rule gives occupants %v, stored are %v", published.identities, want)
	}

	ours := empty.insert(batch, false)
	if slices.Equal(ours.identities, published.identities) {
		t.Log("these data do not tell the two rules apart")
	}
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		got, cells := empty.insertOn(t, p, batch)
		same(t, "our rule", got, ours, nil)
		for i, want := range data.Int32s("nan_cells") {
			if x := batch.descriptors[i*dims]; x == x && cells[i] != want {
				t.Errorf("candidate %d is in cell %d, want %d", i, cells[i], want)
			}
		}
	})
}
