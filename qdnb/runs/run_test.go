package runs

import (
	"fmt"
	"math"
	"testing"

	"example.com/qdnb/internal/errtest"
)

// A run prints as a line, with and without its address.
func TestRunPrintsAsALine(t *testing.T) {
	run := &Run{Dir: "runs/a-b-0-12345678", Config: Config{Algorithm: "a", Env: "b", Hyperparameters: []byte(`{"c":1}`)}}
	for want, status := range map[string]Status{
		"runs/a-b-0-12345678: unfinished, generation 0, 0 evaluations": {MaxFitness: math.Inf(-1)},
		"runs/a-b-0-12345678: generation 7, 80 evaluations, max fitness -1.5": {
			Progress: Progress{Generation: 7, Evaluations: 80}, MaxFitness: -1.5, Finished: true},
		"runs/a-b-0-12345678: generation 7, 80 evaluations, max fitness 2, QD score 30, coverage 12.50 %": {
			Progress: Progress{Generation: 7, Evaluations: 80}, MaxFitness: 2, QDScore: 30, Coverage: 12.5,
			Finished: true},
	} {
		run.Status = status
		for _, got := range []string{fmt.Sprint(run), fmt.Sprint(*run), fmt.Sprintf("%v", run), run.String()} {
			if got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	}
	if got := fmt.Sprint([]*Run{run, run}); len(got) > 250 {
		t.Errorf("a list of runs prints %s", got)
	}
	want := `{"algorithm":"a","env":"b","hyperparameters":{"c":1},"seed":0}`
	errtest.Equal(t, "the configuration prints", fmt.Sprint(run.Config), want)
	if got := fmt.Sprint((*Run)(nil)); got != "<nil>" {
		t.Errorf("no run prints %q", got)
	}
}
