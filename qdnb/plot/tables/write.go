package tables

import (
	"encoding/csv"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/cell"
	"example.com/qdnb/internal/lists"
	"example.com/qdnb/internal/npz/atomicfile"
)

// line joins the lines of a text, because an entry has a single line.
func line(text string) string { return strings.Join(strings.Fields(text), " ") }

// markdownEscapes escape what Markdown, or the formulas and tags that notebooks recognise in it,
// would not treat as text. A backslash becomes an entity, because two backslashes before a bracket
// start a formula in JupyterLab.
var markdownEscapes = strings.NewReplacer(`\`, "&#92;", "|", `\|`, "*", `\*`, "_", `\_`, "`", "\\`",
	"<", `\<`, "~", `\~`, "$", `\$`, "&", `\&`, "](", `]\(`)

func markdown(text string) string { return markdownEscapes.Replace(shown(text)) }

// shown returns the entries for readers by row: escaped, and bold ones between two marks.
func (t *Table) shown(escape func(string) string, before, after string) [][]string {
	rows := make([][]string, len(t.Rows))
	for r := range rows {
		for c := range t.Header {
			e := t.entry(r, c, true)
			text := escape(e.Text)
			if e.Bold && text != "" {
				text = before + text + after
			}
			rows[r] = append(rows[r], text)
		}
	}
	return rows
}

// Markdown returns the table in GitHub's Markdown, with its caption in bold above and its notes
// below.
func (t *Table) Markdown() string {
	var out strings.Builder
	if t.Caption != "" {
		out.WriteString("**" + markdown(t.Caption) + "**\n\n")
	}
	row := func(cells []string) {
		out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	row(lists.Map(t.Header, markdown))
	out.WriteByte('|')
	for _, numeric := range t.numeric() {
		if numeric {
			out.WriteString("---:|")
		} else {
			out.WriteString("---|")
		}
	}
	out.WriteByte('\n')
	for _, cells := range t.shown(markdown, "**", "**") {
		row(cells)
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
	`$\rightarrow$`, "↑", `$\uparrow$`, "↓", `$\downarrow$`, "∞", `$\infty$`,
	"✓", `\checkmark{}`, "–", `--`, "—", `---`, "’", `'`, "·", `$\cdot$`, "²", `$^2$`,
	"α", `$\alpha$`, "β", `$\beta$`, "γ", `$\gamma$`, "ε", `$\varepsilon$`, "κ", `$\kappa$`, "ρ",
	`$\rho$`, "σ", `$\sigma$`, "τ", `$\tau$`, "φ", `$\varphi$`, "₁", `$_1$`, "₂", `$_2$`, "₀", `$_0$`)

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
	names := lists.Map(t.Header, latex)
	for c, name := range t.Header {
		if utf8.RuneCountInString(name) > shortest && strings.Contains(name, " ") { // one word per line
			side := "l"
			if numeric[c] {
				side = "r"
			}
			names[c] = `\shortstack[` + side + "]{" + strings.ReplaceAll(names[c], " ", `\\{}`) + "}"
		}
	}
	out.WriteString(strings.Join(names, " & ") + " \\\\\n\\midrule\n")
	for r, cells := range t.shown(latex, `\textbf{`, "}") {
		if t.opens(r) {
			out.WriteString("\\midrule\n")
		}
		if len(cells) > 0 && strings.IndexAny(cells[0], "[*") == 0 { // else an argument of the \\ above
			cells[0] = "{}" + cells[0]
		}
		out.WriteString(strings.Join(cells, " & ") + " \\\\\n")
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

// pieces separate the parts of an entry that stay together.
var pieces = strings.NewReplacer(" (", `</span> <span style="white-space:nowrap">(`,
	" | ", ` |</span> <span style="white-space:nowrap">`)

// HTML returns the table as part of a page. It scrolls horizontally if it is wider than the page.
// Borders are inline styles, so they also appear outside JupyterLab and in untrusted notebooks.
func (t *Table) HTML() string {
	var out strings.Builder
	if t.Caption != "" {
		out.WriteString("<p><b>" + hypertext(t.Caption) + "</b></p>\n")
	}
	size := ""
	if len(t.Header) > 8 {
		size = ";font-size:0.9em"
	}
	out.WriteString("<div style=\"overflow-x:auto\">\n<table style=\"border-collapse:collapse" + size + "\">\n<thead>\n<tr>")
	numeric := t.numeric()
	cell := func(tag string, column int, text, style string) {
		align := "left"
		if numeric[column] {
			align = "right"
		}
		out.WriteString("<" + tag + ` style="border:1px solid gray;padding:3px 5px;text-align:` + align +
			style + `">` + text + "</" + tag + ">")
	}
	for c, name := range t.Header {
		style := ";vertical-align:bottom"
		if !strings.Contains(name, " ") { // otherwise a name such as ant-trap breaks at its hyphen
			style += ";white-space:nowrap"
		}
		cell("th", c, hypertext(name), style)
	}
	out.WriteString("</tr>\n</thead>\n<tbody>\n")
	for r, cells := range t.shown(hypertext, "", "") {
		out.WriteString("<tr>")
		for c, text := range cells {
			style := ";white-space:nowrap"
			switch e := t.entry(r, c, true); {
			case long(e): // a sentence may wrap, but not into one word per line
				style = ";min-width:9em"
				if n := utf8.RuneCountInString(e.Text); n > 250 {
					style = ";min-width:26em"
				} else if n > 80 {
					style = ";min-width:16em"
				}
			case strings.Contains(e.Text, " (") || strings.Contains(e.Text, " | "): // may wrap between numbers
				style = ""
				text = `<span style="white-space:nowrap">` + pieces.Replace(text) + "</span>"
			}
			if t.entry(r, c, true).Bold && text != "" {
				text = "<b>" + text + "</b>"
			}
			if t.opens(r) {
				style += ";border-top:2px solid gray"
			}
			cell("td", c, text, style)
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</tbody>\n</table>\n</div>\n")
	if len(t.Notes) > 0 {
		out.WriteString("<p><small>" + strings.Join(lists.Map(t.Notes, hypertext), "<br>\n") + "</small></p>\n")
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
	cells := append([][]string{lists.Map(t.Header, shown)}, t.shown(shown, "*", "*")...)
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
			if numeric[c] {
				text = gap + text
			} else {
				text += gap
			}
			row.WriteString(text + "  ")
		}
		out.WriteString(strings.TrimRight(row.String(), " ") + "\n")
	}
	write(cells[0])
	write(lists.Map(widths, func(width int) string { return strings.Repeat("-", width) }))
	for r, texts := range cells[1:] {
		if t.opens(r) {
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

// writers are the formats of files by their extension.
var writers = map[string]func(*Table) string{".md": (*Table).Markdown, ".csv": (*Table).CSV, ".tex": (*Table).LaTeX,
	".html": (*Table).HTML, ".txt": (*Table).Text}

func writerOf(path string) func(*Table) string { return writers[strings.ToLower(filepath.Ext(path))] }

// Save writes the table to a file atomically, in the format of the path's extension: .md, .csv,
// .tex, .html or .txt.
func (t *Table) Save(path string) error {
	write := writerOf(path)
	if write == nil {
		return fmt.Errorf("tables: %s: use a file name that ends in .md, .csv, .tex, .html or .txt", path)
	}
	if err := atomicfile.WriteBytes(path, []byte(write(t))); err != nil {
		return fmt.Errorf("tables: save table: %w", err)
	}
	return nil
}

// Show displays the table below the cell in a GoNB notebook. Elsewhere it writes to the file name
// if that has an extension of [Table.Save], and otherwise prints the table to standard output.
//
// In a notebook the output is HTML, which untrusted notebooks display, too, with plain text as an
// alternative.
func (t *Table) Show(name string) error {
	if cell.In() {
		return cell.Send(map[protocol.MIMEType]any{protocol.MIMETextHTML: t.HTML() + cell.CaptionHTML(),
			protocol.MIMETextPlain: t.Text()})
	}
	if writerOf(name) != nil {
		return t.Save(name)
	}
	_, err := fmt.Fprintln(os.Stdout, t.Text())
	return err
}
