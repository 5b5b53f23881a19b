package repertoire

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

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
// the same members, except that of candidates with equal descriptors they keep the fittest.
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

// fittestOfCopies returns the members, in the order of their identities, with the fittest of the
// batch's candidates with its descriptor in the place of a member.
func (s slots) fittestOfCopies(batch candidates) slots {
	kept := map[float32]one{}
	for i, id := range s.identities {
		if id == 0 {
			continue
		}
		member := one{fitness: s.fitnesses[i], descriptor: s.descriptors[i*s.dims : (i+1)*s.dims]}
		for j, fitness := range batch.fitnesses {
			if _, better := batch.copies(j, s.dims); !better &&
				slices.Equal(batch.descriptors[j*s.dims:(j+1)*s.dims], member.descriptor) &&
				slices.Contains(batch.identities, id) {
				id, member.fitness = batch.identities[j], fitness
			}
		}
		kept[id] = member
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

// Invariants of the rules for any input.
func TestUnstructuredLaws(t *testing.T) {
	const n, size, d = 48, 40, 2
	a := newArchivist(t, xlatest.Best(t), n, size, d)
	again := newArchivist(t, xlatest.Best(t), n, n, d)
	rng := rand.New(rand.NewPCG(3, 4))
	for series := range 40 {
		now, l := noSlots(n, d), float32(series%7)/8
		for round := range 6 {
			batch := randomBatch(rng, size, d, 16, 1+round*size)
			after := a.insert(now, l, batch)
			what := fmt.Sprintf("series %d, round %d", series, round)

			// no slot's fitness decreases, and an entering candidate is stored unchanged
			for i := range n {
				was, is := now.fitnesses[i], after.fitnesses[i]
				if is < was || (after.identities[i] == now.identities[i]) != (is == was) {
					t.Fatalf("%s: slot %d went from %g (%g) to %g (%g)", what, i, now.identities[i], was,
						after.identities[i], is)
				}
				if j := slices.Index(batch.identities,
					after.identities[i]); j >= 0 && (after.fitnesses[i] != batch.fitnesses[j] ||
					!slices.Equal(after.descriptors[i*d:(i+1)*d], batch.descriptors[j*d:(j+1)*d])) {
					t.Fatalf("%s: slot %d and candidate %d differ", what, i, j)
				}
			}

			// A candidate that enters an empty slot is further than l from all previous members.
			for i := range n {
				for j := range n {
					if math.IsInf(float64(now.fitnesses[i]),
						-1) && after.identities[i] > 0 && now.identities[j] > 0 &&
						distance(after.descriptors[i*d:(i+1)*d], now.descriptors[j*d:(j+1)*d]) <= l {
						t.Fatalf("%s: newcomer in slot %d is too near to slot %d", what, i, j)
					}
				}
			}

			// Invalid candidates are ignored: replacing them with other invalid ones changes nothing.
			other := candidates{slices.Clone(batch.fitnesses), slices.Clone(batch.descriptors),
				batch.identities}
			for i := range size {
				if !isValid(batch.fitnesses[i], batch.descriptors[i*d:(i+1)*d]) {
					other.fitnesses[i] = float32(math.NaN())
					for k := range d {
						other.descriptors[i*d+k] = now.descriptors[k]
					}
				}
			}
			sameSlots(t, what+", other invalid ones", a.insert(now, l, other), after)

			// A batch of invalid candidates changes nothing. Nor do copies of the members, because none is
			// strictly fitter than itself.
			nothing := candidates{slices.Repeat([]float32{float32(math.NaN())}, size), batch.descriptors,
				batch.identities}
			sameSlots(t, what+", nothing", a.insert(now, l, nothing), now)
			sameSlots(t, what+", twice", again.insert(after, l, after.candidates()), after)
			if hasCopies(after) {
				t.Fatalf("%s: two members have the same descriptor", what)
			}
			now = after
		}

		// With l <= 0 all members survive. With a larger l, those survive that no fitter member nearer
		// than l dominates, unless all are equally fit.
		sameSlots(t, "l = 0", a.reinsert(now, 0), now)
		sameSlots(t, "l < 0", a.reinsert(now, -1), now)
		wider := l + 0.5
		survivors := a.reinsert(now, wider)
		for i, fitness := range survivors.fitnesses {
			beaten := false
			for j := range n {
				beaten = beaten || now.fitnesses[j] > now.fitnesses[i] &&
					distance(now.descriptors[i*d:(i+1)*d], now.descriptors[j*d:(j+1)*d]) < wider
			}
			if alive := !math.IsInf(float64(fitness),
				-1); alive != (now.identities[i] > 0 && !beaten) && !isFlat(now) {
				t.Fatalf("series %d: slot %d, beaten %v, survives %v", series, i, beaten, alive)
			}
		}
		if best := slices.Max(now.fitnesses); slices.Max(survivors.fitnesses) != best {
			t.Errorf("series %d: the fittest, %g, does not survive", series, best)
		}
		if !isFlat(survivors) {
			sameSlots(t, "twice", a.reinsert(survivors, wider), survivors)
		}
	}
}

// hasCopies reports whether two members have the same descriptor.
func hasCopies(s slots) bool {
	for i := range s.identities {
		for j := range i {
			a, b := s.descriptors[i*s.dims:(i+1)*s.dims], s.descriptors[j*s.dims:(j+1)*s.dims]
			if s.identities[i] > 0 && s.identities[j] > 0 && distance(a, b) == 0 {
				return true
			}
		}
	}
	return false
}

// isFlat reports whether all members are equally fit.
func isFlat(s slots) bool {
	fitnesses := slices.DeleteFunc(slices.Clone(s.fitnesses),
		func(f float32) bool { return math.IsInf(float64(f), -1) })
	return len(slices.Compact(fitnesses)) < 2
}

// Each rule by itself, on a line, with l = 1.
func TestUnstructuredRules(t *testing.T) {
	inf, nan := float32(math.Inf(-1)), float32(math.NaN())
	type line = []float32
	// unused places are filled with distant slots and invalid candidates
	const n, size = 6, 4
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
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
			{"a fitter copy replaces a member, even between two", line{1, 2}, line{0, 1}, line{5, 9, 4},
				line{0, 0, 1}, line{102, 103}, line{1, 2}},
			{"a copy does not replace a fitter member", line{5, inf}, line{0, 0}, line{5, 4}, line{0, 0},
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

// An insertion must work inside a loop: its graph captures nothing from outside.
func TestUnstructuredInALoop(t *testing.T) {
	const n, size, d, rounds = 20, 10, 2, 4
	rng := rand.New(rand.NewPCG(5, 6))
	want := noSlots(n, d)
	var all candidates
	for round := range rounds {
		batch := randomBatch(rng, size, d, 9, 1+round*size)
		want = want.insert(0.5, batch)
		all.fitnesses, all.descriptors = append(all.fitnesses, batch.fitnesses...),
			append(all.descriptors, batch.descriptors...)
	}
	want = want.reinsert(1)
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		empty := noSlots(n, d)
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			type state struct {
				Archive Unstructured
				L       *Node
				Batches Batch
			}
			g := in[0].Graph()
			start := state{Unstructured{in[0], in[1]}, Const(g, float32(0.5)), Batch{in[2], in[3]}}
			end := xla.For(g, rounds, start, func(i *Node, s state) state {
				first := MulScalar(i, int32(size))
				batch := Batch{xla.Rows(s.Batches.Fitness, first, size),
					xla.Rows(s.Batches.Descriptors, first, size)}
				index, accepted := s.Archive.Winners(s.L, batch)
				s.Archive = s.Archive.Update(batch, index, accepted)
				return s
			})
			end = xla.For(g, 1, end, func(_ *Node, s state) state {
				s.Archive = s.Archive.Maintain(s.Archive.Survivors(AddScalar(s.L, 0.5)))
				return s
			})
			return []*Node{end.Archive.Fitness, end.Archive.Descriptors, end.Archive.Size()}
		}, xlatest.Tensor(empty.fitnesses, n), xlatest.Tensor(empty.descriptors, n, d),
			xlatest.Tensor(all.fitnesses, rounds*size), xlatest.Tensor(all.descriptors, rounds*size, d))
		got := slots{d, xlatest.Flat[float32](t, out[0]), xlatest.Flat[float32](t, out[1]),
			want.identities}
		sameSlots(t, "four rounds", got, want)
		filled := 0
		for _, identity := range want.identities {
			if identity > 0 {
				filled++
			}
		}
		if size := xlatest.Flat[int32](t, out[2])[0]; int(size) != filled || filled == 0 {
			t.Errorf("size %d, want %d", size, filled)
		}
	})
}
