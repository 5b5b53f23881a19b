package repertoire

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
	"example.com/qdnb/xla/backend"
)

// slots is an unstructured archive on the host, whose genotypes are one number each, or 0 in empty slots.
type slots struct {
	dims                               int
	fitnesses, descriptors, identities []float32 // [n], [n, dims], [n]
}

func noSlots(n, dims int) slots {
	c := emptyContents(make([]float32, n*dims), dims)
	return slots{dims, c.fitnesses, c.descriptors, c.identities}
}

func (s slots) clone() slots {
	return slots{s.dims, slices.Clone(s.fitnesses), slices.Clone(s.descriptors), slices.Clone(s.identities)}
}

// distance is the Euclidean distance, rounded once.
func distance(a, b []float32) float32 {
	sum := 0.0
	for k := range a {
		sum += float64(a[k]-b[k]) * float64(a[k]-b[k])
	}
	return float32(math.Sqrt(sum))
}

func isValid(fitness float32, descriptor []float32) bool {
	return !math.IsNaN(float64(fitness)) && !math.IsInf(float64(fitness), 0) &&
		!slices.ContainsFunc(descriptor, func(x float32) bool { return x != x })
}

// one is a candidate as the insertion rules see it.
type one struct {
	index      int // in the batch
	fitness    float32
	descriptor []float32
	slot       int  // -1 for a newcomer at first; then its empty slot, or n if there is none
	turn       int  // of a newcomer among the newcomers
	refused    bool // by rule 2 or 3
}

// insert is [Cells.winners] in plain Go, rule by rule, on a batch that is sorted as in the published code.
func (s slots) insert(l float32, batch candidates) slots {
	n, d := len(s.fitnesses), s.dims
	after := s.clone()
	var sorted []*one
	turns := map[int]int{} // by the number of the candidate
	for i, fitness := range batch.fitnesses {
		c := &one{index: i, fitness: fitness, descriptor: batch.descriptors[i*d : (i+1)*d], slot: -1}
		if !isValid(fitness, c.descriptor) {
			continue
		}
		first, better := batch.copies(i, d)
		nearest, second := float32(math.Inf(1)), float32(math.Inf(1))
		for j := range n {
			if math.IsInf(float64(s.fitnesses[j]), -1) {
				continue
			}
			switch x := distance(s.descriptors[j*d:(j+1)*d], c.descriptor); {
			case x < nearest:
				nearest, second, c.slot = x, nearest, j
			case x < second:
				second = x
			}
		}
		if nearest == 0 { // a copy of an individual
			if !better && fitness > after.fitnesses[c.slot] {
				after.fitnesses[c.slot], after.identities[c.slot] = fitness, batch.identities[i]
			}
			continue
		}
		if nearest > l {
			c.slot = -1
			turns[i], c.turn = len(turns), len(turns)
			if first < i {
				c.turn = turns[first]
			}
		}
		c.refused = second <= l
		if !better {
			sorted = append(sorted, c)
		}
	}
	slices.SortStableFunc(sorted, func(a, b *one) int { return a.slot - b.slot })
	refuseDominated(sorted, l)

	var empty []int
	for j, fitness := range s.fitnesses {
		if math.IsInf(float64(fitness), -1) {
			empty = append(empty, j)
		}
	}
	for _, c := range sorted {
		if c.slot < 0 {
			if c.slot = n; c.turn < len(empty) {
				c.slot = empty[c.turn]
			}
		}
	}
	fittest := map[int]float32{}
	for _, c := range sorted {
		if best, ok := fittest[c.slot]; !ok || c.fitness > best {
			fittest[c.slot] = c.fitness
		}
	}
	for _, c := range sorted {
		if c.slot < n && !c.refused && c.fitness == fittest[c.slot] && c.fitness > after.fitnesses[c.slot] {
			after.fitnesses[c.slot], after.identities[c.slot] = c.fitness, batch.identities[c.index]
			copy(after.descriptors[c.slot*d:], c.descriptor)
		}
	}
	return after
}

// copies returns the first candidate with the descriptor of candidate i, and whether rule 1 prefers another one to it.
func (c candidates) copies(i, d int) (first int, better bool) {
	at := func(i int) []float32 { return c.descriptors[i*d : (i+1)*d] }
	first = i
	for j, other := range c.fitnesses {
		if isValid(other, at(j)) && slices.Equal(at(i), at(j)) {
			first = min(first, j)
			better = better || other > c.fitnesses[i] || other == c.fitnesses[i] && j < i
		}
	}
	return first, better
}

