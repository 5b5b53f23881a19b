package runs

import (
	"fmt"
	"html"
	"io"
	"math"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Bar shows how far something is and when it will be done: in a notebook by one output that changes
// in place, in a terminal by one line of stderr, and elsewhere by a plain line on stderr now and
// then. A line begins with the percentage and the time left; the label comes last, shortened to the
// room that is left. Bar writes nothing to stdout, and may be used by several goroutines.
type Bar struct {
	mu    sync.Mutex
	show  display
	label string
	now   func() time.Time

	start, shown time.Time
	begun        time.Time // when the work began that the time left is extrapolated from
	base         float64   // fraction at that time: a resumed run does not begin at 0
	based        bool
	done         bool
}

// display draws a bar somewhere.
type display interface {
	every() time.Duration // the shortest time between two drawings
	columns() int         // room for the text
	update(fraction float64, text string)
	finish(text string)
}

// NewBar makes a progress bar with a label such as the name of a run. A quiet one shows nothing.
func NewBar(label string, quiet bool) *Bar {
	switch {
	case quiet:
		return newBar(label, nothing{}, time.Now)
	case gonbui.IsNotebook:
		id := "qdnb_progress_" + gonbui.UniqueId()
		return newBar(label, notebook{send: func(page string) { gonbui.UpdateHTML(id, page) },
			flush: gonbui.Sync}, time.Now)
	case term.IsTerminal(int(os.Stderr.Fd())):
		return newBar(label, newTerminal(os.Stderr, widthOf(os.Stderr)), time.Now)
	}
	return newBar(label, plain{os.Stderr}, time.Now)
}

func newBar(label string, show display, now func() time.Time) *Bar {
	b := &Bar{show: show, label: label, now: now, start: now()}
	b.begun = b.start
	if _, ok := show.(plain); ok {
		b.shown = b.start // what takes less than the pause between two lines needs none but the last
	}
	return b
}

// Begin says that the work begins now, with a fraction done before, such as by earlier sessions.
// The time left is extrapolated from what is done after Begin, so compilation does not count.
// Without Begin it is extrapolated from the bar's beginning and the fraction of the first Update.
func (b *Bar) Begin(fraction float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun, b.base, b.based = b.now(), fraction, true
}

// Update shows that a fraction, from 0 to 1, is done, with details such as the newest numbers, the
// most important first; those without room are left out. It may be called at any rate.
func (b *Bar) Update(fraction float64, details ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	fraction = min(max(fraction, 0), 1)
	if fraction != fraction {
		fraction = 0
	}
	now := b.now()
	if !b.based {
		b.base, b.based = fraction, true
	}
	if now.Sub(b.shown) < b.show.every() {
		return
	}
	b.shown = now
	b.show.update(fraction, fit(b.show.columns(), b.times(now, fraction), details, b.label))
}

// Left is the time from a fraction to the end at the rate of the work since Begin, and whether that
// is known.
func (b *Bar) Left(fraction float64) (left time.Duration, known bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.left(b.now(), fraction)
}

func (b *Bar) left(now time.Time, fraction float64) (time.Duration, bool) {
	if !b.based || !(fraction > b.base && fraction < 1) {
		return 0, false
	}
	left := float64(now.Sub(b.begun)) * (1 - fraction) / (fraction - b.base)
	return time.Duration(min(left, math.MaxInt64/2)), true
}

// times is the time left, or the time since the bar was made if that is not known.
func (b *Bar) times(now time.Time, fraction float64) string {
	if left, known := b.left(now, fraction); known {
		return shortTime(left) + " left"
	}
	return shortTime(now.Sub(b.start))
}

// fit joins what a line of so many columns has room for: the times and the first detail in any
// case, other details if they are not cut, and what fits of the label.
func fit(columns int, times string, details []string, label string) string {
	const gap, least = 2, 6 // columns between two parts, and of a shortened label
	line := times
	for i, detail := range details {
		if detail == "" {
			continue
		}
		if room := columns - width(line) - gap; i == 0 || width(detail) <= room {
			line += "  " + shorten(detail, room)
		}
	}
	if room := columns - width(line) - gap; room >= min(least, width(label)) {
		line += "  " + shorten(label, room)
	}
	return shorten(line, columns)
}

// width is the number of columns of a text.
func width(text string) int { return utf8.RuneCountInString(text) }

// shorten cuts a text off at so many columns.
func shorten(text string, columns int) string {
	if width(text) <= columns {
		return text
	}
	return string([]rune(text)[:max(columns-1, 0)]) + "…"
}

// Done replaces the bar by a line that stays. Later calls of Update and Done do nothing.
func (b *Bar) Done(summary string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.done {
		return
	}
	b.done = true
	b.show.finish(strings.TrimSpace(b.label + "  " + summary))
}

// shortTime writes a duration with the precision that a person wants: 41s, 3m05s, 2h07m.
func shortTime(d time.Duration) string {
	seconds := int64(d.Round(time.Second) / time.Second)
	switch {
	case d < 0 || seconds >= 100*3600*24:
		return "a long time"
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm%02ds", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%dh%02dm", seconds/3600, seconds%3600/60)
}

// nothing is the display of a quiet bar.
type nothing struct{}

func (nothing) every() time.Duration   { return time.Hour }
func (nothing) columns() int           { return 0 }
func (nothing) update(float64, string) {}
func (nothing) finish(string)          {}

// notebook replaces the contents of one output of a cell. Plain HTML is also shown in a notebook
// that is not trusted.
type notebook struct {
	send  func(page string)
	flush func() // the program of a cell may end right after Done
}

func (notebook) every() time.Duration { return time.Second / 10 }
func (notebook) columns() int         { return 88 } // a line of a cell's output beside the bar

func (n notebook) update(fraction float64, text string) {
	n.send(fmt.Sprintf(`<progress max="1000" value="%.0f" style="width:16em;vertical-align:middle"></progress> `+
		`<code>%3.0f%%  %s</code>`, 1000*fraction, 100*fraction, html.EscapeString(text)))
}

func (n notebook) finish(text string) {
	n.send("<code>" + html.EscapeString(text) + "</code>")
	n.flush()
}

// terminal draws a line of a terminal again and again.
type terminal struct {
	out   io.Writer
	width func() int // columns of the terminal, which may change
	cells int        // columns of the bar without its frame
	bar   *progressbar.ProgressBar
}

// barExtra are the columns of the percentage, the frame of the bar, and the space at the end of the
// line.
const barExtra = 11

// widthOf asks a terminal for its width.
func widthOf(f *os.File) func() int {
	return func() int {
		width, _, err := term.GetSize(int(f.Fd()))
		if err != nil || width <= 0 {
			return 80
		}
		return width
	}
}

func newTerminal(out io.Writer, width func() int) *terminal {
	cells := min(max((width()-60)/2, 2), 24) // numbers come first
	return &terminal{out: out, width: width, cells: cells, bar: progressbar.NewOptions(1000,
		progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(cells),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false), progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetRenderBlankState(false))}
}

func (*terminal) every() time.Duration { return time.Second / 10 }

// columns is what is left of a line: one that wraps cannot be replaced.
func (t *terminal) columns() int { return max(t.width()-t.cells-barExtra, 0) }

func (t *terminal) update(fraction float64, text string) {
	t.bar.Describe(text)
	// 1000 of 1000 would end the bar; only Done does.
	// nolint:errcheck // a terminal that is gone is no reason to stop training
	t.bar.Set(min(int(1000*fraction), 999))
}

func (t *terminal) finish(text string) {
	t.bar.Clear() //nolint:errcheck // as above
	fmt.Fprintln(t.out, text)
}

// plain writes lines to a file, where nothing can be replaced.
type plain struct{ out io.Writer }

func (plain) every() time.Duration { return 10 * time.Second }
func (plain) columns() int         { return math.MaxInt }

func (p plain) update(fraction float64, text string) {
	fmt.Fprintf(p.out, "%3.0f%%  %s\n", 100*fraction, text)
}

func (p plain) finish(text string) { fmt.Fprintln(p.out, text) }
