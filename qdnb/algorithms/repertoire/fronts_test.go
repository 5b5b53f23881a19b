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

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/golden"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/internal/pareto"
	"example.com/qdnb/internal/xlatest"
	"example.com/qdnb/xla"
)

// fronts is the state of [Fronts] on the host, whose genotypes are one number each: centroids,
// fitnesses, descriptors, objectives and identities.
type fronts [5][]float32

// frontier inserts batches on a backend, for fixed sizes. A batch holds fitnesses, descriptors,
// objectives and identities.
func frontier(t *testing.T, p *xla.Platform, cells, slots, d, objectives, batch int) func(fronts, [4][]float32) fronts {
	t.Helper()
	n := cells * slots
	var inputs []shapes.Shape
	for _, dims := range [][]int{{cells, d}, {n}, {n, d}, {n, objectives}, {n}, {batch}, {batch, d},
		{batch, objectives}, {batch}} {
		inputs = append(inputs, shapes.Make(dtypes.Float32, dims...))
	}
	program, err := xlatest.Compile(p, "frontier", inputs, func(in []*Node) []*Node {
		before := Fronts{Elites: Cells{Fitness: in[1], Descriptors: in[2], Centroids: in[0]}, Objectives: in[3]}
		batch := Batch{in[5], in[6]}
		index, accepted, kept := before.winners(batch, in[7])
		after := before.update(batch, in[7], index, accepted, kept)
		identities := Where(accepted, Gather(in[8], InsertAxes(index, -1)), in[4])
		return []*Node{after.Elites.Centroids, after.Elites.Fitness, after.Elites.Descriptors, after.Objectives, identities}
	})
	must.Do(err)
	return func(f fronts, b [4][]float32) (after fronts) {
		t.Helper()
		var arrays []xla.Sharded
		for i, flat := range slices.Concat(f[:], b[:]) {
			arrays = append(arrays, xla.Sharded{xlatest.Tensor(flat, inputs[i].Dimensions...)})
		}
		out := must.Get(program.Run(arrays...))
		for i := range after {
			after[i] = xlatest.Flat[float32](t, out[i][0])
		}
		return after
	}
}

func emptyFronts(centroids []float32, n, d, objectives int) fronts {
	lowest := func(n int) []float32 { return slices.Repeat([]float32{float32(math.Inf(-1))}, n) }
	return fronts{centroids, lowest(n), make([]float32, n*d), lowest(n * objectives), make([]float32, n)}
}

// 16_mome.npz: batches that QDax 0.5.0 inserted one after the other, with copies and full fronts
// (tools/golden_mome.py). Slots have no order there, so fronts are compared by identity.
func TestGoldenFronts(t *testing.T) {
	data := golden.Read(t, "16_mome.npz")
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		for _, name := range []string{"small", "full", "three", "one"} {
			cells, slots := data.Shape(name + ".centroids")[0], int(data.Number(name+".slots"))
			shape := data.Shape(name + ".in_objectives_0")
			insert := frontier(t, p, cells, slots, 2, shape[1], shape[0])
			now := emptyFronts(data.Float32s(name+".centroids"), cells*slots, 2, shape[1])
			for b := 0; data.Has(fmt.Sprint(name, ".in_ids_", b)); b++ {
				stored := func(part string) []float32 { return data.Float32s(fmt.Sprint(name, ".", part, b)) }
				now = insert(now, [4][]float32{make([]float32, shape[0]), stored("in_descriptors_"),
					stored("in_objectives_"), stored("in_ids_")})
				ids, objectives := now.sorted(slots, shape[1])
				if !slices.Equal(ids, stored("ids_")) || !slices.Equal(objectives, stored("objectives_")) {
					t.Fatalf("%s %d: fronts %v, QDax has %v", name, b, ids, stored("ids_"))
				}
				if shape[1] == 2 {
					volumes, global := now.volumes(slots, data.Float32s(name+".reference"))
					xlatest.Close(t, fmt.Sprint(name, " ", b), volumes, stored("hypervolumes_"), 1e-6)
					xlatest.Close(t, fmt.Sprint(name, " ", b), global, stored("global_"), 1e-6)
				}
			}
		}
	})
}

// sorted returns the identities in each cell in ascending order, 0 where empty, and their objectives.
func (f fronts) sorted(slots, k int) (ids, objectives []float32) {
	for first := 0; first < len(f[1]); first += slots {
		order := make([]int, slots)
		for i := range order {
			order[i] = first + i
		}
		rank := func(slot int) float32 {
			if math.IsInf(float64(f[1][slot]), -1) {
				return math.MaxFloat32
			}
			return f[4][slot]
		}
		slices.SortFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
		for _, slot := range order {
			id := rank(slot)
			if id == math.MaxFloat32 {
				id = 0
			}
			ids, objectives = append(ids, id), append(objectives, f[3][slot*k:(slot+1)*k]...)
		}
	}
	return ids, objectives
}