// refuseDominated is rule 3, within the batch.
func refuseDominated(sorted []*one, l float32) {
	score := make([]float64, len(sorted))
	flat := true
	for i, c := range sorted {
		score[i] = float64(c.fitness)
		flat = flat && c.fitness == sorted[0].fitness
	}
	if flat {
		for i := range score {
			score[i] = float64(i)
		}
	}
	for i, c := range sorted {
		for j, o := range sorted {
			if distance(o.descriptor, c.descriptor) < l && score[j] > score[i] {
				c.refused = true
			}
		}
	}
}

// reinsert is [Cells.survivors] in plain Go: an insertion into an empty archive, except that
// survivors keep their slots.
func (s slots) reinsert(l float32) slots {
	survivors := noSlots(len(s.fitnesses), s.dims).insert(l, candidates{s.fitnesses, s.descriptors, s.numbers()}).identities
	after := noSlots(len(s.fitnesses), s.dims)
	for i := range s.fitnesses {
		if slices.Contains(survivors, float32(i+1)) {
			after.fitnesses[i], after.identities[i] = s.fitnesses[i], s.identities[i]
			copy(after.descriptors[i*s.dims:(i+1)*s.dims], s.descriptors[i*s.dims:])
		}
	}
	return after
}

// numbers returns the numbers of the slots, starting with 1.
func (s slots) numbers() []float32 {
	var numbers []float32
	for i := range s.fitnesses {
		numbers = append(numbers, float32(i+1))
	}
	return numbers
}

// archivist inserts and re-inserts on a backend, for fixed sizes of archive and batch.
type archivist struct {
	t       testing.TB
	program *xlatest.Program // both, of the same archive
	n, p, d int
}

func newArchivist(t testing.TB, platform *xla.Platform, n, p, d int) *archivist {
	t.Helper()
	var inputs []shapes.Shape
	for _, dims := range [][]int{{n}, {n, d}, {n}, nil, {p}, {p, d}, {p}} {
		inputs = append(inputs, shapes.Make(dtypes.Float32, dims...))
	}
	program := must.Get(xlatest.Compile(platform, "archivist", inputs, func(in []*Node) []*Node {
		u, identities, l, batch := Cells{Fitness: in[0], Descriptors: in[1]}, in[2], in[3], Batch{in[4], in[5]}
		index, accepted := u.winners(l, batch)
		inserted := u.Update(batch, index, accepted)
		kept := u.survivors(l)
		survived := u.keep(kept)
		return []*Node{
			inserted.Fitness, inserted.Descriptors, Where(accepted, Gather(in[6], InsertAxes(index, -1)), identities),
			survived.Fitness, survived.Descriptors, Where(kept, identities, ZerosLike(identities)),
		}
	}))
	t.Cleanup(program.Free)
	return &archivist{t, program, n, p, d}
}

func (a *archivist) run(s slots, l float32, batch candidates) (inserted, survived slots) {
	a.t.Helper()
	in := []xla.Sharded{
		{xlatest.Tensor(s.fitnesses, a.n)}, {xlatest.Tensor(s.descriptors, a.n, a.d)},
		{xlatest.Tensor(s.identities, a.n)},
		{xlatest.Tensor([]float32{l})},
		{xlatest.Tensor(batch.fitnesses, a.p)}, {xlatest.Tensor(batch.descriptors, a.p, a.d)},
		{xlatest.Tensor(batch.identities, a.p)},
	}
	out, err := a.program.Run(in...)
	if err != nil {
		a.t.Fatal(err)
	}
	flat := func(i int) []float32 { return xlatest.Flat[float32](a.t, out[i][0]) }
	inserted, survived = slots{a.d, flat(0), flat(1), flat(2)}, slots{a.d, flat(3), flat(4), flat(5)}
	for _, value := range append(in, out...) {
		value.Free()
	}
	return inserted, survived
}

func (a *archivist) insert(s slots, l float32, batch candidates) slots {
	a.t.Helper()
	after, _ := a.run(s, l, batch)
	return after
}

func (a *archivist) reinsert(s slots, l float32) slots {
	a.t.Helper()
	_, after := a.run(s, l, candidates{make([]float32, a.p), make([]float32, a.p*a.d), make([]float32, a.p)})
	return after
}

