package tables

import (
	"encoding/csv"
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

// line joins the lines of a text, because an entry has a single line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// markdownEscapes escape what Markdown, or the formulas and tags that notebooks recognise in it,
// would not treat as text. A backslash becomes an entity, because two backslashes before a bracket
// start a formula in JupyterLab.
var markdownEscapes = strings.NewReplacer(`\`, "&#92;", "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`",
	"<", `\<`, "~", `\~`, "$", `\$`,
	"&", `\&`, "](", `]\(`)

func markdown(text string) string { return markdownEscapes.Replace(shown(text)) }

// Markdown returns the table in GitHub's Markdown, with its caption in bold above and its notes
// below.
func (t *Table) Markdown() string {
	var out strings.Builder
	if t.Caption != "" {
		out.WriteString("**" + markdown(t.Caption) + "**\n\n")
	}
	out.WriteByte('|')
	for _, name := range t.Header {
		out.WriteString(" " + markdown(name) + " |")
	}
	out.WriteString("\n|")
	for _, numeric := range t.numeric() {
		if numeric {
			out.WriteString("---:|")
		} else {
			out.WriteString("---|")
		}
	}
	out.WriteByte('\n')
	for r := range t.Rows {
		out.WriteByte('|')
		for c := range t.Header {
			entry := t.entry(r, c, true)
			text := markdown(entry.Text)
			if entry.Bold && text != "" {
				text = "**" + text + "**"
			}
			out.WriteString(" " + text + " |")
		}
		out.WriteByte('\n')
	}
	for _, note := range t.Notes {
		out.WriteString("\n" + markdown(note) + "\n")
	}
	return out.String()
}

// CSV returns the header and all rows, without caption, notes and bold.
func (t *Table) CSV() string {
	var out strings.Builder
	w := csv.NewWriter(&out)
	lines := [][]string{t.Header}
	for r := range t.Rows {
		record := make([]string, len(t.Header))
		for c := range record {
			record[c] = line(t.entry(r, c, false).Text)
		}
		lines = append(lines, record)
	}
	if err := w.WriteAll(lines); err != nil { // a strings.Builder never fails
		return ""
	}
	return out.String()
}

// latexEscapes escape the special characters of LaTeX, and characters that its fonts lack.
var latexEscapes = strings.NewReplacer(`\`, `\textbackslash{}`, "&", `\&`, "%", `\%`, "$", `\$`,
	"#", `\#`, "_", `\_`, "{", `\{`, "}", `\}`,
	"~", `\textasciitilde{}`, "^", `\textasciicircum{}`, "<", `\textless{}`, ">", `\textgreater{}`,
	"|", `\textbar{}`, `"`, `''`,
	"−", `$-$`, "±", `$\pm$`, "×", `$\times$`, "≈", `$\approx$`, "≤", `$\le$`, "≥", `$\ge$`, "→",
	`$\rightarrow$`, "∞", `$\infty$`,
	"✓", `\checkmark{}`, "–", `--`, "—", `---`, "’", `'`, "·", `$\cdot$`, "²", `$^2$`,
	"α", `$\alpha$`, "β", `$\beta$`, "γ", `$\gamma$`, "ε", `$\varepsilon$`, "κ", `$\kappa$`, "ρ",
	`$\rho$`, "σ", `$\sigma$`, "τ", `$\tau$`,
	"φ", `$\varphi$`, "₁", `$_1$`, "₂", `$_2$`, "₀", `$_0$`)

func latex(text string) string { return latexEscapes.Replace(shown(text)) }

// LaTeX returns the table for the packages booktabs, array, amssymb and adjustbox: a table
// environment with caption and notes, scaled down if it is wider than the text.
func (t *Table) LaTeX() string {
	var out strings.Builder
	out.WriteString("\\begin{table}[htbp]\n\\centering\n")
	if t.Caption != "" {
		out.WriteString("\\caption{" + latex(t.Caption) + "}\n")
	}
	out.WriteString("\\begin{adjustbox}{max width=\\linewidth}\n\\begin{tabular}{")
	numeric := t.numeric()
	for c := range t.Header {
		switch {
		case numeric[c]:
			out.WriteByte('r')
		case t.sentences(c):
			out.WriteString(">{\\raggedright\\arraybackslash}p{0.35\\linewidth}")
		default:
			out.WriteByte('l')
		}
	}
	out.WriteString("}\n\\toprule\n")
	for c, name := range t.Header {
		if c > 0 {
			out.WriteString(" & ")
		}
		text := latex(name)
		if utf8.RuneCountInString(name) > shortest && strings.Contains(text, " ") { // one word per line
			side := "l"
			if numeric[c] {
				side = "r"
			}
			text = `\shortstack[` + side + "]{" + strings.ReplaceAll(text, " ", `\\{}`) + "}"
		}
		out.WriteString(text)
	}
	out.WriteString(" \\\\\n\\midrule\n")
	for r := range t.Rows {
		if t.Grouped && r > 0 && t.begins(r) {
			out.WriteString("\\midrule\n")
		}
		for c := range t.Header {
			if c > 0 {
				out.WriteString(" & ")
			}
			e := t.entry(r, c, true)
			text := latex(e.Text)
			if e.Bold && text != "" {
				text = `\textbf{` + text + "}"
			}
			if c == 0 && strings.IndexAny(text, "[*") == 0 { // else an argument of the \\ above
				text = "{}" + text
			}
			out.WriteString(text)
		}
		out.WriteString(" \\\\\n")
	}
	out.WriteString("\\bottomrule\n\\end{tabular}\n\\end{adjustbox}\n")
	for _, note := range t.Notes {
		out.WriteString("\\par\\smallskip{\\footnotesize " + latex(note) + "\\par}\n")
	}
	out.WriteString("\\end{table}\n")
	return out.String()
}

// htmlEscapes keep JupyterLab from recognising formulas: it looks for their delimiters in the text
// between two tags.
var htmlEscapes = strings.NewReplacer("$", "<span>$</span>", `\`, `<span>\</span>`)

func hypertext(text string) string { return htmlEscapes.Replace(html.EscapeString(shown(text))) }

// HTML returns the table as part of a page. It scrolls horizontally if it is wider than the page.
// Borders are inline styles, so they also appear outside JupyterLab and in untrusted notebooks.
func (t *Table) HTML() string {
	var out strings.Builder
	if t.Caption != "" {
		out.WriteString("<p><b>" + hypertext(t.Caption) + "</b></p>\n")
	}
	out.WriteString("<div style=\"overflow-x:auto\">\n<table " +
		"style=\"border-collapse:collapse\">\n<thead>\n<tr>")
	numeric := t.numeric()
	cell := func(tag string, column int, e Entry, style string) {
		text := hypertext(e.Text)
		if e.Bold && text != "" {
			text = "<b>" + text + "</b>"
		}
		align := "left"
		if numeric[column] {
			align = "right"
		}
		out.WriteString("<" + tag +
			` style="border:1px solid gray;padding:3px 8px;text-align:` + align + style + `">` + text +
			"</" + tag + ">")
	}
	for c, name := range t.Header {
		style := ";vertical-align:bottom"
		if !strings.Contains(name, " ") { // otherwise a name such as ant-trap breaks at its hyphen
			style += ";white-space:nowrap"
		}
		cell("th", c, Entry{Text: name}, style)
	}
	out.WriteString("</tr>\n</thead>\n<tbody>\n")
	for r := range t.Rows {
		out.WriteString("<tr>")
		for c := range t.Header {
			entry, style := t.entry(r, c, true), ";white-space:nowrap"
			if long(entry) {
				style = ";min-width:16em" // a sentence may wrap, but not into one word per line
			}
			if t.Grouped && r > 0 && t.begins(r) {
				style += ";border-top:2px solid gray"
			}
			cell("td", c, entry, style)
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</tbody>\n</table>\n</div>\n")
	var notes []string
	for _, note := range t.Notes {
		notes = append(notes, hypertext(note))
	}
	if len(notes) > 0 {
		out.WriteString("<p><small>" + strings.Join(notes, "<br>\n") + "</small></p>\n")
	}
	return out.String()
}

// shortest and longest are the maximum numbers of letters of a header name and of an entry that
// stay on one line.
const (
	shortest = 9
	longest  = 32
)

// long reports whether an entry is a sentence, which may wrap.
func long(e Entry) bool { return utf8.RuneCountInString(e.Text) > longest }

// sentences reports whether a column has such entries.
func (t *Table) sentences(column int) bool {
	for r := range t.Rows {
		if long(t.entry(r, column, false)) {
			return true
		}
	}
	return false
}

// Text returns the table for a terminal: columns are aligned, bold entries are in asterisks.
func (t *Table) Text() string {
	cells := [][]string{make([]string, len(t.Header))}
	for c, name := range t.Header {
		cells[0][c] = shown(name)
	}
	for r := range t.Rows {
		texts := make([]string, len(t.Header))
		for c := range texts {
			e := t.entry(r, c, true)
			texts[c] = shown(e.Text)
			if e.Bold && texts[c] != "" {
				texts[c] = "*" + texts[c] + "*"
			}
		}
		cells = append(cells, texts)
	}
	widths := make([]int, len(t.Header))
	for _, texts := range cells {
		for c, text := range texts {
			widths[c] = max(widths[c], utf8.RuneCountInString(text))
		}
	}
	numeric := t.numeric()
	var out strings.Builder
	if t.Caption != "" {
		out.WriteString(shown(t.Caption) + "\n\n")
	}
	write := func(texts []string) {
		var row strings.Builder
		for c, text := range texts {
			gap := strings.Repeat(" ", widths[c]-utf8.RuneCountInString(text))
			if c > 0 {
				row.WriteString("  ")
			}
			if numeric[c] {
				row.WriteString(gap + text)
			} else {
				row.WriteString(text + gap)
			}
		}
		out.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	write(cells[0])
	rules := make([]string, len(widths))
	for c, width := range widths {
		rules[c] = strings.Repeat("-", width)
	}
	write(rules)
	for r, texts := range cells[1:] {
		if t.Grouped && r > 0 && t.begins(r) {
			out.WriteByte('\n')
		}
		write(texts)
	}
	if len(t.Notes) > 0 {
		out.WriteByte('\n')
	}
	for _, note := range t.Notes {
		out.WriteString(shown(note) + "\n")
	}
	return out.String()
}

// Stack joins tables with one header vertically. Each becomes a group, named in a new first column.
// Captions and notes of the parts are left out.
func Stack(header string, names []string, parts ...*Table) *Table {
	stacked := &Table{Grouped: true}
	for i, part := range parts {
		stacked.Header = append([]string{header}, part.Header...)
		for _, row := range part.Rows {
			stacked.Rows = append(stacked.Rows, slices.Insert(slices.Clone(row), 0, Entry{Text: names[i]}))
		}
	}
	return stacked
}
