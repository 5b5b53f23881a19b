package figures

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
	"example.com/qdnb/qdnb/runs"
)

// logged returns a run that has logged a table.
func logged(t *testing.T, algorithm, table string) *runs.Run {
	t.Helper()
	run := &runs.Run{Dir: t.TempDir(), Config: runs.Config{Algorithm: algorithm, Env: "pointmaze"}}
	must.Do(os.WriteFile(filepath.Join(run.Dir, "metrics.csv"), []byte(table), 0o666))
	return run
}

func TestColumns(t *testing.T) {
	list := []*runs.Run{
		logged(t, "diayn-reward",
			"env_steps,seconds,coverage,discriminator_loss\n0,1,0.5,nan\n1000,2,1,1.5\n2000,3,2,0.5\n"),
		logged(t, "my-objective",
			"env_steps,seconds,coverage,discriminator_loss\n0,1,0.5,nan\n2000,3,2,0.25\n"),
	}
	f := must.Get(Columns(list, EnvSteps, "discriminator_loss", "coverage"))
	path := filepath.Join(t.TempDir(), "columns.svg")
	must.Do(f.Save(path))
	text, err := os.ReadFile(path)
	must.Do(err)
	for _, want := range []string{"Discriminator loss", "Coverage (%)", "environment steps",
		"DIAYN+REWARD", "my-objective"} {
		if !strings.Contains(string(text), ">"+want+"<") {
			t.Errorf("the figure lacks %q", want)
		}
	}

	for want, err := range map[string]error{
		`did you mean "coverage"`: errtest.Of(Columns(list, EnvSteps, "coverag")),
		`did you mean "seconds"`:  errtest.Of(Columns(list, Axis{Column: "second", Unit: 1}, "coverage")),
		"0 columns of 2 runs":     errtest.Of(Columns(list, EnvSteps)),
		"1 columns of 0 runs":     errtest.Of(Columns(nil, EnvSteps, "coverage")),
	} {
		errtest.Want(t, err, want)
	}
}

func TestRowsOf(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 2, 5: 3, 6: 3, 7: 3, 9: 3} {
		if got := rowsOf(n); got != want {
			t.Errorf("%d panels: %d in a row, want %d", n, got, want)
		}
	}
}