// volumes returns the hypervolumes of the fronts and of the front of all solutions.
func (f fronts) volumes(slots int, reference []float32) (volumes, global []float32) {
	at := make([]float64, len(reference))
	for i, x := range reference {
		at[i] = float64(x)
	}
	var all [][]float64
	for front := range pareto.Fronts(f[3], slots, len(at)) {
		volumes, all = append(volumes, float32(pareto.Hypervolume(front, at))), append(all, front...)
	}
	return volumes, []float32{float32(pareto.Hypervolume(pareto.Front(all), at))}
}

// Four equal solutions fill a front of four, and distinct ones replace the copies: first the three that are
// left over, then none, unless they dominate. An equal one replaces nothing, and in a full front of distinct
// solutions nothing does.
func TestFullFrontsPreferDistinctSolutions(t *testing.T) {
	xlatest.Logic(t, func(t *testing.T, p *xla.Platform) {
		const slots, batch = 4, 5
		insert := frontier(t, p, 1, slots, 1, 2, batch)
		now := emptyFronts([]float32{0}, slots, 1, 2)
		for i, c := range []struct {
			objectives, ids, want []float32
			volume                float32
		}{
			{[]float32{3, 3, 3, 3, 3, 3, 3, 3, 3, 3}, []float32{1, 2, 3, 4, 5}, []float32{1, 2, 3, 4}, 9},
			{[]float32{3, 3, 6, 1, 6, 1, 1, 6, 3, 3}, []float32{6, 7, 8, 9, 10}, []float32{1, 4, 7, 9}, 15},
			{[]float32{5, 2, 2, 4, 7, 0.5, 3, 3, 0.5, 0.5}, []float32{11, 12, 13, 14, 15}, []float32{1, 7, 9, 11}, 17},
			{[]float32{4, 4, 1, 1, 1, 1, 1, 1, 1, 1}, []float32{16, 17, 18, 19, 20}, []float32{7, 9, 11, 16}, 21},
		} {
			now = insert(now, [4][]float32{make([]float32, batch), make([]float32, batch), c.objectives, c.ids})
			ids, _ := now.sorted(slots, 2)
			volumes, _ := now.volumes(slots, []float32{0, 0})
			errtest.Equal(t, fmt.Sprintf("batch %d: the front and its hypervolume", i), fmt.Sprint(ids, volumes[0]),
				fmt.Sprint(c.want, c.volume))
		}
	})
}

// Candidates that are not valid neither enter nor make others leave. Draws from the fronts are
// uniform over the filled cells, then over the solutions of a cell.
func TestFrontsIgnoreInvalidAndAreDrawnByCell(t *testing.T) {
	nan := float32(math.NaN())
	xlatest.Each(t, func(t *testing.T, p *xla.Platform) {
		const cells, slots = 3, 4
		insert := frontier(t, p, cells, slots, 1, 2, 5)
		now := insert(emptyFronts([]float32{0, 1, 2}, cells*slots, 1, 2), [4][]float32{{0, 0, 0, 0, nan},
			{0, 0, 0, 2, 0}, {1, 3, 2, 2, 3, 1, 0, 0, 9, 9}, {1, 2, 3, 4, 5}})
		now = insert(now, [4][]float32{{nan, 0, nan, nan, nan}, {0, nan, 0, 2, 2},
			{8, 8, 9, 9, 9, 9, 9, 9, 9, 9}, {6, 7, 8, 9, 10}})
		if ids, _ := now.sorted(slots, 2); !slices.Equal(ids, []float32{1, 2, 3, 0, 0, 0, 0, 0, 4, 0, 0, 0}) {
			t.Fatalf("fronts %v", ids)
		}
		const draws = 3000
		out := xlatest.Run(t, p, func(in []*Node) []*Node {
			s := Cells{Fitness: in[0], Descriptors: in[1], Centroids: in[2]}.Sampler()
			return []*Node{s.Draw(keysOf(in[0].Graph(), 1, draws))}
		}, xlatest.Tensor(now[1], cells*slots), xlatest.Tensor(now[2], cells*slots, 1), xlatest.Tensor(now[0], cells, 1))
		count := map[float32]int{}
		for _, slot := range xlatest.Flat[int32](t, out[0]) {
			count[now[4][slot]]++
		}
		for id, share := range map[float32]float64{1: 1. / 6, 2: 1. / 6, 3: 1. / 6, 4: 1. / 2} {
			got := float64(count[id]) / draws
			if math.Abs(got-share) > 4*math.Sqrt(share*(1-share)/draws) {
				t.Errorf("solution %g is drawn with share %.3f, not %.3f", id, got, share)
			}
		}
	})
}

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
		for i, flat := range [][]float32{s.fitnesses, s.descriptors, s.identities, b.fitnesses, b.descriptors, b.identities} {
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
