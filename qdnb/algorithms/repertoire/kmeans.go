package repertoire

import (
	"cmp"
	"math"
	"runtime"
	"slices"
	"sync"

	"example.com/qdnb/xla"
)

// kMeans clusters points [n*d] into k centroids [k*d]. It initialises with k-means++ (Arthur and
// Vassilvitskii 2007), then runs Lloyd's iterations until the sum of squared centroid movements is
// at most tolerance, or for maxIterations. A centroid that loses all points stays where it is.
//
// Every operation is rounded to float32 in a fixed order, so that the bytes are the same on every
// machine and for any number of goroutines. The order is that of the code that XLA generated for
// CPUs with AVX-512 from the graph that this function replaces.
func kMeans(stream xla.Stream, points []float32, d, k, maxIterations int,
	tolerance float64) []float32 {
	centroids, nearest := plusPlus(stream, points, d, k)
	moved := math.Inf(1)
	for step := 0; moved > tolerance && step < maxIterations; step++ {
		assign(nearest, points, centroids, d)
		before := slices.Clone(centroids)
		toMeans(centroids, points, nearest, d)
		moved = 0
		for i, x := range centroids {
			off := float64(x - before[i])
			moved += float64(off * off)
		}
	}
	return centroids
}

// assign sets the nearest centroid of each point, the lowest index among equals. The previous
// contents of nearest are the start of the search.
func assign(nearest []int, points, centroids []float32, d int) {
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
	centroids []float32 // [k*d], in the order of the tree
	index     []int     // original index of each centroid
	splits    []float32 // split value of a range: the least coordinate of its second half
}

// leaf is the maximum number of centroids in an undivided range.
const leaf = 4

func newTree(centroids []float32, d int) tree {
	k := len(centroids) / d
	t := tree{d, make([]float32, 0, len(centroids)), make([]int, k), make([]float32, k)}
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
	point   []float32
	offsets []float64 // per axis: offset of the point from the visited region
	best    float32   // squared distance to centroid at
	at      int       // index of the nearest centroid so far
}

// slack is far above the rounding error of a squared distance.
const slack = 1 + 1e-4

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
	before, off := s.offsets[axis], float64(s.point[axis]-s.splits[middle])
	beyond := bound - before*before + off*off
	if off < 0 {
		s.visit(from, middle, next, bound)
		from = middle
	} else {
		s.visit(middle, to, next, bound)
		to = middle
	}
	if beyond <= float64(s.best)*slack {
		s.offsets[axis] = off
		s.visit(from, to, next, beyond)
		s.offsets[axis] = before
	}
}

