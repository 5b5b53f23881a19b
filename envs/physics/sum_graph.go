package physics

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
)

// term is a term of a segment sum: row i of value is added to the rows to[i] of the sum.
type term struct {
	value num
	to    [][]int
}

// each maps row i to rows[i].
func each(rows []int) [][]int {
	to := make([][]int, len(rows))
	for i, row := range rows {
		to[i] = []int{row}
	}
	return to
}

// segmentSum is a segment sum of terms into a num of so many rows.
func segmentSum(rows int, terms ...term) num { return newPartialSums(rows, terms...).join(join) }

// partialSums is a segment sum in two stages, so that values which several rows share can be
// materialized for many sums at once.
type partialSums struct {
	rows  int
	batch int
	split bool // whether rows are nums of their own, see num
	runs  []rowRun
}

// rowRun is the sum of consecutive rows: value, repeated times.
type rowRun struct {
	value num
	times int
}

func newPartialSums(rows int, terms ...term) *partialSums {
	type source struct{ of, row int } // of: index of the term
	sources := make([][]source, rows)
	t := &partialSums{rows: rows}
	for _, a := range terms {
		t.split = t.split || a.value.split != nil
	}
	for i, a := range terms {
		if a.value.is(0) {
			continue
		}
		if a.value.node != nil {
			t.batch = a.value.node.Shape().Size() / a.value.rows
		}
		for row, list := range a.to {
			for _, to := range list {
				sources[to] = append(sources[to], source{i, row})
			}
		}
	}
	add := func(list []source, count int) num { // of count consecutive rows
		sum := constant(count, 0)
		for _, s := range list {
			rows := make([]int, count)
			for i := range rows {
				rows[i] = s.row + i
			}
			sum = sum.plus(terms[s.of].value.take(rows...))
		}
		return sum
	}
	// Consecutive rows that sum consecutive rows of the same terms are computed at once, as are
	// rows with the same sum.
	follows := func(a, b source) bool { return a.of == b.of && b.row == a.row+1 }
	for start := 0; start < rows; {
		if t.split {
			t.runs = append(t.runs, rowRun{add(sources[start], 1), 1})
			start++
			continue
		}
		end := start + 1
		for end < rows && len(sources[start]) > 0 && slices.Equal(sources[start], sources[end]) {
			end++
		}
		if end > start+1 {
			t.runs = append(t.runs, rowRun{add(sources[start], 1), end - start})
			start = end
			continue
		}
		for end < rows && slices.EqualFunc(sources[end-1], sources[end], follows) {
			end++
		}
		t.runs = append(t.runs, rowRun{add(sources[start], end-start), 1})
		start = end
	}
	return t
}

// shared returns the values that are repeated.
func (t *partialSums) shared() (values []*num) {
	for i := range t.runs {
		if t.runs[i].times > 1 {
			values = append(values, &t.runs[i].value)
		}
	}
	return values
}

// join makes a num of the sums; concatenate joins the parts.
func (t *partialSums) join(concatenate func(parts []*Node) *Node) num {
	if t.split {
		out := num{rows: t.rows}
		for _, p := range t.runs {
			out.split = append(out.split, p.value)
		}
		return out
	}
	var g *Graph
	var known []float64
	for _, p := range t.runs {
		if p.value.node != nil {
			g = p.value.node.Graph()
		} else {
			known = append(known, slices.Repeat(p.value.known, p.times)...)
		}
	}
	if g == nil {
		return num{rows: t.rows, known: known}
	}
	var nodes []*Node
	for _, p := range t.runs {
		node := p.value.spread(g, t.batch)
		if size := p.value.rows * t.batch; p.times > 1 {
			node = Reshape(BroadcastToDims(Reshape(node, 1, size), p.times, size), p.times*size)
		}
		nodes = append(nodes, node)
	}
	return num{rows: t.rows, node: concatenate(nodes)}
}
