package runs_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"example.com/qdnb/internal/npz"
	"example.com/qdnb/qdnb/runs"
)

// count trains a trivial algorithm: its state is a number that grows by one per generation.
func count(root string, config runs.Config, budget runs.Budget) error {
	w, err := runs.Create(root, config)
	if err != nil {
		return err
	}
	defer w.Close()
	arrays, generation, warnings, err := w.LoadCheckpoint(nil)
	if err != nil {
		return err
	}
	for _, warning := range warnings {
		log.Print(warning)
	}
	state := []int64{0}
	if generation >= 0 {
		if state, err = arrays["state"].Int64s(); err != nil {
			return err
		}
	}
	fmt.Printf("%s continues after generation %d\n", w.Name(), generation)

	if err := w.Begin(generation, "generation", "state"); err != nil {
		return err
	}
	status := w.Status
	status.Generation = max(generation, 0)
	for !budget.Done(status.Progress) {
		state[0]++
		status.Generation++
		if err := w.Log(float64(status.Generation), float64(state[0])); err != nil {
			return err
		}
	}
	if err := w.SaveCheckpoint(status.Generation, map[string]npz.Array{"state": npz.Of(state)},
		nil); err != nil {
		return err
	}
	status.Budget, status.Finished = budget, true
	return w.SaveStatus(status)
}

// A run requested again with a larger budget resumes where it ended.
func Example() {
	root, err := os.MkdirTemp("", "runs")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(root)
	config, err := runs.NewConfig("count", "nothing", 0, map[string]int{"step": 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, generations := range []int64{2, 4} {
		if err := count(root, config, runs.Budget{Generations: generations}); err != nil {
			fmt.Println(err)
			return
		}
	}

	run, err := runs.Open(filepath.Join(root, config.Name()))
	if err != nil {
		fmt.Println(err)
		return
	}
	metrics, err := run.Metrics()
	fmt.Println(run.Status.Generation, run.Status.Budget, metrics.Columns, metrics.Rows, err)
	// Output:
	// count-nothing-0-97902ac3 continues after generation -1
	// count-nothing-0-97902ac3 continues after generation 2
	// 4 4 generations [generation state] [[1 1] [2 2] [3 3] [4 4]] <nil>
}
