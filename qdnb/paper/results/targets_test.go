package results

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"example.com/qdnb/internal/errtest"
	"example.com/qdnb/internal/must"
)

func TestReadSMERLTargets(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "smerl_targets_summary.csv")
	tables := &Tables{Trained: []Trained{
		{Experiment: ExperimentTargets, Env: "ant-maze", Finished: true, MaxFitness: -9000.5},
		{Experiment: ExperimentTargets, Env: "ant-uni", Finished: true, MaxFitness: 300},
	}}
	must.Get(tables.Write(dir))
	got, err := ReadSMERLTargets(path)
	if want := tables.SMERLTargets(); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	for text, want := range map[string]string{
		"": "no targets", "env,seeds,target,margin\n": "no targets",
		"env,seed,max_fitness\na,1,2\n":               "no targets",
		"env,seeds,target,margin\nant-uni,3,-inf,1\n": "not a number",
		"env,seeds,target,margin\nant-uni,3\n":        "wrong number of fields",
	} {
		must.Do(os.WriteFile(path, []byte(text), 0o666))
		errtest.Want(t, errtest.Of(ReadSMERLTargets(path)), want)
	}
	errtest.Want(t, errtest.Of(ReadSMERLTargets(filepath.Join(dir, "none"))), "smerl-targets")
}
