package repertoire

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"example.com/qdnb/xla/random"
)

// kMeans clusters points [n*d] into k centroids [k*d]. It initialises with k-means++ (Arthur and
// Vassilvitskii 2007), then runs Lloyd's iterations until the sum of squared centroid movements is
// at most tolerance, or for maxIterations. A centroid that loses all points stays where it is.
//
// The result has the same bytes on every machine and for any number of goroutines: sums have a fixed
// order, and a product is converted before it is added, which prevents fused operations.
func kMeans(stream random.Stream, points []float64, d, k, maxIterations int,
	tolerance float64) []float64 {
	centroids, nearest := plusPlus(stream, points, d, k), make([]int, len(points)/d)
	moved := math.Inf(1)
	for step := 0; moved > tolerance && step < maxIterations; step++ {
		assign(nearest, points, centroids, d)
		before := slices.Clone(centroids)
		toMeans(centroids, points, nearest, d)
		moved = squaredDistance(centroids, before)
	}
	return centroids
}

// plusPlus draws k starting centroids [k*d] from the points, each with a probability proportional
// to its squared distance from the nearest centroid drawn before.
func plusPlus(stream random.Stream, points []float64, d, k int) (chosen []float64) {
	weights := slices.Repeat([]float64{1}, len(points)/d)
	uniform := make([]float32, 1)
	for i := range k {
		total := 0.0
		for _, weight := range weights {
			total += weight
		}
		stream.FoldIn(i).Uniform(uniform)
		at, upTo, target := 0, 0.0, float64(float64(uniform[0])*total)
		for j, weight := range weights { // the first point whose cumulative weight exceeds the target
			if weight > 0 {
				at = j
			}
			if upTo += weight; upTo > target {
				break
			}
		}
		centroid := points[at*d : (at+1)*d]
		chosen = append(chosen, centroid...)
		for j, weight := range weights {
			if distance := squaredDistance(points[j*d:(j+1)*d], centroid); i == 0 || distance < weight {
				weights[j] = distance
			}
		}
	}
	return chosen
}

// toMeans moves each centroid to the mean of its nearest points, summed in index order.
func toMeans(centroids, points []float64, nearest []int, d int) {
	sums, counts := make([]float64, len(centroids)), make([]float64, len(centroids)/d)
	for i, c := range nearest {
		counts[c]++
		for k := range d {
			sums[c*d+k] += points[i*d+k]
		}
	}
	for i, sum := range sums {
		if count := counts[i/d]; count > 0 {
			centroids[i] = sum / count
		}
	}
}

func squaredDistance(a, b []float64) (sum float64) {
	for k, x := range a {
		sum += float64((x - b[k]) * (x - b[k]))
	}
	return sum
}

// assign sets the nearest centroid of each point, the lowest index among equals. The previous
// contents of nearest are the start of the search.
func assign(nearest []int, points, centroids []float64, d int) {
	tree := newTree(centroids, d)
	share := len(nearest)/runtime.GOMAXPROCS(0) + 1
	var workers sync.WaitGroup
	for from := 0; from < len(nearest); from += share {
		workers.Go(func() {
			s := search{tree: tree, offsets: make([]float64, d)}
			for i := from; i < min(from+share, len(nearest)); i++ {
				s.point, s.at = points[i*d:(i+1)*d], nearest[i]
				s.best = squaredDistance(s.point, centroids[s.at*d:(s.at+1)*d])
				s.visit(0, len(tree.index), 0, 0)
				nearest[i] = s.at
			}
		})
	}
	workers.Wait()
}

// tree is a k-d tree (Bentley 1975) of centroids: at depth a, the first half of a range has no
// larger coordinate a mod d than the second half.
type tree struct {
	d         int
	centroids []float64 // [k*d], in the order of the tree
	index     []int     // original index of each centroid
	splits    []float64 // split value of a range: the least coordinate of its second half
}

// leaf is the maximum number of centroids in an undivided range.
const leaf = 4

func newTree(centroids []float64, d int) tree {
	k := len(centroids) / d
	t := tree{d, make([]float64, 0, len(centroids)), make([]int, k), make([]float64, k)}
	for i := range t.index {
		t.index[i] = i
	}
	var divide func(from, to, axis int)
	divide = func(from, to, axis int) {
		if to-from <= leaf {
			return
		}
		slices.SortFunc(t.index[from:to], func(a, b int) int {
			return cmp.Compare(centroids[a*d+axis], centroids[b*d+axis])
		})
		middle := from + (to-from)/2
		t.splits[middle] = centroids[t.index[middle]*d+axis]
		divide(from, middle, (axis+1)%d)
		divide(middle, to, (axis+1)%d)
	}
	divide(0, k, 0)
	for _, i := range t.index {
		t.centroids = append(t.centroids, centroids[i*d:(i+1)*d]...)
	}
	return t
}

// search finds the centroid nearest to a point.
type search struct {
	tree
	point   []float64
	offsets []float64 // per axis: offset of the point from the visited region
	best    float64   // squared distance to centroid at
	at      int       // index of the nearest centroid so far
}

// slack is far above the rounding error of a squared distance.
const slack = 1 + 1e-9

// visit searches a range of the tree, which is divided along axis. bound is the squared distance of
// the point from the range's region.
func (s *search) visit(from, to, axis int, bound float64) {
	if to-from <= leaf {
		for i := from; i < to; i++ {
			distance := squaredDistance(s.point, s.centroids[i*s.d:(i+1)*s.d])
			if distance < s.best || distance == s.best && s.index[i] < s.at {
				s.best, s.at = distance, s.index[i]
			}
		}
		return
	}
	middle, next := from+(to-from)/2, axis+1
	if next == s.d {
		next = 0
	}
	before, off := s.offsets[axis], s.point[axis]-s.splits[middle]
	beyond := bound - before*before + off*off
	if off < 0 {
		s.visit(from, middle, next, bound)
		from = middle
	} else {
		s.visit(middle, to, next, bound)
		to = middle
	}
	if beyond <= s.best*slack {
		s.offsets[axis] = off
		s.visit(from, to, next, beyond)
		s.offsets[axis] = before
	}
}