// sameSlots compares archives bit for bit, except that NaN equals NaN, and reports whether they are the same.
func sameSlots(t testing.TB, what string, got, want slots) bool {
	t.Helper()
	equal := func(a, b float32) bool { return a == b || (a != a && b != b) }
	for _, part := range []struct {
		name      string
		got, want []float32
	}{
		{"fitnesses", got.fitnesses, want.fitnesses}, {"descriptors", got.descriptors, want.descriptors},
		{"identities", got.identities, want.identities},
	} {
		if !slices.EqualFunc(part.got, part.want, equal) {
			t.Errorf("%s: %s are\n%v, want\n%v", what, part.name, part.got, part.want)
			return false
		}
	}
	return true
}

// storedSlots reads an archive from golden data. There the identity of an empty slot is NaN, here it is 0.
func storedSlots(data golden.File, name string) slots {
	array := func(part string) []float32 { return data.Float32s(name + part) }
	s := slots{data.Shape(name + ".descriptors")[1], array(".fitnesses"), array(".descriptors"), array(".ids")}.clone()
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
				sameSlots(t, what+", "+[]string{"graph", "oracle"}[i], got.fittestOfCopies(batch), want.fittestOfCopies(batch))
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
		check("flat", batch, storedSlots(data, "flat.after"), a.insert(empty, l, batch), empty.insert(l, batch))

		a, l = newArchivist(t, p, len(now.fitnesses), 1, now.dims), number("l_value_reinit")
		check("larger l", candidates{}, storedSlots(data, "reinit.larger_l"), a.reinsert(now, l), now.reinsert(l))
		moved, l := now.clone(), number("l_value")
		moved.descriptors = data.Float32s("reinit.new_descriptors")
		check("new descriptors", candidates{}, storedSlots(data, "reinit.new_model"), a.reinsert(moved, l), moved.reinsert(l))
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
				slices.Equal(batch.descriptors[j*s.dims:(j+1)*s.dims], individual.descriptor) && slices.Contains(batch.identities, id) {
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
		sizes := []struct{ slots, batch, dims, steps int }{{12, 30, 2, 9}, {40, 25, 3, 7}, {1, 1, 1, 3}, {1, 6, 2, 3},
			{2, 9, 2, 5}, {8, 8, 1, 30}, {64, 7, 5, 4}}
		if p.Kind != backend.Go {
			sizes = sizes[:2] // XLA takes seconds to compile each
		}
		moved, refilled := 0, 0
		for _, size := range sizes {
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
		if moved < 14*len(sizes) || refilled < 3*len(sizes) {
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
			{"at a distance of l one competes", line{1, 2}, line{0, 9}, line{3, 3}, line{1, 8}, line{101, 102}, line{1, 2}},
			{"only the strictly fitter win", line{3, 2}, line{0, 9}, line{3, 3}, line{1, 8}, line{1, 102}, line{1, 2}},
			{"nobody fits between two", line{1, 2, inf}, line{0, 2, 0}, line{9, 0}, line{1, 50}, line{1, 2, 102}, line{1, 2, 0}},
			{"who was refused still counts",
				line{1, 2, 1, inf}, line{0, 2, 10, 0}, line{9, 8, 7}, line{1, 0.5, -0.5}, line{1, 2, 3, 0},
				line{1, 2, 3, 0}},
			{"the first of equals", line{0, inf}, line{0, 0}, line{3, 3, 2}, line{0.5, -0.5, 50}, line{101, 103}, line{1, 0}},
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
			{"a fitter neighbour beats a copy", line{1, inf}, line{0, 0}, line{5, 6}, line{0, 0.5}, line{102, 0}, line{1, 0}},
			{"a copy beats a weaker neighbour", line{1, inf}, line{0, 0}, line{5, 4}, line{0, 0.5}, line{101, 0}, line{1, 0}},
			{"a rejected neighbour does not stop a copy", line{1, 3}, line{0, 1.5}, line{5, 6}, line{0, 0.75},
				line{101, 2}, line{1, 2}},
			{"all equal: the last stays",
				line{inf, inf, inf}, line{0, 0, 0}, line{4, 4, 4}, line{7, 7.5, 8}, line{0, 0, 103},
				line{0, 0, 0}},
			{"all equal: the slots decide", line{3, 3}, line{0, 2.5}, line{4, 4}, line{1.6, 0.9}, line{1, 101}, line{1, 2}},
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
			errtest.Equal(t, c.name, a.insert(s, 1, batch).identities[:len(c.at)], c.want)
			errtest.Equal(t, c.name+", re-inserted", a.reinsert(s, 1).identities[:len(c.at)], c.kept)
		}
	})
}
