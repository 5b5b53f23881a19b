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

// A plan stands for its runs, until a figure of single runs begins.
func TestPlansStandForTheirRuns(t *testing.T) {
	Begin()
	Uses("x/runs/a-0-00000001", 1)
	UsesPlan("x", "2 runs, 1a2b3c4d")
	Uses("x/runs/b-0-00000002", 2)
	Uses("runs/c-0-00000003", 3)
	errtest.Equal(t, "the caption", Caption(), "2 runs, 1a2b3c4d; run 00000003")
	data := &protocol.DisplayData{}
	record(data)
	if got, want := fmt.Sprint(data.Metadata),
		"map[qdnb_plans:map[x:2 runs, 1a2b3c4d] qdnb_runs:map[runs/c-0-00000003:3]]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	Uses("x/runs/a-0-00000001", 1) // for the next output of the same plan
	errtest.Equal(t, "the caption", Caption(), "2 runs, 1a2b3c4d; run 00000003")
	Begin()
	Uses("x/runs/a-0-00000001", 1)
	errtest.Equal(t, "the caption", Caption(), "run 00000001")
	Begin() // another panel of the same output
	Uses("x/runs/b-0-00000002", 1)
	errtest.Equal(t, "the caption", Caption(), "runs 00000001, 00000002")
}
