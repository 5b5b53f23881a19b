package repertoire

import (
	"math"
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// slots is an unstructured archive on the host, whose genotypes are one number each, or 0 in empty
// slots.
type slots struct {
	dims                               int
	fitnesses, descriptors, identities []float32 // [n], [n, dims], [n]
}

func noSlots(n, dims int) slots {
	c := emptyContents(make([]float32, n*dims), dims)
	return slots{dims, c.fitnesses, c.descriptors, c.identities}
}

func (s slots) clone() slots {
	return slots{s.dims, slices.Clone(s.fitnesses), slices.Clone(s.descriptors),
		slices.Clone(s.identities)}
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

// insert is [Cells.winners] in plain Go, rule by rule, on a batch that is sorted as in the
// published code.
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

// copies returns the first candidate with the descriptor of candidate i, and whether rule 1 prefers
// another one to it.
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
	survivors := noSlots(len(s.fitnesses), s.dims).insert(l,
		candidates{s.fitnesses, s.descriptors, s.numbers()}).identities
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
			inserted.Fitness, inserted.Descriptors, Where(accepted, Gather(in[6], InsertAxes(index, -1)),
				identities),
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
	_, after := a.run(s, l, candidates{make([]float32, a.p), make([]float32, a.p*a.d),
		make([]float32, a.p)})
	return after
}

// sameSlots compares archives bit for bit, except that NaN equals NaN, and reports whether they are
// the same.
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
