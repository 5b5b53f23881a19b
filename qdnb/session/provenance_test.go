package session

import (
	"fmt"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// A run of an earlier text is one of today if the ledger of its build had the same lines for its algorithm and
// its environment. What the ledger has no line for is compared by its text alone.
func TestOriginsByNumbers(t *testing.T) {
	config := must.Get(Spec{Algorithm: "map-elites", Env: "ant-uni", Seed: 3}.Config())
	today := numbersOf("map-elites", "ant-uni")
	if today == "" || today == numbersOf("map-elites", "pointmaze") || today == numbersOf("mome", "ant-uni") {
		t.Errorf("numbers %q are not those of one algorithm in one environment", today)
	}
	for _, pair := range [][2]string{{"map-elites", "arm"}, {"adaptation", "ant-uni"}, {"map", "ant-uni"}} {
		errtest.Equal(t, fmt.Sprintf("lines that the ledger lacks, of %v", pair), numbersOf(pair[0], pair[1]), "")
	}
	for _, c := range []struct {
		want    Origin
		numbers []string // of the builds that computed the run, all of another text
	}{
		{SameNumbers, []string{today}},
		{SameNumbers, []string{today, today}},
		{OtherPrograms, []string{""}},
		{OtherPrograms, []string{"0123456789abcdef"}},
		{OtherPrograms, []string{today, "0123456789abcdef"}},
		{UnknownPrograms, nil},
	} {
		run := &runs.Run{Config: config}
		for i, numbers := range c.numbers {
			run.Status.UseMachine(runs.MachineUse{Programs: "fedcba9876543210", Numbers: numbers, After: int64(i - 1)})
		}
		if got := new(Origins).Of(run); got != c.want || got.Today() != (c.want == SameNumbers) {
			t.Errorf("numbers %q: %q, want %q", c.numbers, got, c.want)
		}
	}
}
