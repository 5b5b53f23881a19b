package cell

import (
	"fmt"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"example.com/qdnb/internal/errtest"
)

func TestLinesBreaksBeforePlacesInCells(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "seed 3: no such file: a.go:1\n": "seed 3: no such file: a.go:1\n",
		"step at /tmp/gonb_1/main.go:12: it fails\n":       "step at /tmp/gonb_1/main.go:12: it fails\n",
		"seed 3: step at /tmp/gonb_1/main.go:12: it fails": "seed 3: step at \n/tmp/gonb_1/main.go:12: it fails",
		"a\nb: /tmp/gonb_1/main_test.go:1\nmain.go:2\n":    "a\nb: \n/tmp/gonb_1/main_test.go:1\nmain.go:2\n",
		"a: main.go:1, main.go:2: main.go:3\n":             "a: \nmain.go:1, \nmain.go:2: \nmain.go:3\n",
		"10:11:12 main.go:7: x":                            "10:11:12 \nmain.go:7: x",
	} {
		errtest.Equal(t, text, Lines(text), want)
	}
}

// A plan stands for its runs, until a figure of single runs begins. The caption counts those that are shown.
func TestPlansStandForTheirRuns(t *testing.T) {
	caption := func(want string) {
		t.Helper()
		errtest.Equal(t, "the caption", Caption(), want)
	}
	Begin()
	Uses("x/runs/a-0-00000001", 1)
	UsesPlan("x", "5 runs, 1a2b3c4d")
	caption("")
	for _, name := range []string{"a-0-00000001", "b-0-00000002", "c-0-00000003", "d-0-00000004", "b-0-00000002"} {
		Reads("x/runs/" + name)
	}
	Reads("y/runs/e-0-00000005") // of no plan that was read
	caption("4 runs of x (5 runs, 1a2b3c4d)")
	Uses("x/runs/b-0-00000002", 2) // opened, because the results of the others were worse
	Uses("runs/c-0-00000003", 3)
	caption("run 00000002 of x (5 runs, 1a2b3c4d); run 00000003")
	data := &protocol.DisplayData{}
	record(data)
	if got, want := fmt.Sprint(data.Metadata),
		"map[qdnb_plans:map[x:5 runs, 1a2b3c4d] qdnb_runs:map[runs/c-0-00000003:3]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	Reads("x/runs/a-0-00000001") // for the next output of the same plan
	caption("run 00000001 of x (5 runs, 1a2b3c4d)")
	Begin()
	Uses("x/runs/a-0-00000001", 1)
	caption("run 00000001")
	Begin() // another panel of the same output
	Uses("x/runs/b-0-00000002", 1)
	caption("runs 00000001, 00000002")
}
