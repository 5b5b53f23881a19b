package xla

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/must"
)

// varied is a part of the user: its function and what it embeds, which are not exported, count, too.
type varied struct {
	base
	vary func(int) int
	next *varied
}

type base struct{}

func (base) Offspring() {}

func (*varied) Update() {}

func double(x int) int { return 2 * x }

// The source of a part names its functions and methods once, and the caller, and has the text of their file.
func TestSource(t *testing.T) {
	part := &varied{vary: double}
	part.next = part
	file := must.Get(filepath.Abs("source_test.go"))
	text := string(must.Get(os.ReadFile(file)))
	locations, source, _ := strings.Cut(Source(part, []any{part, (*varied)(nil)}), "\n\n")
	if source != text+"\n" {
		t.Errorf("the file is %q", source)
	}
	for i, want := range []string{"base.Offspring at $:21", "(*varied).Update at $:23", "double at $:25", "TestSource at $:"} {
		want = "// xla." + strings.Replace(want, "$", file, 1)
		if got := strings.Split(locations, "\n"); len(got) != 4 || !strings.HasPrefix(got[i], want) {
			t.Fatalf("%s is not location %d of\n%s", want, i, locations)
		}
	}
}

type counter struct{ base }

func (c counter) count() int { return 1 + limit /* of all */ }

const limit = 3

// The code of a function is its text and that of what it uses in its file, also by methods, and nothing else.
func TestCode(t *testing.T) {
	literal := func(c counter) int { return c.count() } // a comment
	want := "func ( c counter ) int { return c . count ( ) } ; type counter struct { base } ; type base struct { } ; " +
		"func ( c counter ) count ( ) int { return 1 + limit } ; const limit = 3 ; "
	if got := Code(literal); got != want {
		t.Errorf("%q\nis not\n%q", got, want)
	}
	if got := Code(double); got != "func double ( x int ) int { return 2 * x } ; " {
		t.Errorf("%q", got)
	}
	if got := Code(strings.Cut); got != "" {
		t.Errorf("the standard library is no code of the user: %q", got)
	}
}
