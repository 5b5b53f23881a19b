package viewer

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
)

// roomFor is the number of poses that a page of less than 2 MB has room for.
const roomFor = 225000

// Cells are the cells of a run's repertoire that one page has room for films of: all filled ones,
// or if they are too many the fittest one and such that are spread evenly, see [Choose]. There is
// room for a hundred films of 250 steps of an ant, of the smaller robots for more.
func Cells(run *runs.Run) ([]int, error) {
	r, err := run.RepertoireMap()
	if err != nil {
		return nil, err
	}
	settings := struct {
		EpisodeLength int `json:"episode_length"`
	}{}
	if err := json.Unmarshal(run.Config.Hyperparameters,
		&settings); err != nil || settings.EpisodeLength < 1 {
		settings.EpisodeLength = 250
	}
	bodies := 9 // as an ant has, where it is not known
	if still, err := scene.Illustration(run.Config.Env); err == nil {
		bodies = len(still.Frames[0])
	}
	cells := Choose(r, max(1, roomFor/bodies/settings.EpisodeLength))
	if len(cells) == 0 {
		return nil, fmt.Errorf("viewer: the repertoire of %s is empty", run.Name())
	}
	return cells, nil
}

// OfRun is a page of films of a run, as qdnb.Film makes them: a map of the repertoire where its
// descriptors have two dimensions, else a list. cells are the cells that were filmed, one a film.
// Without any the films are those of the run's skills, from 0 on.
func OfRun(run *runs.Run, cells []int, films []*scene.Film) (*Page, error) {
	title := fmt.Sprintf("%s on %s", figures.MethodName(run.Config.Algorithm), run.Config.Env)
	if len(cells) == 0 {
		skills, err := run.Skills()
		if err != nil {
			return nil, err
		}
		if len(films) != skills.Skills() {
			return nil, fmt.Errorf("viewer: %d films for the %d skills of %s", len(films), skills.Skills(),
				run.Name())
		}
		return List(title, "skill", names(run, skills.Dims()), ofSkills(skills, films))
	}
	if len(cells) != len(films) {
		return nil, fmt.Errorf("viewer: %d films for %d cells", len(films), len(cells))
	}
	of := map[int]*scene.Film{}
	for i, cell := range cells {
		of[cell] = films[i]
	}
	r, err := run.RepertoireMap()
	if err != nil {
		return nil, err
	}
	if r.Dims == 2 && r.Lower != nil {
		c, err := figures.CellsOf(run, r)
		if err != nil {
			return nil, err
		}
		c.Title = title
		return Repertoire(*c, of)
	}
	var entries []Entry
	for _, cell := range r.Filled() {
		e := Entry{Number: cell, Fitness: float64(r.Fitnesses[cell]),
			Descriptor: wide(r.Descriptor(cell)), Film: of[cell]}
		entries = append(entries, e)
		delete(of, cell)
	}
	for cell := range of {
		return nil, fmt.Errorf("viewer: there is a film of cell %d, which is empty", cell)
	}
	return List(title, "cell", names(run, r.Dims), entries)
}

// ofSkills are the skills with the means of their evaluation.
func ofSkills(s *runs.Skills, films []*scene.Film) []Entry {
	entries := make([]Entry, s.Skills())
	for k := range entries {
		fitness, descriptor := s.Mean(k)
		entries[k] = Entry{Number: k, Fitness: fitness, Descriptor: descriptor, Film: films[k]}
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

// Choose picks at most n of the filled cells of a repertoire: the fittest one, and such that are
// spread evenly over what the descriptors fill. Each is the one that is farthest from all before
// it, in shares of the limits.
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
	next := max(0, slices.Index(cells, r.Best()))
	var picked []int
	for range n {
		picked = append(picked, cells[next])
		nearest[next] = math.Inf(-1)
		at, now := r.Descriptor(cells[next]), next
		for i, cell := range cells {
			d2 := 0.0
			for d, x := range r.Descriptor(cell) {
				share := float64(x-at[d]) / size[d]
				d2 += share * share
			}
			nearest[i] = min(nearest[i], d2)
			if nearest[i] > nearest[next] || next == now {
				next = i
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
