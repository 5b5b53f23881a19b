package viewer

import (
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/qdnb/figures"
	"example.com/qdnb/qdnb/runs"
	"example.com/qdnb/qdnb/scene"
)

// Most is a sensible number of films for one page: of 250 steps of an ant a hundred take about a megabyte.
const Most = 100

// OfRun is a page of a run with films of some of its skills, or of some cells of its repertoire, by their numbers: a map where descriptors
// have two dimensions, else a list. A run that has both is shown by its skills.
func OfRun(run *runs.Run, films map[int]*scene.Film) (*Page, error) {
	title := fmt.Sprintf("%s on %s", figures.MethodName(run.Config.Algorithm), run.Config.Env)
	if run.HasSkills() {
		skills, err := run.Skills()
		if err != nil {
			return nil, err
		}
		return List(title, "skill", names(run, skills.Dims()), ofSkills(skills, films))
	}
	r, err := run.RepertoireMap()
	if err != nil {
		return nil, err
	}
	if r.Dims == 2 && r.Lower != nil {
		cells, err := figures.CellsOf(run.Config.Env, r)
		if err != nil {
			return nil, err
		}
		if n := run.Status.Descriptor; len(n) == 2 {
			cells.XLabel, cells.YLabel = n[0], n[1]
		}
		cells.Title = title
		return Repertoire(*cells, films)
	}
	var entries []Entry
	for _, cell := range r.Filled() {
		entries = append(entries, Entry{Number: cell, Fitness: float64(r.Fitnesses[cell]), Descriptor: wide(r.Descriptor(cell)), Film: films[cell]})
	}
	return List(title, "cell", names(run, r.Dims), entries)
}

// ofSkills are the skills with the means of their evaluation.
func ofSkills(s *runs.Skills, films map[int]*scene.Film) []Entry {
	entries := make([]Entry, s.Skills())
	dims := s.Dims()
	for k := range entries {
		e := Entry{Number: k, Fitness: math.NaN(), Film: films[k]}
		n := 0.0
		for i, which := range s.Which {
			if which != k {
				continue
			}
			if n++; n == 1 {
				e.Fitness, e.Descriptor = 0, make([]float64, dims)
			}
			e.Fitness += float64(s.Fitnesses[i])
			for d := range dims {
				e.Descriptor[d] += float64(s.Descriptors[i*dims+d])
			}
		}
		if n > 0 {
			e.Fitness /= n
			for d := range e.Descriptor {
				e.Descriptor[d] /= n
			}
		}
		entries[k] = e
	}
	return entries
}

// names are those of the descriptor's components.
func names(run *runs.Run, dims int) []string {
	if len(run.Status.Descriptor) == dims {
		return run.Status.Descriptor
	}
	list := make([]string, dims)
	for d := range list {
		list[d] = fmt.Sprintf("descriptor %d", d+1)
	}
	return list
}

// Choose picks at most n of the filled cells of a repertoire to be filmed: the fittest one, and such that are spread evenly over what the
// descriptors fill. Each is the one that is farthest from all before it, in shares of the limits.
func Choose(r *runs.Repertoire, n int) []int {
	cells := r.Filled()
	if len(cells) <= n {
		return cells
	}
	if n < 1 {
		return nil
	}
	size := make([]float64, r.Dims)
	for d := range size {
		low, high := math.Inf(1), math.Inf(-1)
		for _, cell := range cells {
			low, high = min(low, float64(r.Descriptor(cell)[d])), max(high, float64(r.Descriptor(cell)[d]))
		}
		if len(r.Lower) == r.Dims && len(r.Upper) == r.Dims {
			low, high = float64(r.Lower[d]), float64(r.Upper[d])
		}
		if size[d] = high - low; !(size[d] > 0) {
			size[d] = 1
		}
	}
	nearest := make([]float64, len(cells)) // squared distance to the nearest one that was picked
	for i := range nearest {
		nearest[i] = math.Inf(1)
	}
	next := slices.Index(cells, r.Best())
	var picked []int
	for range n {
		picked = append(picked, cells[next])
		at, far := r.Descriptor(cells[next]), -1.0
		for i, cell := range cells {
			d2 := 0.0
			for d, x := range r.Descriptor(cell) {
				share := float64(x-at[d]) / size[d]
				d2 += share * share
			}
			nearest[i] = min(nearest[i], d2)
		}
		nearest[next] = -1
		for i, d2 := range nearest {
			if d2 > far {
				next, far = i, d2
			}
		}
	}
	slices.Sort(picked)
	return picked
}

func wide(x []float32) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = float64(v)
	}
	return out
}
