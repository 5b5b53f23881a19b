package physics

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
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
func segmentSum(rows int, terms ...term) num {
	runs, split := runsOf(rows, terms)
	return stack(split, runs, join)
}

// materializedSum is [segmentSum] for many limbs: it materializes values that several rows share.
func materializedSum(rows int, terms ...term) num {
	runs, split := runsOf(rows, terms)
	for i := range runs {
		if runs[i].times > 1 {
			runs[i].value = runs[i].value.materialize()
		}
	}
	return stack(split, runs, xla.Join)
}

// rowRun holds consecutive rows: value, repeated times.
type rowRun struct {
	value num
	times int
}

// runsOf returns a segment sum as runs of rows, each of them a row if the rows are split.
func runsOf(rows int, terms []term) (runs []rowRun, split bool) {
	type source struct{ of, row int } // of: index of the term
	sources := make([][]source, rows)
	for i, a := range terms {
		split = split || a.value.split != nil
		if a.value.is(0) {
			continue
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
		run, end := rowRun{times: 1}, start+1
		for !split && end < rows && len(sources[start]) > 0 && slices.Equal(sources[start], sources[end]) {
			end++
			run.times++
		}
		for !split && run.times == 1 && end < rows && slices.EqualFunc(sources[end-1], sources[end], follows) {
			end++
		}
		run.value = add(sources[start], (end-start)/run.times)
		runs, start = append(runs, run), end
	}
	return runs, split
}

// stack joins the rows of runs; concatenate joins those that are not known.
func stack(split bool, runs []rowRun, concatenate func(parts []*Node) *Node) num {
	var out num
	var g *Graph
	batch := 0
	for _, r := range runs {
		out.rows += r.value.rows * r.times
		out.known = append(out.known, slices.Repeat(r.value.known, r.times)...)
		if r.value.node != nil {
			g, batch = r.value.node.Graph(), r.value.node.Shape().Size()/r.value.rows
		}
	}
	if split {
		out.known = nil
		for _, r := range runs {
			out.split = append(out.split, r.value.splitRows().split...)
		}
		return out
	}
	if g == nil {
		return out
	}
	var nodes []*Node
	for _, r := range runs {
		node := r.value.spread(g, batch)
		if size := r.value.rows * batch; r.times > 1 {
			node = Reshape(BroadcastToDims(Reshape(node, 1, size), r.times, size), r.times*size)
		}
		nodes = append(nodes, node)
	}
	return num{rows: out.rows, node: concatenate(nodes)}
}
