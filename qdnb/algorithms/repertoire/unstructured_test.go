package repertoire

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// storedSlots reads an archive from golden data. There the identity of an empty slot is NaN, here
// it is 0.
func storedSlots(data golden.File, name string) slots {
	array := func(part string) []float32 { return data.Float32s(name + part) }
	s := slots{data.Shape(name + ".descriptors")[1], array(".fitnesses"), array(".descriptors"),
		array(".ids")}.clone()
	for i, fitness := range s.fitnesses {
		if math.IsInf(float64(fitness), -1) {
			s.identities[i] = 0
		}
	}
	return s
}

func storedBatch(data golden.File, name, suffix string) candidates {
	array := func(part string) []float32 { return data.Float32s(name + part + suffix) }
	return candidates{array(".in_fitnesses"), array(".in_descriptors"), array(".in_ids")}
}

// 09_aurora_repertoire.npz: insertions and re-insertions by QDax. The oracle and the graphs give
// the same individuals, except that of candidates with equal descriptors they keep the fittest.
func TestGoldenUnstructured(t *testing.T) {
	data := golden.Read(t, "09_aurora_repertoire.npz")
	number := func(name string) float32 { return float32(data.Number("const." + name)) }
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		check := func(what string, batch candidates, want slots, ours ...slots) {
			t.Helper()
			for i, got := range ours {
				sameSlots(t, what+", "+[]string{"graph", "oracle"}[i], got.fittestOfCopies(batch),
					want.fittestOfCopies(batch))
			}
		}
		sequence := func(name string, l float32) (now slots) {
			n, batch := data.Shape(name + ".after_0.fitnesses")[0], data.Shape(name+".in_descriptors_0")
			a := newArchivist(t, p, n, batch[0], batch[1])
			now = noSlots(n, batch[1])
			for k := 0; data.Has(fmt.Sprint(name, ".in_ids_", k)); k++ {
				batch := storedBatch(data, name, fmt.Sprint("_", k))
				want := storedSlots(data, fmt.Sprint(name, ".after_", k))
				check(fmt.Sprint(name, " ", k), batch, want, a.insert(now, l, batch), now.insert(l, batch))
				now = want
			}
			return now
		}
		now := sequence("seq", number("l_value"))
		sequence("full", number("l_value_small"))

		n, flat := data.Shape("flat.after.fitnesses")[0], data.Shape("flat.in_descriptors")
		a, l, batch := newArchivist(t, p, n, flat[0], flat[1]), number("l_value_small"),
			storedBatch(data, "flat", "")
		empty := noSlots(n, flat[1])
		check("flat", batch, storedSlots(data, "flat.after"), a.insert(empty, l, batch),
			empty.insert(l, batch))

		a, l = newArchivist(t, p, len(now.fitnesses), 1, now.dims), number("l_value_reinit")
		check("larger l", candidates{}, storedSlots(data, "reinit.larger_l"), a.reinsert(now, l), now.reinsert(l))
		moved, l := now.clone(), number("l_value")
		moved.descriptors = data.Float32s("reinit.new_descriptors")
		check("new descriptors", candidates{}, storedSlots(data, "reinit.new_model"), a.reinsert(moved, l),
			moved.reinsert(l))
	})
}

// fittestOfCopies returns the archive's individuals, in the order of their identities, each replaced
// by the fittest of the batch's candidates with its descriptor.
func (s slots) fittestOfCopies(batch candidates) slots {
	kept := map[float32]one{}
	for i, id := range s.identities {
		if id == 0 {
			continue
		}
		individual := one{fitness: s.fitnesses[i], descriptor: s.descriptors[i*s.dims : (i+1)*s.dims]}
		for j, fitness := range batch.fitnesses {
			if _, better := batch.copies(j, s.dims); !better &&
				slices.Equal(batch.descriptors[j*s.dims:(j+1)*s.dims], individual.descriptor) &&
				slices.Contains(batch.identities, id) {
				id, individual.fitness = batch.identities[j], fitness
			}
		}
		kept[id] = individual
	}
	sorted := slots{dims: s.dims}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		sorted.identities = append(sorted.identities, id)
		sorted.fitnesses = append(sorted.fitnesses, kept[id].fitness)
		sorted.descriptors = append(sorted.descriptors, kept[id].descriptor...)
	}
	return sorted
}

