package replay_test

import (
	"fmt"
	"slices"
	"testing"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// The ring.* arrays of 12_stats.npz: insertions of four rows each into a capacity of ten. The
// published buffer shifts its content where ours wraps; both keep the same rows.
func TestGoldenRing(t *testing.T) {
	const insert = 4
	data := golden.Read(t, "12_stats.npz")
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		ring := newRing(t, p, data.Shape("ring.data_0")[0], 3)
		next := float32(0)
		for k := 0; data.Has(fmt.Sprint("ring.data_", k)); k++ {
			rows := make([]float32, 0, 3*insert)
			for range insert {
				rows = append(rows, next, -next, 7)
				next++
			}
			ring.insert(rows)

			var want []float32
			for _, x := range data.Float32s(fmt.Sprint("ring.data_", k)) {
				if x == x { // NaN is an empty row
					want = append(want, x)
				}
			}
			got := ring.column(0)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Errorf("after insert %d the buffer holds %v, want %v", k, got, want)
			}
			if size := data.Int32s(fmt.Sprint("ring.size_position_", k))[0]; ring.size != size {
				t.Errorf("after insert %d the size is %d, want %d", k, ring.size, size)
			}
		}
	})
}