// toMeans moves each centroid to the mean of its nearest points, summed in index order.
func toMeans(centroids, points []float32, nearest []int, d int) {
	sums, counts := make([]float32, len(centroids)), make([]float32, len(centroids)/d)
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

// plusPlus draws k starting centroids [k*d] from the points, each with a probability proportional
// to its squared distance from the nearest centroid drawn before. It also returns the nearest
// centroid of each point.
func plusPlus(stream xla.Stream, points []float32, d, k int) (chosen []float32, nearest []int) {
	n := len(points) / d
	nearest = make([]int, n)
	w := newWeights(n)
	uniform, apart := make([]float32, 1), make([]float32, k)
	for i := range k {
		stream.FoldIn(i).Uniform(uniform)
		at := w.choose(uniform[0])
		centroid := points[at*d : (at+1)*d]
		for c := range i {
			apart[c] = squaredDistance(centroid, chosen[c*d:(c+1)*d])
		}
		chosen = append(chosen, centroid...)
		for j, weight := range w.table[:n] {
			if i > 0 && apart[nearest[j]] > 4*slack*weight {
				continue // by the triangle inequality
			}
			if distance := squaredDistance(points[j*d:(j+1)*d], centroid); i == 0 || distance < weight {
				w.table[j], nearest[j] = distance, i
			}
		}
	}
	return chosen, nearest
}

// lanes is the number of values summed per block; cumulative sums use half as many.
const lanes = 32

// weights is a table of n weights, padded with zeros. An index is drawn in two levels, row and
// column, so that the sums are short.
type weights struct {
	n, columns int
	table      []float32 // [rows*columns]
}

// newWeights makes n weights of 1.
func newWeights(n int) weights {
	columns := int(math.Ceil(math.Sqrt(float64(n))))
	rows := (n + columns - 1) / columns
	w := weights{n, columns, make([]float32, rows*columns)}
	for i := range n {
		w.table[i] = 1
	}
	return w
}

// choose returns an index with probability proportional to its weight, given a uniform number in
// [0, 1).
func (w weights) choose(uniform float32) int {
	var rows []float32
	for row := range slices.Chunk(w.table, w.columns) {
		rows = append(rows, sum(row))
	}
	target := float32(uniform * sum(w.table))
	row := pick(rows, target)
	clear(rows[row:])
	column := pick(w.table[row*w.columns:(row+1)*w.columns], target-sum(rows))
	return min(row*w.columns+column, w.n-1)
}

// pick returns the first index whose cumulative sum exceeds target, or the last index.
func pick(numbers []float32, target float32) int {
	picked := 0
	for _, upTo := range cumulative(numbers) {
		if upTo <= target {
			picked++
		}
	}
	return min(picked, len(numbers)-1)
}

// sum adds blocks of numbers, then blocks of the results, until one number is left. Padding to
// whole blocks is divided between the first and the last block.
func sum(numbers []float32) float32 {
	for len(numbers) > lanes {
		sums := make([]float32, (len(numbers)+lanes-1)/lanes)
		start := -(len(sums)*lanes - len(numbers)) / 2
		for i := range sums {
			from := start + i*lanes
			var block [lanes]float32
			copy(block[max(0, -from):], numbers[max(0, from):min(from+lanes, len(numbers))])
			sums[i] = halved(block[:])
		}
		numbers = sums
	}
	return halved(slices.Clone(numbers))
}

// cumulative returns the inclusive prefix sums of the numbers: the sum within a block of lanes/2,
// plus the sum of the blocks before.
func cumulative(numbers []float32) []float32 {
	size := min(lanes/2, len(numbers))
	upTo := make([]float32, len(numbers))
	var ends []float32 // sums of whole blocks
	window := make([]float32, size)
	for i := range upTo {
		clear(window)
		copy(window[size-1-i%size:], numbers[i/size*size:i+1])
		upTo[i] = halved(window)
		if i%size == size-1 {
			ends = append(ends, upTo[i])
		}
	}
	blocks := (len(numbers) + size - 1) / size
	window = make([]float32, blocks)
	for block := range blocks {
		clear(window)
		copy(window[blocks-block:], ends)
		before := halved(window)
		for i := block * size; i < min((block+1)*size, len(upTo)); i++ {
			upTo[i] += before
		}
	}
	return upTo
}

// halved sums numbers in place like a vector reduction: the second half, padded with zeros to a
// power of two, is added to the first until one number is left.
func halved(x []float32) float32 {
	half := 1
	for 2*half < len(x) {
		half *= 2
	}
	for ; half > 0; half /= 2 {
		for i := half; i < len(x); i++ {
			x[i-half] += x[i]
		}
		x = x[:min(half, len(x))]
	}
	return x[0]
}

// squaredDistance returns the squared distance of two points; each square after the first is added
// by a fused multiply-add.
func squaredDistance(a, b []float32) float32 {
	off := a[0] - b[0]
	if len(a) == 1 {
		return float32(off * off)
	}
	other := a[1] - b[1]
	distance := fma(off, float32(other*other))
	for k := 2; k < len(a); k++ {
		distance = fma(a[k]-b[k], distance)
	}
	return distance
}

// fma returns x*x + y for y >= 0, rounded once to float32. The product is exact in float64.
func fma(x, y float32) float32 {
	square := float64(x) * float64(x)
	total := square + float64(y)
	if math.Float64bits(total)&(1<<29-1) == 1<<28 {
		total = untie(total, square, float64(y))
	}
	return float32(total)
}

// untie moves the rounded sum of a and b, which lies halfway between two float32 values, towards
// the exact sum.
func untie(sum, a, b float64) float64 {
	switch lost := min(a, b) - (sum - max(a, b)); {
	case lost > 0:
		return math.Nextafter(sum, math.Inf(1))
	case lost < 0:
		return math.Nextafter(sum, 0)
	}
	return sum
}
