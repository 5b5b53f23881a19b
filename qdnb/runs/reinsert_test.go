package runs

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/npz"
)

// grown returns a repertoire whose solutions lie in the cells that hold them.
func grown(cells int) *Repertoire {
	rng := rand.New(rand.NewPCG(5, 6))
	r := &Repertoire{Dims: 2, Offset: 1}
	for range cells {
		r.Centroids = append(r.Centroids, rng.Float32(), rng.Float32())
		r.Fitnesses = append(r.Fitnesses, float32(math.Inf(-1)))
		r.Descriptors = append(r.Descriptors, 0, 0)
	}
	for range 2 * cells {
		descriptor := []float32{rng.Float32(), rng.Float32()}
		cell := r.cellOf(descriptor)
		r.Fitnesses[cell] = rng.Float32()
		copy(r.Descriptor(cell), descriptor)
	}
	return r
}

func evaluations(r *Repertoire) (fitnesses, descriptors []float32) {
	for _, cell := range r.Filled() {
		fitnesses = append(fitnesses, r.Fitnesses[cell])
		descriptors = append(descriptors, r.Descriptor(cell)...)
	}
	return fitnesses, descriptors
}

// The archived evaluations give the archived repertoire.
func TestReinsertIsTheIdentity(t *testing.T) {
	r := grown(40)
	r.Objectives, r.Reference = npz.Of(make([]float32, 80), 40, 1, 2), []float32{0, 0}
	fitnesses, descriptors := evaluations(r)
	again, err := r.Reinsert(fitnesses, descriptors)
	if err == nil && (again.Objectives.Data != nil || again.Reference != nil) {
		t.Error("the fronts of the archived evaluations are kept")
	}
	must.Do(err)
	if !slices.Equal(again.Fitnesses, r.Fitnesses) || !slices.Equal(again.Descriptors, r.Descriptors) {
		t.Error("the repertoire has changed")
	}
}

// Solutions that move into one cell compete for it, and one without a number is lost.
func TestReinsertCompetes(t *testing.T) {
	r := grown(40)
	fitnesses, descriptors := evaluations(r)
	home := slices.Clone(descriptors[:2])
	for i := range fitnesses {
		copy(descriptors[2*i:], home)
	}
	fitnesses[0] = float32(math.NaN())
	fitnesses[1] = float32(math.Inf(1))
	descriptors[4] = float32(math.NaN())
	best := slices.Max(fitnesses[3:])
	after := must.Get(r.Reinsert(fitnesses, descriptors))
	cell := r.cellOf(home)
	if filled := after.Filled(); !slices.Equal(filled, []int{cell}) || after.Fitnesses[cell] != best {
		t.Errorf("cells %v are filled; cell %d has %g, not %g", filled, cell, after.Fitnesses[cell], best)
	}
	if _, err := r.Reinsert(fitnesses[1:], descriptors); err == nil {
		t.Error("a fitness is missing, and nothing says so")
	}
}
