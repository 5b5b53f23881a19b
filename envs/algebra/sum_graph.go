package algebra

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"example.com/qdnb/xla"
)

// Term is a term of a segment sum: row i of value is added to the rows to[i] of the sum.
type Term struct {
	Value Num
	To    [][]int
}

// Each maps row i to rows[i].
func Each(rows []int) [][]int {
	to := make([][]int, len(rows))
	for i, row := range rows {
		to[i] = []int{row}
	}
	return to
}

// SegmentSum is a segment sum of terms into a Num of so many rows.
func SegmentSum(rows int, terms ...Term) Num {
	runs, split := runsOf(rows, terms)
	return stackRuns(split, runs, Join)
}

// MaterializedSum is [segmentSum] for many limbs: it materializes values that several rows share.
func MaterializedSum(rows int, terms ...Term) Num {
	runs, split := runsOf(rows, terms)
	for i := range runs {
		if runs[i].times > 1 {
			runs[i].value = runs[i].value.Materialize()
		}
	}
	return stackRuns(split, runs, xla.Join)
}

// rowRun holds consecutive rows: value, repeated times.
type rowRun struct {
	value Num
	times int
}

// runsOf returns a segment sum as runs of rows, each of them a row if the rows are split.
func runsOf(rows int, terms []Term) (runs []rowRun, split bool) {
	type source struct{ of, row int } // of: index of the term
	sources := make([][]source, rows)
	for i, a := range terms {
		split = split || a.Value.Split != nil
		if a.Value.Is(0) {
			continue
		}
		for row, list := range a.To {
			for _, to := range list {
				sources[to] = append(sources[to], source{i, row})
			}
		}
	}
	add := func(list []source, count int) Num { // of count consecutive rows
		sum := Constant(count, 0)
		for _, s := range list {
			rows := make([]int, count)
			for i := range rows {
				rows[i] = s.row + i
			}
			sum = sum.Plus(terms[s.of].Value.Take(rows...))
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

// stackRuns joins the rows of runs; concatenate joins those that are not known.
func stackRuns(split bool, runs []rowRun, concatenate func(parts []*Node) *Node) Num {
	var out Num
	var g *Graph
	batch := 0
	for _, r := range runs {
		out.Rows += r.value.Rows * r.times
		out.Known = append(out.Known, slices.Repeat(r.value.Known, r.times)...)
		if r.value.Node != nil {
			g, batch = r.value.Node.Graph(), r.value.Node.Shape().Size()/r.value.Rows
		}
	}
	if split {
		out.Known = nil
		for _, r := range runs {
			out.Split = append(out.Split, r.value.SplitRows().Split...)
		}
		return out
	}
	if g == nil {
		return out
	}
	var nodes []*Node
	for _, r := range runs {
		node := r.value.Spread(g, batch)
		if size := r.value.Rows * batch; r.times > 1 {
			node = Reshape(BroadcastToDims(Reshape(node, 1, size), r.times, size), r.times*size)
		}
		nodes = append(nodes, node)
	}
	return Num{Rows: out.Rows, Node: concatenate(nodes)}
}
