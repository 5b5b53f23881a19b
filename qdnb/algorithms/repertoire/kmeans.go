package repertoire

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sort"
	"sync"

	"example.com/qdnb/xla/random"
)

// kMeans clusters points [n*d] into k centroids [k*d]. It initialises with k-means++ (Arthur and
// Vassilvitskii 2007), then runs Lloyd's iterations until the sum of squared centroid movements is
// at most tolerance, or for maxIterations. A centroid that loses all points stays where it is.
//
// The result has the same bytes on every machine and for any number of goroutines: sums have a fixed
// order, and a product is converted before it is added, which prevents fused operations.
func kMeans(stream random.Stream, points []float64, d, k, maxIterations int, tolerance float64) []float64 {
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

// assign sets the nearest centroid of each point, the lowest index among equals. It visits centroids
// in the order of their first coordinate, away from the point, until they are farther in that alone.
func assign(nearest []int, points, centroids []float64, d int) {
	order := make([]int, len(centroids)/d)
	for i := range order {
		order[i] = i
	}
	first := func(i int) float64 { return centroids[order[i]*d] }
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(centroids[a*d], centroids[b*d]) })
	share := len(nearest)/runtime.GOMAXPROCS(0) + 1
	var workers sync.WaitGroup
	for from := 0; from < len(nearest); from += share {
		workers.Go(func() {
			for i := from; i < min(from+share, len(nearest)); i++ {
				point := points[i*d : (i+1)*d]
				best := squaredDistance(point, centroids[nearest[i]*d:(nearest[i]+1)*d])
				visit := func(c int) (more bool) {
					at := order[c]
					distance := squaredDistance(point, centroids[at*d:(at+1)*d])
					if distance < best || distance == best && at < nearest[i] {
						best, nearest[i] = distance, at
					}
					off := first(c) - point[0]
					return off*off <= best*slack
				}
				up := sort.Search(len(order), func(c int) bool { return first(c) >= point[0] })
				for c := up; c < len(order) && visit(c); c++ {
				}
				for c := up - 1; c >= 0 && visit(c); c-- {
				}
			}
		})
	}
	workers.Wait()
}

// slack is far above the rounding error of a squared distance.
const slack = 1 + 1e-9
