package paper

import (
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/qdnb/internal/names"
	"example.com/qdnb/qdnb/paper/protocol"
	"example.com/qdnb/qdnb/paper/results"
	"example.com/qdnb/qdnb/plot/figures"
	"example.com/qdnb/qdnb/plot/tables"
	"example.com/qdnb/qdnb/runs"
)

// recordIntro is the first part of the page.
//
//go:embed reproduction_intro.md
var recordIntro string

// Markdown returns the record as a page of docs, which shows the figure reproduction.png.
func (r *Record) Markdown() string {
	var out strings.Builder
	out.WriteString(recordIntro)
	for _, s := range r.sections {
		s.write(&out)
	}
	out.WriteString("\nBack: [experiments](experiments.md). Next: " +
		"[beyond the paper](../notebooks/beyond.ipynb).\n")
	return out.String()
}

func (s section) write(out *strings.Builder) {
	size := s.budget.String() + " a run"
	if s.budget.EnvSteps > 0 {
		size = "budgets of environment steps"
	}
	fmt.Fprintf(out, "\n## Scale %s: %s, networks of %s units\n\n", s.scale, size,
		strings.ReplaceAll(strings.Trim(fmt.Sprint(s.hidden), "[]"), " ", " × "))
	count, rest := map[string]int{}, cost{}
	for _, c := range s.cells {
		for _, n := range c.numbers {
			count[n.side]++
		}
		if len(c.runs) == 0 {
			own := s.cost(c)
			rest.cores, rest.gpu = rest.cores+own.cores, rest.gpu+own.gpu
		}
	}
	text := fmt.Sprintf("%d of %d cells have complete runs.", s.complete(), len(s.cells))
	if s.complete() > 0 {
		text += fmt.Sprintf(" Of their numbers, %d are inside the paper's spread, %d below and %d above.",
			count[inside], count[below], count[above])
	}
	if rest != (cost{}) {
		text += fmt.Sprintf(" One seed of the other cells costs %s.", rest)
	}
	out.WriteString(filled("", text))
	if len(s.makers) > 0 {
		out.WriteString("\nMade by:\n\n")
	}
	for i, maker := range s.makers {
		out.WriteString(filled(fmt.Sprintf("%d. ", i+1), maker+"."))
	}
	for cells := range slices.Chunk(s.cells, len(protocol.Compared())) {
		s.writeEnvironment(out, cells)
	}
	if s.order != "" {
		out.WriteString("\n### Order of the methods\n\n" + s.order)
	}
}

// writeEnvironment writes the table of the cells of an environment, and its notes.
func (s section) writeEnvironment(out *strings.Builder, cells []recordCell) {
	table, notes := &tables.Table{}, &recordNotes{}
	if slices.ContainsFunc(cells, func(c recordCell) bool { return len(c.runs) > 0 }) {
		table.Header = []string{"method", "max fitness, paper", "ours", "QD score, paper", "ours",
			"seeds", "steps (share)", "wall-clock (processor)", "made by", "remarks"}
	} else {
		table.Header = []string{"method", "max fitness, paper", "QD score, paper", "remarks"}
	}
	for _, c := range cells {
		row := []string{figures.MethodName(c.method)}
		for _, n := range c.numbers {
			row = append(row, n.printed(c.method, notes))
			if len(table.Header) > 4 {
				row = append(row, n.ours())
			}
		}
		if len(table.Header) > 4 {
			row = append(row, c.effort()...)
		}
		table.Rows = append(table.Rows, tables.Row(append(row, s.remarks(c, notes))...))
	}
	fmt.Fprintf(out, "\n### %s\n\n%s", cells[0].env, table.Markdown())
	for i, note := range *notes {
		out.WriteString("\n" + filled(fmt.Sprintf("[%d] ", i+1), note))
	}
}

// recordNotes are numbered texts below a table.
type recordNotes []string

// add adds a text unless it is there, and returns the reference to it.
func (n *recordNotes) add(text string) string {
	if !slices.Contains(*n, text) {
		*n = append(*n, text)
	}
	return fmt.Sprintf("[%d]", slices.Index(*n, text)+1)
}

// printed formats the paper's numbers, with a note on misprints.
func (n recordNumber) printed(method string, notes *recordNotes) string {
	text := tables.Plain.Number(n.paper.Median)
	if !math.IsNaN(n.paper.Std) {
		text += " (± " + tables.Plain.Number(n.paper.Std) + ")"
	}
	if n.paper.Note != "" {
		text += " " + notes.add(fmt.Sprintf("The paper's %s of %s: %s.", n.metric,
			figures.MethodName(method), n.paper.Note))
	}
	return text
}

// ours formats our median, the standard deviation if there are several seeds, and the side.
func (n recordNumber) ours() string {
	if len(n.own) == 0 {
		return none
	}
	return strings.TrimSuffix(results.Spread(tables.Plain, n.own)+", "+n.side, ", ")
}

// effort returns the columns of seeds, steps, times and makers.
func (c recordCell) effort() []string {
	if len(c.runs) == 0 {
		return []string{"0", "", "", ""}
	}
	steps, share := c.steps()
	times := tables.Duration(c.median(func(s runs.Status) float64 { return s.Seconds }))
	processor := c.median(func(s runs.Status) float64 { return s.CPUSeconds })
	if processor > 0 { // older programs did not record it
		times += " (" + tables.Duration(processor) + ")"
	}
	return []string{strconv.Itoa(len(c.runs)), fmt.Sprintf("%s (%s)", tables.Count(steps),
		tables.Short(share, 2)), times, strings.Join(c.makers, ", ")}
}

// remarks says what a cell without runs costs, or why numbers are outside the paper's spread.
// Numbers below the spread are first explained by fewer steps and smaller networks. If the steps
// are not fewer, a known reason replaces smaller networks.
func (s section) remarks(c recordCell, notes *recordNotes) string {
	switch {
	case len(c.runs) == 0 && c.started:
		return "not complete: " + s.cost(c).String()
	case len(c.runs) == 0:
		return "not run: " + s.cost(c).String()
	}
	_, share := c.steps()
	fewer := share < 0.995
	var list []string
	if slices.ContainsFunc(c.numbers, func(n recordNumber) bool {
		return n.side == below && (fewer || s.smaller() && n.reason == "")
	}) {
		if fewer {
			list = append(list, tables.Short(share, 2)+" of the steps")
		}
		if s.smaller() {
			list = append(list, "smaller networks")
		}
	}
	for _, n := range c.numbers {
		switch {
		case n.reason != "":
			list = append(list, notes.add(n.reason))
		case n.outside() && !(n.side == below && (fewer || s.smaller())):
			cause, by := "reason unknown", ""
			if n.paper.Std > 0 {
				by = fmt.Sprintf(" by %.1f deviations", n.deviations())
			}
			if n.deviations() < 2 {
				cause = "perhaps chance"
			}
			list = append(list, fmt.Sprintf("%s %s%s: %s", n.metric, n.side, by, cause))
		}
	}
	return strings.Join(slices.Compact(list), "; ")
}

// filled breaks a paragraph into lines of at most 100 characters, with a mark before the first.
func filled(mark, text string) string {
	lines := names.Wrap(text, 100-len(mark))
	return mark + strings.Join(lines, "\n"+strings.Repeat(" ", len(mark))) + "\n"
}
