package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"example.com/qdnb/internal/limits"
	"example.com/qdnb/internal/lists"
)

// Voronoi returns the exact Voronoi cell of every site within the box from lower to upper: the
// points of the box at least as near to this site as to any other, by Euclidean distance in the
// units of the sites or, if one side of the box is more than twice the other, of its sides: as
// descriptors are assigned to the cells of a repertoire between these limits.
//
// Cells are convex polygons, counter-clockwise, without a repeated last vertex; together they tile
// the box. A site that duplicates an earlier one, or whose cell lies outside the box, has a nil
// cell.
//
// Each cell is the box clipped by the bisectors to the other sites, in both directions along x
// until no further site can reach the cell. Evenly spread sites cost about O(n √n), the worst case
// O(n²).
func Voronoi(sites [][2]float64, lower, upper [2]float64) ([][][2]float64, error) {
	if err := checkLimits(lower, upper); err != nil {
		return nil, fmt.Errorf("figures: Voronoi cells: %w", err)
	}
	for i, s := range sites {
		if !finite(s[0]) || !finite(s[1]) {
			return nil, fmt.Errorf("figures: Voronoi cells: site %d is not finite: (%g, %g)", i, s[0], s[1])
		}
	}
	float32s := func(x [2]float64) []float32 { return []float32{float32(x[0]), float32(x[1])} }
	if scale := limits.Scale(float32s(lower), float32s(upper)); scale != nil {
		by := func(x [2]float64, power float64) [2]float64 {
			for k, factor := range scale {
				x[k] *= math.Pow(float64(factor), power)
			}
			return x
		}
		scaled := lists.Map(sites, func(site [2]float64) [2]float64 { return by(site, 1) })
		cells := voronoi(scaled, by(lower, 1), by(upper, 1))
		for _, cell := range cells {
			for i, vertex := range cell {
				cell[i] = by(vertex, -1)
			}
		}
		return cells, nil
	}
	return voronoi(sites, lower, upper), nil
}

// voronoi is [Voronoi] by Euclidean distance.
func voronoi(sites [][2]float64, lower, upper [2]float64) [][][2]float64 {
	order := lists.Indices(len(sites)) // by x
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(sites[i][0], sites[j][0]) })
	cells := make([][][2]float64, len(sites))
	for rank, i := range order {
		cells[i] = cellOf(sites, order, rank, lower, upper)
	}
	return cells
}

// huge bounds limits, so that the sum of two of them, or their distance in pixels, stays finite.
const huge = 1e300

func checkLimits(lower, upper [2]float64) error {
	for d := range 2 {
		if !(-huge <= lower[d] && lower[d] < upper[d] && upper[d] <= huge) {
			return fmt.Errorf("limits must be finite with lower < upper, and no larger than %g, got lower "+
				"%v and upper %v", huge, lower, upper)
		}
	}
	return nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// cellOf returns the cell of the site of a rank in the order by x.
func cellOf(sites [][2]float64, order []int, rank int, lower, upper [2]float64) [][2]float64 {
	i := order[rank]
	site := sites[i]
	cell := [][2]float64{lower, {upper[0], lower[1]}, upper, {lower[0], upper[1]}}
	reach := 2 * radius(cell, site) // a site further away than this cannot cut the cell
	// clip cuts off what is nearer to another site. It reports whether sites beyond could cut, too.
	clip := func(at int) bool {
		if len(cell) < 3 || at < 0 || at >= len(order) || math.Abs(sites[order[at]][0]-site[0]) > reach {
			return false
		}
		switch other := sites[order[at]]; {
		case other == site && order[at] < i:
			cell = nil
		case other != site && math.Hypot(other[0]-site[0], other[1]-site[1]) <= reach:
			cell = clipNearer(cell, site, other)
			reach = 2 * radius(cell, site)
		}
		return true
	}
	left, right := true, true
	for away := 1; left || right; away++ {
		left = left && clip(rank-away)
		right = right && clip(rank+away)
	}
	if len(cell) < 3 {
		return nil
	}
	return cell
}

// radius returns the largest distance from p to a vertex of the polygon.
func radius(polygon [][2]float64, p [2]float64) float64 {
	var r float64
	for _, v := range polygon {
		r = max(r, math.Hypot(v[0]-p[0], v[1]-p[1]))
	}
	return r
}

// clipNearer keeps what is nearer to a than to b (Sutherland and Hodgman 1974).
func clipNearer(polygon [][2]float64, a, b [2]float64) [][2]float64 {
	nx, ny := b[0]-a[0], b[1]-a[1]
	mx, my := (a[0]+b[0])/2, (a[1]+b[1])/2
	side := func(v [2]float64) float64 { return (v[0]-mx)*nx + (v[1]-my)*ny }

	var kept [][2]float64
	prev := polygon[len(polygon)-1]
	prevSide := side(prev)
	for _, v := range polygon {
		s := side(v)
		if (s < 0) != (prevSide < 0) && s != 0 && prevSide != 0 {
			t := prevSide / (prevSide - s)
			kept = append(kept, [2]float64{prev[0] + t*(v[0]-prev[0]), prev[1] + t*(v[1]-prev[1])})
		}
		if s <= 0 {
			kept = append(kept, v)
		}
		prev, prevSide = v, s
	}
	return kept
}
