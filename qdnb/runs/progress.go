package runs

import (
	"fmt"
	"html"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Bar shows how far something is and when it will be done: in a notebook by one output that changes in place, in a terminal
// by one line of stderr, and elsewhere by a plain line on stderr now and then. It writes nothing to stdout, and may be used
// by several goroutines.
type Bar struct {
	mu    sync.Mutex
	show  display
	label string
	now   func() time.Time

	start, shown time.Time
	base         float64 // fraction at the first Update: a run that goes on does not begin at 0
	updated      bool
	done         bool
}

// display draws a bar somewhere.
type display interface {
	every() time.Duration // the shortest time between two drawings
	update(label string, fraction float64, text string)
	finish(text string)
}

// NewBar makes a progress bar with a label such as the name of a run. A quiet one shows nothing.
func NewBar(label string, quiet bool) *Bar {
	switch {
	case quiet:
		return newBar(label, nothing{}, time.Now)
	case gonbui.IsNotebook:
		id := "qdnb_progress_" + gonbui.UniqueId()
		return newBar(label, notebook{send: func(page string) { gonbui.UpdateHTML(id, page) }, flush: gonbui.Sync}, time.Now)
	case term.IsTerminal(int(os.Stderr.Fd())):
		return newBar(label, newTerminal(os.Stderr, widthOf(os.Stderr)), time.Now)
	}
	return newBar(label, plain{os.Stderr}, time.Now)
}

func newBar(label string, show display, now func() time.Time) *Bar {
	b := &Bar{show: show, label: label, now: now, start: now()}
	if _, ok := show.(plain); ok {
		b.shown = b.start // what takes less than the pause between two lines needs none but the last
	}
	return b
}

// Update shows that a fraction, from 0 to 1, is done, with a detail such as the newest numbers. It may be called as often as
// one likes.
func (b *Bar) Update(fraction float64, detail string) {
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
	if !b.updated {
		b.base, b.updated = fraction, true
	}
	if now.Sub(b.shown) < b.show.every() {
		return
	}
	b.shown = now
	text := times(now.Sub(b.start), b.base, fraction)
	if detail != "" {
		text += "  " + detail
	}
	b.show.update(b.label, fraction, text)
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

// times tells the time that has passed and the time that is left, if what is left goes on as what was done since base.
func times(elapsed time.Duration, base, fraction float64) string {
	text := shortTime(elapsed)
	if fraction > base && fraction < 1 {
		left := time.Duration(float64(elapsed) * (1 - fraction) / (fraction - base))
		text += ", " + shortTime(left) + " left"
	}
	return text
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

func (nothing) every() time.Duration           { return time.Hour }
func (nothing) update(string, float64, string) {}
func (nothing) finish(string)                  {}

// notebook replaces the contents of one output of a cell. Plain HTML is also shown in a notebook that is not trusted.
type notebook struct {
	send  func(page string)
	flush func() // the program of a cell may end right after Done
}

func (notebook) every() time.Duration { return time.Second / 10 }

func (n notebook) update(label string, fraction float64, text string) {
	n.send(fmt.Sprintf(`<progress max="1000" value="%.0f" style="width:16em;vertical-align:middle"></progress> `+
		`<code>%s %3.0f%%  %s</code>`, 1000*fraction, html.EscapeString(label), 100*fraction, html.EscapeString(text)))
}

func (n notebook) finish(text string) {
	n.send("<code>" + html.EscapeString(text) + "</code>")
	n.flush()
}

// terminal draws a line of a terminal again and again.
type terminal struct {
	out   io.Writer
	width func() int // columns of the terminal, which may change
	bar   *progressbar.ProgressBar
}

const (
	barWidth = 24
	barExtra = 12 // columns of the bar's frame and percentage
)

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
	return &terminal{out: out, width: width, bar: progressbar.NewOptions(1000,
		progressbar.OptionSetWriter(out), progressbar.OptionSetWidth(barWidth), progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false), progressbar.OptionShowDescriptionAtLineEnd(),
		progressbar.OptionSetRenderBlankState(false))}
}

func (*terminal) every() time.Duration { return time.Second / 10 }

func (t *terminal) update(label string, fraction float64, text string) {
	// 1000 of 1000 would end the bar; only Done does.
	line := []rune(label + "  " + text)
	t.bar.Describe(string(line[:min(len(line), max(t.width()-barWidth-barExtra, 0))])) // a line that wraps cannot be replaced
	t.bar.Set(min(int(1000*fraction), 999))                                            //nolint:errcheck // a terminal that is gone is no reason to stop training
}

func (t *terminal) finish(text string) {
	t.bar.Clear() //nolint:errcheck // as above
	fmt.Fprintln(t.out, text)
}

// plain writes lines to a file, where nothing can be replaced.
type plain struct{ out io.Writer }

func (plain) every() time.Duration { return 10 * time.Second }

func (p plain) update(label string, fraction float64, text string) {
	fmt.Fprintf(p.out, "%s %3.0f%%  %s\n", label, 100*fraction, text)
}

func (p plain) finish(text string) { fmt.Fprintln(p.out, text) }