// Adversarial archives: descriptors on a coarse grid, so that distances are exact, many are equal
// and many are exactly l; ties; and fitnesses and descriptors that are NaN.
func randomBatch(rng *rand.Rand, p, d, steps int, firstIdentity int) (batch candidates) {
	levels := []int{1, 3, 1000}[rng.IntN(3)] // 1: all are equal
	invalid := rng.IntN(2) * 10
	for i := range p {
		fitness := float32(rng.IntN(levels)) - 2
		if invalid > 0 && rng.IntN(invalid) == 0 {
			fitness = float32([]float64{math.NaN(), math.Inf(-1), math.Inf(1)}[rng.IntN(3)])
		}
		batch.fitnesses = append(batch.fitnesses, fitness)
		batch.identities = append(batch.identities, float32(firstIdentity+i))
		for range d {
			x := float32(rng.IntN(steps)) / 4
			if invalid > 0 && rng.IntN(4*invalid) == 0 {
				x = float32(math.NaN())
			}
			batch.descriptors = append(batch.descriptors, x)
		}
	}
	return batch
}

var thresholds = []float32{0, 0.25, 0.5, 1, 1.25, 3, -1}

func TestUnstructuredIsTheOraclesArchive(t *testing.T) {
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		moved, refilled := 0, 0
		for _, size := range []struct{ slots, batch, dims, steps int }{
			{1, 1, 1, 3}, {1, 6, 2, 3}, {2, 9, 2, 5}, {8, 8, 1, 30}, {12, 30, 2, 9}, {40, 25, 3, 7},
			{64, 7, 5, 4},
		} {
			rng := rand.New(rand.NewPCG(uint64(size.slots), uint64(size.batch)))
			a := newArchivist(t, p, size.slots, size.batch, size.dims)
			for series := range 12 {
				now := noSlots(size.slots, size.dims)
				l := thresholds[series%len(thresholds)]
				for round := range 5 {
					what := fmt.Sprintf("%+v, series %d, round %d, l %g", size, series, round, l)
					batch := randomBatch(rng, size.batch, size.dims, size.steps, 1+round*size.batch)
					want := now.insert(l, batch)
					if !sameSlots(t, what, a.insert(now, l, batch), want) {
						return
					}
					if !slices.Equal(want.identities, now.identities) {
						moved++
					}
					now = want
					if round == 2 {
						l = thresholds[rng.IntN(len(thresholds))]
						for i := range now.descriptors { // a new encoder, which may produce NaN
							if now.descriptors[i] += float32(rng.IntN(3)) / 4; rng.IntN(40) == 0 {
								now.descriptors[i] = float32(math.NaN())
							}
						}
						want := now.reinsert(l)
						if !sameSlots(t, what+", re-insertion", a.reinsert(now, l), want) {
							return
						}
						if !slices.Equal(want.identities, now.identities) {
							refilled++
						}
						now = want
					}
				}
			}
		}
		if moved < 100 || refilled < 20 {
			t.Errorf("only %d insertions and %d re-insertions changed anything", moved, refilled)
		}
	})
}

