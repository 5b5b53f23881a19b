package figures

import (
	"fmt"
	"math"
)

// Voronoi returns the exact Voronoi cell of every site within the box from lower to upper: the
// points of the box at least as near to this site as to any other, by Euclidean distance in the
// units of the sites.
//
// Cells are convex polygons, counter-clockwise, without a repeated last vertex; together they tile
// the box. A site that duplicates an earlier one, or whose cell lies outside the box, has a nil
// cell.
//
// Each cell is the box clipped by the bisectors to the other sites, nearest first. A bucket grid
// stops the search once no further site can reach the cell. Evenly spread sites cost about O(n),
// the worst case O(n²).
func Voronoi(sites [][2]float64, lower, upper [2]float64) ([][][2]float64, error) {
	if err := checkLimits(lower, upper); err != nil {
		return nil, fmt.Errorf("figures: Voronoi cells: %w", err)
	}
	for i, s := range sites {
		if !finite(s[0]) || !finite(s[1]) {
			return nil, fmt.Errorf("figures: Voronoi cells: site %d is not finite: (%g, %g)", i, s[0], s[1])
		}
	}
	grid := newBuckets(sites)
	cells := make([][][2]float64, len(sites))
	for i := range sites {
		cells[i] = grid.cell(i, lower, upper)
	}
	return cells, nil
}

// huge bounds limits, so that the sum of two of them, or their distance in pixels, stays finite.
const huge = 1e300

// checkLimits reports limits that do not span an area.
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

// buckets is a grid of square buckets over the bounding box of the sites, about one site each.
type buckets struct {
	sites  [][2]float64
	origin [2]float64
	size   float64 // side of a bucket
	n      [2]int  // buckets along x and y
	items  [][]int // sites of bucket y*n[0]+x
}

func newBuckets(sites [][2]float64) *buckets {
	b := &buckets{sites: sites, size: 1, n: [2]int{1, 1}}
	if len(sites) == 0 {
		return b
	}
	low, high := sites[0], sites[0]
	for _, s := range sites {
		for d := range 2 {
			low[d], high[d] = min(low[d], s[d]), max(high[d], s[d])
		}
	}
	w, h, count := high[0]-low[0], high[1]-low[1], float64(len(sites))
	// The second term keeps the grid small where the sites lie almost on a line.
	if size := max(math.Sqrt(w/count*h), max(w, h)/count); size > 0 {
		b.size = size
	}
	b.origin = low
	b.n = [2]int{int(w/b.size) + 1, int(h/b.size) + 1}
	b.items = make([][]int, b.n[0]*b.n[1])
	for i, s := range sites {
		x, y := b.at(s)
		b.items[y*b.n[0]+x] = append(b.items[y*b.n[0]+x], i)
	}
	return b
}

// at returns the bucket of a point of the bounding box.
func (b *buckets) at(p [2]float64) (x, y int) {
	return min(int((p[0]-b.origin[0])/b.size), b.n[0]-1), min(int((p[1]-b.origin[1])/b.size), b.n[1]-1)
}

// cell clips the box by the bisectors between site i and its neighbours.
func (b *buckets) cell(i int, lower, upper [2]float64) [][2]float64 {
	site := b.sites[i]
	cell := [][2]float64{lower, {upper[0], lower[1]}, upper, {lower[0], upper[1]}}
	reach := 2 * radius(cell, site) // a site further away than this cannot cut the cell
	cx, cy := b.at(site)
	for ring := 0; ring < max(b.n[0], b.n[1]) && float64(ring-1)*b.size <= reach; ring++ {
		for y := max(cy-ring, 0); y <= min(cy+ring, b.n[1]-1); y++ {
			step := 1
			if y != cy-ring && y != cy+ring {
				step = 2 * ring // inner rows have only the ring's two ends
			}
			for x := cx - ring; x <= cx+ring; x += max(step, 1) {
				if x < 0 || x >= b.n[0] {
					continue
				}
				for _, j := range b.items[y*b.n[0]+x] {
					other := b.sites[j]
					if other == site {
						if j < i {
							return nil
						}
						continue
					}
					if math.Hypot(other[0]-site[0], other[1]-site[1]) > reach {
						continue
					}
					cell = clipNearer(cell, site, other)
					if len(cell) < 3 {
						return nil
					}
					reach = 2 * radius(cell, site)
				}
			}
		}
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

// clipNearer keeps the part of a convex polygon that is nearer to a than to b (Sutherland and
// Hodgman 1974).
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
