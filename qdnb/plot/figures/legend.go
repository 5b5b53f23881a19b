package figures

import (
	"cmp"
	"fmt"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"example.com/qdnb/internal/names"
)

// legend explains marks in rows of equal columns under the panels, over an optional note.
type legend struct {
	entries []Entry
	note    string
}

// joinEntries returns an entry for each text, of a series that has a band if there is one.
func joinEntries(panels []*Panel) (joined []Entry) {
	for _, p := range panels {
		for _, e := range p.Legend {
			i := slices.IndexFunc(joined, func(other Entry) bool { return other.Text == e.Text })
			if i < 0 {
				joined = append(joined, e)
			} else if s, ok := e.Mark.(*Series); ok && s.banded() {
				joined[i] = e
			}
		}
	}
	isLabel := func(e Entry) bool { return e.rank == labelRank }
	if all := len(joined) - len(slices.DeleteFunc(slices.Clone(joined), isLabel)); all > mostLabels {
		kept := 0
		joined = slices.DeleteFunc(joined, func(e Entry) bool {
			if isLabel(e) {
				kept++
			}
			return isLabel(e) && kept >= mostLabels
		})
		joined = append(joined, Entry{Text: fmt.Sprintf("and %d more", all-mostLabels+1),
			Mark: glyph(func(draw.Canvas) {}), rank: labelRank})
	}
	slices.SortStableFunc(joined, func(a, b Entry) int { return cmp.Compare(a.rank, b.rank) })
	return joined
}

const (
	legendIcon = vg.Length(22)
	legendGap  = vg.Length(10) // above the legend
	columnGap  = vg.Length(16)
)

func legendStyle() (style draw.TextStyle, line vg.Length) {
	style = textStyle(labelSize)
	style.XAlign, style.YAlign = draw.XLeft, draw.YCenter
	return style, 1.35 * style.FontExtents().Height
}

// entryWidth returns the width of the widest entry.
func (l *legend) entryWidth() (widest vg.Length) {
	style, _ := legendStyle()
	for _, e := range l.entries {
		widest = max(widest, legendIcon+4+style.Width(e.Text))
	}
	return widest
}

// arrange returns the number of columns that fit in width, and their width.
func (l *legend) arrange(width vg.Length) (columns int, columnWidth vg.Length) {
	columnWidth = l.entryWidth()
	columns = min(max(int((width+columnGap)/(columnWidth+columnGap)), 1), len(l.entries))
	// Even rows: 4 + 4 rather than 6 + 2.
	rows := (len(l.entries) + columns - 1) / columns
	return (len(l.entries) + rows - 1) / rows, columnWidth
}

func (l *legend) height(width vg.Length) vg.Length {
	lines := 0
	if len(l.entries) > 0 {
		columns, _ := l.arrange(width)
		lines = (len(l.entries) + columns - 1) / columns
	}
	style, line := legendStyle()
	lines += len(wrapped(l.note, style, width))
	if lines == 0 {
		return 0
	}
	return legendGap + line*vg.Length(lines)
}

// wrapped breaks a text into lines that are not wider than width, if words are not.
func wrapped(text string, style draw.TextStyle, width vg.Length) []string {
	return names.Lines(text, func(line string) bool { return style.Width(line) <= width })
}

// draw centres the legend under span with its upper edge at top, or in the canvas if the legend is
// wider than span.
func (l *legend) draw(c draw.Canvas, span [2]vg.Length, top vg.Length) {
	style, line := legendStyle()
	width := c.Size().X - 2*outerPad
	note := style
	note.XAlign = draw.XCenter
	lines := wrapped(l.note, style, width)
	for i, text := range lines {
		y := top - l.height(width) + line*vg.Length(len(lines)-i) - line/2
		x := middle(span)
		if len(lines) > 1 {
			x = (c.Min.X + c.Max.X) / 2
		}
		half := style.Width(text) / 2
		x = max(min(x, c.Max.X-outerPad-half), c.Min.X+outerPad+half)
		c.FillText(note, vg.Point{X: x, Y: y + style.FontExtents().Descent}, text)
	}
	if len(l.entries) == 0 {
		return
	}
	columns, columnWidth := l.arrange(c.Size().X - 2*outerPad)
	total := vg.Length(columns)*(columnWidth+columnGap) - columnGap
	left := middle(span) - total/2
	left = max(min(left, c.Max.X-outerPad-total), c.Min.X+outerPad)
	for i, e := range l.entries {
		x := left + vg.Length(i%columns)*(columnWidth+columnGap)
		y := top - legendGap - line*vg.Length(i/columns) - line/2
		icon := c
		icon.Rectangle = vg.Rectangle{
			Min: vg.Point{X: x, Y: y - 4},
			Max: vg.Point{X: x + legendIcon, Y: y + 4},
		}
		e.Mark.Thumbnail(&icon)
		c.FillText(style, vg.Point{X: x + legendIcon + 4, Y: y + style.FontExtents().Descent}, e.Text)
	}
}
