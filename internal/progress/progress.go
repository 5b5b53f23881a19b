// Package progress shows progress and the time left, in notebooks, terminals and logs.
package progress

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
	"golang.org/x/term"
)

// Bar shows progress and the estimated time left: in a notebook as one output that updates in
// place, in a terminal as one line on stderr, and elsewhere as occasional plain lines on stderr. A
// line starts with the percentage and the time left. The label comes last, shortened to fit. Bar
// writes nothing to stdout and is safe for concurrent use.
type Bar struct {
	mu    sync.Mutex
	show  display
	label string
	now   func() time.Time

	start, shown time.Time
	begun        time.Time // start of the work from which the time left is extrapolated
	base         float64   // fraction at that time; a resumed run does not start at 0
	based        bool
	done         bool
	said         map[string]bool // formats of Once
}

type display struct {
	every   time.Duration // minimum time between two updates
	delayed bool          // the first update waits, too
	columns func() int    // width of the text
	update  func(fraction float64, text string)
	finish  func(text string)
	clear   func() // removes an unfinished bar; nil where it may stay
}

// NewBar makes a progress bar with a label such as the name of a run. If quiet, it shows no
// progress; [Bar.Notice] and [Bar.Once] still print, because they say what is wrong with results.
func NewBar(label string, quiet bool) *Bar {
	switch {
	case quiet:
		return &Bar{done: true, now: time.Now}
	case gonbui.IsNotebook:
		id := "qdnb_progress_" + gonbui.UniqueId()
		return newBar(label, notebook(func(page string) { gonbui.UpdateHTML(id, page) }, gonbui.Sync), time.Now)
	case term.IsTerminal(int(os.Stderr.Fd())):
		return newBar(label, terminal(os.Stderr, stderrWidth), time.Now)
	}
	return newBar(label, plain(os.Stderr), time.Now)
}

func newBar(label string, show display, now func() time.Time) *Bar {
	b := &Bar{show: show, label: label, now: now, start: now()}
	b.begun = b.start
	if show.delayed {
		b.shown = b.start
	}
	return b
}

// Begin marks the start of the work, with the fraction done before, such as by earlier sessions.
// The time left is extrapolated from progress after Begin, so compilation does not count. Without
// Begin it is extrapolated from the bar's creation and the fraction of the first Update.
func (b *Bar) Begin(fraction float64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun, b.base, b.based = b.now(), fraction, true
}

// Update shows that a fraction, from 0 to 1, is done. details, such as the newest metrics, come
// most important first; those that do not fit are left out. It can be called at any rate.
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
	if now.Sub(b.shown) < b.show.every {
		return
	}
	b.shown = now
	b.show.update(fraction, fit(b.show.columns(), b.times(now, fraction), details, b.label))
}

// Left estimates the time from a fraction to the end at the rate since Begin. known is false if
// there is no estimate.
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

// times returns the time left, or the time since the bar's creation if that is unknown.
func (b *Bar) times(now time.Time, fraction float64) string {
	if left, known := b.left(now, fraction); known {
		return shortTime(left) + " left"
	}
	return shortTime(now.Sub(b.start))
}

// fit joins what fits on a line: always the times and the first detail, other details if they fit
// uncut, and as much of the label as fits.
func fit(columns int, times string, details []string, label string) string {
	const gap, least = 2, 6 // columns between two parts; minimum of a shortened label
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

func width(text string) int { return utf8.RuneCountInString(text) }

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

// Notice prints a line to stderr. The next update shows the bar again.
func (b *Bar) Notice(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	fmt.Fprintf(os.Stderr, "qdnb: "+format+"\n", args...)
}

// Remember makes [Bar.Once] skip what other bars with this map said.
func (b *Bar) Remember(said map[string]bool) { b.said = said }

// Once is [Bar.Notice] for the first call with a format; further calls do nothing.
func (b *Bar) Once(format string, args ...any) {
	b.mu.Lock()
	first := !b.said[format]
	if b.said == nil {
		b.said = map[string]bool{}
	}
	b.said[format] = true
	b.mu.Unlock()
	if first {
		b.Notice(format, args...)
	}
}

// clear removes the bar where it would stay in the way of other lines.
func (b *Bar) clear() {
	if !b.done && b.show.clear != nil && !b.shown.IsZero() {
		b.show.clear()
		b.shown = time.Time{}
	}
}

// Close removes the bar if it is not done, so that an error message gets a line of its own.
func (b *Bar) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	b.done = true
}

// shortTime formats a duration with a precision that suits readers: 41s, 3m05s, 2h07m.
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

// notebook replaces one output of a cell. Plain HTML is shown even in an untrusted notebook. The
// cell's program may end right after Done, which flushes.
func notebook(send func(page string), flush func()) display {
	return display{
		every:   time.Second / 10,
		columns: func() int { return 88 }, // a line of a cell's output, next to the bar
		update: func(fraction float64, text string) {
			send(fmt.Sprintf(`<div style="white-space:nowrap;overflow:hidden;text-overflow:ellipsis">`+
				`<progress max="1000" value="%.0f" style="width:10em;vertical-align:middle"></progress> `+
				`<code>%3.0f%%  %s</code></div>`, 1000*fraction, 100*fraction, html.EscapeString(text)))
		},
		finish: func(text string) {
			send("<code>" + html.EscapeString(text) + "</code>")
			flush()
		},
	}
}

// barExtra is the width of the percentage, the bar's frame and the space at the end of the line.
const barExtra = 11

func stderrWidth() int {
	width, _, err := term.GetSize(int(os.Stderr.Fd()))
	if err != nil || width <= 0 {
		return 80
	}
	return width
}

// terminal redraws one line of a terminal of a width that may change.
func terminal(out io.Writer, width func() int) display {
	cells := min(max((width()-60)/2, 2), 24) // numbers take precedence
	// the rest of the line: a line that wraps cannot be replaced
	columns := func() int { return max(width()-cells-barExtra, 0) }
	clear := func() { fmt.Fprintf(out, "\r%*s\r", max(width()-1, 0), "") }
	return display{
		every:   time.Second / 10,
		columns: columns,
		update: func(fraction float64, text string) {
			done := int(fraction * float64(cells))
			fmt.Fprintf(out, "\r%4.0f%% |%s%s|  %-*s", 100*fraction, strings.Repeat("█", done),
				strings.Repeat(" ", cells-done), columns(), text)
		},
		finish: func(text string) {
			clear()
			fmt.Fprintln(out, text)
		},
		clear: clear,
	}
}

// plain writes lines to a file. Short work writes only its last line.
func plain(out io.Writer) display {
	return display{
		every:   10 * time.Second,
		delayed: true,
		columns: func() int { return math.MaxInt },
		update: func(fraction float64, text string) {
			fmt.Fprintf(out, "%3.0f%%  %s\n", 100*fraction, text)
		},
		finish: func(text string) { fmt.Fprintln(out, text) },
	}
}
