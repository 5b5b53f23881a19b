package repertoire

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// novelty is [Batch.dominatedNovelty] in plain Go.
func (c candidates) novelty(k, dims int) []float32 {
	novelty := make([]float32, len(c.fitnesses))
	at := func(i int) []float32 { return c.descriptors[i*dims : (i+1)*dims] }
	for i, fitness := range c.fitnesses {
		var fitter []float32
		for j, other := range c.fitnesses {
			copies := other == fitness && slices.Equal(at(i), at(j))
			if j != i && isValid(other, at(j)) && other >= fitness && (j < i || !copies) {
				fitter = append(fitter, distance(at(i), at(j)))
			}
		}
		slices.Sort(fitter)
		fitter = fitter[:min(k, len(fitter))]
		var sum float32
		for _, x := range fitter {
			sum += x
		}
		switch novelty[i] = sum / float32(len(fitter)); {
		case !isValid(fitness, at(i)):
			novelty[i] = float32(math.Inf(-1))
		case len(fitter) == 0:
			novelty[i] = float32(math.Inf(1))
		}
	}
	return novelty
}

// insertNovel is winners in plain Go.
func (s slots) insertNovel(k int, batch candidates) slots {
	n := len(s.fitnesses)
	all := candidates{slices.Concat(s.fitnesses, batch.fitnesses),
		slices.Concat(s.descriptors, batch.descriptors), slices.Concat(s.identities, batch.identities)}
	novelty := all.novelty(k, s.dims)
	order := make([]int, len(novelty))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(novelty[b], novelty[a]) })
	stay := map[int]bool{}
	for _, i := range order[:n] {
		stay[i] = !math.IsInf(float64(novelty[i]), -1)
	}
	after, next := s.clone(), n
	for slot := range n {
		if stay[slot] {
			continue
		}
		for next < len(all.fitnesses) && !stay[next] {
			next++
		}
		if next == len(all.fitnesses) {
			break
		}
		after.fitnesses[slot], after.identities[slot] = all.fitnesses[next], all.identities[next]
		copy(after.descriptors[slot*s.dims:(slot+1)*s.dims], all.descriptors[next*s.dims:])
		next++
	}
	return after
}

// novelist inserts on a backend, for fixed sizes. It also returns the dominated novelty of all
// slots after the insertion.
func novelist(t *testing.T, p *xla.Platform, n, batch, d, k int) func(slots, candidates) (slots, []float32) {
	t.Helper()
	var inputs []shapes.Shape
	for _, dims := range [][]int{{n}, {n, d}, {n}, {batch}, {batch, d}, {batch}} {
		inputs = append(inputs, shapes.Make(dtypes.Float32, dims...))
	}
	program, err := xlatest.Compile(p, "novelist", inputs, func(in []*Node) []*Node {
		before, candidates := Cells{Fitness: in[0], Descriptors: in[1]}, Batch{in[3], in[4]}
		index, accepted, _ := DominatedNovelty{K: k, Population: before}.winners(candidates)
		after := before.Update(candidates, index, accepted)
		identities := Where(accepted, Gather(in[5], InsertAxes(index, -1)), in[2])
		return []*Node{after.Fitness, after.Descriptors, identities,
			Batch{after.Fitness, after.Descriptors}.dominatedNovelty(k, before)}
	})
	must.Do(err)
	return func(s slots, b candidates) (slots, []float32) {
		t.Helper()
		var arrays []xla.Sharded
		for i, flat := range [][]float32{s.fitnesses, s.descriptors, s.identities, b.fitnesses,
			b.descriptors, b.identities} {
			arrays = append(arrays, xla.Sharded{xlatest.Tensor(flat, inputs[i].Dimensions...)})
		}
		out := must.Get(program.Run(arrays...))
		var flat [4][]float32
		for i := range flat {
			flat[i] = xlatest.Flat[float32](t, out[i][0])
		}
		return slots{d, flat[0], flat[1], flat[2]}, flat[3]
	}
}

// 12_dominated_novelty.npz: batches that QDax 0.5.1 (containers/dns_repertoire.py) inserted one
// after the other, starting with an empty population. Slots have no order there, so the survivors
// are compared by identity. Their dominated novelty is that of the population after the insertion.
func TestGoldenDominatedNovelty(t *testing.T) {
	data := golden.Read(t, "12_dominated_novelty.npz")
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, name := range []string{"small", "wide", "few"} {
			n, k := int(data.Number(name+".size")), int(data.Number(name+".k"))
			batch := data.Shape(name + ".in_descriptors_0")
			insert, now := novelist(t, p, n, batch[0], batch[1], k), noSlots(n, batch[1])
			for b := 0; data.Has(fmt.Sprint(name, ".in_ids_", b)); b++ {
				next, novelty := insert(now, storedBatch(data, name, fmt.Sprint("_", b)))
				now = next
				var got []int
				for slot, fitness := range now.fitnesses {
					if !math.IsInf(float64(fitness), -1) {
						got = append(got, slot)
					}
				}
				slices.SortFunc(got, func(a, b int) int {
					return cmp.Compare(now.identities[a], now.identities[b])
				})
				var ids, fitnesses, novelties []float32
				for _, slot := range got {
					ids, fitnesses = append(ids, now.identities[slot]), append(fitnesses, now.fitnesses[slot])
					novelties = append(novelties, novelty[slot])
				}
				stored := func(part string) []float32 { return data.Float32s(fmt.Sprint(name, part, b)) }
				if !slices.Equal(ids, stored(".ids_")) || !slices.Equal(fitnesses, stored(".fitnesses_")) {
					t.Fatalf("%s %d: survivors %v, QDax has %v", name, b, ids, stored(".ids_"))
				}
				xlatest.Close(t, fmt.Sprint(name, " ", b), novelties, stored(".novelty_"), 2e-6)
			}
		}
	})
}

// The graph and plain Go agree on batches with ties, copies and NaN, also if the solutions are
// compared in several blocks and the last one overlaps the one before.
func TestDominatedNovelty(t *testing.T) {
	for _, size := range [][2]int{{9, 7}, {40, 33}} {
		const d, k = 2, 3
		n, batch := size[0], size[1]
		xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
			rng := rand.New(rand.NewPCG(1, 2))
			insert, now := novelist(t, p, n, batch, d, k), noSlots(n, d)
			for round := range 12 {
				candidates := randomBatch(rng, batch, d, 3, 1+round*batch)
				want := now.insertNovel(k, candidates)
				got, _ := insert(now, candidates)
				sameSlots(t, fmt.Sprint("batch ", round), got, want)
				now = got
			}
		})
	}
}
