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
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
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
