package progress

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

// fakeClock is a clock that only advances on demand.
type fakeClock struct{ t time.Time }

func (c *fakeClock) now() time.Time          { return c.t }
func (c *fakeClock) advance(d time.Duration) { c.t = c.t.Add(d) }

func newClock() *fakeClock { return &fakeClock{time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)} }

func TestNotebookBarIsOneOutputThatStays(t *testing.T) {
	clock := newClock()
	var pages []string
	flushed := false
	show := notebook(func(page string) { pages = append(pages, page) }, func() { flushed = true })
	b := newBar("map<elites>", show, clock.now)
	for i := range 1000 { // ten seconds
		b.Update(float64(i)/1000, "QD 1&2")
		clock.advance(10 * time.Millisecond)
	}
	if len(pages) < 90 || len(pages) > 101 {
		t.Errorf("%d pages in ten seconds, at most ten a second are wanted", len(pages))
	}
	for _, part := range []string{`<progress max="1000" value="500"`,
		"<code> 50%  5s left  QD 1&amp;2  map&lt;elites&gt;</code>"} {
		errtest.Contains(t, pages[50], part)
	}
	b.Done("100 generations")
	b.Done("again")
	b.Update(1, "late")
	errtest.Equal(t, "the last page, and whether it was flushed", fmt.Sprint(pages[len(pages)-1], " ", flushed),
		"<code>map&lt;elites&gt;  100 generations</code> true")
}

func TestPlainBarIsALineNowAndThen(t *testing.T) {
	clock := newClock()
	var out bytes.Buffer
	b := newBar("run", plain(&out), clock.now)
	for i := range 36 { // resumes at one half; 35 seconds
		b.Update(0.5+float64(i)/200, "")
		clock.advance(time.Second)
	}
	b.Done("finished")
	const want = " 55%  1m30s left  run\n 60%  1m20s left  run\n 65%  1m10s left  run\nrun  finished\n"
	errtest.Equal(t, "the terminal", out.String(), want)
	out.Reset()
	b = newBar("quick", plain(&out), clock.now)
	b.Update(0.5, "")
	b.Done("")
	errtest.Equal(t, "quick work", out.String(), "quick\n")
}

// An error message after Close starts at an empty line.
func TestCloseRemovesTheBar(t *testing.T) {
	var out bytes.Buffer
	b := newBar("run", terminal(&out, func() int { return 40 }), newClock().now)
	b.Close()
	if out.Len() > 0 {
		t.Errorf("nothing was shown, Close wrote %q", out.String())
	}
	b = newBar("run", terminal(&out, func() int { return 40 }), newClock().now)
	b.Update(0.5, "half")
	b.Close()
	if want := "\r" + strings.Repeat(" ", 39) + "\r"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("left on the line: %q", out.String())
	}
	out.Reset()
	b.Close()
	b.Update(1, "late")
	b.Done("late")
	if out.Len() > 0 {
		t.Errorf("after Close: %q", out.String())
	}
}

func TestTerminalBarKeepsToOneLine(t *testing.T) {
	clock := newClock()
	var out bytes.Buffer
	b := newBar("run", terminal(&out, func() int { return 60 }), clock.now)
	for i := range 11 {
		b.Update(float64(i)/10, strings.Repeat("detail ", 20))
		clock.advance(time.Second)
	}
	b.Done("finished")
	errtest.Contains(t, out.String(), "50%", "|  5s left  detail ")
	if n := strings.Count(out.String(), "\n"); n != 1 || !strings.HasSuffix(out.String(), "run  finished\n") {
		t.Errorf("%d lines: %q", n, out.String())
	}
	for line := range strings.SplitSeq(out.String(), "\r") {
		if n := len([]rune(strings.TrimRight(line, " \n"))); n > 60 {
			t.Errorf("a line of %d columns: %q", n, line)
		}
	}
}

// lastLine is what a terminal shows after the given output.
func lastLine(written string) string {
	line := ""
	for part := range strings.SplitSeq(written, "\r") {
		if part = strings.TrimRight(part, " "); part != "" {
			line = part
		}
	}
	return line
}

