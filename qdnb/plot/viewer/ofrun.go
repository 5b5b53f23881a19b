package viewer

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/internal/lists"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/scene"
	"example.com/qdnb/qdnb/runs"
)

// The largest sizes on a page, in bytes.
const (
	programSize = 200_000
	poseSize    = 8 // of a body in a frame
)

// Cells returns the cells of a run's repertoire whose films fit on a page of 2 MB, which suits a
// notebook: all filled cells or, if there are too many, the fittest cell and others spread evenly,
// see [Choose]. Such a page fits a hundred films of 250 steps of an ant, and more of smaller
// robots.
func Cells(run *runs.Run) ([]int, error) {
	r, err := run.RepertoireMap()
	if err != nil {
		return nil, err
	}
	cells := Choose(r, FilmsWithin(run, 2_000_000))
	if len(cells) == 0 {
		return nil, fmt.Errorf("viewer: the repertoire of %s is empty", run.Name())
	}
	return cells, nil
}

// PageSize returns how many bytes a page with films of a run takes at most.
func PageSize(run *runs.Run, films int) int {
	var settings struct {
		EpisodeLength int `json:"episode_length"`
	}
	if json.Unmarshal(run.Config.Hyperparameters, &settings) != nil || settings.EpisodeLength < 1 {
		settings.EpisodeLength = 250
	}
	bodies := 9 // as in an ant, if unknown
	if still, err := scene.Illustration(run.Config.Env); err == nil {
		bodies = len(still.Frames[0])
	}
	return programSize + films*bodies*settings.EpisodeLength*poseSize
}

// FilmsWithin returns how many films of a run fit on a page of a size in bytes, at least one.
func FilmsWithin(run *runs.Run, size int) int {
	return max(1, (size-programSize)/(PageSize(run, 1)-programSize))
}

// OfRun returns a page of films of a run (see qdnb.Play): a map of the repertoire if its
// descriptors have two dimensions, otherwise a list. cells are the filmed cells, one per film. If
// cells is empty, the films are of all skills of the run, from skill 0 on.
func OfRun(run *runs.Run, cells []int, films []*scene.Film) (*Page, error) {
	if err := runs.Given(run); err != nil {
		return nil, fmt.Errorf("viewer: %w", err)
	}
	title := fmt.Sprintf("%s on %s", figures.MethodName(run.Config.Algorithm), run.Config.Env)
	if len(cells) == 0 {
		skills, err := run.Skills()
		if err != nil {
			return nil, err
		}
		if len(films) != skills.Skills() {
			return nil, fmt.Errorf("viewer: there are %d films of the %d skills of %s, and a page shows one of each: "+
				"play one episode of each skill", len(films), skills.Skills(), run.Name())
		}
		entries := make([]Entry, len(films))
		for k, film := range films {
			fitness, descriptor := skills.Mean(k)
			entries[k] = Entry{Number: k, Fitness: fitness, Descriptor: descriptor, Film: film}
		}
		return List(title, "skill", figures.ComponentNames(run, skills.Dims()), entries)
	}
	if len(cells) != len(films) {
		return nil, fmt.Errorf("viewer: there are %d films of %d cells, and a page shows one of each: play one episode "+
			"of each cell", len(films), len(cells))
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
		entries = append(entries, Entry{Number: cell, Fitness: float64(r.Fitnesses[cell]),
			Descriptor: lists.Convert[float64](r.Descriptor(cell)), Film: of[cell]})
		delete(of, cell)
	}
	for cell := range of {
		return nil, fmt.Errorf("viewer: film of cell %d, which is empty", cell)
	}
	return List(title, "cell", figures.ComponentNames(run, r.Dims), entries)
}

// Choose returns at most n of the filled cells of a repertoire: the fittest cell, and others spread
// evenly over the range of the descriptors. Each pick is the cell farthest from all earlier ones,
// with distances relative to the limits.
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
	nearest := make([]float64, len(cells)) // squared distance to the nearest picked cell
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