// Each rule by itself, on a line, with l = 1.
func TestUnstructuredRules(t *testing.T) {
	inf, nan := float32(math.Inf(-1)), float32(math.NaN())
	type line = []float32
	// unused slots are filled with distant slots and invalid candidates
	const n, size = 6, 4
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		a := newArchivist(t, p, n, size, 1)
		for _, c := range []struct {
			name                string
			fitnesses, at       line // the archive; its identities are 1, 2, ...
			newFitnesses, newAt line // the batch; its identities are 101, 102, ...
			want                line // identities
			kept                line // identities after a re-insertion of the archive
		}{
			{"newcomers fill the empty slots in their order",
				line{inf, 1, inf}, line{0, 0, 0}, line{5, 6}, line{10, 20}, line{101, 2, 102}, line{0, 2, 0}},
			{"one too many is lost",
				line{inf, 1, inf}, line{0, 0, 0}, line{5, 6, 7}, line{10, 20, 30}, line{101, 2, 102},
				line{0, 2, 0}},
			{"a refused newcomer leaves its slot empty",
				line{inf, inf, inf}, line{0, 0, 0}, line{5, 6, 7}, line{10, 10.5, 20}, line{0, 102, 103},
				line{0, 0, 0}},
			{"at a distance of l one competes", line{1, 2}, line{0, 9}, line{3, 3}, line{1, 8},
				line{101, 102}, line{1, 2}},
			{"only the strictly fitter win", line{3, 2}, line{0, 9}, line{3, 3}, line{1, 8}, line{1, 102},
				line{1, 2}},
			{"nobody fits between two", line{1, 2, inf}, line{0, 2, 0}, line{9, 0}, line{1, 50},
				line{1, 2, 102}, line{1, 2, 0}},
			{"who was refused still counts",
				line{1, 2, 1, inf}, line{0, 2, 10, 0}, line{9, 8, 7}, line{1, 0.5, -0.5}, line{1, 2, 3, 0},
				line{1, 2, 3, 0}},
			{"the first of equals", line{0, inf}, line{0, 0}, line{3, 3, 2}, line{0.5, -0.5, 50},
				line{101, 103}, line{1, 0}},
			{"of copies the last is the fittest",
				line{inf, inf, inf}, line{0, 0, 0}, line{1, 2, 3}, line{7, 7, 7}, line{103, 0, 0}, line{0, 0, 0}},
			{"of copies the first is the fittest",
				line{inf, inf, inf}, line{0, 0, 0}, line{3, 2, 1}, line{7, 7, 7}, line{101, 0, 0}, line{0, 0, 0}},
			{"the first of equally fit copies",
				line{inf, inf, inf}, line{0, 0, 0}, line{2, 2, 1}, line{7, 7, 9}, line{101, 0, 103},
				line{0, 0, 0}},
			{"all equal: copies count once", line{inf, inf, inf}, line{0, 0, 0}, line{4, 4, 4},
				line{7, 7.5, 7}, line{0, 102, 0}, line{0, 0, 0}},
			{"the fittest of copies takes the turn of the first", line{inf, 1, inf}, line{0, 0, 0},
				line{5, 6, 7, 4}, line{9, 9, 9, 30}, line{103, 2, 0}, line{0, 2, 0}},
			{"a fitter copy replaces an individual, even between two", line{1, 2}, line{0, 1}, line{5, 9, 4},
				line{0, 0, 1}, line{102, 103}, line{1, 2}},
			{"a copy does not replace a fitter individual", line{5, inf}, line{0, 0}, line{5, 4}, line{0, 0},
				line{1, 0}, line{1, 0}},
			{"a fitter neighbour beats a copy", line{1, inf}, line{0, 0}, line{5, 6}, line{0, 0.5},
				line{102, 0}, line{1, 0}},
			{"a copy beats a weaker neighbour", line{1, inf}, line{0, 0}, line{5, 4}, line{0, 0.5},
				line{101, 0}, line{1, 0}},
			{"a rejected neighbour does not stop a copy", line{1, 3}, line{0, 1.5}, line{5, 6}, line{0, 0.75},
				line{101, 2}, line{1, 2}},
			{"all equal: the last stays",
				line{inf, inf, inf}, line{0, 0, 0}, line{4, 4, 4}, line{7, 7.5, 8}, line{0, 0, 103},
				line{0, 0, 0}},
			{"all equal: the slots decide", line{3, 3}, line{0, 2.5}, line{4, 4}, line{1.6, 0.9},
				line{1, 101}, line{1, 2}},
			{"empty slots have no neighbours",
				line{1, inf, inf}, line{5, 0.25, nan}, line{2, 1}, line{0, 0.5}, line{1, 101, 0},
				line{1, 0, 0}},
			{"invalid ones take no slot",
				line{inf, inf}, line{0, 0}, line{nan, 1, inf, 2}, line{1, nan, 2, 3}, line{104, 0}, line{0, 0}},
			{"re-insertion",
				line{3, 5, 4, inf, 2, 2}, line{1, 1.5, 2, 1, 9, 9}, line{1}, line{1.25}, line{1, 2, 3, 0, 5, 6},
				line{0, 2, 0, 0, 5, 0}},
			{"re-insertion of copies",
				line{1, 3, 2, 2, 2}, line{5, 5, 5, 9, 9}, line{1}, line{5}, line{1, 2, 3, 4, 5},
				line{0, 2, 0, 4, 0}},
		} {
			s := slots{1, slices.Clone(c.fitnesses), slices.Clone(c.at), nil}
			for i := range n {
				if i >= len(c.at) {
					s.fitnesses, s.descriptors = append(s.fitnesses, 100), append(s.descriptors, float32(1000*i))
				}
				s.identities = append(s.identities, float32(i+1))
				if s.fitnesses[i] == inf {
					s.identities[i] = 0
				}
			}
			batch := candidates{slices.Clone(c.newFitnesses), slices.Clone(c.newAt), nil}
			for i := range size {
				if i >= len(c.newAt) {
					batch.fitnesses, batch.descriptors = append(batch.fitnesses, nan), append(batch.descriptors, 0)
				}
				batch.identities = append(batch.identities, float32(101+i))
			}
			if got := a.insert(s, 1, batch).identities[:len(c.at)]; !slices.Equal(got, c.want) {
				t.Errorf("%s: %v, want %v", c.name, got, c.want)
			}
			if got := a.reinsert(s, 1).identities[:len(c.at)]; !slices.Equal(got, c.kept) {
				t.Errorf("%s, re-inserted: %v, want %v", c.name, got, c.kept)
			}
		}
	})
}