// Important parts come first at any width. Compilation and earlier sessions do not affect the time left.
func TestBarOfAResumedRun(t *testing.T) {
	figures := []string{"max fitness -128.3", "coverage 73.7 %", "QD score 2.514e+05"}
	const name = "map-elites-pointmaze-0-1a2b3c4d"
	resume := func(show display) {
		clock := newClock()
		b := newBar(name, show, clock.now)
		b.Update(0.5, "compiling")
		clock.advance(11 * time.Minute)
		b.Begin(0.5)
		clock.advance(10 * time.Second)
		b.Update(0.6, figures...)
	}
	for width, want := range map[int]string{
		60: "  60% |█ |  40s left  max fitness -128.3  coverage 73.7 %",
		80: "  60% |██████    |  40s left  max fitness -128.3  coverage 73.7 %  map-elites-…",
		120: "  60% |██████████████          |  40s left  max fitness -128.3  coverage 73.7 %  QD " +
			"score 2.514e+05  map-elites-pointm…",
		160: "  60% |██████████████          |  40s left  max fitness -128.3  coverage 73.7 %  QD " +
			"score 2.514e+05  " + name,
	} {
		var out bytes.Buffer
		resume(terminal(&out, func() int { return width }))
		errtest.Equal(t, fmt.Sprint("columns: ", width), lastLine(out.String()), want)
	}
	var pages []string
	resume(notebook(func(page string) { pages = append(pages, page) }, func() {}))
	want := "<code> 60%  40s left  max fitness -128.3  coverage 73.7 %  QD score 2.514e+05  " +
		"map-elites-pointmaze…</code></div>"
	if last := pages[len(pages)-1]; !strings.HasSuffix(last, want) || !strings.Contains(last, "nowrap") {
		t.Errorf("a notebook shows %s, want %s", last, want)
	}
	var out bytes.Buffer
	resume(plain(&out))
	errtest.Equal(t, "a file", out.String(), " 60%  40s left  "+strings.Join(figures, "  ")+"  "+name+"\n")
}

func TestBarTakesAnything(t *testing.T) {
	clock := newClock()
	var pages []string
	b := newBar("run", notebook(func(page string) { pages = append(pages, page) }, func() {}), clock.now)
	nan := 0.0
	nan /= nan
	for _, fraction := range []float64{-1, nan, 0.5, 0.2, 7} {
		b.Update(fraction, "")
		clock.advance(time.Second)
	}
	for i, want := range []string{"  0%", "  0%", " 50%", " 20%", "100%"} {
		errtest.Contains(t, pages[i], want)
	}
}

// A quiet bar shows no progress, but what a user should know about the results.
func TestQuietBar(t *testing.T) {
	out := must.Get(os.CreateTemp(t.TempDir(), "stderr"))
	defer out.Close()
	stderr := os.Stderr
	os.Stderr = out
	b := NewBar("run", true)
	b.Update(0.5, "detail")
	b.Once("%d of 30 evaluations were not finite", 2)
	b.Once("%d of 30 evaluations were not finite", 3)
	b.Notice("resumed on another backend")
	b.Done("finished")
	b.Close()
	os.Stderr = stderr
	const want = "qdnb: 2 of 30 evaluations were not finite\nqdnb: resumed on another backend\n"
	errtest.Equal(t, "a quiet bar", string(must.Get(os.ReadFile(out.Name()))), want)
}

// Standard output is reserved for results.
func TestBarsLeaveStdoutAlone(t *testing.T) {
	out := must.Get(os.CreateTemp(t.TempDir(), "stdout"))
	defer out.Close()
	stdout := os.Stdout
	os.Stdout = out
	for _, quiet := range []bool{true, false} {
		b := NewBar("run", quiet)
		b.Update(0.5, "detail")
		b.Done("finished")
	}
	os.Stdout = stdout
	errtest.Equal(t, "bytes on stdout", must.Get(out.Stat()).Size(), 0)
}
